"""When the hardware has switched over after an event: switches that joined or left, ports that turned round.

Read from the status registers, cycle by cycle until they are as the event demands, or should have been.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.judge.oracle import BLOCKED, CUT, OK, OUT, Part
from ringhil.emulator.kernel import Kernel
from ringhil.protocol import registers

_BIT = {name: 1 << bit for name, bit in registers.STATUS_BITS.items()}
_BYPASSED = _BIT["bypass_cw"] | _BIT["bypass_ccw"]


@dataclass
class SwitchOver:
    """Waits for a part of one card to reach the state `state`, until cycle `until`, and calls `on_done` with the cycle.

    `first` is the cell of GPU 0, `size` the number of GPUs. `wanted` says whether it is still of interest.
    """

    kernel: Kernel
    first: int
    size: int
    part: Part
    state: str
    until: int
    wanted: Callable[[], bool]
    on_done: Callable[[int], None]

    def __call__(self) -> None:
        """Look, and again in the next cycle."""
        if not self.wanted():
            return
        if self._reached():
            self.on_done(self.kernel.now)
        elif self.kernel.now < self.until:
            self.kernel.after(1, self)

    def _reached(self) -> bool:
        kind, number = self.part
        if kind == "link" or self.state == BLOCKED:
            # A GPU that lets nothing through has the links on both its sides taken for cut.
            before, after = (number, number + 1) if kind == "link" else (number - 1, number + 1)
            turned = [self._status(before) & _BIT["wrap_port2"], self._status(after) & _BIT["wrap_port1"]]
            return all(turned) if self.state in (CUT, BLOCKED) else not any(turned)
        bypassed = self._status(number) & _BYPASSED
        return {OK: bypassed == 0, OUT: bypassed == _BYPASSED}[self.state]

    def _status(self, gpu: int) -> int:
        return self.kernel.engine.peek(self.first + gpu % self.size, "status")
