"""A live session with hardware outside, recorded, replays without it: the same frames, bytes and verdict. Also when it
was lost, and when it did otherwise than ours."""

import itertools
import json
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.debug.test_recorded_sessions import (
    SERVER,
    assert_replays,
    assert_stepped,
    end,
    other,
    replayed,
    serve,
)
from tests.emulator.engine.test_outside import Liar
from tests.emulator.loop.bridge_line import BridgeLine, Spoil, as_it_is
from tests.emulator.loop.test_nodes import Bridge
from tests.emulator.serial.served import Served

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.layout import REGISTER
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.nodes import OpenNodes
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.server.serving import Serving
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.protocol.line import node_loop
from ringhil.protocol.line.node_loop import NodeMessage
from ringhil.protocol.registers import ADDRESS

GPUS = ("a.0", "a.1", "a.2", "a.4", "b.0", "b.1")


def recording(path: Path, seed: int, *lines: tuple[str, BridgeLine]) -> list[dict[str, object]]:
    """What came from outside in it."""
    with OpenNodes([f"{gpu}={line.path}" for gpu, line in lines]) as nodes:
        serve(path, seed, nodes=nodes.choice)
    return rows_outside(path)


def rows_outside(path: Path) -> list[dict[str, object]]:
    with Recording(path) as found:
        return [json.loads(text) for _, text in found.outside()]


# Outputs that may be anything: others are checked, and told to be damaged where they are.
LIES = [node_loop.places(node_loop.OUTPUTS)[name] // node_loop.GROUP for name in ("p1_data", "p2_data", "reg_rdata")]


def check(path: Path, seed: int) -> tuple[bool, bool]:
    """One in two boards is lost at some time, and one in two does otherwise than ours: also one that is lost. Whether
    it was, and did."""
    dice, lost, lies = random.Random(seed), seed % 2 == 1, seed % 4 >= 2
    gone = dice.choice([3, dice.randrange(3, 200), dice.randrange(200, 5000)]) if lost else None
    back: Spoil = Liar(seed, dice.choice([2, 20]), groups=LIES) if lies else as_it_is
    with BridgeLine(back=back, requests=gone) as line:
        rows = recording(path, seed, (dice.choice(GPUS), line))
    was_lost, differed = (any(key in row for row in rows) for key in ("lost", "differed"))
    assert was_lost <= lost
    assert differed <= lies
    assert assert_replays(path).bytes_out > 100
    return was_lost, differed


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow(part="outside")) for seed in (2, 3))]
)
def test_it_replays_without_its_hardware(tmp_path: Path, seed: int) -> None:
    check(tmp_path / "recording", seed)
    if seed == 3:  # lost, and otherwise
        assert_stepped(tmp_path / "recording", seed)


@pytest.mark.slow(part="benches")
def test_a_hundred_sessions_do(tmp_path: Path) -> None:
    found = Counter(check(tmp_path / f"session{seed}", seed) for seed in range(100))
    assert min(found[lost, differed] for lost in (True, False) for differed in (True, False)) >= 8


def whole(path: Path, seed: int) -> tuple[bool, bool]:
    """As `check`, of a recording of the whole run."""
    dice, lost, lies = random.Random(seed), seed % 2 == 1, seed % 4 >= 2
    gone = dice.choice([3, dice.randrange(3, 200), dice.randrange(200, 5000)]) if lost else None
    back: Spoil = Liar(seed, dice.choice([2, 20]), groups=LIES) if lies else as_it_is
    with BridgeLine(back=back, requests=gone) as line, OpenNodes([f"{dice.choice(GPUS)}={line.path}"]) as nodes:
        run = Run(loads(SERVER + "until: 30000\n"), cells_library(), nodes=nodes.choice)
        with RunRecorder(path, run, nodes=nodes.choice.given) as recorder:
            recorder.end(run.run())
        run.close()
    with Recording(path) as recording:
        rows = [json.loads(text) for _, text in recording.outside()]
        replayed = RunReplay(recording, cells_library()).run()
        assert (replayed.difference, replayed.complete) == (None, True)
    with DebugSession(path, cells_library()) as session:
        for cycle in (25_000, dice.randrange(25_000), dice.randrange(25_000)):
            session.go(cycle)
            assert session.registers("a.0")
    was_lost, differed = (any(key in row for row in rows) for key in ("lost", "differed"))
    return was_lost, differed


@pytest.mark.rest
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_run_replays_and_is_stepped_without_its_hardware(tmp_path: Path, seed: int) -> None:
    whole(tmp_path / "r", seed)


@pytest.mark.slow(part="benches")
def test_a_hundred_recorded_runs_do(tmp_path: Path) -> None:
    found = Counter(whole(tmp_path / f"r{seed}", seed) for seed in range(100))
    assert min(found[lost, differed] for lost in (True, False) for differed in (True, False)) >= 8


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    ("units", "lost"),
    [(0, "a.0=lost@2000"), (1, "a.2=lost@2000"), (30, "a.0=lost@4000"), (300, "a.0=lost@12000"), (30, "a.3=lost@5")],
)
def test_a_run_that_ends_by_itself_ends_there_again(tmp_path: Path, units: int, lost: str) -> None:
    """When its work is given up, or was done before its hardware was lost."""
    (tmp_path / "s.yaml").write_text(
        f"server: {{cards: {{a: {{gpus: 4}}}}}}\nworkload: {{units: {units}, size: 600}}\n"
    )
    ringhil("run", "s.yaml", "--node", lost, "--record", "r", cwd=tmp_path)
    done = ringhil("replay", "r", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with DebugSession(tmp_path / "r", cells_library()) as session:
        for cycle in (3000, session.recording.last_cycle - 100):
            session.go(cycle)
            session.branch(tmp_path / "branch")
            assert_replays(tmp_path / "branch")


def test_serve_takes_hardware_outside_and_goes_on_without_it(tmp_path: Path) -> None:
    """As on the command line: the board is pulled out of a session, which is then replayed."""
    path = tmp_path / "session"
    with Bridge() as bridge:
        options = ("--listen", "tcp://127.0.0.1:0", "--node", f"a.2={bridge.port}", "--record", str(path))
        with Served(tmp_path, "name: live\nserver: {cards: {a: {gpus: 4}}}\n", *options) as served:
            with CardClient.open(served.ports["a"][0]) as card:
                assert card.census().members == (0, 1, 2, 3)
                card.write(2, "weight", 7)
                assert card.read(2, "weight") == 7
                bridge.process.kill()
                while len(card.census().members) > 3:
                    pass
                assert card.census().members == (0, 1, 3)
            code, said = served.end(signal.SIGTERM)
    (lost,) = [row for row in rows_outside(path) if "lost" in row]
    what = f"cycle {lost['cycle']}: the board is gone; from here on it is a GPU that has failed"
    assert (code, said) == (0, f"ringhil: a.2: {what}\n")
    done = ringhil("replay", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("identical: ")


def test_a_slow_board_keeps_nobody_waiting() -> None:
    """Where a cycle takes long, there are fewer of them between two looks at the lines."""
    ticks, rounds = itertools.count(), 20

    def cycles(nodes: NodeChoice) -> int:
        run, done = Run(loads("server: {cards: {a: {gpus: 4}}}\n"), cells_library(), nodes=nodes), iter(range(rounds))
        serving = Serving(run, monotonic=lambda: float(next(ticks)))
        run.start()
        serving.serve(lambda: next(done, None) is None)
        serving.close()
        run.close()
        return run.kernel.now

    with BridgeLine() as line, OpenNodes([f"a.2={line.path}"]) as nodes:
        assert cycles(nodes.choice) < 1100
    assert cycles(ALL_HERE) == 512 * rounds


def alone(path: Path, given: str, cycles: int) -> list[dict[str, object]]:
    """A session without clients, which is the same every time; what came from outside in it."""
    with OpenNodes([given]) as nodes:
        run = Run(loads(SERVER), cells_library(), nodes=nodes.choice)
        with RunRecorder(path, run, nodes=nodes.choice.given, clock=0) as recorder:
            run.start()
            run.run_to(cycles)
            end(run, recorder)
        run.close()
    return rows_outside(path)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its board did otherwise, and was lost."""
    path = tmp_path_factory.mktemp("session") / "session"
    with BridgeLine(back=Liar(1, 2, groups=LIES), requests=300) as line:
        rows = alone(path, f"a.1={line.path}", 30_000)
    assert_replays(path)
    assert all(any(key in row for row in rows) for key in ("differed", "lost"))
    return path


CHANGES = {
    "was not lost": "DELETE FROM outside WHERE fields LIKE '%\"lost\"%'",
    "did nothing otherwise": "DELETE FROM outside WHERE fields LIKE '%\"differed\"%'",
}


@pytest.mark.rest
@pytest.mark.parametrize("what", CHANGES)
def test_another_fate_of_a_board_is_another_session(one: Path, tmp_path: Path, what: str) -> None:
    """So what is written down is needed."""
    assert replayed(other(one, tmp_path / "other", CHANGES[what])).difference is not None


def test_a_board_is_lost_in_the_very_cycle(tmp_path: Path) -> None:
    """Where a cycle makes a difference, a board that is lost one cycle sooner or later is another session."""

    def messages(first: int) -> list[RecordedMessage]:
        path = tmp_path / str(first)
        alone(path, f"a.1=lost@{first}", 8000)
        assert_replays(path)
        with Recording(path) as found:
            return [message._replace(number=0) for message in found.messages()]

    first = 2000
    sent = messages(first)
    while messages(first + 1) == sent:
        first += 1
    for was, becomes in ((first, first + 1), (first + 1, first)):
        change = "UPDATE outside SET fields = json_set(fields, '$.cycle', ?) WHERE fields LIKE '%\"lost\"%'"
        assert replayed(other(tmp_path / str(was), tmp_path / "other", change, becomes)).difference is not None


def test_registers_that_the_judge_reads_at_the_end_are_written_down(tmp_path: Path) -> None:
    with BridgeLine(back=Liar(3, 1, NodeMessage.LOOK_REPLY)) as line:
        rows = alone(tmp_path / "session", f"a.2={line.path}", 12_000)
    last = [row for row in rows if "differed" in row][-1]
    assert (last["cycle"], last["differed"]) == (12_000, REGISTER + ADDRESS["status"])


HEADER = "UPDATE about SET header = json_set(header, '$.nodes', json('[{}]'))"
REFUSED = {
    "--node b=x: found ": HEADER.format('"b=x"'),
    "--node a.7=x: found GPU a.7; there are a.0 .. a.4, b.0 .. b.2": HEADER.format('"a.7=x"'),
    '"differed":512': "UPDATE outside SET fields = json_set(fields, '$.differed', 512) "
    "WHERE fields LIKE '%\"differed\"%'",
}


@pytest.mark.rest
@pytest.mark.parametrize("why", REFUSED)
def test_a_session_that_can_not_be_is_refused(one: Path, tmp_path: Path, why: str) -> None:
    assert why in refusal("replay", str(other(one, tmp_path / "other", REFUSED[why])))
