"""Keeps contexts to what their groups are given: stands between processes and the driver.

What a process creates has the limit, slice and priority of its group, whatever it asks for; when they change, its
contexts are configured anew. On each GPU the limits of all contexts in a group are together never more than the group's
(`group.divided`): first those are lowered that are to be, and when the GPU has said so, and how much they hold, the
others are raised; a new context waits for that. So it holds in the GPU, at every moment.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.contexts.command import Command, ContextRef, Gpu, Reply
from ringhil.emulator.host.contexts.driver import Driver, Then
from ringhil.emulator.host.groups.group import GroupMember, MemoryClaim, ProcessGroup, Used, divided
from ringhil.protocol.wire import CONTEXTS, AckStatus, Compute, Query

NO_LIMIT = (1 << 32) - 1  # pages
MANAGER = 0  # the key that fits everywhere
_HOLDING = (Compute.CREATE, Compute.CONFIGURE, Compute.ALLOCATE, Compute.FREE)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a context is given: pages, cycles, and when its turn comes."""

    limit: int
    slice: int
    priority: int


@dataclass(eq=False, slots=True)
class Context:
    """`terms`: those that the GPU has confirmed, None: it isn't there yet. `asked`: those that are on their way.
    `held`: pages, as the GPU has said last; `used`: since it was created, as that has said; `launches`: cycles that its
    launches had which are over. `before`: what of it its group has been told of, or is another one's. `first`: the
    command that creates it, until it is sent; `later`: what waits for that, or for the end of one that is `leaving`, or
    may have gone."""

    place: ContextRef
    member: GroupMember
    state: int
    first: tuple[Command, Then] | None
    terms: Terms | None = None
    asked: Terms | None = None
    held: int = 0
    used: Used = field(default_factory=Used)
    launches: int = 0
    before: Used = field(default_factory=Used)
    later: list[tuple[Command, Then]] = field(default_factory=list)
    leaving: bool = False

    @property
    def most(self) -> int:
        """Pages that it may come to hold, as things are."""
        return max(0 if each is None else each.limit for each in (self.terms, self.asked))

    @property
    def there(self) -> bool:
        """It was created, and isn't to be destroyed."""
        return self.terms is not None and not self.leaving

    def account(self, group: ProcessGroup) -> None:
        """What is known of it, and belongs to nobody yet, was used in that group."""
        group.account(self.uncounted)
        self.before = self.used

    @property
    def uncounted(self) -> Used:
        """What is known that it has used in the group in which it is."""
        return self.used.without(self.before)

    @property
    def claim(self) -> MemoryClaim:
        """What it takes of its group's memory; one that goes keeps what it may hold until it has gone."""
        return MemoryClaim(max(self.held, self.most) if self.leaving else self.held)


class Governor:
    """One for all GPUs of a server."""

    def __init__(self, port: CardPort, driver: Driver, root: ProcessGroup) -> None:
        self._port, self._driver, self._root = port, driver, root
        self._contexts: dict[ContextRef, Context] = {}
        self._waiting: list[tuple[set[Gpu], Callable[[], None]]] = []

    # ----------------------------------------------------------------------------------------- on behalf of processes

    def ask(self, member: GroupMember, place: ContextRef, command: Command, then: Then) -> None:
        """Have a process's command carried out, on its group's terms."""
        context = self._contexts.get(place)
        if command.key == MANAGER or (context is not None and context.member is not member):
            self._port.after(1, partial(then, Reply(AckStatus.FOREIGN)))
        elif context is None:
            if command.compute is Compute.CREATE:
                self._contexts[place] = Context(place, member, command.state, (command, then))
                member.places.add(place)
                self._settle(place.on)
            else:
                self._driver.ask(place, command, then)
        elif context.first is not None or context.leaving:
            context.later.append((command, then))
        else:
            self._pass_on(context, command, then)

    def leave(self, member: GroupMember, then: Callable[[], None]) -> None:
        """It has ended: its contexts are destroyed. `then`: they are gone."""
        gpus = {place.on for place in member.places}
        for context in [self._contexts[place] for place in member.places]:
            context.later.clear()
            if context.first is not None:
                self._forget(context)
            elif not context.leaving:
                self._destroy(context, Command(Compute.DESTROY, MANAGER), lambda reply: None)
        self._when_settled(gpus, then)

    def _pass_on(self, context: Context, command: Command, then: Then) -> None:
        match command.compute:
            case Compute.CREATE:
                self._create_again(context, command, then)
            case Compute.DESTROY:
                self._destroy(context, command, then)
            case _:
                self._send(context, command, then)

    def _create_again(self, context: Context, command: Command, then: Then) -> None:
        """It is there, unless its GPU has lost it and nobody has noticed: then it can be created."""
        context.leaving = True
        context.later.insert(0, (command, then))

        def known(answers: list[Reply]) -> None:
            if self._contexts.get(context.place) is context:
                context.leaving = False
                later = _taken(context.later)
                if not later:  # the process has ended meanwhile
                    self._destroy(context, Command(Compute.DESTROY, MANAGER), lambda reply: None)
                    return
                later[0][1](Reply(AckStatus.EXISTS))
                for command, then in later[1:]:
                    self.ask(context.member, context.place, command, then)
                self._settle(context.place.on)

        self.query([context], (Query.MEMORY,), known)

    def _destroy(self, context: Context, command: Command, then: Then) -> None:
        """What it has used is asked for once more: its group goes on to know it."""
        context.leaving = True
        self._account(context)
        self._send(context, command, then)

    # --------------------------------------------------------------------------------------- on behalf of the groups

    def changed(self, then: Callable[[], None]) -> None:
        """Groups, or who is in them, have changed. `then`: the GPUs have been told, and have said so."""
        gpus = {place.on for place in self._contexts}
        for gpu in gpus:
            self._settle(gpu)
        self._when_settled(gpus, then)

    def move(self, member: GroupMember, group: ProcessGroup) -> None:
        """A process goes to another group; what it has used until now stays with the one that it was in."""
        for place in member.places:
            if self._contexts[place].there:
                self._account(self._contexts[place])
        del member.group.members[member.pid]
        member.group = group
        group.members[member.pid] = member

    def within(self, group: ProcessGroup) -> Iterator[Context]:
        """All contexts of processes in it."""
        for each in group.inwards():
            for member in each.members.values():
                for place in sorted(member.places, key=lambda place: (place.card, place.gpu, place.context)):
                    yield self._contexts[place]

    def limit(self, member: GroupMember) -> int | None:
        """Pages of a GPU that a process was told it may have; None: as many as there are."""
        if member.group.memory_there is None:
            return None
        given = [terms.limit for place in member.places if (terms := self._contexts[place].terms) is not None]
        return min(given, default=member.group.memory_there)

    def query(self, contexts: Iterable[Context], queries: Iterable[Query], then: Callable[[list[Reply]], None]) -> None:
        """Ask the GPUs; `then` gets the answers to all queries of the first context, then to those of the next."""
        asked = [(context, query) for context in contexts for query in queries]
        found: dict[int, Reply] = {}

        def answered(number: int, answer: Reply) -> None:
            found[number] = answer
            if len(found) == len(asked):
                then([found[n] for n in range(len(asked))])

        if not asked:
            then([])
        for number, (context, query) in enumerate(asked):
            self._send(context, Command(Compute.QUERY, MANAGER, query.code), partial(answered, number))

    def used(self, context: Context, run: Reply, counts: Reply) -> None:
        """A GPU has answered what a context has used. It is kept: one that is lost says nothing any more."""
        if run.done and counts.done:
            had = context.used
            found = (run.digest, had.run), (counts.high, had.switches), (counts.low, had.refused)
            context.used = Used(*map(max, found))  # an answer may have been overtaken by a later one

    def _account(self, context: Context) -> None:
        """From now on it uses for another group, or for none. What is known is told its group now, the rest when the
        GPU has said it."""
        group = context.member.group
        context.account(group)

        def known(answers: list[Reply]) -> None:
            self.used(context, *answers)
            context.account(group)

        self.query([context], (Query.RUN_TIME, Query.COUNTS), known)

    # ------------------------------------------------------------------------------------------------------- the GPUs

    def _settle(self, gpu: Gpu) -> None:
        """Go on towards what each context there is to be given."""
        there = self._on(gpu)
        limits = self._limits(there)
        lowering = any(context.most > limits[context] and not context.leaving for context in there)
        for context in there:
            if context.asked is not None or context.leaving:
                continue
            limit = min(limits[context], context.most) if lowering else limits[context]
            group = context.member.group
            terms = Terms(limit, group.slice_there, group.priority_there)
            if context.first is not None:
                if not lowering:
                    self._create(context, terms)
            elif terms != context.terms:
                self._configure(context, terms)
        self._settled(gpu)

    def _on(self, gpu: Gpu) -> list[Context]:
        places = (ContextRef(*gpu, number) for number in range(CONTEXTS))
        return [self._contexts[place] for place in places if place in self._contexts]

    def _limits(self, contexts: list[Context]) -> dict[Context, int]:
        """Of contexts on one GPU."""
        found: dict[Context, int] = {}
        inside: dict[ProcessGroup, list[ProcessGroup | Context]] = {}
        for context in contexts:
            within: ProcessGroup | Context = context
            for group in context.member.group.outwards():
                known = group in inside
                inside.setdefault(group, []).append(within)
                if known:
                    break
                within = group

        def claim(one: ProcessGroup | Context) -> MemoryClaim:
            if isinstance(one, Context):
                return one.claim
            claims = [claim(each) for each in inside[one]]
            wanted = [each.most for each in claims if each.most is not None]
            bounds = [sum(wanted)] if len(wanted) == len(claims) else []
            own = [] if one.memory is None else [one.memory]
            return MemoryClaim(sum(each.held for each in claims), min(own + bounds, default=None))

        def give(one: ProcessGroup | Context, budget: int | None) -> None:
            if isinstance(one, Context):
                ceiling = one.member.group.memory_there
                found[one] = NO_LIMIT if budget is None or ceiling is None else min(budget, ceiling)
                return
            bounds = [each for each in (budget, one.memory) if each is not None]
            if bounds:
                shares: list[int] | list[None] = divided(min(bounds), [claim(each) for each in inside[one]])
            else:
                shares = [None] * len(inside[one])
            for each, share in zip(inside[one], shares, strict=True):
                give(each, share)

        if contexts:
            give(self._root, None)
        return found

    def _create(self, context: Context, terms: Terms) -> None:
        assert context.first is not None
        command, then = context.first
        context.first, context.asked = None, terms
        self._send(context, _on(terms, Compute.CREATE, command.key, context.state), then)
        for command, then in _taken(context.later):
            self._pass_on(context, command, then)

    def _configure(self, context: Context, terms: Terms) -> None:
        context.asked = terms
        self._send(context, _on(terms, Compute.CONFIGURE, MANAGER, context.state), lambda reply: None)

    def _send(self, context: Context, command: Command, then: Then) -> None:
        def answered(answer: Reply) -> None:
            self._learn(context, command, answer)
            then(answer)

        self._driver.ask(context.place, command, answered)

    def _learn(self, context: Context, command: Command, answer: Reply) -> None:
        """What an answer says of a context."""
        if self._contexts.get(context.place) is not context:
            return
        held, compute = context.held, command.compute
        if answer.done and (compute in _HOLDING or (compute is Compute.QUERY and command.amount == Query.MEMORY.code)):
            context.held = answer.high
        if compute is Compute.LAUNCH:  # what its end says is known when the GPU is lost before anybody asks it
            context.launches += answer.cycles
            context.used = replace(context.used, run=max(context.used.run, context.launches))
        # A process may try to configure its context, too: the GPU refuses that, and it says nothing of the terms.
        given = compute is Compute.CREATE or (compute is Compute.CONFIGURE and command.key == MANAGER)
        if given:
            if answer.done:
                context.terms = context.asked
            context.asked = None
        lost = answer.status in (None, AckStatus.NO_CONTEXT)
        if lost or (compute is Compute.DESTROY and answer.done) or (compute is Compute.CREATE and not answer.done):
            self._forget(context)
        elif compute is Compute.DESTROY:
            self._stays(context)
        elif context.asked is None and (held != context.held or given):
            self._settle(context.place.on)

    def _stays(self, context: Context) -> None:
        """Its GPU has refused to destroy it: the key was another one's."""
        context.leaving = False
        for command, then in _taken(context.later):
            self.ask(context.member, context.place, command, then)
        self._settle(context.place.on)

    def _forget(self, context: Context) -> None:
        """It is not there any more."""
        context.account(context.member.group)
        del self._contexts[context.place]
        context.member.places.discard(context.place)
        for command, then in _taken(context.later):
            self.ask(context.member, context.place, command, then)
        self._settle(context.place.on)

    # --------------------------------------------------------------------------------------------- who waits for them

    def _when_settled(self, gpus: set[Gpu], then: Callable[[], None]) -> None:
        busy = {gpu for gpu in gpus if not self._is_settled(gpu)}
        if busy:
            self._waiting.append((busy, then))
        else:
            then()

    def _is_settled(self, gpu: Gpu) -> bool:
        return not any(
            context.asked is not None or context.first is not None or context.leaving for context in self._on(gpu)
        )

    def _settled(self, gpu: Gpu) -> None:
        if not self._waiting or not self._is_settled(gpu):
            return
        for busy, _ in self._waiting:
            busy.discard(gpu)
        ready = [then for busy, then in self._waiting if not busy]
        self._waiting = [each for each in self._waiting if each[0]]
        for then in ready:
            then()


def _on(terms: Terms, compute: Compute, key: int, state: int) -> Command:
    return Command(compute, key, terms.limit, terms.slice, terms.priority, state)


def _taken(later: list[tuple[Command, Then]]) -> list[tuple[Command, Then]]:
    """All of them; the list is empty then."""
    found = [*later]
    later.clear()
    return found
