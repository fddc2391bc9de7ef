"""Types of the values in a file, and what all of its parts have in common."""

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.file.faults import FAULTS, LINE_FAULTS
from ringhil.protocol.wire import MAX_RING, GpuType

MAX_CYCLE = (1 << 63) - 1
MAX_UNITS = (1 << 32) - 1  # a unit's id has 32 bits on the wire
MAX_REGISTER = (1 << 32) - 1


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_pair(value: object) -> object:
    return [value, value] if isinstance(value, int) and not isinstance(value, bool) else value


def _true(value: bool) -> bool:
    if not value:
        raise PydanticCustomError("not_true", "only true says something")
    return value


Cycle = Annotated[int, Field(ge=0, le=MAX_CYCLE)]
Number = Annotated[int, Field(ge=0, le=MAX_UNITS)]
Positive = Annotated[int, Field(ge=1, le=MAX_REGISTER)]
Index = Annotated[int, Field(ge=0, le=MAX_RING - 1)]
CardName = Annotated[str, Field(pattern=names.CARD)]
OwnName = Annotated[str, Field(pattern=names.OWN_NAME)]
GpuName = Annotated[str, Field(pattern=names.GPU)]
CardOrGpuName = Annotated[str, Field(pattern=names.CARD_OR_GPU)]
LinkName = Annotated[str, Field(pattern=names.LINK)]
IndexOrDefault = Annotated[str, Field(pattern=names.INDEX_OR_DEFAULT)]
GroupPath = Annotated[str, Field(pattern=names.GROUP_PATH)]
OneLine = Annotated[str, Field(pattern=names.ONE_LINE)]
Weight = Annotated[int, Field(ge=1, le=65535)]
TrueOnly = Annotated[  # Literal[True] would take 1, which equals it in Python
    bool, AfterValidator(_true), WithJsonSchema({"type": "boolean", "const": True})
]
# Which of these names exist is checked later: there are better answers than "not in the list".
GpuTypeName = Annotated[str, WithJsonSchema({"type": "string", "enum": list(GpuType.codes())})]
FaultName = Annotated[str, WithJsonSchema({"type": "string", "enum": [*FAULTS, *LINE_FAULTS]})]
_GPU_SCHEMA = {"type": "string", "pattern": names.GPU}
_LINK_SCHEMA = {"type": "string", "pattern": names.LINK}
Members = Annotated[
    list[GpuName],
    Field(min_length=1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_GPU_SCHEMA, {"type": "array", "minItems": 1, "items": _GPU_SCHEMA}]}),
]
Links = Annotated[
    list[LinkName],
    Field(min_length=1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_LINK_SCHEMA, {"type": "array", "minItems": 1, "items": _LINK_SCHEMA}]}),
]
_NUMBER_SCHEMA = {"type": "integer", "minimum": 0, "maximum": MAX_UNITS}
FewestAndMost = Annotated[
    list[Number],
    Field(min_length=2, max_length=2),
    BeforeValidator(_as_pair),
    WithJsonSchema(
        {"anyOf": [_NUMBER_SCHEMA, {"type": "array", "minItems": 2, "maxItems": 2, "items": _NUMBER_SCHEMA}]}
    ),
]


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _not_empty(cls, value: object) -> object:
        # `fault:` with its value forgotten must not mean "no fault": None is for keys that are left out.
        if value is None:
            raise PydanticCustomError("empty", "a key without a value")
        return value
