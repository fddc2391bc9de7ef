"""A GPU that flaps stays out of the ring: it must be well for `gpu_restore` cycles before it takes part again."""

from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.engine import FROM_RING, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, frames

from .stimulus import reset_value, run_for, statistics, status

GPUS = 4
FLAPPING = 2
RESTORE = reset_value("gpu_restore")
SLACK = 4  # cycles that it takes to be seen and to act


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(cells_library(), Topology((GPUS,))) as made:
        made.run(100)
        yield made


def taking_part(engine: Engine) -> bool:
    bits = status(engine, FLAPPING) & {"bypass_cw", "bypass_ccw"}
    assert len(bits) != 1
    return not bits


def changes(engine: Engine, cycles: int) -> list[tuple[int, bool]]:
    """When it came and went in the next so many cycles."""
    found, last = [], taking_part(engine)
    for _ in range(cycles):
        engine.run(engine.now + 1)
        if (now := taking_part(engine)) != last:
            found.append((engine.now, now))
            last = now
    return found


def counted(engine: Engine) -> list[int]:
    engine.send_mail(0, 0, statistics(GPUS, 0, engine.now), at=engine.now)
    ((*_, image),) = [e for e in run_for(engine, 150) if e[2] == FROM_RING]
    frame = codec.decode(image, link=False)
    assert isinstance(frame, frames.Statistics)
    return [r.id for r in frame.records]


def dead(engine: Engine, on: bool) -> None:
    engine.set_fault(FLAPPING, "dead", on)


@pytest.mark.parametrize("restore", [1, 20, RESTORE, 300])
def test_it_comes_back_so_many_cycles_after_it_is_well(engine: Engine, restore: int) -> None:
    engine.poke(FLAPPING, "gpu_restore", restore)
    dead(engine, True)
    run_for(engine, 50)
    assert "restoring" in status(engine, FLAPPING)
    dead(engine, False)
    well = engine.now
    ((came, there),) = changes(engine, restore + 100)
    assert there
    assert well + restore < came <= well + restore + SLACK
    assert "restoring" not in status(engine, FLAPPING)
    assert counted(engine) == [0, 1, 2, 3]


def test_without_the_register_it_comes_back_at_once(engine: Engine) -> None:
    engine.poke(FLAPPING, "gpu_restore", 0)
    dead(engine, True)
    run_for(engine, 50)
    dead(engine, False)
    well = engine.now
    ((came, _),) = changes(engine, 100)
    assert came <= well + SLACK


@pytest.mark.parametrize(("off", "on"), [(1, 1), (1, 30), (30, 1), (RESTORE - 1, 5), (RESTORE - SLACK, RESTORE)])
def test_a_gpu_that_flaps_faster_than_that_stays_out(engine: Engine, off: int, on: int) -> None:
    """It goes once and comes back once, gpu_restore cycles after it was last unwell. `off`: cycles well."""
    dead(engine, True)
    ((_, there),) = changes(engine, 10)
    assert not there
    for _ in range(25):
        dead(engine, False)
        assert changes(engine, off) == []
        dead(engine, True)
        assert changes(engine, on) == []
    assert counted(engine) == [0, 1, 3]
    dead(engine, False)
    well = engine.now
    ((came, there),) = changes(engine, 10 * RESTORE)
    assert there
    assert well + RESTORE < came <= well + RESTORE + SLACK
    assert counted(engine) == [0, 1, 2, 3]


def test_one_that_is_well_for_longer_comes_and_goes(engine: Engine) -> None:
    """So the register is what keeps the others out."""
    dead(engine, True)
    run_for(engine, 10)
    for _ in range(5):
        dead(engine, False)
        ((_, there),) = changes(engine, RESTORE + SLACK)
        assert there
        dead(engine, True)
        ((_, there),) = changes(engine, 5)
        assert not there


def test_it_takes_part_once_when_a_census_meets_it_while_it_flaps(engine: Engine) -> None:
    """Every census while it flaps counts the others, and comes home."""
    dead(engine, True)
    run_for(engine, 10)
    for period in range(1, 30):
        engine.send_mail(0, 0, statistics(GPUS, 0, period), at=engine.now)
        events = []
        for toggle in range(60 // period + 2):
            dead(engine, bool(toggle % 2))
            events += run_for(engine, period)
        dead(engine, True)
        events += run_for(engine, 60)
        homes = [codec.decode(e[-1], link=False) for e in events if e[2] == FROM_RING]
        assert [[r.id for r in f.records] for f in homes if isinstance(f, frames.Statistics)] == [[0, 1, 3]]


def test_a_gpu_that_hangs_waits_as_long_after_it_has_answered(engine: Engine) -> None:
    engine.set_fault(FLAPPING, "hang", True)
    assert counted(engine) == [0, 1, 3]
    assert "tripped" in status(engine, FLAPPING)
    engine.set_fault(FLAPPING, "hang", False)
    well = engine.now
    ((came, there),) = changes(engine, 5 * RESTORE)
    assert there
    assert well + RESTORE < came <= well + RESTORE + SLACK
    assert counted(engine) == [0, 1, 2, 3]


def test_a_gpu_that_was_muted_waits_as_long_after_its_silence(engine: Engine) -> None:
    engine.poke(FLAPPING, "allowance", 1)
    engine.poke(FLAPPING, "allowance_period", 300)
    for number in range(3):
        engine.send_mail(FLAPPING, 0, statistics(GPUS, FLAPPING, number), at=engine.now + 5)
    run_for(engine, 60)
    assert "muted" in status(engine, FLAPPING)
    while "muted" in status(engine, FLAPPING):
        assert not taking_part(engine)
        run_for(engine, 1)
    heard = engine.now
    ((came, there),) = changes(engine, 5 * RESTORE)
    assert there
    assert heard + RESTORE - 1 <= came <= heard + RESTORE + SLACK


def test_the_wait_ends_a_leap_in_the_right_cycle() -> None:
    """Nothing else happens meanwhile: the node itself must have announced the time."""
    stories = []
    for skipping in (True, False):
        with Engine(cells_library(), Topology((GPUS,)), skipping=skipping) as engine:
            for gpu in range(GPUS):
                engine.poke(gpu, "heartbeat", 0)
            engine.poke(FLAPPING, "gpu_restore", 5000)
            engine.run(100)
            dead(engine, True)
            run_for(engine, 300)
            dead(engine, False)
            run_for(engine, 4990)
            stories.append(changes(engine, 40))
    assert stories[0] == stories[1]
    assert len(stories[0]) == 1
