"""A server of one card inside cocotb: our firmware and our CPU, on pins that the testbench kit drives.

It reacts as late as in the engine. What the engine does at once takes the kit a cycle or two (it reads registers by
the port, and one register after the other), so rounds begin some cycles away from where they do there.
"""

from collections.abc import Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.work.handing_out import CpuConfig
from ringhil.emulator.scenario import GpuRef, LinkRef, Scenario, TimelineEvent, Trait, having
from ringhil.emulator.server.power_up import BootPlan
from ringhil.emulator.server.times import times_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.emulator.testbench.bus import Pin, Pins
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.card_port import BenchCardPort
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.firmware.boot import our_program
from ringhil.firmware.grantor import Grantor
from ringhil.protocol import registers
from ringhil.protocol.wire import Link, Role

_STOPS = having(Trait.STOPS)
_MAILBOX = 2  # cycles that the kit's mailbox needs, of a firmware's latency
_CUT = registers.LinkFaultBit.codes()


class CocotbServer:
    """Make it once `bench` has started; `power_up`, then `play` the scenario's timeline."""

    def __init__(self, bench: CardBench, scenario: Scenario, config: CpuConfig) -> None:
        self._bench, self._scenario = bench, scenario
        (card,) = scenario.server.cards
        settings = scenario.server.settings
        (times,) = times_of(scenario.server)
        self._wiring = Wiring(scenario.server)
        groups = BootPlan(self._wiring, settings, [times], scenario.seed)
        view = CardView(
            card.name,
            0,
            card.gpus,
            card.host_links,
            card.host_links,
            Grantor(Role.ENTRY, times.election.lease, times.election.guard),
        )
        self.card = view
        self._port = BenchCardPort(bench, latency=settings.host_latency)
        self.cpu = Cpu(self._port, [view], config)
        self._port.on_cpu_mail = self.cpu.mail
        latency = settings.firmware_latency - _MAILBOX
        self._firmware = {}
        for gpu in card.host_links:
            kit = bench.gpus[gpu]
            program = our_program(groups.boot(0, gpu, 1, 0))
            self._firmware[gpu] = FirmwareDriver(program, kit.mailbox, kit.registers, bench.cycle, latency=latency)
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
        await self._bench.wait(cycle - self._port.now)

    # -------------------------------------------------------------------------------------------------- faults

    def _apply(self, event: TimelineEvent) -> None:
        assert event.begins
        if isinstance(event.target, GpuRef):
            self._strike(event.kind, event.target.index)
            return
        assert isinstance(event.target, LinkRef)
        ends = [(event.target.before.index, Link.P2), (event.target.after.index, Link.P1)]
        if event.kind == "link_delay":
            for gpu, link in ends:
                self._delays[gpu] |= (event.value or 0) << 8 * link.code
                self._pin(gpu, "link_delay_i", 32).write(self._delays[gpu])
            return
        if event.kind == "link_one_way":
            ends = [ends[0] if event.reverse else ends[1]]
        for gpu, link in ends:
            self._cut(gpu, "cut_port2" if link is Link.P2 else "cut_port1")

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
