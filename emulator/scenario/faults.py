"""The faults that a timeline can set and clear: one line each, and the parameters that some of them take."""

from dataclasses import dataclass
from typing import Literal

from ringhil.protocol.registers import MAX_LINK_DELAY

ParameterName = Literal["period", "rate", "delay"]


@dataclass(frozen=True)
class Parameter:
    """A number that comes with a fault, `low` .. `high`."""

    default: int
    low: int
    high: int
    doc: str


PARAMETERS: dict[ParameterName, Parameter] = {
    "period": Parameter(300, 2, 1_000_000, "cycles: time from one failure to the next"),
    "rate": Parameter(256, 1, 65535, "flits: of 65,536, so many arrive damaged"),
    "delay": Parameter(16, 1, MAX_LINK_DELAY, "cycles: every flit takes so much longer"),
}

Hits = Literal["GPU", "GPU with a host link", "GPU with keepalives", "ring link", "boundary link", "link"]


@dataclass(frozen=True)
class Fault:
    """`hits`: what kind of GPU or link. `counted`: may be limited by `count`, and then ends by itself."""

    hits: Hits
    effect: str
    parameter: ParameterName | None = None
    counted: bool = False

    @property
    def target(self) -> Literal["gpu", "link"]:
        """The key of an event that says what is hit."""
        return "gpu" if self.hits.startswith("GPU") else "link"

    @property
    def takes(self) -> tuple[str, ...]:
        """The keys of an event that may stand beside this fault."""
        return (*(("count",) if self.counted else ()), *((self.parameter,) if self.parameter else ()))


FAULTS: dict[str, Fault] = {
    "dead": Fault("GPU", "the GPU reports itself not working"),
    "hang": Fault("GPU", "the GPU takes frames in and lets none out, without saying so"),
    "corrupt": Fault("GPU", "the GPU damages control frames on their way through, and its own results"),
    "skip_count": Fault("GPU", "the GPU passes statistics frames on uncounted"),
    "double_count": Fault("GPU", "the GPU counts itself in twice"),
    "duplicate_id": Fault("GPU", "the GPU uses its predecessor's number"),
    "babble": Fault("GPU", "the GPU sends frames without end"),
    "slow": Fault("GPU", "the GPU computes four times as slowly, and says so"),
    "flap": Fault("GPU", "the GPU fails and recovers every `period` cycles", parameter="period"),
    "switch_stuck_through": Fault("GPU", "the bypass switch stays in THROUGH whatever it is told"),
    "switch_stuck_bypass": Fault("GPU", "the bypass switch stays in BYPASS whatever it is told"),
    "keepalive_loss": Fault("GPU with keepalives", "the GPU's keepalives are lost", counted=True),
    "host_link_cut": Fault("GPU with a host link", "the link between the GPU and the CPU carries nothing, either way"),
    "link_cut": Fault("ring link", "the ring link carries nothing, either way"),
    "boundary_link_cut": Fault("boundary link", "the boundary link carries nothing, either way"),
    "link_one_way": Fault("link", "nothing gets from the first GPU named to the second"),
    "link_bit_errors": Fault("link", "of 65,536 flits, `rate` arrive damaged, either way", parameter="rate"),
    "link_delay": Fault("link", "every flit takes `delay` cycles longer, either way", parameter="delay"),
}
