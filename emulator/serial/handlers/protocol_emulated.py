"""`emulated:///server.yaml#a`: card `a` of a server that is emulated in this process, as a serial port.

    emulated:///PATH[?clock=HZ&baud=N&uart=1&seed=N][#CARD]

CARD: the first one; clock: 1000000; baud: bytes take no time; uart: through two UARTs in RTL, bit by bit

Its time is the server's: it passes only while somebody reads and nothing is there, `clock` cycles for each second of
the port's timeout, and as fast as they can be simulated. So a program does the same in every run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from serial import PortNotOpenError, SerialBase, SerialException

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.work.workload import DataError
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import ScenarioError, load
from ringhil.emulator.serial.handlers import path_in
from ringhil.emulator.serial.line import BAUD, BAUDS, CLOCKS
from ringhil.emulator.serial.line.bit_true_wire import BitTrueWire
from ringhil.emulator.serial.line.wire import Wire, byte_time
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ManagementPort, room_at
from ringhil.emulator.serial.uart import link_library

_LIMITS = {"clock": CLOCKS, "baud": BAUDS, "uart": (1, 1), "seed": (0, 2**32 - 1)}
_STEP = 64  # cycles that pass between two looks at what has come
CLOCK = 1_000_000  # Hz


class EmulationError(RinghilError):
    """Says in one line why a server can't be emulated."""


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
        """Returns the present cycle."""
        return self.run.kernel.now

    def pass_time(self, cycles: int) -> None:
        """Lets this many cycles pass. Raises EmulationError when the server's work can't be read any more."""
        try:
            self.run.run_to(self.now + cycles)
        except DataError as error:
            raise EmulationError(str(error)) from error

    def close(self) -> None:
        """Ends the run."""
        self.wire.close()
        self.run.server.close_work()
        self.run.close()


class Serial(SerialBase):  # type: ignore[misc]
    """A port of pyserial's. `line` is what is behind it, while it is open."""

    line: EmulatedLine | None = None
    is_open: bool

    def open(self) -> None:
        """Power the server up. Raises SerialException."""
        if self.is_open:
            raise SerialException("Port is already open.")
        self._reconfigure_port()
        asked = _parsed(str(self._port))
        try:
            self.line = EmulatedLine(
                asked.path, asked.card, clock=asked.clock, baud=asked.baud, uart=asked.uart, seed=asked.seed
            )
        except EmulationError as error:
            raise SerialException(str(error)) from error
        self.is_open = True

    def close(self) -> None:
        """End the server."""
        if self.line is not None:
            self.line.close()
        self.line, self.is_open = None, False

    def _reconfigure_port(self) -> None:
        if self._port is None:
            raise SerialException("Port must be configured before it can be used.")

    def _opened(self) -> EmulatedLine:
        if self.line is None:
            raise PortNotOpenError
        return self.line

    def monotonic(self) -> float:
        """The server's time, in seconds since power-up."""
        line = self._opened()
        return line.now / line.clock

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        return self._opened().wire.waiting

    def read(self, size: int = 1) -> bytes:
        """Up to `size` bytes; fewer when the timeout has passed, in the server's time."""
        line, found = self._opened(), bytearray()
        for step in self._steps(line):
            found += line.wire.take(size - len(found))
            if len(found) >= size:
                break
            try:
                line.pass_time(step)
            except EmulationError as error:
                raise SerialException(str(error)) from error
        found += line.wire.take(size - len(found))
        return bytes(found)

    def _steps(self, line: EmulatedLine) -> Iterator[int]:
        end = None
        if self._timeout is not None:
            cycles = round(self._timeout * line.clock)
            # Who waits for less than a cycle waits for one, or waiting again and again would never end.
            end = line.now + (max(1, cycles) if self._timeout else 0)
        while end is None or line.now < end:
            yield _STEP if end is None else min(_STEP, end - line.now)

    def write(self, data: Any) -> int:
        """The card takes them all, now."""
        taken = bytes(data)
        self._opened().wire.receive(taken)
        return len(taken)

    def flush(self) -> None:
        """Nothing is ever left to be written."""
        self._opened()

    def reset_input_buffer(self) -> None:
        """Forget what has come."""
        self._opened().wire.take()

    def reset_output_buffer(self) -> None:
        """Nothing is ever left to be written."""
        self._opened()


@dataclass(frozen=True)
class _Asked:
    path: str
    card: str | None
    clock: int
    baud: int | None
    uart: bool
    seed: int | None


def _parsed(url: str) -> _Asked:
    parts = urlsplit(url)
    given = parse_qs(parts.query, keep_blank_values=True)
    if set(given) - set(_LIMITS) or parts.scheme != "emulated" or not (parts.netloc or parts.path):
        raise SerialException(f"{url}: allowed is emulated:///PATH[?clock=HZ&baud=N&uart=1&seed=N][#CARD]")
    asked = dict[str, str]()
    for name, values in given.items():
        low, high = _LIMITS[name]
        asked[name] = text = values[0] if len(values) == 1 else "&".join(values)
        if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
            raise SerialException(f"{url}: {name}: found {text!r}; allowed is a whole number from {low} to {high}")
    numbers = {name: int(text) for name, text in asked.items()}
    path, card = path_in(parts.netloc + parts.path), unquote(parts.fragment) or None
    return _Asked(path, card, numbers.get("clock", CLOCK), numbers.get("baud"), "uart" in numbers, numbers.get("seed"))
