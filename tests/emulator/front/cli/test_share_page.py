"""The page of `ringhil share`: each bar is where its turn was, each lane as full as what it stands for."""

import pytest

from ringhil.emulator.front.cli.share_page import CLOSE, SharedGpu, page
from ringhil.emulator.judge.contexts.turn_log import ShownTurn
from ringhil.emulator.pages.charts import Chart

from .charts import names, shown, under

S = 1e-5  # that a cycle stands for
_BEGINS = [100 + 50 * n + 7 * (n % 3) for n in range(271)]
TURNS = [
    ShownTurn(0, 40, 40, 90),
    *(ShownTurn(1 + n % 2, at, at + 10 * (n > 0), _BEGINS[n + 1]) for n, at in enumerate(_BEGINS[:-1])),
]
HELD = [(50, 10), (700, 30), (1400, 25), (3500, 5)]
GPU = SharedGpu("a.1", {1: "x", 2: "y"}, TURNS, HELD, 40, S, 1 << 21)
NAMES = {0: "plain work", 1: "x", 2: "y"}


@pytest.fixture(scope="module")
def both() -> tuple[Chart, Chart]:
    whole, close = shown(page("name", "pass", "what", [], [], [GPU], lambda cycle: f"r.html#{cycle}"))
    return whole, close


def test_each_turn_from_nearby_is_where_it_was_and_leads_there(both: tuple[Chart, Chart]) -> None:
    """Those in the middle; a switch has a colour of its own."""
    _, close = both
    first = (len(TURNS) - CLOSE) // 2
    assert close.note == f"Turns {first + 1} to {first + CLOSE} of {len(TURNS)}"
    turns = TURNS[first : first + CLOSE]
    assert names(close.lanes) == list(NAMES.values())
    for (context, name), lane in zip(NAMES.items(), close.lanes, strict=True):
        wanted = []
        for turn in turns:
            for what, since, until in (("switch to", turn.began, turn.works), ("turn of", turn.works, turn.ended)):
                if until > since and turn.context == context:
                    kind = "switch" if what == "switch to" else name
                    wanted.append((f"{what} {name}", kind, round(since * S, 9), round(until * S, 9), f"r.html#{since}"))
        found = [(bar.title, close.kinds[bar.kind].name, bar.begin, bar.end, bar.link) for bar in lane.bars]
        assert found == wanted
    assert len({kind.colour for kind in close.kinds}) == len(close.kinds) == 4
    assert (close.x.begin, close.x.end) == (pytest.approx(turns[0].began * S), pytest.approx(turns[-1].ended * S))


def test_lanes_are_as_full_as_the_time_that_each_had(both: tuple[Chart, Chart]) -> None:
    """Without the switches."""
    whole, close = both
    assert whole.x.end is not None
    colours = {kind.name: kind.colour for kind in close.kinds}
    for (context, name), lane in zip(NAMES.items(), whole.lanes, strict=True):
        assert lane.level is not None
        assert (lane.name, lane.colour) == (name, colours[name])
        worked = sum(turn.ended - turn.works for turn in TURNS if turn.context == context) * S
        assert under(lane.level, whole.x.end) == pytest.approx(worked, rel=0.005)
        assert all(0 <= (share or 0) <= 1 for share in lane.level.ys)


def test_memory_is_what_was_held_below_all_that_there_is(both: tuple[Chart, Chart]) -> None:
    whole, _ = both
    (memory,) = whole.curves
    (bound,) = whole.bounds
    assert bound.at == 40 << 21
    points = list(zip(memory.xs, memory.ys, strict=True))
    assert points == [(0, 0), *((round(cycle * S, 9), pages << 21) for cycle, pages in HELD)]
