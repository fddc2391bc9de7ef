"""How a server was in a cycle, as its recording tells it: roles, faults, loans, counts, shares, turns of contexts.

Events are read once, in their order; now and then the picture is kept, so that any other is found from one of these.
However long a recording is, no more than `KEPT` are.
"""

from bisect import bisect_right
from itertools import islice
from typing import Any

from ringhil.emulator.events.recorded import MEMORY_HELD, STRUCK, TURN
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import LENDINGS, Trait, having
from ringhil.emulator.trace.recording import RecordedEvent, Recording
from ringhil.emulator.view.messages import CardPicture, GpuPicture, LinkPicture, ViewPicture
from ringhil.emulator.view.places import Wires

KEPT = 256  # pictures
_STEP = 512  # rows between two of them, at first
_CHUNK = 2_000  # events that are read at a time
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
        act = getattr(self, f"_{event.kind.lower()}", None)
        if act is None:
            return False
        self._changed = False
        act(event.cycle, said, gpu, card)
        return self._changed

    def _set(self, what: str, where: str, value: Any) -> None:
        self._changed |= self.values.get((what, where)) != value
        self.values[what, where] = value

    def _with(self, what: str, where: str, one: str, there: bool) -> None:
        """A set of words with one more, or one less."""
        found: frozenset[str] = self.values.get((what, where), frozenset())
        self._set(what, where, found | {one} if there else found - {one})

    def _struck(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        where = next((str(said[name]) for name in _PARTS if name in said), "")
        lent = next((name for name in LENDINGS if name in said), None)
        if lent is not None:
            self._set("lent", where, lent == EventAction.LEND)
            self._set("draining", where, False)
        else:
            self._with("faults", where, str(said.get("fault") or said.get("clear")), "fault" in said)

    def _elected(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._with("roles", gpu, str(said.get("role")), True)

    def _deposed(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._with("roles", gpu, str(said.get("role")), False)

    def _firmwarestopped(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("roles", gpu, frozenset())

    def _firmwarelost(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("roles", gpu, frozenset())
        self._set("lost", gpu, True)

    _nodelost = _firmwarelost

    def _flapped(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("down", str(said.get("gpu")), bool(said.get("failed")))

    def _lossover(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._with("faults", gpu, "keepalive_loss", False)

    def _draining(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("draining", gpu, True)

    def _notlent(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("draining", gpu, False)

    def _counted(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("count", card, (_whole(said.get("count")), _all_whole(said.get("members")), cycle))

    def _granted(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        if said.get("role") == "entry" and not gpu:
            self._set("lease", card, (_whole(said.get("rank")), _whole(said.get("epoch"))))

    def _lapsed(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        if said.get("role") == "entry" and not gpu:
            self._set("lease", card, (None, _whole(said.get("epoch"))))

    def _sharedout(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("shares", "", _all_whole(said.get("shares")) or [])

    def _turn(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("turn", gpu, (_whole(said.get("context")), said.get("switching") is True))

    def _memoryheld(self, cycle: int, said: dict[str, Any], gpu: str, card: str) -> None:
        self._set("pages", gpu, _whole(said.get("pages")))


def _whole(value: object) -> int | None:
    """A number, whatever a file has there."""
    return value if type(value) is int else None


def _all_whole(value: object) -> list[int] | None:
    return [each for each in value if type(each) is int] if isinstance(value, list) else None


assert {TURN.lower(), MEMORY_HELD.lower(), STRUCK.lower()} <= {
    name[1:] for name in dir(ToldPicture)
}  # no event is missed


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
        last = recording.at(cycle)
        row = 0 if last is None else last.number
        number, told = self._kept[bisect_right(self._kept, row, key=lambda kept: kept[0]) - 1]
        told = told.copy()
        for event in recording.events(number + 1, row):
            self.take(recording, told, event)
        return self.shown(told, cycle, max(cycle, self._until(recording, told.copy(), row)), row)

    def _until(self, recording: Recording, told: ToldPicture, row: int) -> int:
        """The last cycle up to which it is known that nothing changes after a row."""
        until = 0
        for event in islice(recording.events(row + 1, max(self.upto, row)), _CHUNK):
            if self.take(recording, told, event):
                return event.cycle - 1
            until = event.cycle - 1
        end = next(recording.all(self.upto, self.upto), None)
        return until if end is None else max(until, end.cycle - 1)

    def shown(self, told: ToldPicture, cycle: int, until: int, row: int) -> ViewPicture:
        """What is so as the page has it."""
        values = told.values
        links = sorted((where, found) for (what, where), found in values.items() if what == "faults" and "-" in where)
        shares = values.get(("shares", ""), [])
        return ViewPicture(
            cycle=cycle,
            until=until,
            row=row,
            exact=False,
            gpus=[self._gpu(gpu, values) for gpu in self._gpus],
            cards=[
                self._card(number, shares[number] if number < len(shares) else None, values)
                for number in range(len(self._cards))
            ],
            links=[LinkPicture(link=link, faults=sorted(faults)) for link, faults in links if faults],
        )

    @staticmethod
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
            bypassed=None,
            turn=turn,
            switching=switching,
            pages=values.get(("pages", gpu)),
        )

    def _card(self, number: int, share: int | None, values: dict[Key, Any]) -> CardPicture:
        card = self._wires.cards[number]
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
