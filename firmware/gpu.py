"""All of a GPU's firmware: census while it is the entry GPU, elections for the groups that it is in.

A GPU may be in two groups: that of the entry GPUs (R10) and that of the boundary GPUs of one link between cards
(R9), there as a member that elects or as a warden at the far end that grants. What they decide is put into
registers here: who takes frames from the CPU, who from another card, which cards can be reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ringhil.firmware.actions import Action
from ringhil.firmware.census import PERIOD, TIMEOUT, Census, CensusConfig
from ringhil.firmware.commands import CancelTimer, Remember, Send, SetTimer, Tell, Write
from ringhil.firmware.observations import Counted, Deposed, Elected, Granted, Lapsed
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Port, Role

_KINDS = (bytes([Keepalive.KIND]), bytes([Election.KIND]))
_ROLE: dict[int, str] = {role.code: role for role in Role}
_PORTS = tuple(Port)  # by code
_RING = (Port.CW.code, Port.CCW.code)


class Elector(Protocol):
    """What members and wardens have in common."""

    def start(self, now: int) -> list[Action]: ...
    def on_timer(self, name: str, now: int) -> list[Action]: ...
    def on_keepalive(self, message: Keepalive, port: Port, now: int) -> list[Action]: ...
    def on_election(self, message: Election, port: Port, now: int) -> list[Action]: ...
    def set_reluctant(self, reluctant: bool, now: int) -> list[Action]: ...
    def draw_jitter(self, seed: int) -> None: ...


@dataclass(frozen=True)
class CrossingConfig:
    """A GPU's part in the link to the card `peer`: `cards` (bit i: card i) lie behind it; `from_above`: `peer` is
    nearer to the root of the tree of cards."""

    peer: int
    cards: int
    from_above: bool


@dataclass
class GpuProgram:
    """All of a GPU's firmware.

    `census`: what an entry GPU is told, the epoch apart; None where the GPU has no link to the CPU. `electors`: by
    role. `behind`: for each neighbouring card the cards (bit i: card i) that are reached through it.
    """

    census_config: CensusConfig
    entry_capable: bool
    electors: dict[str, Elector]
    crossing: CrossingConfig | None
    behind: Mapping[int, int]
    census: Census | None = None
    control: int = 0
    exits: int = 0
    _status: int = 0
    _boundary: bool = field(default=False)

    def start(self, now: int) -> list[Action]:
        """Boot: neither entry nor boundary GPU, whatever the registers still say."""
        self.control = ControlBit.ENTRY_CAPABLE if self.entry_capable else 0
        actions: list[Action] = [Write("control", self.control), Write("crossings", 0), Write("exits", 0)]
        for elector in self.electors.values():
            actions += self._carried_out(elector.start(now), now)
        return actions

    def count_now(self, now: int) -> list[Action]:
        """Somebody wants a count. Only the entry GPU can begin one; the others do nothing."""
        return [] if self.census is None else self._carried_out(self.census.count_now(now), now)

    def draw_jitter(self, seed: int) -> None:
        """From the next keepalives on their intervals are those of another seed."""
        for elector in self.electors.values():
            elector.draw_jitter(seed)

    def on_status(self, status: int) -> None:
        """The node's status register has been read."""
        self._status = status
        if self.census is not None:
            self.census.on_status(status)

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer that was set has run out."""
        role, _, _ = name.partition(".")
        if role in self.electors:
            return self._carried_out(self.electors[role].on_timer(name, now), now)
        return self._carried_out(self.census.on_timer(name, now), now) if self.census is not None else []

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        """A frame came into the mailbox by a port (`Port.code`)."""
        if frame[:1] not in _KINDS:
            if self.census is None or port not in _RING:
                return []
            return self._carried_out(self.census.on_frame(frame, port, bad, now), now)
        if bad:
            return []
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            return []
        assert isinstance(message, (Keepalive, Election))
        elector = self.electors.get(_ROLE.get(message.role, ""))
        if elector is None:
            return []
        if isinstance(message, Keepalive):
            return self._carried_out(elector.on_keepalive(message, _PORTS[port], now), now)
        return self._carried_out(elector.on_election(message, _PORTS[port], now), now)

    def _carried_out(self, actions: list[Action], now: int) -> list[Action]:
        """The actions, and what follows from them for this GPU."""
        result: list[Action] = []
        for action in actions:
            if isinstance(action, Tell):
                result.append(Send(action.port, codec.encode(action.message)))
                continue
            result.append(action)
            if isinstance(action, SetTimer):
                continue
            if isinstance(action, (Elected, Granted)):  # a union would be made anew each time
                result += self._take_up(action.role, action.epoch, now)
            elif isinstance(action, (Deposed, Lapsed)):
                result += self._lay_down(action.role, now)
            elif isinstance(action, Remember):
                result.append(Write("memory", action.epoch))
            elif isinstance(action, Counted):
                result += self._found_exits(action)
        return result

    def _take_up(self, role: Role, epoch: int, now: int) -> list[Action]:
        if role is Role.BOUNDARY:
            return self._set_boundary(True)
        self.census = Census(replace(self.census_config, epoch=epoch))
        self.census.on_status(self._status)
        self._tell_census()
        actions = [*self._set_control(ControlBit.ENTRY, True), *self._set_control(ControlBit.MONITOR, True)]
        return actions + self._reluctant(True, now) + self._carried_out(self.census.start(now), now)

    def _lay_down(self, role: Role, now: int) -> list[Action]:
        if role is Role.BOUNDARY:
            return self._set_boundary(False)
        self.census, self.exits = None, 0
        actions: list[Action] = [CancelTimer(PERIOD), CancelTimer(TIMEOUT), Write("exits", 0)]
        actions += [*self._set_control(ControlBit.ENTRY, False), *self._set_control(ControlBit.MONITOR, False)]
        return actions + self._reluctant(False, now)

    def _reluctant(self, reluctant: bool, now: int) -> list[Action]:
        """R7: the entry GPU is a boundary GPU only if no other GPU can be."""
        elector = self.electors.get(Role.BOUNDARY)
        return self._carried_out(elector.set_reluctant(reluctant, now), now) if elector is not None else []

    def _set_boundary(self, on: bool) -> list[Action]:
        assert self.crossing is not None
        self._boundary = on
        self._tell_census()
        actions = self._set_control(ControlBit.BOUNDARY, on)
        actions += self._set_control(ControlBit.FROM_ABOVE, on and self.crossing.from_above)
        return [*actions, Write("crossings", self.crossing.cards if on else 0)]

    def _tell_census(self) -> None:
        if self.census is not None:
            own = self.crossing.peer if self._boundary and self.crossing is not None else wire.NO_CARD
            self.census.peer = own

    def _set_control(self, bit: ControlBit, on: bool) -> list[Action]:
        before = self.control
        self.control = before | bit if on else before & ~bit
        return [Write("control", self.control)] if self.control != before else []

    def _found_exits(self, counted: Counted) -> list[Action]:
        """R8: frames for other cards may enter when the records show a boundary GPU that leads there."""
        if counted.members is None:
            return []
        exits = 0
        for _, peer in counted.boundaries:
            exits |= self.behind.get(peer, 0)
        if exits == self.exits:
            return []
        self.exits = exits
        return [Write("exits", exits)]
