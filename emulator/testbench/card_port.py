"""The CPU's way to the card of a cocotb bench: frames by its host links, time by the bench's clock."""

from collections.abc import Callable, Sequence
from functools import partial

import cocotb
from cocotb.triggers import Timer

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import PERIOD
from ringhil.protocol import crc


class BenchCardPort(CardPort):
    """Make it once `bench` has started. A cell is the number of a GPU on the card.

    `now` is the cycle that the next clock edge ends: pins written now are read by it. So what is planned for the
    present cycle is done in the next one. `latency`: cycles, at least 2, from the end of a frame to its delivery.
    """

    def __init__(self, bench: CardBench, *, latency: int = 64) -> None:
        super().__init__()
        self._bench, self._latency = bench, latency
        self._due: dict[int, list[Callable[[], None]]] = {}  # by cycle, in the order of planning
        for cell, gpu in enumerate(bench.gpus):
            gpu.host.sink.monitor.on_frame.append(partial(self._arrived, cell))

    @property
    def now(self) -> int:
        """The cycle that the next clock edge ends."""
        return self._bench.cycle() + 1

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done in a cycle; in the next one, if that has begun."""
        cycle = max(cycle, self.now + 1)
        if cycle not in self._due:
            self._due[cycle] = []
            cocotb.start_soon(self._do(cycle))
        self._due[cycle].append(act)

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        """Send frames (wire bytes) over a GPU's link with the CPU, now; their link CRCs are written here."""
        for frame in frames:
            sealed = frame[:-4] + crc.link_crc(frame).to_bytes(4, "big")
            self._bench.gpus[cell].host.source.send_nowait(RingFrame.of(sealed))

    async def _do(self, cycle: int) -> None:
        await Timer(PERIOD * (cycle - self.now), "step")
        for act in self._due.pop(cycle):
            act()

    def _arrived(self, cell: int, frame: RingFrame) -> None:
        if frame.sof and frame.eof:  # of a frame that was cut nothing is read
            mail = (cell, frame.data, 1 if frame.channel == "data" else 0, not frame.good)
            # The edge that ended the frame is one cycle ago.
            self.after(self._latency - 1, lambda: self.on_cpu_mail(*mail))
