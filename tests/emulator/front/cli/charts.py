"""What a page shows in its charts."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

from ringhil.emulator.pages.charts import Chart, Curve, Lane


def charts(page: str) -> list[ET.Element]:
    """The pictures of a page that draws them itself."""
    return [ET.fromstring(found) for found in re.findall(r'<svg class="chart".*?</svg>', page, re.S)]


def shown(page: str) -> list[Chart]:
    """The charts that the page's library draws, in their order; each has its place."""
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
