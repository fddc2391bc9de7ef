"""Census rounds back to back on one ring: how many messages and cycles a second."""

import time
from dataclasses import dataclass

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.firmware import timing
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.observations import Counted

LATENCY = 32  # cycles, of the firmware


@dataclass(frozen=True)
class CensusRate:
    """`round_cycles`: cycles from one round's beginning to the next one's."""

    gpus: int
    records: bool
    rounds: int
    cycles: int
    evaluations: int
    seconds: float
    round_cycles: int

    @property
    def messages_per_second(self) -> float:
        """Statistics messages sent round and home: two a round."""
        return 2 * self.rounds / self.seconds

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles in a second."""
        return self.cycles / self.seconds


def measure(library: Library, gpus: int, *, records: bool, seconds: float) -> CensusRate:
    """Run rounds for about `seconds`, Python firmware included; every one of them must count all GPUs."""
    with Engine(library, Topology((gpus,))) as engine:
        kernel = Kernel(engine, LATENCY, LATENCY)
        ends: list[int] = []

        def said(observed: FirmwareSaid) -> None:
            if isinstance(observed.what, Counted):
                if observed.what.count != gpus:
                    raise RuntimeError(f"counted {observed.what.count} of {gpus}")
                ends.append(observed.cycle)

        def boot(boots: int, memory: int) -> Census:
            timeout = timing.round_timeout(gpus, 64, records=records) + LATENCY
            period = 10**9
            return Census(CensusConfig(0, 0, gpus, boots, period, timeout, records=records, back_to_back=True))

        firmware = GpuFirmware(kernel, 0, boot)
        kernel.observations.listen(FirmwareSaid, said)
        kernel.on_firmware_mail = lambda cell, frame, port, bad: firmware.mail(frame, port, bad)
        engine.poke(0, "allowance", 10**6)  # far more rounds than a real card would make
        firmware.power_up()
        kernel.run(4 * timing.ring_time(gpus, records=records) + 8 * LATENCY)
        first, cells, cycle = len(ends), engine.evaluations, engine.now
        began = time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds or len(ends) == first:
            kernel.run(kernel.now + 4 * timing.ring_time(gpus, records=records))
        round_cycles = ends[-1] - ends[-2]
        return CensusRate(
            gpus,
            records,
            len(ends) - first,
            engine.now - cycle,
            engine.evaluations - cells,
            spent,
            round_cycles,
        )
