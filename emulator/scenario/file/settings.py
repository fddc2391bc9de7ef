"""The settings of a server: names, defaults, ranges and meanings, in one place.

| who | makes of them |
|---|---|
| `model.py` | what a file may say, the messages about wrong values, the JSON Schema |
| `topology.py` | the part of a checked scenario that a server is built from |
| `writer.py`, `minimise/` | what differs from the defaults |

What one GPU's firmware or the CPU is told is a class of its own: `firmware.census.CensusConfig`,
`firmware.election.GroupConfig`, `host.work.handing_out.CpuConfig`. Firmware and CPU also run where there is no scenario
(in a testbench), and they get times that follow from the size of a ring (`server/times.py`). Each of these classes is
filled in from the settings at one place: `server/power_up.py` and `server/hosting.py`. What GPUs of a type take of
energy (`server.power`) is here as well: registers of a GPU's meter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ringhil.emulator.scenario.file.policies import WorkPolicyText
from ringhil.emulator.scenario.file.types import MAX_REGISTER, Positive
from ringhil.protocol.registers import REGISTERS

_REGISTER = {register.name: register for register in REGISTERS}

BABBLED = 6  # cycles that a babbling GPU takes for a frame at most: its flits, and what it waits for
_MOST_DOUBLINGS = 8  # of `allowance_period`


def _doc(text: str) -> Any:
    return Field(description=text)


def _register(name: str) -> Any:
    return _doc(f"{_REGISTER[name].unit}: {_REGISTER[name].doc}")


@dataclass(frozen=True)
class Settings:
    """Times are in cycles."""

    census_period: Annotated[Positive, _doc("cycles: time between two counts")] = 5000
    firmware_latency: Annotated[Positive, _doc("cycles: a GPU's firmware needs this long to react")] = 32
    host_latency: Annotated[Positive, _doc("cycles: the CPU needs this long to react")] = 64
    watchdog: Annotated[Positive, _register("watchdog")] = _REGISTER["watchdog"].reset
    heartbeat: Annotated[int, Field(ge=0, le=MAX_REGISTER), _register("heartbeat")] = _REGISTER["heartbeat"].reset
    allowance: Annotated[Positive, _register("allowance")] = _REGISTER["allowance"].reset
    allowance_period: Annotated[Positive, _doc("cycles: period of the guardian")] = _REGISTER["allowance_period"].reset
    link_restore: Annotated[Positive, _register("link_restore")] = _REGISTER["link_restore"].reset
    gpu_restore: Annotated[Positive, _register("gpu_restore")] = _REGISTER["gpu_restore"].reset
    keepalive_interval: Annotated[
        Positive, _doc("cycles: time between two keepalives of a member of a logical link")
    ] = 1000
    keepalive_multiplier: Annotated[
        int, Field(ge=2, le=10), _doc("keepalives: a member is down when this number in a row is missing")
    ] = 3
    keepalive_jitter: Annotated[
        int,
        Field(ge=0, le=25),
        _doc("percent: an interval is shorter by up to that, at random, so that rounds don't meet the same keepalives"),
    ] = 12
    wait_to_restore: Annotated[Positive, _doc("cycles: a member must be heard again for this long before it is up")] = (
        4000
    )
    compute_setup: Annotated[Positive, _register("compute_setup")] = _REGISTER["compute_setup"].reset
    compute_per_flit: Annotated[Positive, _register("compute_per_flit")] = _REGISTER["compute_per_flit"].reset
    device_memory: Annotated[Positive, _register("device_memory")] = _REGISTER["device_memory"].reset
    context_switch: Annotated[int, Field(ge=0, le=MAX_REGISTER), _register("context_switch")] = _REGISTER[
        "context_switch"
    ].reset
    default_slice: Annotated[int, Field(ge=16, le=MAX_REGISTER), _register("default_slice")] = _REGISTER[
        "default_slice"
    ].reset
    window: Annotated[int, Field(ge=1, le=4), _doc("work units: outstanding for each GPU at a time")] = 4
    records: Annotated[
        Literal["always", "sometimes", "never"], _doc("whether GPUs append their records to the statistics message")
    ] = "always"
    policy: Annotated[WorkPolicyText, _doc("how the CPU chooses the GPU for a work unit (R5)")] = "proportional"

    @property
    def allowance_periods(self) -> list[int]:
        """Cycles: the guardian's period, and what it may be stretched to, so that a babbling GPU doesn't stay within
        its allowance."""
        longer = [self.allowance_period << doublings for doublings in range(_MOST_DOUBLINGS + 1)]
        return [period for period in longer if period <= MAX_REGISTER]

    @property
    def most_allowance(self) -> int:
        """Frames: with a higher `allowance` no babbling GPU is ever muted."""
        return (self.allowance_periods[-1] - 1) // BABBLED


ANY_TYPE = "default"
_Short = Annotated[int, Field(ge=0, le=0xFFFF)]
_Long = Annotated[int, Field(ge=0, le=MAX_REGISTER)]


@dataclass(frozen=True)
class GpuPower:
    """Of one type of GPU. Units of energy a cycle, and cycles."""

    run_power: Annotated[_Short, _register("run_power")] = 0
    idle_power: Annotated[_Short, _register("idle_power")] = 0
    low_power: Annotated[_Short, _register("low_power")] = 0
    off_power: Annotated[_Short, _register("off_power")] = 0
    low_after: Annotated[_Long, _register("low_after")] = 0
    off_after: Annotated[_Long, _register("off_after")] = 0
    low_wake: Annotated[_Short, _register("low_wake")] = 0
    off_wake: Annotated[_Short, _register("off_wake")] = 0

    @property
    def wake(self) -> int:
        """Cycles that work takes longer at most."""
        return max(self.low_wake if self.low_after else 0, self.off_wake if self.off_after else 0)


UNMETERED = GpuPower()


def power_of(powers: Iterable[tuple[str, GpuPower]], gpu_type: str) -> GpuPower:
    """That of a type, of which a file may say nothing."""
    by_type = dict(powers)
    return by_type.get(gpu_type, by_type.get(ANY_TYPE, UNMETERED))
