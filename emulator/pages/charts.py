"""What charts of reports show. The library of the page draws them (view/page/src/plots.ts, with types made from these).

Values are in base units: seconds, bytes, watts, joules, cycles, shares of 1. The page picks the unit in which ticks are
round.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

Quantity = Literal["seconds", "bytes", "watts", "joules", "cycles", "share", "count"]
Colour = Literal["accent", "result", "election", "report", "work", "acknowledgement", "warn", "muted"]  # of the style
COLOURS: tuple[Colour, ...] = ("accent", "result", "election", "report", "work", "acknowledgement", "warn")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Axis(_Part):
    """`title`: what is along it. Without `begin` and `end` it is as long as what is shown; an axis of y begins at 0."""

    title: str
    quantity: Quantity
    begin: float | None = None
    end: float | None = None


class Curve(_Part):
    """Points with growing `xs`; None is a gap. `steps`: a value lasts to the next point, and to the end of the axis.
    `area`: filled down to 0."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    steps: bool = False
    area: bool = False


class Bound(_Part):
    """A dashed line across the chart, at a value of one of its axes."""

    name: str
    at: float
    along: Literal["x", "y"] = "y"


class BarKind(_Part):
    """Bars that look alike. `half`: of a lane."""

    name: str
    colour: Colour
    half: Literal["upper", "lower"] | None = None


class Bar(_Part):
    """From `begin` to `end`, of the kind at that place among all. `title`: what it is. `lost`: it came to nothing.
    `link`: where more can be seen."""

    begin: float
    end: float
    kind: int
    title: str
    lost: bool = False
    link: str | None = None


class Lane(_Part):
    """Bars that begin one after another; or `level`, whose values of 0 to 1 fill the lane."""

    name: str
    bars: tuple[Bar, ...] = ()
    level: Curve | None = None
    colour: Colour = "accent"  # of its level


class Chart(_Part):
    """Lanes above, curves below, over one axis. `title` and `note` say what is shown. Charts of a `group` have one
    cursor, and a curve that is hidden in one is in all."""

    title: str
    x: Axis
    y: Axis | None = None
    note: str = ""
    curves: tuple[Curve, ...] = ()
    bounds: tuple[Bound, ...] = ()
    kinds: tuple[BarKind, ...] = ()
    lanes: tuple[Lane, ...] = ()
    group: str | None = None


def json_of(charts: Sequence[Chart]) -> str:
    """A list of them; what is as by default is left out."""
    return f"[{','.join(chart.model_dump_json(exclude_defaults=True) for chart in charts)}]"
