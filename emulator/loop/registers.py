"""Whether registers hold what firmware has said: who is elected takes frames from the CPU, or from another card; who
isn't, doesn't."""

from collections.abc import Iterator

from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel.observations import FirmwareSaid
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.observations import FirmwareStopped
from ringhil.firmware.observations import Deposed, Elected, Granted, Lapsed
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Role

_BITS = {Role.ENTRY: ControlBit.ENTRY, Role.BOUNDARY: ControlBit.BOUNDARY}


class RegistersKept:
    """Listens to a run; `failures` once it is over, of GPUs whose firmware runs and has said anything of a role."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._holds: dict[tuple[int, Role], bool] = {}
        run.observations.listen(FirmwareSaid, self._said)
        run.observations.listen(FirmwareStopped, self._stopped)

    def _said(self, seen: FirmwareSaid) -> None:
        if isinstance(seen.what, Elected | Granted | Deposed | Lapsed):
            self._holds[seen.cell, seen.what.role] = isinstance(seen.what, Elected | Granted)

    def _stopped(self, seen: FirmwareStopped) -> None:
        self._holds = {place: held for place, held in self._holds.items() if place[0] != seen.cell}

    def failures(self) -> Iterator[str]:
        """Each register that says otherwise."""
        for (cell, role), held in sorted(self._holds.items()):
            card, gpu = self._run.server.wiring.place(cell)
            name = GpuRef(self._run.server.wiring.cards[card].name, gpu)
            control = self._run.engine.peek(cell, "control")
            if bool(control & _BITS[role]) != held:
                bit = _BITS[role].word
                yield f"at the end: control of {name} is {ControlBit.show(control)}: {bit} should be {int(held)}"
            if role is Role.BOUNDARY and bool(self._run.engine.peek(cell, "crossings")) != held:
                crossings = self._run.engine.peek(cell, "crossings")
                yield f"at the end: crossings of {name} is {crossings}: should be {'some' if held else 'none'}"
