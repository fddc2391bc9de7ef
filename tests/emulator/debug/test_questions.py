"""What takes minutes to find in a log: which hop, which loss, which message, which census. Each is a command or two."""

import json
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.stepping import questions, server
from tests.command import ringhil

from ringhil.emulator.debug.commands import Commands, in_words
from ringhil.emulator.debug.past import NEAR, SPREAD, Past
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.export import write_json_lines
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.protocol.frames import Keepalive

CARD = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}\nuntil: 40000\ntimeline: [%s]\n"
LIAR = CARD % "{at: 7000, fault: %s, gpu: a.3}"
MUTE = CARD % "{at: 7000, fault: keepalive_loss, gpu: a.0, count: 5}"
Opened = Callable[[str], DebugSession]


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Opened:
    """Records the run of a scenario and opens it."""

    def make(text: str) -> DebugSession:
        session = DebugSession(recorded(tmp_path / "r", text), cells_library())
        request.addfinalizer(session.close)
        return session

    return make


def recorded(path: Path, text: str) -> Path:
    run = Run(loads(text), cells_library())
    with RunRecorder(path, run) as recorder:
        recorder.end(run.run())
    run.close()
    return path


@pytest.mark.parametrize(("fault", "step"), [("skip_count", 0), ("double_count", 2)])
def test_which_hop_damaged_a_count(opened: Opened, fault: str, step: int) -> None:
    session = opened(LIAR % fault)
    commands = Commands(session)
    commands.do("until kind == Rejected")
    chain = commands.do("why rejected")["chain"]
    assert [told["kind"] for told in chain] == ["Struck", *["statistics"] * len(chain[1:-1]), "Rejected"]
    home = next(told for told in chain if told.get("way") == "to_firmware")
    session.go(home["cycle"])
    commands.do(f"back-until number == {home['number']}") if session.number > home["number"] else None
    hops = commands.do("who count")["hops"]
    assert [hop["gpu"] for hop in hops] == [f"a.{gpu}" for gpu in (0, 1, 2, 3, 4, 5)]
    counts = [hop["value"] for hop in hops]
    steps = [after - before for before, after in pairwise(counts)]
    assert steps == [1, 1, step, 1, 1], "a.3 is the third to pass it on"
    assert in_words(commands.do("who count")).count(" *") == sum(map(bool, steps))


def test_a_message_is_followed_from_either_end_and_every_field_of_it(opened: Opened) -> None:
    session = opened(CARD % "")
    assert session.until(lambda fields: fields["kind"] == "statistics" and fields["way"] == "from_firmware")
    sent = session.here
    ttl = session.who("ttl")
    assert [hop.value for hop in ttl] == [7, 6, 5, 4, 3, 2]
    assert session.until(lambda fields: fields["kind"] == "statistics" and fields["way"] == "to_firmware")
    assert session.who("ttl") == ttl
    assert {hop.value for hop in session.who("sequence")} == {1}
    session.here = sent
    with pytest.raises(DebugError, match="found field 'speed'; allowed are card, flags, ttl"):
        session.who("speed")
    session.here = None
    with pytest.raises(DebugError, match="here is no message"):
        session.who("ttl")


def test_to_follow_a_message_the_run_is_played_from_when_it_was_sent(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, played = opened(CARD % ""), list[int]()
    Commands(session).do("until kind == statistics and way == to_firmware and cycle > 25000")
    aside = Past.aside
    monkeypatch.setattr(Past, "aside", lambda past, cycle: (played.append(cycle), aside(past, cycle))[1])
    first = session.who("count")[0].cycle
    assert len(played) == 1
    assert 0 <= first - played[0] < 20


def test_whose_loss_moved_a_role(opened: Opened) -> None:
    session = opened(MUTE)
    commands = Commands(session)
    commands.do("until kind == Deposed")
    chain = commands.do("why role")["chain"]
    asked = [told for told in chain if told["kind"] == "keepalive" and told["way"] == "from_firmware"]
    mine = [m for m in session.recording.messages() if m.kind == Keepalive.KIND and m.cell == 0]
    came = {told.frame[12:16] for told in mine if told.way == 2}
    sent = [told for told in mine if told.way == 1 and told.port == 2 and told.number < session.number]
    lost = [told for told in sent if told.frame[12:16] not in came]
    assert [told["number"] for told in asked][: len(lost)] == [message.number for message in lost]
    assert len(lost) >= 3
    (answer,) = [told for told in chain if told["kind"] == "keepalive" and told["way"] == "to_firmware"]
    assert answer["echo"] == asked[0]["sequence"] - 1
    assert [told["kind"] for told in chain if told["kind"] == "Struck"] == ["Struck"]
    commands.do("until kind == Elected")
    chain = commands.do("why role")["chain"]
    kinds = [told["kind"] for told in chain]
    assert kinds[-1] == "Elected"
    assert {"Deposed", "Lapsed", "Granted", "election"} <= set(kinds)
    assert {told["gpu"] for told in chain if told["kind"] == "election"} == {"a.1"}


def test_which_census_first_saw_a_dead_gpu(opened: Opened) -> None:
    session = opened(LIAR % "dead")
    commands = Commands(session)
    found = commands.do("until kind == Counted and not members has 3")
    counts = [event for event in session.recording.events() if event.kind == "Counted"]
    first = next(event for event in counts if '"members":[0,1,2,4,5]' in event.fields)
    assert found["message"]["number"] == first.number
    chain = commands.do("why count")["chain"]
    assert [told["kind"] for told in chain] == ["Struck", *["statistics"] * 4, "Counted"]


def test_the_first_message_that_differs_between_two_recordings(opened: Opened, tmp_path: Path) -> None:
    session = opened(CARD % "")
    commands = Commands(session)
    other = recorded(tmp_path / "other", LIAR % "dead")
    found = commands.do(f"compare {other}")
    with Recording(other) as there:
        pairs = zip(session.recording.all(), there.all(), strict=False)
        mine, theirs = next((one, two) for one, two in pairs if one != two)
    assert found["message"]["number"] == mine.number == theirs.number
    (difference,) = found["differs"]
    assert difference["there"].endswith("Struck") or "FirmwareStopped" in difference["there"]
    same = commands.do(f"compare\t{session.recording.path}")
    assert same["moved"] is False
    assert in_words(same).startswith(f"the same: {session.recording.last_number} messages and events\n")
    changed = tmp_path / "changed"
    changed.write_bytes(session.recording.path.read_bytes())
    with closing(sqlite3.connect(changed)) as db, db:
        db.execute("UPDATE messages SET port = 3 - port WHERE number = 96")
    with pytest.raises(DebugError, match=r"^.*changed: number 96 isn't that of .*: one of them was changed$"):
        commands.do(f"compare {changed}")
    with pytest.raises(DebugError, match="found 'show me'; allowed is show"):
        commands.do("show me")
    with pytest.raises(DebugError, match="cannot be read"):
        commands.do("compare nothing")
    slow = Commands(opened(CARD.replace("6,", "7,") % ""))
    assert "differs" in slow.do(f"compare {other}")


@pytest.mark.slow(part="benches")
def test_each_takes_less_than_a_second_wherever_one_was_before(tmp_path: Path) -> None:
    """64 GPUs, a million cycles; first at many places, so that of moments only those are left that stay."""
    path, dice = recorded(tmp_path / "r", server(1_000_000)), random.Random(1)
    with DebugSession(path, cells_library()) as session:
        last = session.recording.last_cycle
        for cycle in [last, *(dice.randrange(1_000_000) for _ in range(150))]:
            session.go(cycle)
            session.registers("a.3")
        moments = [*session.past.moments, last]
        assert max(after - before for before, after in pairwise(moments)) <= 2 * last // SPREAD + 2 * NEAR
        for name, ask in questions(session, path).items():
            seconds = []
            for _ in range(3):  # the machine may be busy with something else
                began = time.monotonic()
                ask()
                seconds.append(time.monotonic() - began)
            assert min(seconds) < 1, name


def test_what_differs_between_two_moments(opened: Opened) -> None:
    session = opened(LIAR % "dead")
    commands = Commands(session)
    commands.do("until kind == Counted and count == 6")
    before = session.number
    commands.do("until kind == Counted and count == 5")
    differs = {each["where"]: (each["there"], each["here"]) for each in commands.do(f"diff {before}")["differs"]}
    assert differs["a.0.firmware.census.last.count"] == (6, 5)
    assert not any(name.startswith("a.3.registers.unit") for name in differs)
    assert commands.do(f"diff {session.number}")["differs"] == []
    with pytest.raises(DebugError, match="found number 999999; there are 1 to"):
        commands.do("diff 999999")


@pytest.mark.rest
def test_a_register_is_watched(opened: Opened) -> None:
    session = opened(MUTE)
    commands = Commands(session)
    commands.do("go 5000")
    before = session.registers("a.1")["control"]
    found = commands.do("watch a.1 control")
    assert found["moved"]
    assert found["changed"]["control"] != before != session.registers("a.1")["control"]
    message = found["message"]
    assert message["cycle"] >= found["changed"]["cycle"]
    again = commands.do("watch a.1 control")
    assert not again["moved"] or again["changed"]["cycle"] > message["cycle"]
    session.go(5000)
    cycles = found["changed"]["cycle"] - (session.cycle + 1)
    assert commands.do(f"watch a.1 control {cycles - 1}")["moved"] is False
    assert commands.do(f"watch a.1 control {cycles}")["changed"] == found["changed"]
    session.go(session.recording.last_cycle)
    assert commands.do(f"watch a.1 control {10**18}")["moved"] is False  # nothing is played beyond the end
    session.go(found["changed"]["cycle"] - 2)
    assert session.registers("a.1")["control"] == before
    assert commands.do("watch a.5 control 10") == {
        "command": "watch a.5 control 10",
        "cycle": session.cycle,
        "message": commands.do("show")["message"],
        "moved": False,
    }


def test_what_firmware_has_in_its_memory_is_watched(opened: Opened) -> None:
    commands = Commands(opened(MUTE))
    commands.do("go 5000")
    found = commands.do("watch a.0 census.last.sequence")
    (value,) = [each for name, each in found["changed"].items() if name == "census.last.sequence"]
    assert commands.do("state a.0")["firmware"]["census"]["last"]["sequence"] == value
    commands.do(f"go {found['changed']['cycle'] - 1}")
    assert commands.do("state a.0")["firmware"]["census"]["last"]["sequence"] == value - 1
    assert commands.do("watch a.0 census.last.sequence")["changed"] == found["changed"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("speed", r"found 'speed'; in the memory of its firmware are .*census.*; registers are .*control"),
        ("census.lsat", r"found 'census.lsat'; there is .*last"),
        ("census.last.members[9]", r"found 'census.last.members\[9\]'; there are elements 0 to 5$"),
        ("census.last.count.more", r"found 'census.last.count.more'; there is no name in it$"),
        ("x" * 1000, r"found 'x{50}'; in the memory"),
    ],
)
def test_what_is_not_there_cannot_be_watched(opened: Opened, name: str, says: str) -> None:
    commands = Commands(opened(MUTE))
    commands.do("go 5000")
    with pytest.raises(DebugError, match=says) as refused:
        commands.do(f"watch a.0 {name}")
    assert "\n" not in str(refused.value)


def test_breakpoints_stop_on_either_side(opened: Opened) -> None:
    commands = Commands(opened(MUTE))
    with pytest.raises(DebugError, match="there is no breakpoint"):
        commands.do("continue")
    assert commands.do("break kind == Elected and epoch == 2")["breaks"] == ["kind == Elected and epoch == 2"]
    commands.do("break kind == Struck")
    assert commands.do("continue")["message"]["kind"] == "Struck"
    assert commands.do("continue")["message"]["kind"] == "Elected"
    assert commands.do("reverse")["message"]["kind"] == "Struck"
    assert commands.do("delete 2")["breaks"] == ["kind == Elected and epoch == 2"]
    assert commands.do("reverse")["moved"] is False
    with pytest.raises(DebugError, match="found 2; there is 1 breakpoint"):
        commands.do("delete 2")


def test_all_of_it_on_the_command_line(tmp_path: Path) -> None:
    path = recorded(tmp_path / "r", LIAR % "dead")
    script = tmp_path / "script"
    script.write_text("until kind == Counted and not members has 3\nwhy count\nbreak kind == Struck\nreverse\nbreaks\n")
    done = ringhil("step", path, "--script", script)
    assert done.returncode == 0
    said = done.stdout.splitlines()
    assert "Struck: fault dead" in done.stdout
    assert said[-1] == "  1. kind == Struck"


def test_a_gpu_that_flaps_has_its_name(opened: Opened, tmp_path: Path) -> None:
    session = opened(CARD % "{at: 9000, fault: flap, gpu: a.3, period: 2000}")
    commands = Commands(session)
    found = commands.do("until kind == Flapped and gpu == a.3")
    assert found["moved"]
    assert in_words(found) == f"{session.number}: cycle 9000 a.3 Flapped"
    write_json_lines(session.recording, tmp_path / "lines")
    flapped = [
        row for row in map(json.loads, (tmp_path / "lines").read_text().splitlines()) if "Flapped" in row.values()
    ]
    assert {row["gpu"] for row in flapped} == {"a.3"}


def test_go_finds_the_last_of_a_cycle(opened: Opened) -> None:
    session = opened(CARD % "")
    every = list(session.recording.all())
    for cycle in (0, 1, every[40].cycle, every[40].cycle - 1, every[77].cycle, 39_999, 10**9):
        wanted = [told for told in every if told.cycle <= cycle]
        assert session.go(cycle) == bool(wanted)
        assert session.here == (wanted[-1] if wanted else None)
    assert isinstance(every[0], RecordedMessage)
