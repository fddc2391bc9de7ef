"""The page of `ringhil share`: each bar is where its turn was, each area as large as what it stands for."""

import re

import pytest

from ringhil.emulator.front.cli.share_page import SharedGpu, page
from ringhil.emulator.judge.contexts.turn_log import ShownTurn

from .charts import bars, charts, lanes, place, points, under

MS = 0.01  # that a cycle stands for
_BEGINS = [100 + 50 * n + 7 * (n % 3) for n in range(71)]
TURNS = [
    ShownTurn(0, 40, 40, 90),
    *(ShownTurn(1 + n % 2, at, at + 10 * (n > 0), _BEGINS[n + 1]) for n, at in enumerate(_BEGINS[:-1])),
]
HELD = [(50, 10), (700, 30), (1400, 25), (3500, 5)]
GPU = SharedGpu("a.1", {1: "x", 2: "y"}, TURNS, HELD, 40, MS, 1 << 21)
LAST = 1.02 * max(TURNS[-1].ended, HELD[-1][0]) * MS
NAMES = {0: "plain work", 1: "x", 2: "y"}


@pytest.fixture(scope="module")
def shown() -> str:
    return page("name", "what", [], [], [GPU])


def test_each_turn_from_nearby_is_where_it_was(shown: str) -> None:
    """48 of them, in the middle; what was a switch is grey."""
    _, close = charts(shown)
    first = (len(TURNS) - 48) // 2
    assert f"Turns {first + 1} to {first + 48} of {len(TURNS)};" in shown
    assert "a.1: 48 turns in detail" in shown
    (grey,) = re.findall(r'class="swatch"><rect width="100%" height="100%" fill="(#\w+)"', shown.replace("\n", ""))[:1]
    turns = TURNS[first : first + 48]
    begin, end = turns[0].began * MS, turns[-1].ended * MS
    wanted = []
    for turn in turns:
        for what, since, until in (("switch to", turn.began, turn.works), ("turn of", turn.works, turn.ended)):
            if until > since:
                title = f"{what} {NAMES[turn.context]}: {since * MS:.3f} to {until * MS:.3f} ms"
                wanted.append((title, place(since * MS, begin, end), place(until * MS, begin, end)))
    found = bars(close)
    assert [bar.title for bar in found] == [title for title, _, _ in wanted]
    for bar, (_, since, until) in zip(found, wanted, strict=True):
        assert (bar.x, bar.x + bar.width) == pytest.approx((since, until), abs=0.02)
        assert (bar.colour == grey) == bar.title.startswith("switch")
    where = lanes(close)
    assert len(set(where.values())) == 3
    for name in ("x", "y"):
        of_it = [bar for bar in found if f" {name}:" in bar.title]
        assert {bar.y + 14 for bar in of_it} == {where[name]}
        assert len({bar.colour for bar in of_it}) == 2
    assert len({bar.colour for bar in found}) == 3


def test_areas_are_as_large_as_the_time_that_each_had(shown: str) -> None:
    """Without the switches."""
    whole, _ = charts(shown)
    where = lanes(whole)
    *areas, _ = whole.iter("path")
    assert f"of each {LAST / 300:,.2f} ms; full height: all" in shown
    for (context, name), area in zip(NAMES.items(), areas, strict=True):
        title = area.find("title")
        assert title is not None
        assert title.text == name
        top = where[name] - 14
        assert {top <= y <= top + 20 for _, y in points(area)} == {True}
        worked = sum(turn.ended - turn.works for turn in TURNS if turn.context == context) * MS
        had = under(area, top + 20) / 20 / 1050 * LAST
        assert had == pytest.approx(worked, rel=0.005)
    assert len({area.attrib["fill"] for area in areas}) == 3


def test_memory_is_as_high_as_what_was_held_of_all(shown: str) -> None:
    whole, _ = charts(shown)
    *_, memory = whole.iter("path")
    (bound,) = [line for line in whole.iter("line") if line.attrib["class"] == "bound"]
    top = float(bound.attrib["y1"])
    assert lanes(whole)["80 MiB"] == top + 12
    assert top >= max(where for name, where in lanes(whole).items() if name in NAMES.values())
    found = points(memory)
    assert found[0] == (150, top + 90)
    steps = [(x, y) for (x, _), (_, y) in zip(found[1:-2:2], found[2:-1:2], strict=True)]
    wanted = [(place(cycle * MS, 0, LAST), top + 90 - 90 * pages / 40) for cycle, pages in HELD]
    assert steps == [pytest.approx(each, abs=0.02) for each in wanted]
    assert found[-2:] == [(1200, steps[-1][1]), (1200, top + 90)]
