"""Contexts that drivers outside have created: whose they are, what they hold, and how they are given back.

A context belongs to the client whose program has created it, at a management port. When that client goes, whatever
became of its program, its contexts are destroyed, unless it has asked for them to stay. What is known of them are the
GPUs' own answers: a driver's commands are numbered, so that nobody else can ask its contexts for anything in between.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Command, ContextRef, Gpu, Reply, answer_of
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import AckStatus, Compute

_HEAD = 4  # bytes of a command's payload: the key
_GONE = (AckStatus.NO_CONTEXT, AckStatus.FOREIGN)
_COMMANDS = {compute.code: compute for compute in Compute}
_MEMORY = (Compute.CREATE, Compute.CONFIGURE, Compute.ALLOCATE, Compute.FREE)  # answered by pages held and limit


@dataclass(slots=True, eq=False)
class OutsideClient:
    """A client of a management port. `name`: as it said hello. `keeps`: its contexts stay when it goes. `number` and
    `pid`: of those that have created contexts, from 1 in the order in which they did; 0 before."""

    name: str = ""
    number: int = 0
    pid: int = 0
    keeps: bool = False
    here: bool = True


@dataclass(slots=True, eq=False)
class OutsideContext:
    """A context of such a client. `held` and `limit`: pages, as the GPU has last said. `sure`: the GPU has said that it
    is there; `leaving`: it is being destroyed."""

    place: ContextRef
    key: int
    client: OutsideClient
    held: int = 0
    limit: int = 0
    sure: bool = False
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class _Sent:
    """The last command that has passed to a context."""

    unit: int
    compute: Compute
    key: int
    client: OutsideClient


Then = Callable[[Reply], None]


@dataclass
class OutsideContexts:
    """`driver` carries out what is given back. `next_pid` numbers clients as processes of the server. Tell it
    what clients send (`sent`) and who goes (`gone`); the rest it hears from the driver."""

    driver: Driver
    next_pid: Callable[[], int]
    _clients: int = 0
    _there: dict[ContextRef, OutsideContext] = field(default_factory=dict)
    _sent: dict[ContextRef, _Sent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.driver.on_other, self.driver.on_counted = self.mail, self.counted

    def __iter__(self) -> Iterator[OutsideContext]:
        """Those that are there, by card, GPU and number; they may be gone where a GPU isn't counted (`lost`)."""
        found = [each for each in self._there.values() if each.sure]
        return iter(sorted(found, key=lambda each: (each.place.card, each.place.gpu, each.place.context)))

    def on(self, gpu: Gpu) -> list[OutsideContext]:
        """Those that a GPU has, may have, or is about to have."""
        found = [each for each in self._there.values() if each.place.on == gpu]
        return sorted(found, key=lambda each: each.place.context)

    def held(self) -> int:
        """Pages of all of them, on GPUs that are counted."""
        return sum(each.held for each in self if not self.lost(each))

    def lost(self, context: OutsideContext) -> bool:
        """Whether its card is counted without its GPU: it may be gone, or only cut off."""
        return self.driver.is_lost(context.place.on)

    def find(self, place: ContextRef) -> OutsideContext | None:
        """The one at this place."""
        return next((each for each in self if each.place == place), None)

    def gone(self, client: OutsideClient) -> None:
        """A client has gone: its contexts are destroyed, unless they are to stay."""
        client.here = False
        if not client.keeps:
            for context in [each for each in self._there.values() if each.client is client]:
                self.destroy(context)

    def destroy(self, context: OutsideContext, then: Then = lambda answer: None) -> None:
        """Have a context destroyed; `then` gets the answer. One whose GPU is lost is destroyed when that is counted
        again: it may only have been cut off."""
        if not context.sure and context.key == 0:  # that key would fit somebody else's
            del self._there[context.place]
            return
        if context.leaving:
            return
        context.leaving = True
        sent = self._sent.get(context.place)
        done = partial(self._destroyed, context, then)
        self.driver.ask(
            context.place, Command(Compute.DESTROY, context.key), done, above=sent.unit if sent is not None else 0
        )

    def sent(self, client: OutsideClient, place: ContextRef, work: Work) -> None:
        """A command of a client's, or a part of one, goes to this context."""
        if work.segment or work.compute not in _COMMANDS or len(work.payload) < _HEAD:
            return
        compute, key = _COMMANDS[work.compute], int.from_bytes(work.payload[:_HEAD])
        self._sent[place] = _Sent(work.unit, compute, key, client)
        if compute is Compute.CREATE and place not in self._there:
            self._there[place] = OutsideContext(place, key, client)

    def mail(self, message: Result | Acknowledgement) -> None:
        """A GPU has answered a command."""
        if not self._sent:
            return
        for place, sent in self._sent.items():
            if sent.unit == message.unit and place.on == (message.source_card, message.source):
                with suppress(KeyError):  # no status that there is
                    self._heard(place, sent, answer_of(message))
                return

    def counted(self, card: CardView) -> None:
        """These are the card's members now: what clients have left that have gone meanwhile is destroyed."""
        for context in [each for each in self._there.values() if each.place.card == card.number]:
            if not context.client.here and not context.client.keeps and not self.lost(context):
                self.destroy(context)

    def _heard(self, place: ContextRef, sent: _Sent, answer: Reply) -> None:
        context = self._there.get(place)
        if sent.compute is Compute.CREATE and answer.done:
            self._number(sent.client)
            if context is None or not context.sure or (context.key, context.client) != (sent.key, sent.client):
                context = self._there[place] = OutsideContext(place, sent.key, sent.client, sure=True)
        if context is None:
            return
        gone = answer.status is AckStatus.NO_CONTEXT or (sent.compute is Compute.DESTROY and answer.done)
        if gone or (answer.status is AckStatus.EXISTS and not context.sure):
            del self._there[place]
        elif answer.done and sent.compute in _MEMORY:
            context.held, context.limit = answer.high, answer.low

    def _number(self, client: OutsideClient) -> None:
        if not client.number:
            self._clients += 1
            client.number, client.pid = self._clients, self.next_pid()

    def _destroyed(self, context: OutsideContext, then: Then, answer: Reply) -> None:
        """Nobody's answer leaves it as it was: it is asked again at the next count."""
        context.leaving = False
        if (answer.done or answer.status in _GONE) and self._there.get(context.place) is context:
            del self._there[context.place]
        then(answer)
