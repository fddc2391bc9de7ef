"""A GPU's meter in the units of NVML, from its registers. What a unit of energy stands for is decided here.

A unit of energy in a cycle is a tenth of a watt: `run_power: 7000` is 700 W.
"""

from collections.abc import Callable

from ringhil.emulator.nvml.messages import Meter
from ringhil.protocol.registers import PowerState

Read = Callable[[str], int]  # a register, by its name

_UNIT = 100  # milliwatt
_NANOSECONDS = 10**9  # in a second: a milliwatt for one second is a millijoule
_WORD = 32
_POWERS = {state: f"{name}_power" for state, name in zip(PowerState, ("run", "idle", "low", "off"), strict=True)}
# Performance states of NVML: 0 is the fastest, 15 the slowest.
_PERFORMANCE = {PowerState.RUNNING: 0, PowerState.IDLE: 8, PowerState.LOW: 12, PowerState.OFF: 15}


def metered(meter: int, read: Read, cycle: int) -> int | None:
    """What a GPU's meter says; None: it has none for that, or its file says nothing of what it takes. `cycle`:
    nanoseconds."""
    code = read("power_state")
    if code == 0:
        return None
    state = PowerState.of(code)
    if meter == Meter.PERFORMANCE:
        return _PERFORMANCE[state]
    if not any(read(name) for name in _POWERS.values()):
        return None
    if meter == Meter.POWER:
        return _UNIT * read(_POWERS[state])
    if meter == Meter.ENERGY:
        units = read("energy_high") << _WORD | read("energy_low")
        return units * _UNIT * cycle // _NANOSECONDS
    return None


def busy(read: Read) -> int | None:
    """Cycles that its engine has run since power-up; None: nobody counts them."""
    if read("power_state") == 0:
        return None
    return read("busy_high") << _WORD | read("busy_low")
