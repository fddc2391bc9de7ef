"""A GPU's meter in the units of NVML, from its registers. What a unit of energy stands for is decided here.

A unit of energy in a cycle is a tenth of a watt: `run_power: 7000` is 700 W.

Programs that ask live by this machine's clock, and the ring may be behind it. So power is what the same meter has
counted of energy, by the time that has passed for who asks: whoever adds up the one finds the other.
Temperature belongs to the ring, and depends on its cycles alone.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.nvml.views import Place
from ringhil.protocol.registers import PowerState

Read = Callable[[str], int]  # a register, by its name

_UNIT = 100  # milliwatt
_NANOSECONDS = 10**9  # in a second: a milliwatt for one second is a millijoule
_WORD = 32
_POWERS = tuple(f"{name}_power" for name in ("run", "idle", "low", "off"))
# Performance states of NVML: 0 is the fastest, 15 the slowest.
_PERFORMANCE = {PowerState.RUNNING: 0, PowerState.IDLE: 8, PowerState.LOW: 12, PowerState.OFF: 15}
AVERAGED = 1.0  # seconds of this machine that power is averaged over
AMBIENT = 30.0  # degrees Celsius
RESISTANCE = 0.07  # kelvin that a watt heats a GPU by in the end
WARMS_IN = 20.0  # seconds of the ring until 63 percent of that


def has_meter(read: Read) -> bool:
    """Whether a GPU's meter counts energy: it has one, and its file says what it takes."""
    return read("power_state") != 0 and any(read(name) for name in _POWERS)


def running(read: Read, cycles: int) -> int:
    """Energy that a GPU takes for so many cycles of its engine."""
    return cycles * read("run_power")


def units_of(read: Read) -> int:
    """Energy since power-up."""
    return read("energy_high") << _WORD | read("energy_low")


def millijoules(units: int, cycle: int) -> int:
    """`cycle`: nanoseconds that one stands for."""
    return units * _UNIT * cycle // _NANOSECONDS


def performance(read: Read) -> int | None:
    """State; None: it has no meter for that."""
    code = read("power_state")
    return None if code == 0 else _PERFORMANCE[PowerState.of(code)]


def most_power(read: Read) -> int:
    """Milliwatt that a GPU takes in the hungriest of its states: nothing limits it below that."""
    return _UNIT * max(read(name) for name in _POWERS)


def busy(read: Read) -> int | None:
    """Cycles that its engine has run since power-up; None: nobody counts them."""
    if read("power_state") == 0:
        return None
    return read("busy_high") << _WORD | read("busy_low")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the meters had counted in a cycle, and this machine's seconds then."""

    cycle: int
    seconds: float
    units: Mapping[Place | ContextRef, int]


class PowerMeters:
    """Power and temperature of GPUs, from what their meters say again and again, and what of it contexts have taken.
    `cycle`: nanoseconds."""

    def __init__(self, cycle: int) -> None:
        self._cycle = cycle
        self._readings = deque[_Reading]()
        self._last = _Reading(0, 0.0, {})  # also one in the same second as that before it
        self._degrees: dict[Place, float] = {}

    def note(self, cycle: int, seconds: float, units: Mapping[Place | ContextRef, int]) -> None:
        """Takes a reading: of GPUs, and of contexts that are there. `seconds` never go back."""
        last, self._last = self._last, _Reading(cycle, seconds, units)
        for of, counted in units.items():
            if not isinstance(of, ContextRef):
                self._warm(of, counted - last.units.get(of, 0), cycle - last.cycle)
        if not self._readings or seconds > self._readings[-1].seconds:
            self._readings.append(self._last)
        while len(self._readings) > 2 and seconds - self._readings[1].seconds >= AVERAGED:
            self._readings.popleft()

    def temperature(self, place: Place) -> int | None:
        """Degrees Celsius; None: there is nothing to tell it from."""
        return round(self._degrees[place]) if place in self._degrees else None

    def energy(self, contexts: Iterable[ContextRef]) -> int:
        """Millijoule that they had taken at the last reading."""
        return millijoules(sum(self._last.units.get(each, 0) for each in contexts), self._cycle)

    def power(self, of: Iterable[Place | ContextRef], *, now: bool = False) -> int | None:
        """Milliwatt, of the last second or (`now`) between the last two readings; None: there is nothing to tell it
        from."""
        if len(self._readings) < 2:
            return None
        last, first = self._readings[-1], self._readings[-2 if now else 0]
        taken = 0
        for each in of:
            counted, before = last.units.get(each, 0), first.units.get(each, 0)
            taken += counted - before if counted >= before else counted  # a new context begins at 0
        return round(taken * _UNIT * self._cycle / _NANOSECONDS / (last.seconds - first.seconds))

    def _warm(self, place: Place, units: int, cycles: int) -> None:
        """What it has taken on the average since the last reading brings it nearer to what that makes of it."""
        if cycles <= 0:
            return
        watts = units / cycles * _UNIT / 1000
        left = math.exp(-cycles * self._cycle / _NANOSECONDS / WARMS_IN)
        end = AMBIENT + RESISTANCE * watts
        self._degrees[place] = end + (self._degrees.get(place, AMBIENT) - end) * left
