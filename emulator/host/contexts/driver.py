"""The driver (S3): brings commands to contexts of GPUs, by way of the CPU's link, the entry GPU and the ring.

Each command is carried out once: a context's commands go out one after the other, the next one when the last one is
answered, and what isn't answered in time goes out again with the same number, which the GPU knows. A launch is answered
when the GPU has taken it, so that others may follow, and once more when it is over; that is asked for again, too. A
launch that was asked for again may reach the GPU behind its end: then the end is still to be told when the next launch
comes, and the GPU refuses that as `running`; it is asked for under another number. When its card is counted and a GPU
isn't there any more, all that it was asked is lost, and so are its contexts. While nobody counts the card, its commands
wait: the next entry GPU finds the contexts as they were.

A GPU that is found again may still have the contexts that were lost, and so may one that has left thirty attempts
without an answer: it may be cut off, and nobody knows which one is (`records: never`), or nobody reaches its card. They
are destroyed first (`leftovers.py`): until that is answered it is asked for nothing else. A context to which a driver
outside has spoken may be silent for that reason, and is no reason to wait.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import LOST, Command, ContextRef, Gpu, Reply, answer_of, unit_of
from ringhil.emulator.host.contexts.leftovers import Leftovers
from ringhil.emulator.host.work import segments
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import CONTEXTS, FLIT_BYTES, AckStatus, Compute, ResultStatus

Then = Callable[[Reply], None]
_MORE = 8  # times as long as the first attempt may one take at most
_MOST = 30  # attempts without an answer, after which nobody waits any more
_HIGHEST = 0xFFFF0000  # unit of somebody else's behind which a command may follow
_AGAIN = (AckStatus.BUSY, AckStatus.INCOMPLETE)  # it has reached nobody: a segment was lost


@dataclass(slots=True)
class _Asked:
    place: ContextRef
    command: Command
    then: Then
    unit: int = 0
    attempt: int = 0
    heard: int = 0  # the attempt after which its GPU last said that a launch is under way
    under_way: int = 0  # times that it has said so
    refused: int = 0  # as running, when nothing runs that anybody waits for
    looks: int = 0  # planned: only the last one counts
    unsent: bool = False  # the last attempt had nowhere to go
    above: int = 0  # its unit must be higher: that of somebody else's last command to this context


@dataclass(slots=True)
class _Line:
    """A context's commands: the one that is out, those that wait for it, the launch that was taken."""

    out: _Asked | None = None
    waiting: deque[_Asked] = field(default_factory=deque)
    launch: _Asked | None = None


class Driver:
    """`patience`: cycles that an answer may take, beyond its command's way over the link. Give it what comes back
    (`mail`), and say when a card has been counted (`counted`)."""

    def __init__(self, port: CardPort, cards: Sequence[CardView], patience: int) -> None:
        self._port, self._cards, self._patience = port, cards, patience
        self._lines: dict[ContextRef, _Line] = {}
        self._asked: dict[int, _Asked] = {}  # by unit: out, or launched
        self._leftovers = Leftovers()
        self._others: set[ContextRef] = set()  # contexts to which somebody else has spoken
        self._number = 0
        self.resent = 0
        self.launched = Counter[Gpu]()  # launches that GPUs have taken
        self.on_other: Callable[[Result | Acknowledgement], None] = lambda message: None
        self.on_counted: Callable[[CardView], None] = lambda card: None

    def ask(self, place: ContextRef, command: Command, then: Then, *, above: int = 0) -> None:
        """Have a command carried out; `then` gets its answer, a launch's when it is over. `above`: the last unit's
        number that somebody else has given this context; behind the last numbers nothing can follow: it is lost."""
        if self.is_lost(place.on) or above >= _HIGHEST:
            self._port.after(1, partial(then, LOST))
            return
        self._line(place).waiting.append(_Asked(place, command, then, above=above))
        self._next(place)

    def mail(self, message: Result | Acknowledgement) -> None:
        """A GPU has answered. What nobody waits for here is somebody else's."""
        asked = self._asked.get(message.unit)
        if asked is None or (message.source_card, message.source) != (asked.place.card, asked.place.gpu):
            self.on_other(message)
            return
        try:
            answer = answer_of(message)
        except KeyError:
            return
        line = self._lines[asked.place]
        self._leftovers.answered(asked.place, asked.command.compute, asked.command.key, answer)
        if asked is line.launch:
            if answer.status is ResultStatus.STARTED:
                asked.heard = asked.attempt
                asked.under_way += 1
            else:
                line.launch = None
                self._end(asked, LOST if answer.status is AckStatus.NO_CONTEXT else answer)
        elif answer.status not in _AGAIN:
            self._answered(line, asked, answer)

    def pass_on(self, card: CardView, place: ContextRef, frame: bytes) -> None:
        """Send a command of somebody else's to this context, or a part of one, to a card with an entry GPU; the answer
        is theirs."""
        assert card.cell is not None
        if place.gpu < card.size and place.context < CONTEXTS:
            self._others.add(place)
        self._port.send(card.cell, [frame])
        card.link_free_at = max(card.link_free_at, self._port.now) + len(frame) // FLIT_BYTES

    def counted(self, card: CardView) -> None:
        """These are its members now: the contexts of others are lost."""
        gone = [place for place in self._lines if place.card == card.number and self.is_lost(place.on)]
        for place in gone:
            self._give_up(place)
        for line in [self._lines.pop(place) for place in gone]:
            self._lose(line)
        for gpu in range(card.size):
            self._clear((card.number, gpu))
        self.on_counted(card)

    def is_lost(self, gpu: Gpu) -> bool:
        """Its card is counted without it, or it is lent."""
        card = self._cards[gpu[0]]
        return gpu[1] in card.lent or (bool(card.members) and gpu[1] not in card.members)

    def held(self, gpu: Gpu) -> list[ContextRef]:
        """The contexts that a GPU has, may have, or is about to have, as far as this driver was asked for them."""
        asked = [
            place
            for place, line in self._lines.items()
            if place.on == gpu
            and any(a.command.compute is Compute.CREATE for a in ([line.out] if line.out else []) + [*line.waiting])
        ]
        return sorted({*asked, *self._leftovers.held(gpu)}, key=lambda place: place.context)

    def give_up(self, place: ContextRef) -> None:
        """Nobody uses this context any more: it is destroyed as soon as its GPU can be asked for that."""
        line = self._lines.get(place)
        if line is not None:
            self._give_up(place)
            self._lose(line)
            self._clear(place.on)

    def never_ends(self, longest: Callable[[int], int]) -> bool:
        """Whether a GPU has said of a launch, so often that it can't be, that it is still under way. `longest`: cycles
        that one of so many may take."""
        return any(
            line.launch.under_way > _MOST + longest(line.launch.command.amount) // self._patience
            for line in self._lines.values()
            if line.launch is not None
        )

    # ------------------------------------------------------------------------------------------------------ one by one

    def _answered(self, line: _Line, asked: _Asked, answer: Reply) -> None:
        launch = asked.command.compute is Compute.LAUNCH
        if launch and answer.status is ResultStatus.RUNNING and line.launch is None and asked.refused < _MOST:
            self._put_off(asked)
            return
        line.out = None
        if launch and answer.status is ResultStatus.STARTED:
            line.launch, asked.attempt, asked.heard = asked, 0, 0
            self.launched[asked.place.on] += 1
            self._watch(asked)
        else:
            self._end(asked, answer)
        self._next(asked.place)

    def _end(self, asked: _Asked, answer: Reply) -> None:
        self._asked.pop(asked.unit, None)
        asked.then(answer)

    def _line(self, place: ContextRef) -> _Line:
        return self._lines.setdefault(place, _Line())

    def _next(self, place: ContextRef) -> None:
        line = self._line(place)
        if self._leftovers.on(place.on):
            self._clear(place.on)
        elif line.out is None and line.waiting:
            line.out = asked = line.waiting.popleft()
            self._send_new(asked)

    def _put_off(self, asked: _Asked) -> None:
        """Ask for a launch again: at once for the first time, as the end that is in its way leaves next."""
        del self._asked[asked.unit]
        delay = self._patience if asked.refused else 1
        asked.refused += 1
        self._port.after(delay, partial(self._once_more, asked))

    def _once_more(self, asked: _Asked) -> None:
        line = self._lines.get(asked.place)
        if line is not None and line.out is asked:  # its GPU is still there
            self._send_new(asked)

    def _send_new(self, asked: _Asked) -> None:
        asked.unit, asked.attempt, asked.heard = self._next_unit(asked.above), 0, 0
        self._asked[asked.unit] = asked
        self._send(asked)

    def _next_unit(self, above: int) -> int:
        if unit_of(self._number) > above:
            self._number += 1
            above = unit_of(self._number - 1) - 1
        while above + 1 in self._asked:
            above += 1
        return above + 1

    # ------------------------------------------------------------------------------------------------- what is given up

    def _give_up(self, place: ContextRef) -> None:
        """Nobody waits for this context any more."""
        self._may_be_carried_out(self._lines[place].out)
        self._leftovers.give_up(place)

    def _may_be_carried_out(self, asked: _Asked | None) -> None:
        if asked is not None and asked.command.compute is Compute.CREATE:
            self._leftovers.made(asked.place, asked.command.key)

    def _lose(self, line: _Line) -> None:
        """Tell all who wait for it."""
        under_way = [asked for asked in (line.launch, line.out) if asked is not None]
        line.launch = line.out = None
        self._lose_waiting(line, under_way)

    def _lose_waiting(self, line: _Line, under_way: Sequence[_Asked] = ()) -> None:
        lost = [*under_way, *line.waiting]
        line.waiting.clear()
        for asked in lost:
            self._end(asked, LOST)

    def _clear(self, gpu: Gpu) -> None:
        """Destroy what is left there, all of it at once, unless it is lost."""
        for place, key in [] if self.is_lost(gpu) else [*self._leftovers.on(gpu).items()]:
            line = self._line(place)
            if line.out is None:
                line.out = asked = _Asked(place, Command(Compute.DESTROY, key), partial(self._cleared, place))
                self._send_new(asked)
            elif line.out.unsent and self._cards[gpu[0]].entry is not None:
                self._send(line.out)

    def _cleared(self, place: ContextRef, answer: Reply) -> None:
        """The last one lets through what has come meanwhile; when nobody answers, that is lost, too."""
        clean = self._leftovers.cleared(place, answer)
        for other in [each for each in self._lines if each.on == place.on]:
            if clean:
                self._next(other)
            elif answer.status is None:
                self._lose_waiting(self._lines[other])

    # ------------------------------------------------------------------------------------------------------------ wire

    def _send(self, asked: _Asked) -> None:
        """Once more, if it has been before; not while the card has no entry GPU: then its time goes on."""
        card, place = self._cards[asked.place.card], asked.place
        asked.attempt += 1
        self.resent += asked.attempt > 1
        asked.unsent = card.entry is None
        if card.entry is not None and card.cell is not None:
            data = asked.command.payload()
            distance = (place.gpu - card.entry) % card.size
            ccw = (distance > card.size // 2) != (asked.attempt % 2 == 0)
            route = segments.Route(card.number, card.number, card.entry, place.gpu, ccw, card.size + 1, card.epoch)
            frames = segments.segments(
                asked.unit, asked.attempt % 2**16, data, route, asked.command.compute, place.context
            )
            self._port.send(card.cell, frames)
            card.link_free_at = max(card.link_free_at, self._port.now) + segments.flits(len(data))
        self._watch(asked)

    def _watch(self, asked: _Asked) -> None:
        """Look after a while whether it has been answered; a launch that is under way may take as long as it asks
        for, and what the others have."""
        card = self._cards[asked.place.card]
        allowed = self._patience + 4 * max(0, card.link_free_at - self._port.now)
        if asked is self._lines[asked.place].launch:
            allowed += asked.command.amount
        asked.looks += 1
        self._port.after(allowed * min(asked.attempt + 1, _MORE), partial(self._look, asked, asked.looks))

    def _look(self, asked: _Asked, look: int) -> None:
        if self._asked.get(asked.unit) is not asked or asked.looks != look:
            return
        line = self._lines[asked.place]
        if asked.attempt - asked.heard < _MOST:
            self._send(asked)
        elif asked.place not in self._others:
            self._give_up(asked.place)
            self._lose(line)
        elif asked is line.launch:
            line.launch = None
            self._end(asked, LOST)
        else:
            self._may_be_carried_out(asked)
            self._answered(line, asked, LOST)
