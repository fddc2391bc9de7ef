"""The policies that the CPU may be told to follow: names and meanings, in one table for each kind.

The format of the file, its JSON Schema, messages, `ringhil switch --policy` and the tables of docs/ follow from here.
The classes are those of the CPU: `POLICIES` of `host/policy/` and `SWITCH_POLICIES` of `host/switching/` have one for
each name.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError


class _Policy(StrEnum):
    """A name, and what whoever follows the policy does."""

    doc: str

    def __new__(cls, name: str, doc: str = "") -> Self:
        policy = str.__new__(cls, name)
        policy._value_, policy.doc = name, doc
        return policy


class WorkPolicyName(_Policy):
    """How the CPU chooses the GPU for a work unit (R5)."""

    PROPORTIONAL = (
        "proportional",
        "Each card gets units in proportion to its weight, anew when that changes.",
    )
    ROUND_ROBIN = "round_robin", "The GPUs of all cards get a unit each in turn, whatever they weigh."


class SwitchPolicyName(_Policy):
    """How one task follows another (W2 to W7)."""

    PIPELINED = "pipelined", "The next tasks are prepared while one runs, part by part, within two preset values."
    PIPESWITCH = "pipeswitch", "Workers stand by; the next model's layers are computed as they come."
    STOP_START = "stop_start", "One process at a time, each from its very beginning to its end."
    RESIDENT = "resident", "All tasks are loaded before the first request, and stay."


def _one_of(names: Iterable[str]) -> Any:
    allowed = [str(name) for name in names]

    def check(value: str) -> str:
        if value not in allowed:
            raise PydanticCustomError("unknown_policy", "no such policy")
        return value

    return AfterValidator(check), WithJsonSchema({"enum": allowed, "type": "string"})


WorkPolicyText = Annotated[str, *_one_of(WorkPolicyName)]
SwitchPolicyText = Annotated[str, *_one_of(SwitchPolicyName)]
