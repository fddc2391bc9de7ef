"""Where the page draws what: no link between two cards leads through the CPU's box."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import pytest

GEOMETRY = Path(__file__).resolve().parents[4] / "emulator/view/page/src/geometry.ts"
NODE = Path(sys.executable).with_name("node")
# Every number of columns for 1 to 8 cards; for each card where its GPUs are, and the CPU's box.
DRAW = """
import { readFileSync } from "node:fs";
import { CPU, drawing } from %s;
const drawn = JSON.parse(readFileSync(0, "utf8")).map(({ plans, columns }) => {
  const { cpu, at, width, height } = drawing(plans, columns);
  return { cpu, box: CPU, width, height, at: Object.fromEntries(at) };
});
console.log(JSON.stringify(drawn));
"""

Point = tuple[float, float]


class Server(NamedTuple):
    plans: list[dict[str, object]]
    columns: int
    links: list[tuple[str, str]]


def servers(chance: random.Random) -> Iterator[Server]:
    """Of every number of cards, joined at random, in every number of columns."""
    for count, most in product(range(1, 9), (2, 5, 64)):
        for columns in range(1, count + 1):
            sizes = [chance.randint(2, most) for _ in range(count)]
            cards = range(count)
            pairs = [*pairwise(cards), *(chance.sample(cards, 2) for _ in cards if count > 1)]
            links = [tuple(f"{card}.{chance.randrange(sizes[card])}" for card in pair) for pair in pairs]
            plans: list[dict[str, object]] = [
                {
                    "name": str(card),
                    "gpus": [f"{card}.{gpu}" for gpu in range(size)],
                    "host": [f"{card}.{gpu}" for gpu in chance.sample(range(size), chance.randint(1, 2))],
                    "boundary": [
                        ends for link in links for ends in (link, link[::-1]) if ends[0].startswith(f"{card}.")
                    ],
                }
                for card, size in enumerate(sizes)
            ]
            yield Server(plans, columns, [(one, other) for one, other in links])


def crosses(one: Point, other: Point, low: Point, high: Point) -> bool:
    """Whether a line has a point in a box (by clipping it at each side)."""
    begin, end = 0.0, 1.0
    for axis in (0, 1):
        way = other[axis] - one[axis]
        if abs(way) < 1e-9:
            if not low[axis] <= one[axis] <= high[axis]:
                return False
            continue
        near, far = sorted(((low[axis] - one[axis]) / way, (high[axis] - one[axis]) / way))
        begin, end = max(begin, near), min(end, far)
    return begin <= end


def test_no_link_between_two_cards_leads_through_the_cpu() -> None:
    if not NODE.exists():
        pytest.skip("needs Node.js, with which `make page` builds the page")
    asked = list(servers(random.Random(4)))
    done = subprocess.run(
        [NODE, "--experimental-strip-types", "--input-type=module", "-e", DRAW % json.dumps(GEOMETRY.as_uri())],
        input=json.dumps([server._asdict() for server in asked]),
        capture_output=True,
        text=True,
        check=True,
    )
    for server, drawn in zip(asked, json.loads(done.stdout), strict=True):
        at = {gpu: (point["x"], point["y"]) for gpu, point in drawn["at"].items()}
        x, y = drawn["cpu"]["x"], drawn["cpu"]["y"]
        wide, tall = drawn["box"]["width"], drawn["box"]["height"]
        low, high = (x - wide / 2, y - tall / 2), (x + wide / 2, y + tall / 2)
        assert min(*low, drawn["width"] - high[0], drawn["height"] - high[1]) > 0
        for one, other in server.links:
            assert not crosses(at[one], at[other], low, high), (server.columns, one, other)
