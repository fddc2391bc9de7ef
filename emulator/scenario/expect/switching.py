"""What tasks that follow one another on a GPU may cost, by policy."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, create_model

from ringhil.emulator.scenario.expect.check import Check, Findings, Reader
from ringhil.emulator.scenario.file.policies import SwitchPolicyName
from ringhil.emulator.scenario.file.switching import MIB
from ringhil.emulator.scenario.file.types import Number, Part
from ringhil.emulator.scenario.yaml.errors import listing
from ringhil.emulator.scenario.yaml.marks import Loc

LIMITS = ("overhead", "latency", "utilisation", "memory", "failed")
_UNITS = {
    "overhead": "at most {} us",
    "latency": "at most {} us",
    "utilisation": "at least {} %",
    "memory": "at most {} MiB",
    "failed": "{}",
}
_US, _PERCENT = 1000, 100  # of a millisecond, of a whole


class SwitchingLimits(Part):
    """At least one of them."""

    overhead: Number | None = Field(None, description="microseconds at most that a switch costs on the average")
    latency: Number | None = Field(
        None, description="microseconds at most from when a request of inference came to its end, on the average"
    )
    utilisation: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="percent at least of the time in which the GPU worked for a task"
    )
    memory: Number | None = Field(None, description="MiB that were held on a GPU at most: the first preset value, say")
    failed: Number | None = Field(None, description="requests that could not be served")


if TYPE_CHECKING:
    Policies = Part
else:
    Policies = create_model(
        "Policies",
        __base__=Part,
        __doc__="At least one of them.",
        **{
            str(name): (SwitchingLimits | None, Field(None, description=f"limits for `{name}`"))
            for name in SwitchPolicyName
        },
    )


@dataclass(frozen=True)
class SwitchingIs(Check):
    """One policy, where it is the one that is played; None: not checked."""

    KEY: ClassVar[str] = "switching"
    FIELD: ClassVar[tuple[Any, Any]] = (
        Policies | None,
        Field(None, description="policy to what it may cost, where it is played"),
    )

    policy: SwitchPolicyName
    overhead: int | None
    latency: int | None
    utilisation: int | None
    memory: int | None
    failed: int | None

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Policies) -> Iterator[Self]:
        """Of each policy, where there are tasks."""
        if not reader.switches:
            raise reader.source.error(loc, "there is no 'switching' in the file; it is about its tasks", key=True)
        given = [(policy, getattr(written, policy)) for policy in SwitchPolicyName]
        if all(limits is None for _, limits in given):
            raise reader.source.error(loc, f"nothing to check; allowed: {listing(SwitchPolicyName)}")
        for policy, limits in given:
            if limits is None:
                continue
            check = cls(policy, *(getattr(limits, name) for name in LIMITS))
            if not check.given:
                raise reader.source.error((*loc, policy), f"nothing to check; allowed: {listing(LIMITS)}")
            yield check

    @property
    def given(self) -> dict[str, int]:
        """What is checked."""
        return {name: value for name, value in asdict(self).items() if name != "policy" and value is not None}

    def __str__(self) -> str:
        said = ", ".join(f"{name} {_UNITS[name].format(value)}" for name, value in self.given.items())
        return f"switching by {self.policy}: {said}"

    def untold(self, found: Findings) -> str | None:
        """Another policy is played."""
        it = found.switching()
        return None if it is None or it.policy == self.policy else "another policy is played"

    def write(self, entry: dict[str, Any]) -> None:
        """Each policy once."""
        by_policy = entry.setdefault(self.KEY, {})
        if str(self.policy) in by_policy:
            raise ValueError(f"two checks about {self.policy} in one expectation")
        by_policy[str(self.policy)] = self.given

    def differs(self, found: Findings) -> str | None:
        """What is beyond its limit, as it was measured up to now; what can't be told yet is."""
        it = found.switching()
        if it is None or self.untold(found):
            return None
        wrong = []
        for name, took, limit in (
            ("overhead", it.overhead_ms, self.overhead),
            ("latency", it.latency_ms, self.latency),
        ):
            if limit is not None and (took is None or took * _US > limit):
                wrong.append(f"{name} " + ("unknown" if took is None else f"{_shown(took * _US)} us"))
        if self.utilisation is not None and (it.utilisation or 0) * _PERCENT < self.utilisation:
            said = "unknown" if it.utilisation is None else f"{_shown(it.utilisation * _PERCENT)} %"
            wrong.append(f"utilisation {said}")
        if self.memory is not None and it.memory > self.memory * MIB:
            wrong.append(f"memory {it.memory / MIB:g} MiB")
        if self.failed is not None and it.refused != self.failed:
            wrong.append(f"failed {it.refused}")
        return ", ".join(wrong) or None


def _shown(value: float) -> str:
    """With as many digits as it is measured in: what is beyond a limit never reads like it."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
