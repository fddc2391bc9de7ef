"""From any moment that one goes back to, a run with a board and hardware outside goes on as it did without a stop."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.engine.test_outside import Liar
from tests.emulator.loop.bridge_line import BridgeLine, Spoil, as_it_is
from tests.emulator.loop.test_node_sessions import LIES
from tests.firmware.c import library
from tests.firmware.c.boards import after, process, wire

from ringhil.emulator.debug.looking import SteppedRun
from ringhil.emulator.debug.outside import RecordedOutside
from ringhil.emulator.debug.past import Past
from ringhil.emulator.debug.played import scenario_of
from ringhil.emulator.debug.recorder import RunRecorder, hardware
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop import board
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.loop.nodes import OpenNodes
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace.recording import Recording

END = 30_000
SERVER = """
seed: {seed}
server:
  cards: {{a: {{gpus: 6, host_links: [0, 1]}}, b: {{gpus: 3}}}}
  boundary_links: [{{from: [a.3, a.2], to: [b.1, b.2]}}]
workload: {{units: 40, size: 600}}
timeline:
{timeline}until: {end}
"""
KINDS = ("dead", "hang", "skip_count", "double_count", "slow", "corrupt")
Place = tuple[int, bytes]  # messages and events until then; the hash of all of them, and of the hardware


class Hashed(SteppedRun):
    """Can be asked for its place in the chain."""

    def ask(self, what: str, *values: Any) -> Any:
        if what != "place":
            return super().ask(what, *values)
        return self._chained.number, self._chained.chain.copy().state(self._run.kernel.now, hardware(self._run.engine))


def faults(dice: random.Random) -> str:
    """Up to four, each cleared or not."""
    lines = list[tuple[int, str]]()
    for gpu in dice.sample(range(6), dice.randrange(5)):
        kind, at = dice.choice(KINDS), dice.randrange(20_000)
        lines.append((at, f"- {{at: {at}, fault: {kind}, gpu: a.{gpu}}}\n"))
        if dice.random() < 0.5:
            clear = at + dice.randrange(1, 9_000)
            lines.append((clear, f"- {{at: {clear}, clear: {kind}, gpu: a.{gpu}}}\n"))
    return "".join(line for _, line in sorted(lines)) or "  []\n"


def record(path: Path, program: str, seed: int) -> None:
    """One GPU's firmware is a board, another one's hardware is outside; one in four of each is lost on the way, and
    half of the hardware does otherwise than ours."""
    dice = random.Random(seed)
    text = SERVER.format(seed=seed, timeline=faults(dice), end=END)
    there, here = dice.sample(range(6), 2)
    requests = dice.randrange(20, 3000) if seed % 4 == 1 else None
    back: Spoil = Liar(seed, 20, groups=LIES) if seed % 2 else as_it_is
    with ExitStack() as stack:
        port = stack.enter_context(process(program))
        if seed % 4 == 2:
            port = stack.enter_context(wire(port, after(dice.randrange(20, 60))))
        line = stack.enter_context(BridgeLine(back=back, requests=requests))
        nodes = stack.enter_context(OpenNodes([f"a.{here}={line.path}"]))
        choice = firmware_of([f"a.{there}={port}"])
        run = Run(loads(text), cells_library(), firmware=choice, nodes=nodes.choice)
        given = {"firmware": choice.given, "nodes": nodes.choice.given, "choice": choice}
        with RunRecorder(path, run, **given) as recorder:
            recorder.end(run.run())
        choice.close()
        run.close()


@contextmanager
def opened(path: Path) -> Iterator[tuple[Hashed, Past]]:
    """The run as it is played without a stop, and one to go to and fro in."""
    with Recording(path) as recording:
        outside = RecordedOutside(recording)
        firmware, nodes = outside.choices(OURS)

        def make() -> Hashed:
            run = Run(scenario_of(recording), cells_library(), firmware=firmware, nodes=nodes)
            return Hashed(run, (), {s.cycle: (s.number, s.hash) for s in recording.states()}, None, outside, firmware)

        past = Past(make, end=END)
        yield make(), past
        past.close()


def check(path: Path, program: str, seed: int, moments: int) -> Counter[str]:
    """What became of board and hardware."""
    record(path, program, seed)
    with Recording(path) as recording:
        rows = [text for _, text in recording.outside()]
        found = RunReplay(recording, cells_library()).run()
        assert (found.difference, found.complete, found.cycles) == (None, True, END)
    dice = random.Random(seed)
    cycles = [dice.randrange(END - 1) for _ in range(moments)]
    places = dict[int, Place]()
    with opened(path) as (whole, past):
        for cycle in sorted({*cycles, END - 1}):
            whole.go(cycle)
            places[cycle] = whole.ask("place")
        for cycle in cycles:
            past.seek(cycle)
            assert past.ask("place") == places[cycle], cycle
            with past.aside(END - 1) as later:
                assert later.ask("place") == places[END - 1], cycle
    assert len({places[cycle] for cycle in cycles}) == len(set(cycles))
    said = "".join(rows)
    words = {"asked": '"asked"', "board lost": '"answered": null', "lost": '"lost"', "differed": '"differed"'}
    return Counter(what for what, word in words.items() if word in said or word.replace(" ", "") in said)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The board's, in C."""
    return library.board(tmp_path_factory)


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "PATIENCE", 0.05)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("seed", [2, 109])
def test_at_random_moments_it_goes_on_as_it_did(tmp_path: Path, program: str, seed: int) -> None:
    assert check(tmp_path / "r", program, seed, 4)["asked"]


@pytest.mark.slow(part="benches")
def test_at_a_thousand_moments_it_does(tmp_path: Path, program: str) -> None:
    found = Counter[str]()
    for seed in range(100, 140):
        found += check(tmp_path / f"r{seed}", program, seed, 25)
    assert found["asked"] == 40
    assert min(found[what] for what in ("board lost", "lost", "differed")) >= 5
