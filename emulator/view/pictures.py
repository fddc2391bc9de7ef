"""How a server was in a cycle, as its recording tells it: roles, faults, loans, counts, shares, turns of contexts.

Events are read once, in their order; now and then the picture is kept, so that any other is found from one of these.
However long a recording is, no more than `KEPT` are.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from typing import Any

from ringhil.emulator.events.recorded import MEMORY_HELD, STRUCK, TURN
from ringhil.emulator.events.server import (
    Draining,
    FirmwareLost,
    FirmwareStopped,
    Flapped,
    LossOver,
    NodeLost,
    NotLent,
    SharedOut,
)
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import LENDINGS, Trait, having
from ringhil.emulator.trace.recording import RecordedEvent, Recording
from ringhil.emulator.view.messages import CardAbout, CardPicture, GpuPicture, LinkPicture, ViewPicture
from ringhil.emulator.view.places import Wires
from ringhil.firmware.observations import Counted, Deposed, Elected, Granted, Lapsed

KEPT = 256  # pictures
_STEP = 512  # rows between two of them, at first
_CHUNK = 1_000  # events that are read at a time
_PARTS = ("gpu", "link", "card", *LENDINGS)  # where an event of the timeline strikes

Key = tuple[str, str]  # what, and of which GPU, card or link


class ToldPicture:
    """What is so after a row. Values are never changed in place, so that a copy is a picture of its own."""

    def __init__(self, values: dict[Key, Any] | None = None) -> None:
        self.values: dict[Key, Any] = {} if values is None else values
        self._changed = False

    def copy(self) -> "ToldPicture":
        """What is so now."""
        return ToldPicture(dict(self.values))

    def take(self, event: RecordedEvent, said: dict[str, Any], gpu: str, card: str) -> bool:
        """One more event; whether anything is otherwise now. `gpu`: where it was said, empty: by the CPU or the file;
        `card`: that which it is about."""
        act = _ACTS.get(event.kind)
        self._changed = False
        if act is not None:
            act(self, event.cycle, said, gpu, card)
        return self._changed

    def _set(self, what: str, where: str, value: Any) -> None:
        self._changed |= self.values.get((what, where)) != value
        self.values[what, where] = value

    def _with(self, what: str, where: str, one: str, there: bool) -> None:
        """A set of words with one more, or one less."""
        found: frozenset[str] = self.values.get((what, where), frozenset())
        self._set(what, where, found | {one} if there else found - {one})

    def struck(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A fault begins or ends; a GPU is lent, or comes back."""
        where = next((str(said[name]) for name in _PARTS if name in said), "")
        lent = next((name for name in LENDINGS if name in said), None)
        if lent is not None:
            self._set("lent", where, lent == EventAction.LEND)
            self._set("draining", where, False)
        else:
            self._with("faults", where, str(said.get("fault") or said.get("clear")), "fault" in said)

    def elected(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A role is taken up."""
        self._with("roles", gpu, str(said.get("role")), True)

    def deposed(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A role is laid down, or lost."""
        self._with("roles", gpu, str(said.get("role")), False)

    def stopped(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A GPU has failed, and its roles with it."""
        self._set("roles", gpu, frozenset())

    def lost(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """Firmware, or hardware outside, is gone for good."""
        self._set("roles", gpu, frozenset())
        self._set("lost", gpu, True)

    def flapped(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A flapping GPU has failed, or recovered."""
        self._set("down", str(said.get("gpu")), bool(said.get("failed")))

    def loss_over(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A loss of keepalives has ended by itself."""
        self._with("faults", gpu, "keepalive_loss", False)

    def draining(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A GPU is to be lent, and gets no new work."""
        self._set("draining", gpu, True)

    def not_lent(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A GPU stays."""
        self._set("draining", gpu, False)

    def counted(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A census was accepted."""
        self._set("count", card, (_whole(said.get("count")), _all_whole(said.get("members")), cycle))

    def granted(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """The CPU grants the entry role of a card; a GPU that grants is the other end of the link, and has the role."""
        if gpu:
            self._with("roles", gpu, str(said.get("role")), True)
        elif said.get("role") == "entry":
            self._set("lease", card, (_whole(said.get("rank")), _whole(said.get("epoch"))))

    def lapsed(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """It has ended."""
        if gpu:
            self._with("roles", gpu, str(said.get("role")), False)
        elif said.get("role") == "entry":
            self._set("lease", card, (None, _whole(said.get("epoch"))))

    def shared_out(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """Work is split over the cards."""
        self._set("shares", "", _all_whole(said.get("shares")) or [])

    def turn(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """A context has the engine, or none."""
        self._set("turn", gpu, (_whole(said.get("context")), said.get("switching") is True))

    def memory_held(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        """Contexts hold other memory."""
        self._set("pages", gpu, _whole(said.get("pages")))


def _row(recording: Recording, cycle: int) -> int:
    """The last one of a cycle or before; 0: there is none."""
    found = recording.at(cycle)
    return 0 if found is None else found.number


def _whole(value: object) -> int | None:
    """A number, whatever a file has there."""
    return value if type(value) is int else None


def _all_whole(value: object) -> list[int] | None:
    return [each for each in value if type(each) is int] if isinstance(value, list) else None


_Act = Callable[[ToldPicture, int, dict[str, Any], str, str], None]
_ACTS: dict[str, _Act] = {
    STRUCK: ToldPicture.struck,
    TURN: ToldPicture.turn,
    MEMORY_HELD: ToldPicture.memory_held,
    Counted.__name__: ToldPicture.counted,
    Deposed.__name__: ToldPicture.deposed,
    Draining.__name__: ToldPicture.draining,
    Elected.__name__: ToldPicture.elected,
    FirmwareLost.__name__: ToldPicture.lost,
    FirmwareStopped.__name__: ToldPicture.stopped,
    Flapped.__name__: ToldPicture.flapped,
    Granted.__name__: ToldPicture.granted,
    Lapsed.__name__: ToldPicture.lapsed,
    LossOver.__name__: ToldPicture.loss_over,
    NodeLost.__name__: ToldPicture.lost,
    NotLent.__name__: ToldPicture.not_lent,
    SharedOut.__name__: ToldPicture.shared_out,
}


class Pictures:
    """Of a recording, as far as it has been read; `read` reads on."""

    def __init__(self, recording: Recording, wires: Wires) -> None:
        self._gpus, self._wires = recording.gpus, wires
        self._cards = [card.name for card in wires.cards]
        self._now, self.upto = ToldPicture(), 0  # up to which row
        self._kept: list[tuple[int, ToldPicture]] = [(0, ToldPicture())]
        self._apart = _STEP

    def read(self, recording: Recording, last: int) -> bool:
        """Some more events, up to row `last`; whether that is reached. Raises RecordingError."""
        found = list(islice(recording.events(self.upto + 1, last), _CHUNK))
        for event in found:
            if self.take(recording, self._now, event) and event.number - self._kept[-1][0] >= self._apart:
                self._keep(event.number)
        self.upto = found[-1].number if len(found) == _CHUNK else max(self.upto, last)
        return self.upto >= last

    def _keep(self, number: int) -> None:
        self._kept.append((number, self._now.copy()))
        if len(self._kept) > KEPT:
            self._kept = self._kept[::2]
            self._apart *= 2

    def take(self, recording: Recording, told: ToldPicture, event: RecordedEvent) -> bool:
        """One more event into a picture; whether it is another now."""
        said = recording.said(event)
        gpu = "" if event.cell is None else self._gpus[event.cell]
        number = said.get("card")
        card = self._cards[number] if type(number) is int and 0 <= number < len(self._cards) else ""
        return told.take(event, said, gpu, gpu.rpartition(".")[0] or card)

    def picture(self, recording: Recording, cycle: int) -> ViewPicture:
        """Of a cycle up to which all was read. Raises RecordingError."""
        row = _row(recording, cycle)
        number, told = self._kept[bisect_right(self._kept, row, key=lambda kept: kept[0]) - 1]
        told = told.copy()
        for event in recording.events(number + 1, row):
            self.take(recording, told, event)
        return self.shown(told, cycle, max(cycle, self._until(recording, told.copy(), row)), row)

    def all(self, recording: Recording, wanted: Callable[[int], bool]) -> Iterator[ViewPicture]:
        """That of the beginning, and of each cycle in which something changes and which is wanted. Raises
        RecordingError."""
        told = ToldPicture()
        found: ViewPicture | None = self.shown(told, 0, 0, _row(recording, 0))
        for cycle, events in groupby(recording.events(), key=lambda event: event.cycle):
            changed = False
            for event in events:
                changed |= self.take(recording, told, event)
            if not changed:
                continue
            if found is not None and cycle > found.cycle:
                yield found.model_copy(update={"until": cycle - 1})
            found = self.shown(told, cycle, cycle, _row(recording, cycle)) if not cycle or wanted(cycle) else None
        if found is not None:
            yield found.model_copy(update={"until": max(found.cycle, recording.last_cycle)})

    def _until(self, recording: Recording, told: ToldPicture, row: int) -> int:
        """The last cycle up to which it is known that nothing changes after a row."""
        last = max(self.upto, row)
        following = list(islice(recording.events(row + 1, last), _CHUNK))
        for event in following:
            if self.take(recording, told, event):
                return event.cycle - 1
        end = following[-1] if len(following) == _CHUNK else next(recording.all(last, last), None)
        return 0 if end is None else end.cycle - 1

    def shown(self, told: ToldPicture, cycle: int, until: int, row: int) -> ViewPicture:
        """What is so as the page has it."""
        return drawn(told, self._gpus, self._wires.cards, cycle, until, row)


def drawn(told: ToldPicture, gpus: list[str], cards: list[CardAbout], cycle: int, until: int, row: int) -> ViewPicture:
    """What is so as the page has it."""
    values = told.values
    links = sorted((where, found) for (what, where), found in values.items() if what == "faults" and "-" in where)
    shares = values.get(("shares", ""), [])
    return ViewPicture(
        cycle=cycle,
        until=until,
        row=row,
        exact=False,
        gpus=[_gpu(gpu, values) for gpu in gpus],
        cards=[
            _card(card, shares[number] if number < len(shares) else None, values) for number, card in enumerate(cards)
        ],
        links=[LinkPicture(link=link, faults=sorted(faults)) for link, faults in links if faults],
    )


def _gpu(gpu: str, values: dict[Key, Any]) -> GpuPicture:
    faults = values.get(("faults", gpu), frozenset())
    turn, switching = values.get(("turn", gpu), (None, False))
    gone = any(values.get((what, gpu)) for what in ("lost", "down"))
    return GpuPicture(
        gpu=gpu,
        roles=sorted(values.get(("roles", gpu), ())),
        faults=sorted(faults),
        failed=gone or not having(Trait.STOPS).isdisjoint(faults),
        lent=values.get(("lent", gpu), False),
        draining=values.get(("draining", gpu), False),
        bypassed=values.get(("bypassed", gpu)),
        turn=turn,
        switching=switching,
        pages=values.get(("pages", gpu)),
    )


def _card(card: CardAbout, share: int | None, values: dict[Key, Any]) -> CardPicture:
    count, members, counted = values.get(("count", card.name), (None, None, None))
    rank, epoch = values.get(("lease", card.name), (None, None))
    known = rank is not None and 0 <= rank < len(card.host)
    return CardPicture(
        card=card.name,
        count=count,
        members=members,
        counted=counted,
        entry=card.host[rank] if known else None,
        epoch=epoch,
        share=share,
        cpu=None,
    )
