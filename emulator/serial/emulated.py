"""A server in this process, and a client's line to one of its cards."""

from dataclasses import replace
from pathlib import Path

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.judge.bounds import Bounds
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import ScenarioError, load
from ringhil.emulator.serial.bit_true_wire import BitTrueWire
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.port import ManagementPort, room_at
from ringhil.emulator.serial.speeds import BAUD
from ringhil.emulator.serial.uart import link_library
from ringhil.emulator.serial.wire import Wire, byte_time

CLOCK = 1_000_000  # Hz


class EmulationError(RinghilError):
    """A server can't be emulated; one line says why."""


class EmulatedLine:
    """The server of a file, powered up until its cards have been counted, and a line to its card `card` (None: the
    first), of that speed (None: bytes take no time). `uart`: bytes pass through UARTs, bit by bit. Time passes when it
    is told to. Raises EmulationError.
    """

    def __init__(
        self,
        path: str,
        card: str | None = None,
        *,
        clock: int = CLOCK,
        baud: int | None = None,
        uart: bool = False,
        seed: int | None = None,
    ) -> None:
        try:
            scenario = load(Path(path))
            if seed is not None:
                scenario = replace(scenario, seed=seed)
            names = [each.name for each in scenario.server.cards]
            number = names.index(names[0] if card is None else card) if card is None or card in names else -1
            if number < 0:
                raise EmulationError(f"{path}: no card {card!r}; there are {', '.join(names)}")
            wires = link_library() if uart else None
            self.run = Run(scenario, cells_library())
        except (ScenarioError, BuildError, DataError) as error:
            raise EmulationError(str(error)) from error
        self.clock = clock
        managed = ManagedCard(self.run.server, number)
        port = ManagementPort(managed, clock=clock, room=room_at(baud or (BAUD if uart else None)))
        noise = f"{scenario.seed} {managed.card.name}"
        self.wire: Wire | BitTrueWire
        if wires is None:
            byte = byte_time(clock, baud)
            self.wire = Wire(port, managed.line_faults, lambda: managed.now, byte=byte, seed=noise)
        else:
            self.wire = BitTrueWire(
                port, managed.line_faults, lambda: managed.now, wires, clock=clock, baud=baud or BAUD, seed=noise
            )
        self.run.start()
        server = self.run.server
        self.run.run_to(max(Bounds(times).power_up for times in server.times))

    @property
    def now(self) -> int:
        """The present cycle."""
        return self.run.kernel.now

    def pass_time(self, cycles: int) -> None:
        """Let so many cycles pass. Raises EmulationError when the server's work can't be read any more."""
        try:
            self.run.run_to(self.now + cycles)
        except DataError as error:
            raise EmulationError(str(error)) from error

    def close(self) -> None:
        """End it."""
        self.wire.close()
        self.run.server.close_work()
        self.run.close()
