"""A live session that was recorded runs again without its clients: the same bytes leave, the same verdict comes out."""

import itertools
import json
import os
import random
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import refusal, ringhil
from tests.emulator.scenario.samples import unhurried
from tests.emulator.serial.journal_writer import Journal, header

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel.observations import FrameSeen, FromCpu, ToCpu
from ringhil.emulator.scenario import load, loads
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.clients import Note, NotedPort
from ringhil.emulator.serial.journal import FramesSeen, JournalError, LinesSum, written
from ringhil.emulator.serial.lines import Pty, TcpListener
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.port import ROOM, ManagementPort
from ringhil.emulator.serial.replaying import Replayed, SessionReplay
from ringhil.emulator.serial.serving import Serving
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
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


def session(
    path: Path, seed: int, clients: int = 2, firmware: FirmwareChoice = OURS, nodes: NodeChoice = ALL_HERE
) -> None:
    """Serve, with clients that do this and that, and go."""
    run = Run(loads(SERVER), cells_library(), firmware=firmware, nodes=nodes)
    seen = FramesSeen()
    run.observations.listen_to_frames(seen.frame)
    with Journal(path, header(run, None, firmware.given, nodes.given)) as journal:
        journal.hardware(run)
        for gpu, board in firmware.boards.items():
            board.on_exchange = journal.exchanges(gpu, lambda: run.kernel.now)
        attend(run, journal.write, seed, clients)
        end(run, journal, seen)
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


def end(run: Run, journal: Journal, seen: FramesSeen) -> None:
    run.end_at(run.kernel.now)
    outcome = run.finish()
    verdict = {"verdict": str(outcome.verdict), "failures": list(outcome.failures)}
    journal.end({"end": run.kernel.now, **verdict, "frames": seen.hexdigest()})


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


def test_a_session_finds_its_work_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work.bin").write_bytes(bytes(4096))
    (tmp_path / "served.yaml").write_text("server: {cards: {a: {gpus: 3}}}\nworkload: {data: work.bin}\n")
    monkeypatch.chdir(tmp_path)
    run = Run(load(Path("served.yaml")), cells_library())
    assert str(tmp_path / "work.bin") in header(run, None)["scenario"]
    run.close()


def replayed(path: Path) -> Replayed:
    return SessionReplay(path, cells_library()).run()


def check(path: Path, seed: int) -> None:
    session(path, seed)
    found = replayed(path)
    assert found.difference is None
    assert found.complete
    assert found.clients >= 2
    assert found.bytes_out > 100


@pytest.mark.parametrize("seed", range(3))
def test_a_session_replays_to_identical_bytes_and_the_same_verdict(tmp_path: Path, seed: int) -> None:
    check(tmp_path / "session", 1000 * seed)


@pytest.mark.slow(part="benches")
def test_a_session_of_a_paced_ring_on_a_slow_line_replays(tmp_path: Path) -> None:
    """The card says what its clock is, and leaves out events for which the line has no room."""
    run, seen, path = Run(loads(SERVER), cells_library()), FramesSeen(), tmp_path / "session"
    run.observations.listen_to_frames(seen.frame)
    seconds, line = itertools.count(0.0, 0.005), Pty()
    with Journal(path, header(run, 40_000)) as journal:
        serving = Serving(run, clock=40_000, baud=9600, note=journal.write, monotonic=lambda: next(seconds))
        serving.add(0, line)
        run.start()
        client = os.open(line.name, os.O_RDWR | os.O_NOCTTY)
        for request in (m.HelloRequest(1, 1, 0, b"x"), m.SubscribeRequest(2, EventKind.FRAMES)):
            os.write(client, wrap(encode(request)))
        rounds = iter(range(600))
        serving.serve(lambda: next(rounds, None) is None)
        serving.close()
        os.close(client)
        end(run, journal, seen)
    run.close()
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)
    assert found.bytes_out > 1000


@pytest.mark.slow(part="benches")
def test_a_hundred_sessions_do(tmp_path: Path) -> None:
    for seed in range(100):
        check(tmp_path / f"session{seed}", 1000 * seed)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("session") / "session"
    session(path, 5)
    return path


def test_the_hash_is_of_every_frame_and_of_all_that_is_said_of_it(recorded: Path) -> None:
    """Both runs take it by the same code: one that hashed nothing would be the same in both."""

    def hashed(*frames: FrameSeen) -> str:
        seen = FramesSeen()
        for frame in frames:
            seen.frame(frame)
        return seen.hexdigest()

    one = ToCpu(7, 1, 0, b"ab")
    others = [ToCpu(8, 1, 0, b"ab"), ToCpu(7, 2, 0, b"ab"), ToCpu(7, 1, 1, b"ab"), ToCpu(7, 1, 0, b"ac")]
    others += [FromCpu(7, 1, 0, b"ab"), ToCpu(7, 1, 0, b"ab", True)]
    found = [hashed(), hashed(one), hashed(one, one), *(hashed(one, other) for other in others), hashed(others[0], one)]
    assert len(set(found)) == len(found)
    assert hashed(one, others[0]) == hashed(one, others[0])
    assert json.loads(recorded.read_text().splitlines()[-1])["frames"] not in found


def test_replay_says_how_it_went(recorded: Path) -> None:
    done = ringhil("replay", recorded)
    assert done.stdout.startswith("identical: ")
    assert "clients, " in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(ringhil("replay", recorded, "--json").stdout)
    assert (document["difference"], document["complete"]) == (None, True)
    assert document["verdict"] in ("pass", "fail")


def test_a_session_that_breaks_off_replays_as_far_as_it_goes(recorded: Path, tmp_path: Path) -> None:
    whole = recorded.read_bytes()
    part = tmp_path / "part"
    part.write_bytes(whole[: len(whole) * 2 // 3])
    found = replayed(part)
    assert (found.difference, found.complete, found.verdict) == (None, False, None)
    assert ringhil("replay", part).stdout.endswith(f"; {part} breaks off there\n")


class Lines:
    """A recording's, to be changed."""

    def __init__(self, recorded: Path) -> None:
        self.lines = recorded.read_text().splitlines(keepends=True)

    def last(self, key: str) -> int:
        return max(number for number, line in enumerate(self.lines) if key in json.loads(line))

    def without_sum(self) -> Self:
        """As if nobody had added them up."""
        end = json.loads(self.lines[-1])
        del end["sum"]
        self.lines = [line.replace('"version":4', '"version":1') for line in self.lines[:-1]]
        self.lines.append(json.dumps(end, separators=(",", ":")) + "\n")
        return self

    def replayed(self, path: Path) -> Replayed:
        path.write_text("".join(self.lines))
        return replayed(path)


def test_what_a_card_says_beyond_what_was_recorded_is_a_difference(recorded: Path, tmp_path: Path) -> None:
    found = Lines(recorded).without_sum()
    gone = json.loads(found.lines.pop(found.last("out")))
    difference = found.replayed(tmp_path / "less").difference
    assert difference is not None
    left = json.loads(found.lines[found.last("closed")])
    assert f"client {gone['client']}, " in difference
    assert "bytes that wait for it, recorded " in difference
    assert left["left"] >= 0


DAMAGES: dict[str, Callable[[Lines], None]] = {
    "an end one cycle later": lambda f: f.lines.append(
        re.sub(r'(?<="end":)\d+', lambda m: str(int(m[0]) + 1), f.lines.pop())
    ),
    "what came once more": lambda f: f.lines.insert(f.last("in"), f.lines[f.last("in")]),
    "nobody went": lambda f: f.lines.pop(f.last("closed")) and None,
    "no answer": lambda f: f.lines.pop(f.last("out")) and None,
    "no sum": lambda f: f.lines.append(f.lines.pop().split(',"sum"')[0] + "}\n"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_recording_that_was_changed_is_no_identical_one(recorded: Path, tmp_path: Path, what: str) -> None:
    found = Lines(recorded)
    DAMAGES[what](found)
    try:
        assert found.replayed(tmp_path / "changed").difference is not None
    except JournalError as error:
        assert f"changed:{len(found.lines)}: sum: found " in str(error)  # noqa: PT017


def test_nothing_comes_behind_the_end(recorded: Path, tmp_path: Path) -> None:
    found = Lines(recorded)
    found.lines.append(found.lines[1])
    with pytest.raises(JournalError, match=r":\d+: found .*; wanted is nothing behind the end$"):
        found.replayed(tmp_path / "more")


def test_an_end_without_a_newline_is_the_end(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").write_bytes(recorded.read_bytes()[:-1])
    assert replayed(tmp_path / "bare") == replayed(recorded)


def test_the_first_version_is_read(recorded: Path, tmp_path: Path) -> None:
    """It knew no room, no rest and no sum."""
    found = Lines(recorded).without_sum()
    rows = [json.loads(line) for line in found.lines]
    found.lines = [json.dumps({k: v for k, v in row.items() if k not in ("room", "left")}) + "\n" for row in rows]
    again = found.replayed(tmp_path / "old")
    assert (again.difference, again.complete) == (None, True)


def summed(path: Path, lines: list[str]) -> Path:
    """A session of these lines, with their sum at the end."""
    end, sum_ = json.loads(lines[-1]), LinesSum()
    del end["sum"]
    for line in lines[:-1]:
        sum_.line(line)
    path.write_text("".join([*lines[:-1], written({**end, "sum": sum_.with_last(written(end))})]))
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_later_ones_are_read(recorded: Path, tmp_path: Path, version: int) -> None:
    """They knew no hardware outside, and the second no firmware on boards."""
    lines = recorded.read_text().splitlines(keepends=True)
    about = {**json.loads(lines[0]), "version": version}
    for key in ("nodes", "firmware")[: 4 - version]:
        del about[key]
    again = replayed(summed(tmp_path / "old", [written(about), *lines[1:]]))
    assert (again.difference, again.complete) == (None, True)


def test_what_waits_when_a_client_goes_is_not_done(tmp_path: Path) -> None:
    """Two writes at once: the second waits until the first holds, and that is after the end of the client."""
    run, seen, path = Run(loads(SERVER), cells_library()), FramesSeen(), tmp_path / "session"
    run.observations.listen_to_frames(seen.frame)
    card = ManagedCard(run.server, 0)
    for number in range(1, 2):
        ManagedCard(run.server, number)
    with Journal(path, header(run, None)) as journal:
        run.start()
        run.run_to(5000)

        def client() -> NotedPort:
            return NotedPort(ManagementPort(card), journal.write, journal.number(), "a", lambda: card.now, ROOM)

        one = client()
        weight = ADDRESS["weight"]
        one.receive(b"".join(wrap(encode(m.WriteRequest(n, 1, weight, 10 + n))) for n in (1, 2)))
        one.close()
        run.run_to(5100)
        two = client()
        two.receive(wrap(encode(m.ReadRequest(3, 1, weight))))
        (answer,) = Unwrapper().feed(two.take(ROOM))
        assert decode(answer).value == 11  # type: ignore[arg-type, attr-defined]
        two.close()
        end(run, journal, seen)
    run.close()
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)


def changed(recorded: Path, path: Path, change: object) -> Path:
    """The recording with its first row that `change` makes another one of."""
    assert callable(change)
    lines = recorded.read_text().splitlines()
    for number, line in enumerate(lines):
        other = change(json.loads(line))
        if other is not None:
            lines[number] = json.dumps(other, separators=(",", ":"))
            break
    else:
        raise AssertionError("nothing was changed")
    path.write_text("\n".join(lines) + "\n")
    return path


def where(key: str, **other: object) -> Callable[[dict[str, object]], dict[str, object] | None]:
    """Changes a row that has this key."""
    return lambda row: {**row, **other} if key in row else None


def other_request(row: dict[str, object]) -> dict[str, object] | None:
    sent = str(row.get("in", ""))
    return {**row, "in": "00" * 9} if len(sent) > 20 else None


def more_left(row: dict[str, object]) -> dict[str, object] | None:
    return {**row, "left": int(str(row["left"])) + 1} if "left" in row else None


def other_answer(row: dict[str, object]) -> dict[str, object] | None:
    return {**row, "out": f"{str(row['out'])[:-4]}ffff"} if "out" in row else None


CHANGES = {
    "an answer": (other_answer, "recorded "),
    "a request": (other_request, "found nothing, recorded "),
    "what was left": (more_left, "bytes that wait for it, recorded "),
    "the verdict": (where("end", verdict="odd"), "verdict: found "),
    "the frames": (where("end", frames="00"), "frames: found "),
    "the failures": (where("end", failures=["x"]), "failures: found "),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_first_difference_is_told(recorded: Path, tmp_path: Path, what: str) -> None:
    change, says = CHANGES[what]
    found = replayed(changed(recorded, tmp_path / "other", change))
    assert found.difference is not None
    assert says in found.difference
    done = ringhil("replay", tmp_path / "other")
    assert (done.returncode, done.stdout) == (1, f"differs: {found.difference}\n")


WRONG = {
    "another format": (where("format", format="ringhil recording"), ":1: is no recording of a run or a live session"),
    "a newer version": (where("format", version=5), ":1: is version 5 of the format; this program reads 1, 2, 3, 4"),
    "other RTL": (where("format", rtl="sha256:0"), "was recorded on the RTL sha256:0"),
    "no scenario": (where("format", scenario="server: 3"), ":1: scenario: live:1:9"),
    "no clock": (where("format", clock=-1), ":1: clock: "),
    "another card": (where("opened", opened="c"), ":2: client 1 cannot come to card 'c'"),
    "a stranger": (where("in", client=77), "client 77 is not there"),
    "time": (where("closed", cycle=0), "cycle 0 comes after"),
    "odd digits": (where("in", **{"in": "0"}), "wanted is a line of a session"),
    "no row": (lambda row: [] if "in" in row else None, "wanted is a line of a session"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_no_session_is_refused(recorded: Path, tmp_path: Path, what: str) -> None:
    change, says = WRONG[what]
    said = refusal("replay", changed(recorded, tmp_path / "other", change))
    assert f"ringhil: {tmp_path}/other:" in said
    assert says in said


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "missing: cannot be read: No such file or directory" in refusal("replay", tmp_path / "missing")
    assert "cannot be read: it is no file" in refusal("replay", "/dev/null")
    (tmp_path / "long").write_bytes(b"x" * 3_000_000)
    assert "long:1: is longer than 1048576 bytes" in refusal("replay", tmp_path / "long")
    (tmp_path / "long").write_bytes("\u00e9".encode() * 600_000 + b"\n")
    assert "long:1: is longer than 1048576 bytes" in refusal("replay", tmp_path / "long")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "nothing"),
        (
            '{"format": "ringhil live session", "vers',
            """'{"format": "ringhil live session", "vers', which is cut off,""",
        ),
        ('{"ringhil": "session", "format": 1}\n{"t', """'{"ringhil": "session", "format": 1}'"""),
        ("[]\n", "'[]'"),
    ],
)
def test_a_first_line_that_is_none_is_shown(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "s").write_text(text)
    wanted = "wanted is a line with the format 'ringhil live session'"
    says = f"is no recording of a run or a live session: found {found}; {wanted}"
    assert refusal("replay", tmp_path / "s") == f"ringhil: {tmp_path}/s:1: {says}"


@unhurried
@given(st.data())
def test_any_damage_is_a_difference_or_refused(recorded: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(recorded.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "damaged").write_bytes(whole)
    with suppress(JournalError):
        found = replayed(tmp_path / "damaged")
        same = bytes(whole).rstrip() == recorded.read_bytes().rstrip()
        assert found.difference is not None or not found.complete or same
