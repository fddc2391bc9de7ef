"""Leaping over quiet time changes nothing (the contract in rtl/gpu_node.sv).

Long sparse runs, in which nearly all time is leapt over: what happens then happens by a timer that the
node itself has announced. A window of the wires is looked at after each leap.
"""

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.protocol import registers

from .stimulus import Action, Seen, Trouble, differing, differing_registers, statistics, told, unit

WINDOW = 150  # cycles of every wire, after each leap
GPU = 1  # the one to which things happen


def differing_after_leaps(engines: Sequence[Engine], actions: Sequence[Action], leaps: Sequence[int]) -> str:
    """Leap, look for a while, do what is due, and so on; the first difference between the engines, or ""."""
    seen = Seen()
    for leap in leaps:
        until = engines[0].now + leap
        stories = []
        for engine in engines:
            # `run` returns at an event; go on to the end of the leap.
            story = []
            while engine.now < until:
                story += told(engine.run(until, lookahead=until))
            stories.append(story)
        if any(story != stories[0] for story in stories):
            return f"events differ before cycle {until}"
        due = [a for a in actions if until - leap - WINDOW <= a.cycle < until]
        now = [Action(until, a.what, a.do) for a in due]
        if where := differing(engines, now, WINDOW, seen):
            return where
    return differing_registers(engines)


def pair(gpus: int, rtl: Path = RTL) -> tuple[Engine, Engine]:
    """The same card twice: with skipping and without."""
    library = cells_library(rtl)
    topology = Topology((gpus,))
    return Engine(library, topology), Engine(library, topology, skipping=False)


@pytest.mark.rest
@pytest.mark.parametrize("gpus", [3, 16])
def test_sparse_trouble_with_leaps(gpus: int) -> None:
    leaping, plain = engines = pair(gpus)
    rng = random.Random(gpus)
    leaps = [rng.choice([1, 10, 300, 3_000, 20_000]) for _ in range(60)]
    cycles = sum(leaps) + len(leaps) * WINDOW
    trouble = Trouble(3, gpus)(cycles, 900)
    quiet = [a for a in trouble if "heartbeat" not in a.what]
    assert differing_after_leaps(engines, quiet, leaps) == ""
    assert leaping.now == plain.now == cycles
    assert plain.evaluations == gpus * cycles
    assert leaping.evaluations < plain.evaluations / 2


# What a node does by itself, after a time: each needs the leap to end in the right cycle.


def beating(engine: Engine) -> None:
    """A liveness check every 700 cycles; the GPU hangs, so that one of them finds it."""
    engine.poke(GPU, "heartbeat", 700)
    engine.set_fault(GPU, "hang", True)


def computing(engine: Engine) -> None:
    """A work unit that takes 5,000 cycles."""
    engine.poke(0, "control", registers.ControlBit.ENTRY)
    engine.poke(GPU, "compute_setup", 5_000)
    engine.send_from_cpu(0, unit(engine.topology.cells, GPU, 7, 40, bytes(40)), at=engine.now + 10)


def muted(engine: Engine) -> None:
    """More messages than allowed; the silence that it takes is 3,000 cycles."""
    engine.poke(GPU, "allowance", 1)
    engine.poke(GPU, "allowance_period", 3_000)
    for sequence in (1, 2):
        frame = statistics(engine.topology.cells, GPU, sequence)
        engine.send_mail(GPU, 0, frame, at=engine.now + 5)


def restoring(engine: Engine) -> None:
    """A link that was cut, whose ends wait 2,000 cycles before they use it again."""
    for gpu in (0, GPU):
        engine.poke(gpu, "link_restore", 2_000)
    engine.cut_link(0, GPU, True)
    engine.run(engine.now + 50)
    engine.cut_link(0, GPU, False)


def silence(engine: Engine) -> None:
    """Mail that is written later."""
    engine.send_mail(GPU, 0, statistics(engine.topology.cells, GPU, 1), at=engine.now + 6_000)


TIMERS: dict[Callable[[Engine], None], tuple[str, int]] = {
    beating: ("trips", 1),
    computing: ("units_done", 1),
    muted: ("mutes", 1),
    restoring: ("wraps", 1),
}


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("gpus", [3, 16])
@pytest.mark.parametrize("timer", [*TIMERS, silence], ids=lambda f: f.__name__)
def test_a_timer_ends_the_leap(timer: Callable[[Engine], None], gpus: int) -> None:
    leaping, _ = engines = pair(gpus)
    for engine in engines:
        engine.run(100)
        timer(engine)
    # Alternately in one leap and watched all the way.
    assert differing(engines, [], 8_000) == ""
    for engine in engines:
        timer(engine)
    assert differing_after_leaps(engines, [], [9_000, 1, 20_000]) == ""
    if timer in TIMERS:
        counter, least = TIMERS[timer]
        assert leaping.peek(GPU, counter) >= least
    assert leaping.busy_cycles < leaping.now / 10


def test_a_quiet_card_is_not_evaluated_at_all_but_for_its_liveness_checks() -> None:
    with Engine(cells_library(), Topology((16,))) as engine:
        for gpu in range(16):
            engine.poke(gpu, "heartbeat", 0)
        engine.run(20_000)
        before = engine.evaluations
        engine.run(10**12)
        assert engine.now == 10**12
        assert engine.evaluations == before


# The comparison must be able to fail: RTL that forgets to announce one of its timers.
ANNOUNCED = ".waiting_i({port_waiting, compute_waiting, muted, position_waiting, switch_waiting}),"
FORGOTTEN: dict[Callable[[Engine], None], str] = {
    computing: "compute_waiting",
    muted: "muted",
}


@pytest.mark.slow(part="engine")
@pytest.mark.parametrize("timer", [computing, muted], ids=("computing", "muted"))
def test_a_timer_that_is_not_announced_is_found_out(timer: Callable[[Engine], None], tmp_path: Path) -> None:
    rtl = tmp_path / "rtl"
    shutil.copytree(RTL, rtl)
    node = rtl / "gpu_node.sv"
    assert node.read_text().count(ANNOUNCED) == 1
    forgetful = ANNOUNCED.replace(FORGOTTEN[timer], f"{FORGOTTEN[timer]} && 1'b0")
    node.write_text(node.read_text().replace(ANNOUNCED, forgetful))
    engines = pair(3, rtl)
    for engine in engines:
        engine.run(100)
        engine.poke(GPU, "heartbeat", 0)
        timer(engine)
    assert differing(engines, [], 8_000) + differing_registers(engines) != ""
