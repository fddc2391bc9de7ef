"""What a page shows in its charts."""

import json
import re
from itertools import pairwise

from ringhil.emulator.pages.charts import Chart, Curve, Lane


def shown(page: str) -> list[Chart]:
    """In their order; each has its place on the page."""
    (told,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S)
    found = [Chart.model_validate(each) for each in json.loads(told)]
    assert re.findall(r'data-chart="(\d+)"', page) == [str(place) for place in range(len(found))]
    return found


def names(lanes: tuple[Lane, ...]) -> list[str]:
    """Of lanes, from above."""
    return [lane.name for lane in lanes]


def under(curve: Curve, end: float) -> float:
    """The area of steps, up to there."""
    assert curve.steps
    points = zip(curve.xs, curve.ys, strict=True)
    return sum((until - since) * (y or 0.0) for (since, y), (until, _) in pairwise([*points, (end, 0.0)]))
