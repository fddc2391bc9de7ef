"""`sweep` as it is written: parameters, and the ways to say which values they take."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.file.types import CardName, Members, Part
from ringhil.protocol.wire import MAX_RING

MAX_NUMBER = (1 << 63) - 1

Whole = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Size = Annotated[int, Field(ge=1, le=MAX_RING)]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


_SIZE_SCHEMA = {"type": "integer", "minimum": 1, "maximum": MAX_RING}
Sizes = Annotated[
    list[Size],
    Field(min_length=1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_SIZE_SCHEMA, {"type": "array", "minItems": 1, "items": _SIZE_SCHEMA}]}),
]
# What a listed value may be is checked by hand: a finding about one of several types is hard to put into words.
Listed = Annotated[
    list[Any],
    Field(min_length=1),
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER},
                    {"type": "string", "pattern": names.SWEPT_TEXT},
                    {"type": "boolean"},
                    {"type": "null"},
                ]
            },
        }
    ),
]


class Range(Part):
    """Whole numbers from one to another, both included."""

    from_: Whole = Field(alias="from", description="first number")
    to: Whole = Field(description="last number; when a step passes over it, the one before")
    step: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = Field(1, description="from one number to the next")


class Gpus(Part):
    """All GPUs of a card, one by one."""

    gpus: CardName = Field(description="card whose GPUs it takes, one after another")
    except_: Members | None = Field(None, alias="except", description="GPUs that are left out")


class RingLinks(Part):
    """All ring links of a card, one by one."""

    links: CardName = Field(description="card whose ring links it takes, one after another")


class BoundaryLinks(Part):
    """All physical links between cards, one by one."""

    boundary_links: Literal["all"] = Field(description="all physical links between cards, one after another")


class Sets(Part):
    """Sets of GPUs of a card."""

    gpus: CardName = Field(description="card of which GPUs are chosen")
    number: Sizes = Field(description="how many GPUs at a time, or a list of such numbers")
    except_: Members | None = Field(None, alias="except", description="GPUs that are left out")


class Choose(Part):
    """All sets of `number` GPUs of a card; a set stands where a list of GPUs may stand."""

    choose: Sets = Field(description="all sets of `number` GPUs of a card")


# By the keys that tell them apart.
DOMAINS: dict[str, type[Part]] = {
    "from": Range,
    "to": Range,
    "step": Range,
    "gpus": Gpus,
    "except": Gpus,
    "links": RingLinks,
    "boundary_links": BoundaryLinks,
    "choose": Choose,
}
KINDS = ("from", "gpus", "links", "boundary_links", "choose")

Domain = Listed | Range | Gpus | RingLinks | BoundaryLinks | Choose
Sweep = Annotated[dict[Annotated[str, Field(pattern=names.PARAMETER)], Domain], Field(min_length=1)]
