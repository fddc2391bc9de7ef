"""A session that was served is a recording: it replays without its clients, and is walked through and branched."""

import json
import os
import random
import shutil
import sqlite3
import threading
from contextlib import closing, suppress
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import ringhil
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import STATES_EVERY, RunRecorder, record_run
from ringhil.emulator.debug.replaying import RunReplay, RunReplayed
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ROOM, ManagementPort
from ringhil.emulator.serial.server.clients import Note, NotedPort
from ringhil.emulator.serial.server.lines import TcpListener
from ringhil.emulator.serial.server.listening import Pty
from ringhil.emulator.serial.server.serving import Serving
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.registers import ADDRESS

SERVER = """\
name: live
server: {cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3}}}
workload: {units: 300, size: 64}
timeline: [{at: 9000, fault: line_drop, card: a, rate: 90}, {at: 9000, fault: line_corrupt, card: a, rate: 90}]
"""
SOON = 300_000  # cycles: so far the run is played where it needn't be all of it


def serve(
    path: Path, seed: int, clients: int = 2, firmware: FirmwareChoice = OURS, nodes: NodeChoice = ALL_HERE
) -> None:
    """Serve, with clients that do this and that, and go."""
    run = Run(loads(SERVER), cells_library(), firmware=firmware, nodes=nodes)
    with RunRecorder(path, run, firmware=firmware.given, nodes=nodes.given, choice=firmware, clock=0) as recorder:
        attend(run, recorder.note, seed, clients)
        end(run, recorder)
    run.close()


def attend(run: Run, note: Note, seed: int, clients: int) -> None:
    """Serve until all clients have done this and that, and gone."""
    listeners = [TcpListener("127.0.0.1", 0) for _ in range(2)]
    serving, ended = Serving(run, note=note), threading.Event()
    for number, listener in enumerate(listeners):
        serving.listen(number, listener)
    run.start()
    users = [threading.Thread(target=use, args=(listeners[n % 2].name, seed + n)) for n in range(clients)]
    watcher = threading.Thread(target=lambda: [*map(threading.Thread.join, users), ended.set()])
    for thread in (*users, watcher):
        thread.start()
    serving.serve(ended.is_set)
    watcher.join()
    serving.close()


def use(url: str, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(2):
        with suppress(CardError), CardClient.open(url, timeout=0.5) as card:
            for _ in range(8):
                with suppress(CardError):
                    something(card, rng)


def something(card: CardClient, rng: random.Random) -> None:
    match rng.randrange(7):
        case 0:
            card.census(timeout=0.5)
        case 1:
            card.read(rng.randrange(4), rng.randrange(12))
        case 2:
            card.write(rng.randrange(3), "weight", rng.randrange(1, 9))
        case 3:
            card.fault(rng.choice(list(LineFault)), rng.randrange(3))
        case 4:
            card.subscribe(rng.choice([0, EventKind.COUNTS, EventKind.FRAMES | EventKind.ROLES]))
        case 5:
            list(card.events(0.01))
        case 6:
            card.now()


def end(run: Run, recorder: RunRecorder) -> None:
    recorder.session_ends()
    run.end_at(run.kernel.now)
    recorder.end(run.finish())


def assert_stepped(path: Path, seed: int) -> None:
    """At random moments all is the same whichever way one comes there."""
    dice = random.Random(seed)
    with DebugSession(path, cells_library()) as there, DebugSession(path, cells_library()) as back:
        last = min(there.recording.last_cycle, SOON)
        cycles = sorted(dice.randrange(last) for _ in range(5))
        found = []
        for cycle in cycles:
            there.go(cycle)
            found.append((there.registers("a.1"), there.card("a")))
        for cycle, seen in reversed([*zip(cycles, found, strict=True)]):
            back.go(cycle)
            assert (back.registers("a.1"), back.card("a")) == seen, cycle


def replayed(path: Path) -> RunReplayed:
    with Recording(path) as recording:
        return RunReplay(recording, cells_library()).run()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("session") / "session"
    serve(path, 5)
    return path


def assert_replays(path: Path) -> RunReplayed:
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)
    return found


def check(path: Path, seed: int) -> None:
    serve(path, seed)
    found = assert_replays(path)
    assert found.clients >= 2
    assert found.bytes_out > 100
    assert found.messages > 100


@pytest.mark.rest(but_one_in=3, start=1)
@pytest.mark.parametrize("seed", range(3))
def test_it_replays_to_identical_bytes_messages_and_hashes(tmp_path: Path, seed: int) -> None:
    check(tmp_path / "session", 1000 * seed)


@pytest.mark.slow(part="benches")
def test_a_hundred_sessions_do(tmp_path: Path) -> None:
    for seed in range(100):
        check(tmp_path / f"session{seed}", 1000 * seed)


@pytest.mark.rest
def test_one_of_a_paced_ring_on_a_slow_line_replays(tmp_path: Path) -> None:
    """The card says what its clock is, and leaves out events for which the line has no room."""
    run, path, line = Run(loads(SERVER), cells_library()), tmp_path / "session", Pty()
    seconds = count(0.0, 0.005)
    with RunRecorder(path, run, clock=40_000) as recorder:
        serving = Serving(run, clock=40_000, baud=9600, note=recorder.note, monotonic=lambda: next(seconds))
        serving.add(0, line)
        run.start()
        client = os.open(line.name, os.O_RDWR | os.O_NOCTTY)
        for request in (m.HelloRequest(1, 1, 0, b"x"), m.SubscribeRequest(2, EventKind.FRAMES)):
            os.write(client, wrap(encode(request)))
        rounds = iter(range(600))
        serving.serve(lambda: next(rounds, None) is None)
        serving.close()
        os.close(client)
        end(run, recorder)
    run.close()
    assert assert_replays(path).bytes_out > 1000


def test_what_waits_when_a_client_goes_is_not_done(tmp_path: Path) -> None:
    """Two writes at once: the second waits until the first holds, and that is after the end of the client."""
    run, path = Run(loads(SERVER), cells_library()), tmp_path / "session"
    card, _ = (ManagedCard(run.server, number) for number in range(2))
    with RunRecorder(path, run, clock=0) as recorder:
        run.start()
        run.run_to(5000)

        def client(number: int) -> NotedPort:
            return NotedPort(ManagementPort(card), recorder.note, number, "a", lambda: card.now, ROOM)

        one = client(1)
        weight = ADDRESS["weight"]
        one.receive(b"".join(wrap(encode(m.WriteRequest(n, 1, weight, 10 + n))) for n in (1, 2)))
        one.close()
        run.run_to(5100)
        two = client(2)
        two.receive(wrap(encode(m.ReadRequest(3, 1, weight))))
        (answer,) = Unwrapper().feed(two.take(ROOM))
        found = decode(bytes(answer)) if isinstance(answer, bytes) else None
        assert isinstance(found, m.ReadReply)
        assert found.value == 11
        two.close()
        end(run, recorder)
    run.close()
    assert_replays(path)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("end_at", [2 * STATES_EVERY - 1, 2 * STATES_EVERY, 2 * STATES_EVERY + 1])
def test_one_may_end_where_all_hardware_is_looked_at(tmp_path: Path, end_at: int) -> None:
    run = Run(loads(SERVER), cells_library())
    with RunRecorder(tmp_path / "session", run, clock=0) as recorder:
        run.start()
        run.run_to(end_at)
        end(run, recorder)
    run.close()
    assert assert_replays(tmp_path / "session").cycles == end_at


@pytest.mark.parametrize("until", [STATES_EVERY, STATES_EVERY + 1])
def test_so_may_a_run(tmp_path: Path, until: int) -> None:
    record_run(tmp_path / "run", loads(f"{SERVER}until: {until}\n"), cells_library())
    assert_replays(tmp_path / "run")


@pytest.mark.rest
def test_replay_says_how_it_went(recorded: Path) -> None:
    done = ringhil("replay", recorded)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("identical: ")
    assert " messages, " in done.stdout
    assert " clients, " in done.stdout
    document = json.loads(ringhil("replay", recorded, "--json").stdout)
    assert (document["difference"], document["complete"]) == (None, True)
    assert min(document[what] for what in ("clients", "bytes_in", "bytes_out")) > 0


# ---------------------------------------------------------------------------------------------------- walked through


@pytest.mark.slow(part="benches")
def test_every_moment_is_the_same_whichever_way_it_is_come_to(recorded: Path) -> None:
    dice = random.Random(1)
    with DebugSession(recorded, cells_library()) as there, DebugSession(recorded, cells_library()) as back:
        last = there.recording.last_cycle
        cycles = sorted([*(dice.randrange(SOON) for _ in range(12)), last])
        found = {}
        for cycle in cycles:
            there.go(cycle)
            found[cycle] = [there.registers(gpu) for gpu in ("a.1", "b.2")], there.card("a"), there.firmware("a.0")
        dice.shuffle(cycles)
        for cycle in cycles:
            back.go(cycle)
            seen = [back.registers(gpu) for gpu in ("a.1", "b.2")], back.card("a"), back.firmware("a.0")
            assert seen == found[cycle], cycle


def test_a_write_of_a_client_is_there_from_its_cycle_on(tmp_path: Path) -> None:
    run, written = Run(loads(SERVER), cells_library()), 5000
    card, _ = (ManagedCard(run.server, number) for number in range(2))
    with RunRecorder(tmp_path / "session", run, clock=0) as recorder:
        run.start()
        run.run_to(written)
        port = NotedPort(ManagementPort(card), recorder.note, 1, "a", lambda: card.now, ROOM)
        port.receive(wrap(encode(m.WriteRequest(1, 1, ADDRESS["weight"], 7))))
        run.run_to(20_000)
        port.take(ROOM)
        port.close()
        end(run, recorder)
    run.close()
    assert_replays(tmp_path / "session")
    with DebugSession(tmp_path / "session", cells_library()) as session:
        changed = session.changes("a.1", "weight", 20_000)
        assert changed in [(written, 7), (written + 1, 7)]
        for cycle, weight in ((written - 1, 1), (written + 500, 7), (written - 1, 1)):
            session.go(cycle)
            assert session.registers("a.1")["weight"] == weight


@pytest.mark.rest
def test_a_branch_is_a_session_again(recorded: Path, tmp_path: Path) -> None:
    with DebugSession(recorded, cells_library()) as session:
        session.go(session.recording.last_cycle // 2)
        session.inject("{fault: dead, gpu: a.3}")
        session.branch(tmp_path / "branch")
    with Recording(tmp_path / "branch") as branch, Recording(recorded) as trunk:
        assert branch.about.clock == trunk.about.clock
        assert len(list(branch.outside())) > len(list(trunk.outside())) // 2
        assert branch.last_cycle > trunk.last_cycle // 2
    assert_replays(tmp_path / "branch")


# ----------------------------------------------------------------------------------------------------------- changed


def other(recorded: Path, path: Path, change: str, *values: object) -> Path:
    """A copy that somebody has changed."""
    shutil.copy(recorded, path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(change, values).rowcount >= 1
        db.commit()
    return path


FIRST = "UPDATE outside SET fields = {} WHERE number = (SELECT {}(number) FROM outside WHERE fields LIKE '%\"{}\":%')"
CHANGES = {
    "an answer": (FIRST.format("replace(fields, substr(fields, -6), 'ffff\"}')", "min", "out"), ", recorded "),
    "a request": (FIRST.format("json_set(fields, '$.in', '000000000000')", "min", "in"), ""),
    "what was left": (
        FIRST.format("json_set(fields, '$.left', 1 + json_extract(fields, '$.left'))", "min", "left"),
        " bytes that wait for it, recorded ",
    ),
    "a write's cycle": (
        FIRST.format("json_set(fields, '$.cycle', 1 + json_extract(fields, '$.cycle'))", "max", "ended"),
        "",
    ),
}


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("what", CHANGES)
def test_the_first_difference_is_told(recorded: Path, tmp_path: Path, what: str) -> None:
    change, says = CHANGES[what]
    done = ringhil("replay", other(recorded, tmp_path / "other", change))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("differs: ")
    assert says in done.stdout


def test_each_input_counts(tmp_path: Path, recorded: Path) -> None:
    """Without any one of the first that are answered at once, or one cycle later, it is another session."""
    with Recording(recorded) as recording:
        rows = [(number, json.loads(text)) for number, text in recording.outside()]
    answered = [
        (number, row)
        for (number, row), (_, then) in pairwise(rows)
        if "in" in row and "out" in then and (row["client"], row["cycle"]) == (then["client"], then["cycle"])
    ]
    assert answered
    for number, row in answered[:5]:
        late = {**row, "cycle": row["cycle"] + 1}
        for change, values in (
            ("DELETE FROM outside WHERE number = ?", (number,)),
            ("UPDATE outside SET fields = ? WHERE number = ?", (json.dumps(late), number)),
        ):
            path = other(recorded, tmp_path / "other", change, *values)
            try:
                assert replayed(path).difference is not None
            except RecordingError as error:
                assert " comes after " in str(error)  # noqa: PT017


@pytest.mark.rest
def test_one_that_was_cut_off_replays_as_far_as_it_goes(recorded: Path, tmp_path: Path) -> None:
    """Wherever: also where what clients sent is missing, and messages that came of it are there."""
    whole, found = recorded.read_bytes(), list[int]()
    for part in (2, 5, 8, 11, 14, 17, 20, 23):
        path = tmp_path / "part"
        path.write_bytes(whole[: len(whole) * part // 24])
        with suppress(RecordingError):
            again = replayed(path)
            assert (again.difference, again.complete) == (None, False), part
            found.append(again.messages)
    assert found
    assert max(found) > 100


WRONG = {
    "another card": ({"cycle": 1, "client": 77, "opened": "c"}, "client 77 cannot come to card 'c'"),
    "a stranger": ({"cycle": 1, "client": 77, "in": "00"}, "client 77 is not there"),
    "no row": ({"cycle": 1, "client": 77}, 'found {"cycle": 1, "client": 77}'),
    "no hardware": ({"cycle": 1, "gpu": "a.1", "lost": "x"}, "a.1 is not outside"),
    "no GPU": ({"cycle": 1, "gpu": "x", "lost": "x"}, "x is not outside"),
    "odd digits": ({"cycle": 1, "client": 1, "in": "0"}, "found "),
}


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize("what", WRONG)
def test_a_row_that_can_t_be_is_refused(recorded: Path, tmp_path: Path, what: str) -> None:
    row, says = WRONG[what]
    path = other(recorded, tmp_path / "other", "UPDATE outside SET fields = ? WHERE number = 1", json.dumps(row))
    done = ringhil("replay", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ringhil: {path}: is damaged: outside 1: ")
    assert says in done.stderr
    with DebugSession(path, cells_library()) as session:
        session.go(session.recording.last_cycle)
        with pytest.raises(DebugError, match="is damaged: outside 1: "):
            session.registers("a.0")


def test_rows_out_of_order_are_refused(recorded: Path, tmp_path: Path) -> None:
    change = FIRST.format("json_set(fields, '$.cycle', 0)", "max", "closed")
    done = ringhil("replay", other(recorded, tmp_path / "other", change))
    assert (done.returncode, done.stdout) == (2, "")
    assert ": cycle 0 comes after " in done.stderr


def test_a_client_in_a_run_that_is_no_session_is_refused(recorded: Path, tmp_path: Path) -> None:
    change = "UPDATE about SET header = json_set(header, '$.clock', NULL, '$.nodes', json('[\"a.1=x\"]'))"
    done = ringhil("replay", other(recorded, tmp_path / "other", change))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is damaged: outside 1: found a client; it is no session" in done.stderr


@pytest.mark.rest
@unhurried
@given(st.data())
def test_any_rows_are_a_difference_or_refused(recorded: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Whatever they say: nothing else than RecordingError is raised."""
    value = st.one_of(st.none(), st.booleans(), st.integers(-1, 2**63), st.text(max_size=9), st.just("00"))
    keys = st.sampled_from(["cycle", "client", "opened", "in", "out", "closed", "left", "room", "ended", "gpu", "lost"])
    row = data.draw(st.dictionaries(keys, value, max_size=5))
    number = data.draw(st.integers(1, 9))
    path = tmp_path / "other"
    other(recorded, path, "UPDATE outside SET fields = ? WHERE number = ?", json.dumps(row), number)
    with suppress(RecordingError):
        replayed(path)
