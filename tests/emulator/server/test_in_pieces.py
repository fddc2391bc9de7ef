"""A run in pieces is the same run: start, run_to, strike and finish against the events in the file."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, Scenario, TimelineEvent, load, loads

from . import campaign

# Looks of `expect` fall on cycles of events on purpose.
EXPECT = """
expect:
  - {at: 4500, count: {a: 5, b: 4}}
  - {by: 9000, count: {a: 5}}
  - {end: true, work: {completed: 120}}
"""


def comparable(outcome: Outcome) -> dict[str, Any]:
    """All but how fast this machine was."""
    document = outcome.to_json()
    return {**document, "engine": document["engine"]["rtl"]}


def whole(scenario: Scenario, library: Library) -> dict[str, Any]:
    server = Run(scenario, library)
    try:
        return comparable(server.run())
    finally:
        server.engine.close()


def in_pieces(scenario: Scenario, kept: int, stops: list[int], library: Library) -> dict[str, Any]:
    """The first `kept` events stand in the file; of the others each is added at the last stop before it."""
    later = scenario.timeline[kept:]
    server = Run(replace(scenario, timeline=scenario.timeline[:kept]), library)
    server.start()
    for stop, after in pairwise([*stops, 2**40]):
        server.run_to(stop)
        assert server.kernel.now == stop
        server.strike(event for event in later if stop <= event.at < after)
    try:
        return comparable(server.finish())
    finally:
        server.engine.close()


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("seed", sampled(range(24), "work", 3))
def test_events_added_on_the_way_make_the_same_run(seed: int, library: Library) -> None:
    rng = random.Random(seed)
    kinds = [rng.choice(campaign.KINDS) for _ in range(rng.choice([1, 2, 3]))]
    scenario = loads(campaign.case(kinds, seed).text + EXPECT)
    kept = rng.randrange(len(scenario.timeline))
    first = scenario.timeline[kept].at
    # One stop at least at or before the first of them, often in its very cycle; others anywhere before the last.
    last = scenario.timeline[-1].at
    stops = {rng.choice([first, rng.randrange(first + 1)])} | {rng.randrange(last + 1) for _ in range(rng.randrange(4))}
    assert in_pieces(scenario, kept, sorted(stops), library) == whole(scenario, library)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("before", [0, 1, 4, 100])
def test_an_event_comes_before_what_else_falls_on_its_cycle(before: int, library: Library) -> None:
    """The entry GPU dies in the very cycle in which its firmware would have read the message that completes a count,
    wherever the event is added: also when that message is waiting already."""
    scenario = loads(campaign.case(["dead"], 3).text)
    first, last = scenario.timeline
    server = Run(replace(scenario, timeline=()), library)
    server.start()
    server.run_to(6_000)
    at, _ = server.watch.cards[0].counts[3]
    entry = GpuRef("a", 0)
    timeline = (replace(first, at=at, target=entry), replace(last, at=at + 5_000, target=entry))
    struck = replace(scenario, timeline=timeline)
    reference = whole(struck, library)
    assert in_pieces(struck, 0, [at - before], library) == reference
    later = replace(struck, timeline=(replace(timeline[0], at=at + 1), timeline[1]))
    accepted = [run["cards"]["a"]["census"]["accepted"] for run in (reference, whole(later, library))]
    assert accepted[1] == accepted[0] + 1


def test_an_event_may_be_added_before_those_of_the_file(library: Library) -> None:
    scenario = loads("""
server: {cards: {a: {gpus: 5}}}
timeline:
  - {at: 6000, fault: double_count, gpu: a.2}
  - {at: 20000, fault: link_cut, link: a.3-a.4}
""")
    server = Run(replace(scenario, timeline=scenario.timeline[1:]), library)
    server.start()
    server.strike(scenario.timeline[:1])
    assert server.server.timeline == scenario.timeline
    assert comparable(server.finish()) == whole(scenario, library)
    server.engine.close()


def test_every_phase_of_a_round_can_be_stopped_in(library: Library) -> None:
    """Stops that do nothing change nothing, wherever they are."""
    scenario = loads(campaign.case(["dead"], 3).text + EXPECT)
    reference = whole(scenario, library)
    for first in range(3):
        stops = list(range(4_000 + first, 4_700, 3))
        assert in_pieces(scenario, len(scenario.timeline), [0, *stops], library) == reference


@pytest.mark.rest
def test_the_run_goes_on_for_events_that_were_added_after_its_end(library: Library) -> None:
    """The horizon moves with them, although all work was done and the file would have ended long before."""
    scenario = loads(campaign.case(["dead"], 5).text)
    first, last = scenario.timeline
    late = (replace(first, at=60_000), replace(last, at=66_000))
    server = Run(replace(scenario, timeline=()), library)
    server.start()
    server.run_to(59_999)
    assert server.cpu.finished
    server.strike(late)
    outcome = server.finish()
    assert [r.at for r in outcome.recoveries] == [60_000, 66_000]
    assert all(r.recounted is not None for r in outcome.recoveries)
    assert comparable(outcome) == whole(replace(scenario, timeline=late), library)


def test_an_event_of_the_past_is_refused(library: Library) -> None:
    scenario = loads(campaign.case(["dead"], 7).text)
    event: TimelineEvent = scenario.timeline[0]
    server = Run(replace(scenario, timeline=()), library)
    server.start()
    server.run_to(event.at + 1)
    with pytest.raises(ValueError, match=f"at {event.at}: it is cycle {event.at + 1} already"):
        server.strike([event])


def test_what_goes_wrong_on_the_way_leaves_no_file_open(library: Library, tmp_path: Any) -> None:
    data, file = tmp_path / "data", tmp_path / "server.yaml"
    data.write_bytes(bytes(100_000))
    file.write_text("server: {cards: {a: {gpus: 4}}}\nworkload: {data: data, size: 4096}\n", encoding="utf-8")
    server = Run(load(file), library)
    server.start()
    data.write_bytes(b"short")
    with pytest.raises(ValueError, match="has become shorter"):
        server.run_to(50_000)
