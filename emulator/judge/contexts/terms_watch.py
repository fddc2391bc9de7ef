"""What contexts of applications are given: the least slice and priority of the groups around each, and its part of the
memory (docs/howto/sharing.md, S1).

Read off the commands that create and configure them. Which groups there are is what the file says, until somebody
writes to a group: then what is written there. A limit rises only when those of all others in each group leave room for
it. When nothing is under way on a GPU, its contexts have what a fair division gives them. Who is there is what the CPU
has been told: contexts that a GPU lost in a fault take their part until somebody hears of that, those of a GPU that
wasn't found by a census take none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.groups.group import ProcessGroup
from ringhil.emulator.host.groups.tree import GroupTree
from ringhil.emulator.judge.contexts.commands_seen import MANAGER, REACHED_NOBODY, SPOKEN, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent
from ringhil.emulator.judge.findings import FindingList, Value, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.emulator.scenario import Sharing
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus


@dataclass
class Sharer:
    """A context (`held` pages; `name` says which) or a group of them, with its `limit`."""

    limit: int | None = None
    held: int = 0
    name: int | None = None
    inside: "list[Sharer]" = field(default_factory=list)

    @property
    def least(self) -> int:
        """Pages that it keeps."""
        return self.held + sum(each.least for each in self.inside)

    @property
    def most(self) -> int | None:
        """Pages that it can have at most; None: any number."""
        wanted = [each.most for each in self.inside]
        inner = None if not self.inside or None in wanted else sum(most for most in wanted if most is not None)
        return min((bound for bound in (self.limit, inner) if bound is not None), default=None)


def fair_shares(one: Sharer, budget: Fraction | None = None) -> dict[int, Fraction | None]:
    """By name of a context, its part; None: as much as there is."""
    if one.name is not None:
        return {one.name: budget}
    bounds = [Fraction(bound) for bound in (budget, one.limit) if bound is not None]
    parts = _even(min(bounds), one.inside) if bounds else [None] * len(one.inside)
    return {
        name: part
        for each, share in zip(one.inside, parts, strict=True)
        for name, part in fair_shares(each, share).items()
    }


def _even(budget: Fraction, sharers: Sequence[Sharer]) -> list[Fraction | None]:
    """Those who can't take an even part are served first, those who keep too much or those who may have too little,
    whichever weigh more; the others share the rest."""
    parts: list[Fraction | None] = [None] * len(sharers)
    left = list(range(len(sharers)))
    while left:
        even = budget / len(left)
        full = [n for n in left if sharers[n].least > even]
        small = [n for n in left if (most := sharers[n].most) is not None and max(most, sharers[n].least) < even]
        over = sum((sharers[n].least - even for n in full), Fraction())
        under = sum((even - _bound(sharers[n]) for n in small), Fraction())
        for n in full if over >= under and full else small:
            parts[n] = Fraction(sharers[n].least) if n in full else Fraction(_bound(sharers[n]))
            budget -= parts[n] or 0
            left.remove(n)
        if not full and not small:
            for n in left:
                parts[n] = max(even, Fraction())
            break
        budget = max(budget, Fraction())
    return parts


def _bound(sharer: Sharer) -> int:
    return max(sharer.most or 0, sharer.least)


_TELL_HELD = (Compute.CREATE, Compute.CONFIGURE, Compute.ALLOCATE, Compute.FREE)
_OF_MEMORY = (*_TELL_HELD, Compute.DESTROY)
_UNLIMITED = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class _Given:
    """By somebody around a context, from within to without; the key says who."""

    around: tuple[tuple[int, int | None], ...]  # key and memory
    slice: int
    priority: int

    @property
    def most(self) -> int:
        """Pages that the narrowest of them allows."""
        return min((memory for _, memory in self.around if memory is not None), default=_UNLIMITED)


@dataclass(slots=True)
class _Context:
    """`limits`: those that it may have now, `asked` is the last one."""

    name: str
    state: int
    allowed: list[_Given]  # since the last command that has given it something, or its GPU had nothing to do
    held: int = 0
    limit: int | None = None  # None: it isn't there
    asked: int | None = None

    @property
    def most(self) -> int:
        return max(self.limit or 0, self.asked or 0)


@dataclass(slots=True)
class _Sent:
    """`allowed`: what its context may have been given then; what was decided before a write may go out after it."""

    place: Place
    allowed: tuple[_Given, ...]
    limit: int
    at: int
    creates: bool


class TermsWatch:
    """`sharing`: of the file; None: there are no applications. `places`: by application, the context that it uses, and
    `gpus` the GPU that the file names. `works`: whether an application has begun, and not ended: it may wait for its
    context, and nobody has seen that yet. `views`: what the CPU knows of its cards."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        sharing: Sharing | None,
        tree: GroupTree,
        places: Mapping[str, Place],
        gpus: Mapping[str, Gpu],
        works: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._tree, self._works = tree, works
        self._contexts: dict[Place, _Context] = {}
        self._commands: dict[tuple[Place, int], SeenCommand] = {}  # that aren't answered, by unit
        self._launches: dict[tuple[Place, int], SeenCommand] = {}  # out when another command was sent; nobody waits
        self._new: list[_Sent] = []
        self._busy = defaultdict[Gpu, bool](bool)  # something has happened since its division was looked at
        self._now = 0
        self.terms = FindingList()
        self.memory = FindingList()
        self._spoken: set[Gpu] = set()  # a driver outside has spoken to a context of its applications
        self._doubts: dict[Gpu, str] = {}  # the first one of each
        for application in sharing.applications if sharing else ():
            name, place = application.name, places[application.name]
            if place[:2] != gpus[name] or place in self._contexts:
                self.terms.tell(0, "{} uses context {} of {}", Value(name), place[2], numbered(place[:2]))
            assert sharing is not None
            self._contexts[place] = _Context(name, application.state, [_of_file(sharing, name)])
        if not self._contexts:
            return
        tree.on_changed = self._changed
        stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
        stream.listen(AnswerTaken, lambda o: self.heard(o.message, o.cycle))
        stream.listen(ReportTaken, lambda o: self.counted(views[o.card]))
        stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))

    def _changed(self) -> None:
        """Somebody has written to a group; the GPUs are told next."""
        self._judge_new()
        self._busy.clear()
        groups = {member.name: member.group for member in self._tree.members()}
        for context in self._contexts.values():
            if context.name in groups:
                context.allowed.append(_of_tree(groups[context.name]))

    # ------------------------------------------------------------------------------------------------- what is seen

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        place = command.place
        context = self._contexts.get(place)
        if context is None or (place, command.unit) in self._commands:
            return
        self._look(now)
        self._commands[place, command.unit] = command
        self._busy[command.gpu] |= command.compute in _OF_MEMORY
        if _gives_terms(command):
            allowed = tuple(context.allowed)
            self._given(context, command, now)
            self._new.append(_Sent(place, allowed, command.amount, now, command.compute is Compute.CREATE))

    def _given(self, context: _Context, command: SeenCommand, now: int) -> None:
        last = context.allowed[-1]
        for what, said, right in (
            ("slice", command.slice, [each.slice for each in context.allowed]),
            ("priority", command.priority, [each.priority for each in context.allowed]),
            ("state", command.state, [context.state]),
        ):
            if said not in right:
                text = say(
                    "{} was given {} {found}; it may have {expected}",
                    Value(context.name),
                    what,
                    found=said,
                    expected=right[-1],
                )
                self._tell(self.terms, command.gpu, text, now)
        context.allowed = [last]

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self._look(now)
        refused = isinstance(message, Acknowledgement)
        done = not refused and message.status == ResultStatus.DONE.code
        for out in () if refused and message.status in REACHED_NOBODY else (self._commands, self._launches):
            for place, unit in [*out]:
                if unit == message.unit and place[:2] == (message.source_card, message.source):
                    self._answered(out.pop((place, unit)), message, done=done)
        self._judge_new()

    def _answered(self, command: SeenCommand, message: Result | Acknowledgement, *, done: bool) -> None:
        context = self._contexts[command.place]
        self._busy[command.gpu] |= command.compute in _OF_MEMORY
        if done and isinstance(message, Result) and command.compute in _TELL_HELD:
            context.held = message.digest >> 32
        if _gives_terms(command):
            if done:
                context.limit = command.amount
            if context.asked == command.amount:
                context.asked = None
        gone = isinstance(message, Acknowledgement) and message.status == AckStatus.NO_CONTEXT.code
        if gone or command.compute is Compute.DESTROY or (command.compute is Compute.CREATE and not done):
            context.limit = context.asked = None
            context.held = 0

    def counted(self, card: CardView) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        for place in self._contexts if card.members else ():
            if place[0] == card.number and place[1] not in card.members:
                self._forget(place)

    def _forget(self, place: Place) -> None:
        """It is lost, whatever it was asked."""
        context = self._contexts[place]
        context.limit = context.asked = None
        context.held = 0
        for out in self._commands, self._launches:
            for key in [key for key in out if key[0] == place]:
                del out[key]
        self._new = [sent for sent in self._new if sent.place != place]

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context."""
        if place in self._contexts:
            self._spoken.add(place[:2])

    @property
    def doubts(self) -> Iterable[str]:
        """What might be wrong, and why nobody knows."""
        return self._doubts.values()

    def finish(self, now: int) -> None:
        """The run is over."""
        self._look(now + 1)

    # -------------------------------------------------------------------------------------------------------- memory

    def _look(self, now: int) -> None:
        if now <= self._now:
            return
        self._now = now
        self._judge_new()
        last = dict(sorted(self._commands))
        for place, unit in [key for key in self._commands if last[key[0]] != key[1]]:
            given_up = self._commands.pop((place, unit))
            if given_up.compute is Compute.LAUNCH:
                self._launches[place, unit] = given_up
        asked = {command.gpu for command in self._commands.values()}
        for gpu in {place[:2] for place in self._contexts} - asked:
            for context in self._on(gpu).values():
                context.allowed = context.allowed[-1:]
            waits = any(each.limit is None and self._works(each.name) for each in self._on(gpu).values())
            if self._busy[gpu] and not waits:
                self._busy[gpu] = False
                self._divided(gpu, now)

    def _on(self, gpu: Gpu) -> dict[Place, _Context]:
        return {place: context for place, context in self._contexts.items() if place[:2] == gpu}

    def _judge_new(self) -> None:
        """What was sent goes with the answer that is told after it."""
        new, self._new = [sent for sent in self._new if self._may_give(sent)], []
        before = {sent.place: self._contexts[sent.place].most for sent in new}
        for sent in new:
            self._contexts[sent.place].asked = sent.limit
        for sent in new:
            context, gpu = self._contexts[sent.place], sent.place[:2]
            if sent.limit > max(context.held, *(given.most for given in sent.allowed)):
                text = say(
                    "{} was given {found} pages; it may have {expected}",
                    Value(context.name),
                    found=sent.limit,
                    expected=sent.allowed[-1].most,
                )
                self._tell(self.memory, gpu, text, sent.at)
            elif sent.limit > before[sent.place]:
                wrong = [self._too_much(context, given, gpu) for given in sent.allowed]
                if all(wrong):
                    self._tell(self.memory, gpu, wrong[-1], sent.at)

    def _may_give(self, sent: _Sent) -> bool:
        """A context that is gone is given nothing: what it was asked has waited for the answer that says so."""
        context = self._contexts[sent.place]
        return sent.creates or context.limit is not None or context.asked is not None

    def _too_much(self, context: _Context, given: _Given, gpu: Gpu) -> str:
        """Why a limit leaves no room in a group for those of the others; empty: it does."""
        others = self._on(gpu).values()
        for key, memory in given.around:
            if memory is None:
                continue
            mine = [each for each in others if any(key == other for other, _ in each.allowed[-1].around)]
            most, held = sum(each.most for each in mine), sum(each.held for each in mine)
            if most > max(memory, held):
                text = say(
                    "{} was given {} pages while its group may come to hold {}", context.name, context.asked, most
                )
                return say("{}, and may have {expected}", text, expected=memory)
        return ""

    def _divided(self, gpu: Gpu, now: int) -> None:
        there = {place: each for place, each in self._on(gpu).items() if each.limit is not None}
        root, groups = Sharer(), dict[int, Sharer]()
        for place, context in there.items():
            inner = Sharer(held=context.held, name=place[2])
            for key, memory in context.allowed[-1].around:
                known = key in groups
                group = groups.setdefault(key, Sharer(memory))
                group.inside.append(inner)
                if known:
                    break
                inner = group
            else:
                root.inside.append(inner)
        shares = fair_shares(root)
        for place, context in there.items():
            given = context.allowed[-1]
            share, deep = shares[place[2]], len(given.around)
            if share is not None:  # who holds more than the groups around it allow keeps that, and gets nothing more
                share = min(share, Fraction(given.most))
            limit = context.limit
            assert limit is not None
            right = limit == _UNLIMITED if share is None else abs(limit - share) < 1 + deep
            if not right:
                part = "as much as there is" if share is None else Value(str(int(share)))
                self._tell(
                    self.memory,
                    gpu,
                    say("{} has a limit of {} pages; its part is {}", Value(context.name), limit, part),
                    now,
                )

    def _tell(self, found: FindingList, gpu: Gpu, what: str, now: int) -> None:
        if gpu in self._spoken:
            self._doubts.setdefault(gpu, say("{}: {}", what, SPOKEN))
        else:
            found.tell(now, what)


def _gives_terms(command: SeenCommand) -> bool:
    """Whether it says what a context may have: limit, slice, priority and state."""
    return command.compute is Compute.CREATE or (command.compute is Compute.CONFIGURE and command.key == MANAGER)


def _of_file(sharing: Sharing, name: str) -> _Given:
    """As the file says. Keys: the numbers of the groups; each application's own group has one behind them."""
    number, one = next((n, each) for n, each in enumerate(sharing.applications) if each.name == name)
    inner = [(n, g) for n, g in enumerate(sharing.groups) if f"{one.group}/".startswith(f"{g.path}/")]
    inner.sort(key=lambda each: -len(each[1].path))
    slices = [each for each in (one.slice, *(group.slice for _, group in inner)) if each]
    levels = [one.priority or None, *(group.priority for _, group in inner)]
    around = ((len(sharing.groups) + number, one.memory), *((n, group.memory) for n, group in inner))
    given = [each for each in levels if each is not None]
    return _Given(around, min(slices, default=0), min(given, default=0))


def _of_tree(group: ProcessGroup) -> _Given:
    """As was written; keys: the groups themselves."""
    chain = list[ProcessGroup]()
    at: ProcessGroup | None = group
    while at is not None and at.parent is not None:
        chain.append(at)
        at = at.parent
    slices = [each.slice for each in chain if each.slice is not None]
    levels = [each.priority for each in chain if each.priority is not None]
    around = tuple((-id(each), each.memory) for each in chain)
    return _Given(around, min(slices, default=0), min(levels, default=0))
