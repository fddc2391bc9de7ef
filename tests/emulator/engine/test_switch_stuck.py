"""A bypass switch that does not move: it says so, and the ring does without its GPU rather than not at all."""

from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.engine import FROM_RING, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, frames, registers, wire
from ringhil.protocol.wire import Port

from .stimulus import digest, reset_value, results, run_for, statistics, status, unit

GPUS = 5
BROKEN = 2  # the GPU whose switch is stuck
BEFORE, AFTER = BROKEN - 1, BROKEN + 1
WATCHDOG, LINK_RESTORE, GPU_RESTORE = (reset_value(name) for name in ("watchdog", "link_restore", "gpu_restore"))
OTHERS = [gpu for gpu in range(GPUS) if gpu != BROKEN]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(cells_library(), Topology((GPUS,))) as made:
        made.poke(0, "control", registers.ControlBit.ENTRY)
        made.run(100)
        yield made


def census(engine: Engine) -> list[tuple[list[int], bool]]:
    """Who is in the clockwise message and in the other one, and whether it was turned round."""
    for ccw in (False, True):
        engine.send_mail(0, int(ccw), statistics(GPUS, 0, engine.now, ccw=ccw), at=engine.now)
    home = [codec.decode(e[-1], link=False) for e in run_for(engine, 300) if e[2] == FROM_RING]
    found = [f for f in home if isinstance(f, frames.Statistics)]
    found.sort(key=lambda f: f.flags & wire.Flag.CCW)
    return [([r.id for r in f.records], bool(f.flags & wire.Flag.WRAPPED)) for f in found]


def ring(members: list[int]) -> list[tuple[list[int], bool]]:
    """What `census` finds when both directions go all the way round."""
    first, *others = members
    return [(members, False), ([first, *reversed(others)], False)]


ARMS = [(list(range(BROKEN)), True), ([0, *range(GPUS - 1, BROKEN, -1)], True)]


def works(engine: Engine, homes: list[int]) -> bool:
    """Whether each of these GPUs computes a unit from the CPU."""
    content = bytes(range(200))
    for home in homes:
        engine.send_from_cpu(0, unit(GPUS, home, engine.now + home, 200, content), at=engine.now)
    found = [frame for _, frame in results(run_for(engine, 3000))]
    return sorted(f.source for f in found) == homes and {f.digest for f in found} == {digest(content)}


def wraps(engine: Engine) -> dict[int, set[str]]:
    """Ring ports that are turned round, but for those of the broken GPU, which nobody hears."""
    found = {gpu: status(engine, gpu) & {"wrap_port1", "wrap_port2"} for gpu in OTHERS}
    return {gpu: ports for gpu, ports in found.items() if ports}


def stick(engine: Engine, *names: str, on: bool = True) -> None:
    for name in names:
        engine.set_fault(BROKEN, name, on)


# ---------------------------------------------------------------------------------------------- stuck in THROUGH


def test_a_dead_gpu_behind_a_switch_stuck_in_through_is_cut_off(engine: Engine) -> None:
    """The switch takes its carrier away, so that the neighbours turn round instead of sending into it."""
    stick(engine, "switch_stuck_through", "dead")
    run_for(engine, WATCHDOG)
    assert wraps(engine) == {}
    assert "stuck" not in status(engine, BROKEN)
    run_for(engine, 8)
    assert wraps(engine) == {BEFORE: {"wrap_port2"}, AFTER: {"wrap_port1"}}
    assert "stuck" in status(engine, BROKEN)
    assert not status(engine, BROKEN) & {"healthy", "bypass_cw", "bypass_ccw"}
    assert census(engine) == ARMS
    assert works(engine, OTHERS)


def test_no_carrier_and_no_flit_comes_from_it(engine: Engine) -> None:
    stick(engine, "switch_stuck_through", "dead")
    run_for(engine, WATCHDOG + 8)
    for ccw in (False, True):
        engine.send_mail(0, int(ccw), statistics(GPUS, 0, 1, ccw=ccw), at=engine.now)
    data, ctl = engine.trace(300)
    assert not data[:, BROKEN, :2].any()
    assert not ctl[:, BROKEN, :2].any()


def test_without_the_wrap_its_messages_are_gone(engine: Engine) -> None:
    """Until the switch has noticed, that is: what is sent in between is swallowed."""
    stick(engine, "switch_stuck_through", "dead")
    engine.poke(BROKEN, "watchdog", 10_000)
    run_for(engine, 200)
    assert wraps(engine) == {}
    assert census(engine) == []


def test_a_gpu_that_hangs_behind_it_is_cut_off_too(engine: Engine) -> None:
    stick(engine, "switch_stuck_through", "hang")
    assert census(engine) == []  # this is what the watchdog finds
    assert {"tripped", "stuck"} <= status(engine, BROKEN)
    assert wraps(engine) == {BEFORE: {"wrap_port2"}, AFTER: {"wrap_port1"}}
    assert census(engine) == ARMS


@pytest.mark.parametrize("order", ["together", "the switch first", "the GPU first"])
def test_all_is_as_before_when_both_are_well_again(engine: Engine, order: str) -> None:
    before = [engine.peek(gpu, "status") for gpu in range(GPUS)]
    stick(engine, "switch_stuck_through", "dead")
    run_for(engine, 500)
    if order == "the switch first":
        stick(engine, "switch_stuck_through", on=False)
        run_for(engine, LINK_RESTORE + 20)
        assert wraps(engine) == {}  # it has moved at last: bypassed, as a dead GPU ought to be
        assert {"bypass_cw", "bypass_ccw"} <= status(engine, BROKEN)
        assert "stuck" not in status(engine, BROKEN)
        assert census(engine) == ring(OTHERS)
        stick(engine, "dead", on=False)
    elif order == "the GPU first":
        stick(engine, "dead", on=False)
        run_for(engine, GPU_RESTORE - 5)
        assert "stuck" in status(engine, BROKEN)  # not trusted yet
        run_for(engine, LINK_RESTORE + 25)
        assert wraps(engine) == {}  # it stands where it should, if by chance
        assert "stuck" not in status(engine, BROKEN)
        assert census(engine) == ring(list(range(GPUS)))
        stick(engine, "switch_stuck_through", on=False)
    else:
        stick(engine, "switch_stuck_through", "dead", on=False)
    run_for(engine, GPU_RESTORE + LINK_RESTORE + 30)
    assert [engine.peek(gpu, "status") for gpu in range(GPUS)] == before
    assert census(engine) == ring(list(range(GPUS)))
    assert works(engine, list(range(GPUS)))
    assert [engine.peek(gpu, "wraps") for gpu in (0, BEFORE, AFTER, 4)] == [0, 1, 1, 0]


def test_stuck_in_through_alone_harms_nobody(engine: Engine) -> None:
    """That is where the switch belongs: the GPU works and is counted."""
    stick(engine, "switch_stuck_through")
    run_for(engine, 1000)
    assert status(engine, BROKEN) == status(engine, 4)
    assert wraps(engine) == {}
    assert census(engine) == ring(list(range(GPUS)))
    assert works(engine, list(range(GPUS)))


# ----------------------------------------------------------------------------------------------- stuck in BYPASS


def test_stuck_in_bypass_traffic_passes_by(engine: Engine) -> None:
    stick(engine, "switch_stuck_bypass")
    run_for(engine, WATCHDOG - 2)
    assert status(engine, BROKEN) >= {"bypass_cw", "bypass_ccw", "healthy"}
    assert "stuck" not in status(engine, BROKEN)
    run_for(engine, 8)
    assert status(engine, BROKEN) >= {"stuck", "bypass_cw", "bypass_ccw", "healthy"}
    assert not status(engine, BROKEN) & {"tripped", "muted", "restoring"}
    assert wraps(engine) == {}
    assert census(engine) == ring(OTHERS)
    assert works(engine, OTHERS)


def test_stuck_in_bypass_the_gpu_neither_hears_nor_speaks(engine: Engine) -> None:
    stick(engine, "switch_stuck_bypass")
    run_for(engine, 100)
    for port in Port.codes().values():
        engine.send_mail(BROKEN, port, statistics(GPUS, BROKEN, 5), at=engine.now)
    engine.send_from_cpu(0, unit(GPUS, BROKEN, 3, 40, bytes(40)), at=engine.now)
    assert run_for(engine, 1000) == []
    assert engine.peek(BROKEN, "data_dropped") == 1


def test_a_switch_that_comes_loose_lets_the_gpu_in_again(engine: Engine) -> None:
    before = status(engine, BROKEN)
    stick(engine, "switch_stuck_bypass")
    run_for(engine, 500)
    stick(engine, "switch_stuck_bypass", on=False)
    run_for(engine, 10)
    assert status(engine, BROKEN) == before
    assert census(engine) == ring(list(range(GPUS)))
    assert works(engine, list(range(GPUS)))


def test_a_dead_gpu_behind_a_switch_stuck_in_bypass_is_where_it_should_be(engine: Engine) -> None:
    stick(engine, "switch_stuck_bypass", "dead")
    run_for(engine, 500)
    assert "stuck" not in status(engine, BROKEN)
    assert census(engine) == ring(OTHERS)


def test_a_card_with_a_stuck_switch_comes_to_rest(engine: Engine) -> None:
    for gpu in range(GPUS):
        engine.poke(gpu, "heartbeat", 0)
    stick(engine, "switch_stuck_through", "dead")
    run_for(engine, 20_000)
    before = engine.evaluations
    run_for(engine, 1_000_000)
    assert engine.evaluations == before
