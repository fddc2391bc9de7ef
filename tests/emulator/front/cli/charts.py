"""Charts of a page as numbers: what is where."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import NamedTuple

LEFT, WIDTH = 150, 1200
Point = tuple[float, float]


class Bar(NamedTuple):
    """A rectangle with what the pointer is told there."""

    title: str
    x: float
    y: float
    width: float
    colour: str
    lost: bool


def charts(page: str) -> list[ET.Element]:
    """The pictures of a page."""
    return [ET.fromstring(found) for found in re.findall(r'<svg class="chart".*?</svg>', page, re.S)]


def bars(chart: ET.Element) -> list[Bar]:
    """In the order in which they are drawn."""
    found = []
    for rect in chart.iter("rect"):
        x, y, width = (float(rect.attrib[name]) for name in ("x", "y", "width"))
        title = rect.find("title")
        assert title is not None
        found.append(Bar(title.text or "", x, y, width, rect.attrib["fill"], rect.attrib.get("class") == "lost"))
    return found


def points(path: ET.Element) -> list[Point]:
    """Corners of an area."""
    found = [tuple(map(float, text.split())) for text in path.attrib["d"][1:].rstrip("Z").split("L")]
    return [(x, y) for x, y in found]


def under(path: ET.Element, bottom: float) -> float:
    """Its area over that line."""
    return sum((x2 - x1) * (bottom - (y1 + y2) / 2) for (x1, y1), (x2, y2) in pairwise(points(path)))


def lanes(chart: ET.Element) -> dict[str, float]:
    """Names to the left, and where they are."""
    return {text.text or "": float(text.attrib["y"]) for text in chart.iter("text") if text.attrib["class"] == "lane"}


def place(ms: float, begin: float, end: float) -> float:
    """Where a time is in a chart from `begin` to `end`."""
    return LEFT + (WIDTH - LEFT) * (ms - begin) / (end - begin)
