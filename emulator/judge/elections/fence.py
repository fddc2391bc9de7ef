"""The fence in hardware (R8, R10): a node passes frames of the CPU or of another card only while its registers say so.

Who holds the entry role has `entry` and `monitor` in `control`, who speaks to another card `boundary` and its
`crossings`; when it has laid the role down, nobody has, and `exits` is 0 without the entry role. What a boot finds in
them it takes back. They are looked at when what follows from a change has been written, before the next change, and at
the end of the run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ringhil.emulator.events.server import FirmwareStopped
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Seat
from ringhil.emulator.judge.elections.seat_events import Booted, SeatDeposed, SeatElected, SeatGranted, SeatLapsed
from ringhil.emulator.judge.findings import FindingList, Name, Value, say
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Role

_WRITES = 8  # that may follow from one change: a node takes one in a cycle
_JUDGED = ControlBit.ENTRY | ControlBit.MONITOR | ControlBit.BOUNDARY | ControlBit.FROM_ABOVE


@dataclass
class _Life:
    """One GPU since its boot. `holds`: its roles, a warden's while it has granted a lease; `since`: the last change."""

    since: int
    holds: set[Role] = field(default_factory=set)
    told: bool = False  # that they are wrong, since the last change


class Fence:
    """`peek`: the register of a cell, by name. `remind`: have something done at a cycle, before anything else there."""

    def __init__(
        self,
        stream: Stream,
        wiring: Wiring,
        seats: Mapping[tuple[int, Role], Seat],
        peek: Callable[[int, str], int],
        remind: Callable[[int, Callable[[], None]], None],
    ) -> None:
        self._wiring, self._peek, self._remind = wiring, peek, remind
        self._lives = {cell: _Life(0) for cell, _ in seats}
        self.wrong = FindingList()
        stream.listen(SeatElected, self._holds)
        stream.listen(SeatGranted, self._holds)
        stream.listen(SeatDeposed, self._holds_no_more)
        stream.listen(SeatLapsed, self._holds_no_more)
        stream.listen(Booted, self._boots)
        # The registers stay as they are until it boots.
        stream.listen(FirmwareStopped, lambda o: self._lives.pop(o.cell, None))

    def _holds(self, o: SeatElected | SeatGranted) -> None:
        self._change(o.cell, o.cycle).holds.add(o.seat.role)

    def _holds_no_more(self, o: SeatDeposed | SeatLapsed) -> None:
        self._change(o.cell, o.cycle).holds.discard(o.seat.role)

    def _boots(self, o: Booted) -> None:
        self._lives[o.cell] = _Life(o.cycle)
        self._change(o.cell, o.cycle)

    def look(self, cell: int, now: int) -> None:
        """Whether its registers are as they must be now."""
        life = self._lives.get(cell)
        if life is None or life.told or now < life.since + _WRITES:
            return
        control, crossings, exits = (self._peek(cell, name) for name in ("control", "crossings", "exits"))
        bits, cards = self._must(cell, life.holds)
        held = say("it holds {} since {}", " and ".join(sorted(map(str, life.holds))) or "no role", life.since)
        if control & _JUDGED != bits:
            self._tell(
                cell,
                life,
                now,
                say("`control` is {}", Value(ControlBit.show(control))),
                Value(ControlBit.show(bits)),
                held,
            )
        elif crossings != cards:
            self._tell(cell, life, now, say("`crossings` is {:#x}", crossings), Value(f"{cards:#x}"), held)
        elif exits and Role.ENTRY not in life.holds:
            self._tell(cell, life, now, say("`exits` is {:#x}", exits), Value("0"), held)

    def finish(self, now: int) -> None:
        """The run is over."""
        for cell in list(self._lives):
            self.look(cell, now)

    def _change(self, cell: int, now: int) -> _Life:
        self.look(cell, now)
        life = self._lives.setdefault(cell, _Life(now))
        life.since, life.told = now, False
        self._remind(now + _WRITES, lambda: self.look(cell, now + _WRITES))
        return life

    def _must(self, cell: int, holds: set[Role]) -> tuple[int, int]:
        """The bits of `control`, and `crossings`."""
        bits = ControlBit.ENTRY | ControlBit.MONITOR if Role.ENTRY in holds else 0
        if Role.BOUNDARY not in holds:
            return bits, 0
        card = self._wiring.place(cell)[0]
        hop = self._wiring.hops[card, self._wiring.crossings[cell].peer_card]
        return bits | ControlBit.BOUNDARY | (ControlBit.FROM_ABOVE if hop.from_above else 0), hop.cards

    def _tell(self, cell: int, life: _Life, now: int, found: str, must: str, held: str) -> None:
        life.told = True
        text = say(
            "{} at cycle {}: {found}, must be {expected}: {}",
            Name(str(self._wiring.gpu_of(cell))),
            now,
            held,
            found=found,
            expected=must,
        )
        self.wrong.tell(now, text)
