"""A server of one card inside cocotb: our firmware and our CPU, on pins that the testbench kit drives.

It reacts as late as in the engine. What the engine does at once takes the kit a cycle or two (it reads registers by
the port, and one register after the other), so rounds begin some cycles away from where they do there.
"""

from collections.abc import Callable, Sequence
from typing import cast

import cocotb
from cocotb.triggers import Timer

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.config import CpuConfig
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import GpuRef, LinkRef, Scenario, TimelineEvent, Trait, having
from ringhil.emulator.server.groups import Groups
from ringhil.emulator.server.times import times_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.emulator.testbench.bus import Pin, Pins
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import PERIOD
from ringhil.firmware.grantor import Grantor
from ringhil.protocol import crc, registers
from ringhil.protocol.wire import Role

_STOPS = having(Trait.STOPS)
_MAILBOX = 2  # cycles that the kit's mailbox needs, of a firmware's latency
_CUT = registers.LinkFaultBit.codes()
_PORT1, _PORT2 = 0, 1


class _Clockwork:
    """What the CPU needs of a kernel."""

    def __init__(self, bench: CardBench, send: Callable[[int, Sequence[bytes]], None]) -> None:
        self._bench, self.send_from_cpu = bench, send

    @property
    def now(self) -> int:
        return self._bench.cycle() + 1

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        self.after(cycle - self.now, act)

    def after(self, delay: int, act: Callable[[], None]) -> None:
        async def later() -> None:
            await Timer(PERIOD * max(delay, 1), "step")
            act()

        cocotb.start_soon(later())


class CocotbServer:
    """Make it once `bench` has started; `power_up`, then `play` the scenario's timeline."""

    def __init__(self, bench: CardBench, scenario: Scenario, config: CpuConfig) -> None:
        self._bench, self._scenario = bench, scenario
        (card,) = scenario.server.cards
        settings = scenario.server.settings
        (times,) = times_of(scenario.server)
        self._wiring = Wiring(scenario.server)
        groups = Groups(self._wiring, settings, [times], scenario.seed)
        view = CardView(
            card.name,
            0,
            card.gpus,
            card.host_links,
            card.host_links,
            Grantor(Role.ENTRY, times.election.lease, times.election.guard),
        )
        self.card = view
        self._clockwork = _Clockwork(bench, self._send)
        self._latency = settings.host_latency
        # It uses no more of a kernel than that.
        self.cpu = Cpu(cast(Kernel, self._clockwork), [view], config)
        latency = settings.firmware_latency - _MAILBOX
        self._firmware = {}
        for gpu in card.host_links:
            kit = bench.gpus[gpu]
            program = groups.boot(0, gpu, 1, 0)
            self._firmware[gpu] = FirmwareDriver(program, kit.mailbox, kit.registers, bench.cycle, latency=latency)
            kit.host.sink.monitor.on_frame.append(self._listen(gpu))
        self._cuts = [0] * card.gpus
        self._delays = [0] * card.gpus

    async def power_up(self, values: Sequence[tuple[int, str, int]]) -> None:
        """Write registers (cell, name, value), then start CPU and firmware."""
        for cell, name, value in values:
            await self._bench.gpus[cell].registers.write(name, value)
        for driver in self._firmware.values():
            driver.start()
        self.cpu.power_up()

    async def play(self, until: int) -> None:
        """All events, each in its cycle, and on to cycle `until`."""
        for event in self._scenario.timeline:
            await self._wait(event.at)
            self._apply(event)
        await self._wait(until)

    async def _wait(self, cycle: int) -> None:
        """Wait until that cycle is the next one."""
        await self._bench.wait(cycle - self._clockwork.now)

    # ----------------------------------------------------------------------------------------------------- CPU

    def _listen(self, gpu: int) -> Callable[[RingFrame], None]:
        def heard(frame: RingFrame) -> None:
            if frame.sof and frame.eof:
                port = 1 if frame.channel == "data" else 0
                mail = (gpu, frame.data, port, not frame.good)
                self._clockwork.after(self._latency - 1, lambda: self.cpu.mail(*mail))

        return heard

    def _send(self, cell: int, frames: Sequence[bytes]) -> None:
        for frame in frames:
            sealed = frame[:-4] + crc.link_crc(frame).to_bytes(4, "big")
            self._bench.gpus[cell].host.source.send_nowait(RingFrame.of(sealed))

    # -------------------------------------------------------------------------------------------------- faults

    def _apply(self, event: TimelineEvent) -> None:
        assert event.action == "fault"
        if isinstance(event.target, GpuRef):
            self._strike(event.kind, event.target.index)
            return
        assert isinstance(event.target, LinkRef)
        ends = [(event.target.before.index, _PORT2), (event.target.after.index, _PORT1)]
        if event.kind == "link_delay":
            for gpu, port in ends:
                self._delays[gpu] |= (event.value or 0) << 8 * port
                self._pin(gpu, "link_delay_i", 32).write(self._delays[gpu])
            return
        if event.kind == "link_one_way":
            ends = [ends[0] if event.reverse else ends[1]]
        for gpu, port in ends:
            self._cut(gpu, "cut_port2" if port == _PORT2 else "cut_port1")

    def _strike(self, kind: str, gpu: int) -> None:
        if kind == "host_link_cut":
            self._cut(gpu, "cut_host")
            self._bench.gpus[gpu].host.cut(True)
            return
        self._bench.gpus[gpu].set_fault(kind, True)
        driver = self._firmware.get(gpu)
        if kind in _STOPS and driver is not None:
            driver.fail()
            self._bench.gpus[gpu].mailbox.clear()

    def _cut(self, gpu: int, name: str) -> None:
        self._cuts[gpu] |= _CUT[name]
        self._pin(gpu, "link_fault_i", 4).write(self._cuts[gpu])

    def _pin(self, gpu: int, name: str, width: int) -> Pin:
        return Pins(self._bench.dut, gpu, self._bench.shadow).pin(name, width)
