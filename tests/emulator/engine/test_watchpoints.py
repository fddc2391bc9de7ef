"""A watchpoint reports what polling in every cycle would find, in the same cycle, and changes nothing of a run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library, card_library, cells_library
from ringhil.protocol import registers, wire

from .stimulus import Action, Trouble, statistics, told

GPUS = 5
CYCLES = 4000
ALL = 0xFFFFFFFF
VALID, SOF, DATA = wire.LinkBit.VALID, wire.LinkBit.SOF, wire.LinkBit.DATA
STATUS = registers.StatusBit.places()
WRAPS = 1 << STATUS["wrap_port1"] | 1 << STATUS["wrap_port2"]
BYPASSED = 1 << STATUS["bypass_cw"] | 1 << STATUS["bypass_ccw"]

Watched = tuple[int, str, int]  # cell, register, mask
WATCHED: tuple[Watched, ...] = tuple(
    [(cell, "status", ALL) for cell in range(GPUS)]
    + [(cell, "status", mask) for cell in (0, 2) for mask in (WRAPS, BYPASSED)]
    + [(3, "forwarded", 1), (3, "trips", ALL), (4, "weight", 0xFF)]
)


@dataclass(frozen=True)
class Kind:
    """How the watched engine is made."""

    library: Callable[[], Library]
    skipping: bool


KINDS = {
    "cells": Kind(cells_library, True),
    "cells, no skipping": Kind(cells_library, False),
    "card": Kind(lambda: card_library(GPUS, optimise="-O0"), False),
}


SLOW = pytest.mark.slow(part="engine")
MADE = [pytest.param(kind, id=name, marks=SLOW if name == "card" else ()) for name, kind in KINDS.items()]


@pytest.fixture(params=MADE)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], Engine]]:
    kind: Kind = request.param
    made: list[Engine] = []

    def one() -> Engine:
        made.append(Engine(kind.library(), Topology((GPUS,)), skipping=kind.skipping))
        return made[-1]

    yield one
    for engine in made:
        engine.close()


def seeds(number: int) -> list[object]:
    """One of them for every day."""
    return [0, *(pytest.param(seed, marks=SLOW) for seed in range(1, number))]


def sending(gpu: int, port: int, frame: bytes) -> Callable[[Engine], None]:
    """The firmware of a GPU writes a frame."""
    return lambda e: e.send_mail(gpu, port, frame)


def traffic(seed: int) -> list[Action]:
    """Faults at random cycles, and messages all the time."""
    actions = Trouble(seed, GPUS)(CYCLES, 40)
    for step in range(CYCLES // 37):
        gpu, ccw = step % GPUS, bool(step % 2)
        frame = statistics(GPUS, gpu, step, ccw=ccw)
        actions.append(Action(37 * step, "census", sending(gpu, int(ccw), frame)))
    return sorted(actions, key=lambda a: a.cycle)


def changes(engine: Engine) -> list[tuple[int, ...]]:
    """Registers that were seen to change in the last run: cycle, cell, address, mask, value."""
    return engine.observations()[["cycle", "cell", "address", "mask", "value"]].tolist()  # type: ignore[no-any-return]


def in_pieces(engine: Engine, actions: list[Action], *, lookahead: int, look: Callable[[Engine], None]) -> None:
    """Run to CYCLES, stopping for the actions and after mail."""
    todo = [*actions]
    while engine.now < CYCLES:
        while todo and todo[0].cycle <= engine.now:
            todo.pop(0).do(engine)
        engine.run(min(CYCLES, todo[0].cycle if todo else CYCLES), lookahead=lookahead)
        look(engine)


def polled(engine: Engine, actions: list[Action]) -> list[tuple[int, ...]]:
    """The same by looking at every register in every cycle, before anything is done in it."""
    found: list[tuple[int, ...]] = []
    before = [engine.peek(cell, register) & mask for cell, register, mask in WATCHED]

    def look(e: Engine) -> None:
        for i, (cell, register, mask) in enumerate(WATCHED):
            value = e.peek(cell, register) & mask
            if value != before[i]:
                before[i] = value
                found.append((e.now, cell, registers.ADDRESS[register], mask, value))

    stops = [Action(cycle, "", lambda _: None) for cycle in range(CYCLES)]
    in_pieces(engine, sorted([*actions, *stops], key=lambda a: a.cycle), lookahead=1, look=look)
    return sorted(found)


@pytest.mark.parametrize("seed", seeds(4))
def test_registers_as_polling_finds_them(make: Callable[[], Engine], seed: int) -> None:
    actions, found = traffic(seed), []
    engine = make()
    for cell, register, mask in WATCHED:
        engine.watch_register(cell, register, mask)
    in_pieces(engine, actions, lookahead=20, look=lambda e: found.extend(changes(e)))
    assert found == polled(make(), actions)
    assert len(found) > 60


def named(name: str, on: bool) -> Callable[[Engine], None]:
    """A fault of GPU 2, or of the link behind it. A switch that is stuck through matters when its GPU is dead."""

    def strike(engine: Engine) -> None:
        if name == "cut":
            engine.cut_link(2, 3, on)
        else:
            engine.set_fault(2, name, on)
        if name == "switch_stuck_through":
            engine.set_fault(2, "dead", on)

    return strike


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("fault", ["hang", "cut", "switch_stuck_through", "switch_stuck_bypass", "dead"])
@pytest.mark.parametrize("begins", [400, *(pytest.param(at, marks=SLOW) for at in (401, 733))])
def test_each_fault_that_switches_over(make: Callable[[], Engine], fault: str, begins: int) -> None:
    """Sparse messages only, so that most time is leapt over where the engine may."""
    actions = [Action(at, "census", sending(0, 0, statistics(GPUS, 0, at))) for at in range(0, CYCLES, 500)]
    actions += [Action(begins, fault, named(fault, True)), Action(begins + 1100, fault, named(fault, False))]
    actions.sort(key=lambda a: a.cycle)
    found: list[tuple[int, ...]] = []
    engine = make()
    for cell, register, mask in WATCHED:
        engine.watch_register(cell, register, mask)
    in_pieces(engine, actions, lookahead=20, look=lambda e: found.extend(changes(e)))
    assert found == polled(make(), actions)
    assert any(begins < row[0] < begins + 400 for row in found if row[2] == registers.ADDRESS["status"])


def on_the_wires(data: np.ndarray, ctl: np.ndarray, start: int) -> list[tuple[int, ...]]:
    """First four flits of the last message on each ring port in a trace that began at cycle `start`, and its cycle."""
    begins = (ctl & (VALID | SOF | DATA)) == VALID | SOF
    begins &= data >> np.uint64(56) == wire.Kind.STATISTICS.code
    last = {}
    for cycle, cell, port in np.argwhere(begins).tolist():
        at = cycle + np.flatnonzero((ctl[cycle:, cell, port] & (VALID | DATA)) == VALID)[:4]
        # One that is cut short by the beginning of another is no message.
        if port < 2 and len(at) == 4 and not (ctl[at[1:], cell, port] & SOF).any():
            last[cell, port] = (start + cycle + 1, *data[at, cell, port].tolist())
    return [last[place] for place in sorted(last)]


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("seed", seeds(3))
def test_the_last_messages_are_those_on_the_wires(make: Callable[[], Engine], seed: int) -> None:
    """Asked at many cycles, for messages of the last 16 cycles and for all; played in pieces of any length."""
    engine, todo, seen = make(), traffic(seed), 0
    data, ctl = np.empty((0, GPUS, 4), np.uint64), np.empty((0, GPUS, 4), np.uint8)
    while engine.now < CYCLES:
        while todo and todo[0].cycle <= engine.now:
            todo.pop(0).do(engine)
        traced = engine.trace(min(CYCLES, todo[0].cycle if todo else CYCLES) - engine.now)
        data, ctl = np.concatenate([data, traced[0]]), np.concatenate([ctl, traced[1]])
        all_ = on_the_wires(data, ctl, 0)
        assert engine.messages(0) == [row[1:] for row in all_]
        recent = [row[1:] for row in all_ if row[0] >= engine.now - 16]
        assert engine.messages(max(0, engine.now - 16)) == recent
        seen += len(recent)
    assert seen > 50


def test_a_trace_brings_changes_too(make: Callable[[], Engine]) -> None:
    engine = make()
    engine.watch_register(1, "forwarded")
    engine.send_mail(0, 0, statistics(GPUS, 0, 1))
    engine.trace(60)
    assert [row[1:] for row in changes(engine)] == [(1, registers.ADDRESS["forwarded"], ALL, 1)]


def test_watching_changes_nothing(make: Callable[[], Engine]) -> None:
    """Same stops, same mail, same wires, same work for the engine; a watched register ends no run."""
    actions, stories = traffic(9), []
    for watched in (False, True):
        engine = make()
        if watched:
            for cell, register, mask in WATCHED:
                engine.watch_register(cell, register, mask)
        engine.watch()
        story: list[object] = []

        def look(e: Engine, story: list[object] = story) -> None:
            story.append((e.now, told(e.events()), e.changes().tobytes()))

        in_pieces(engine, actions, lookahead=20, look=look)
        stories.append((story, engine.evaluations, engine.busy_cycles))
    assert stories[0] == stories[1]


def test_it_ends_when_ended_as_often_as_asked_for(make: Callable[[], Engine]) -> None:
    engine = make()

    def seen(value: int) -> int:
        engine.poke(1, "weight", value)
        engine.run(engine.now + 20, lookahead=20)
        return len(changes(engine))

    engine.watch_register(1, "weight", on=False)  # of what isn't watched: nothing
    assert seen(5) == 0
    engine.watch_register(1, "weight")
    engine.watch_register(1, "weight")
    assert seen(6) == 1
    engine.watch_register(1, "weight", 0xF, on=False)  # another mask
    engine.watch_register(1, "weight", on=False)
    assert seen(7) == 1
    assert seen(7) == 0  # the same again is no change
    engine.watch_register(1, "weight", on=False)
    assert seen(8) == 0
