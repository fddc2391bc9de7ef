"""What is left to chance in a run is drawn anew: within its limits, the same from the same seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import FromFirmware
from ringhil.emulator.events.server import Struck
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import TimelineEvent, loads
from ringhil.emulator.server.chance import redrawn

PERIOD = 300
SERVER = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {census_period: 300, firmware_latency: 8, host_latency: 8, keepalive_interval: 200, allowance_period: 512}
workload: {units: 12, size: 300}
timeline:
- {at: 1000, fault: dead, gpu: a.2}
- {at: 1900, fault: link_bit_errors, link: a.0-a.1, rate: 900}
- {at: 2600, clear: dead, gpu: a.2}
- {at: 3000, fault: slow, gpu: a.3}
- {at: 3400, clear: slow, gpu: a.3}
- {at: 3900, clear: link_bit_errors, link: a.0-a.1}
until: 6000
"""
QUIET = SERVER.partition("workload")[0]  # nothing comes but keepalives and counts
TIMELINE = loads(SERVER).timeline
CYCLE = st.integers(0, 4500)
Seen = list[tuple[int, str, str, bool]]


@contextmanager
def drawn(cycle: int, seed: int | None, text: str = SERVER) -> Iterator[tuple[Run, Seen]]:
    """A run that goes on from a cycle with its chance drawn, None: as it was; what strikes then."""
    run, seen = Run(loads(text), cells_library()), Seen()
    run.start()
    run.run_to(cycle)
    run.observations.listen(
        Struck, lambda told: seen.append((told.cycle, told.event.kind, told.event.where, told.event.begins))
    )
    if seed is not None:
        run.server.draw_again(Random(seed))
    try:
        yield run, seen
    finally:
        run.close()


def told(run: Run, outcome: Outcome) -> tuple[object, ...]:
    """All that could differ."""
    registers = [run.engine.peek(cell, "rx_bad_port1") for cell in range(4)]
    return outcome.work, outcome.recoveries, outcome.cards, registers, run.kernel.now


@given(now=CYCLE, seed=st.integers(0, 2**32))
def test_what_begins_ends_as_long_after_and_what_is_there_ends(now: int, seed: int) -> None:
    found = list(redrawn(TIMELINE, now, PERIOD, Random(seed)))
    assert all(event.at >= now for event in found)
    assert found == list(redrawn(TIMELINE, now, PERIOD, Random(seed)))
    for event in TIMELINE:
        begins, ends = (
            next((each for each in within if same(each, event) and each.begins == first), None)
            for first in (True, False)
            for within in [found]
        )
        if not event.begins or event.at < now:
            continue
        was = next(each for each in TIMELINE if same(each, event) and not each.begins)
        assert (begins is None) == (ends is None)
        if begins is not None and ends is not None:
            assert ends.at - begins.at == was.at - event.at
            assert abs(begins.at - event.at) <= PERIOD // 2
    there = [event for event in TIMELINE if event.begins and event.at < now]
    for event in there:
        was = next(each for each in TIMELINE if same(each, event) and not each.begins)
        assert was.at < now or sum(same(each, event) for each in found) == 1


def same(event: TimelineEvent, other: TimelineEvent) -> bool:
    """Of one fault at one place."""
    return (event.kind, event.target) == (other.kind, other.target)


@settings(unhurried, max_examples=6)
@given(cycle=CYCLE, seed=st.integers(0, 1000))
def test_a_sound_server_stands_every_future_and_one_seed_is_one_future(cycle: int, seed: int) -> None:
    results = []
    for _ in range(2):
        with drawn(cycle, seed) as (run, seen):
            outcome = run.finish()
            assert outcome.violations == ()
            results.append((told(run, outcome), seen))
    assert results[0] == results[1]


def test_faults_and_bit_errors_come_otherwise() -> None:
    struck, damaged = set[object](), set[object]()
    for seed in (None, 1, 2, 3, 4):
        with drawn(1500, seed) as (run, seen):
            run.finish()
        struck.add(tuple(seen))
    for seed in (None, 1, 2, 3):
        with drawn(2000, seed) as (run, _):
            run.run_to(3500)
            damaged.add(tuple(run.engine.peek(cell, f"rx_bad_port{port}") for cell in range(4) for port in (1, 2)))
    assert len(struck) > 2
    assert len(damaged) > 1


def test_keepalives_come_at_other_times() -> None:
    def sent(seed: int | None) -> list[int]:
        found = list[int]()
        with drawn(600, seed, QUIET) as (run, _):
            run.observations.listen(FromFirmware, lambda told: found.append(told.cycle))
            run.run_to(3000)
        return found

    assert sent(1) == sent(1) != sent(2) != sent(None)
