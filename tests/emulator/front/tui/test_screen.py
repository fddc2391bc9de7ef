"""The screen of `ringhil step`, by its keys: what it shows is what the recording holds and what the session says."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from textual.widgets import Static

from ringhil.emulator.debug.commands import NAMES, Commands, in_words
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.items import decoded, details
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.front.tui.asking import CommandLine
from ringhil.emulator.front.tui.listing import Listing
from ringhil.emulator.front.tui.panes import Pane, TimeLine
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS

from .hand import Hand, looking_at


def test_each_line_is_a_message_or_event_wherever_one_scrolls(recorded: Path) -> None:
    async def does(hand: Hand) -> None:
        every = list(hand.screen.rows.recording.all())
        gpus = hand.screen.rows.recording.gpus

        def as_recorded() -> None:
            top = round(hand.screen.query_one(Listing).scroll_y)
            for told, line in zip(every[top:], hand.lines(), strict=False):
                kind = decoded(told.frame)[0] if isinstance(told, RecordedMessage) else told.kind
                way = WAYS[told.way] if isinstance(told, RecordedMessage) else "•"
                assert line.split()[0] == str(told.cycle)
                assert kind in line
                assert way.startswith({"→": "to", "←": "from", "•": "•"}[line.split()[1]])
                assert told.cell is None or f" {gpus[told.cell]} " in line
            height = len(hand.lines())
            assert top <= hand.screen.here - 1 < top + height

        page = len(hand.lines()) - 1
        expected = 1
        for keys, moved in (
            (["down"] * 3, 3), (["j"] * 9, 9), (["k"], -1), (["up"], -1), (["pagedown"] * 3, 3 * page),
            (["pageup"], -page), (["end"], len(every)), (["pageup"], -page), (["G"], len(every)),
            (["home"], -len(every)),
        ):  # fmt: skip
            await hand.press(*keys)
            expected = min(max(1, expected + moved), len(every))
            assert hand.screen.here == expected
            as_recorded()

    looking_at(recorded, does)


@pytest.mark.rest
def test_steps_and_kinds_go_where_a_session_goes(recorded: Path, session: DebugSession) -> None:
    async def does(hand: Hand) -> None:
        await hand.type(":go 9000")
        session.go(9000)
        assert hand.screen.here == session.number
        for key, verb in (("l", "step"), ("right", "step"), ("h", "back"), ("left", "back")):
            await hand.press(key, key, key)
            getattr(session, verb)(3)
            assert hand.screen.here == session.number
        for key, verb in ((".", "until"), (".", "until"), (",", "back_until")):
            told = session.here
            assert isinstance(told, RecordedMessage)
            await hand.press(key)
            getattr(session, verb)(parse(f"kind == {decoded(told.frame)[0]}", NAMES))
            assert hand.screen.here == session.number
        await hand.press("g")
        await hand.press(*"20000", "enter")
        session.go(20000)
        assert hand.screen.here == session.number

    looking_at(recorded, does)


@pytest.mark.rest
def test_a_search_takes_a_condition_or_a_text(recorded: Path, session: DebugSession) -> None:
    every = list(session.recording.all())

    async def does(hand: Hand) -> None:
        condition = parse("kind == Counted and count == 4", NAMES)
        counted = [told.number for told in every if condition(session.fields(told))]
        await hand.type("/kind == Counted and count == 4")
        assert hand.screen.here == counted[0]
        await hand.press("n")
        assert hand.screen.here == counted[1]
        await hand.press("N")
        assert hand.screen.here == counted[0]
        await hand.press("N")
        assert hand.screen.here == counted[0]
        assert hand.status == "no more: kind == Counted and count == 4"
        await hand.press("home")
        await hand.type("/DEAD")  # letters of the list, small or not
        assert every[hand.screen.here - 1].kind == "Struck"
        for before in ("kind == Counted", "kind == statistics and way == to_firmware and cycle >= 0 and not bad == 1"):
            await hand.type(f"/{before} and cuont == 4")
            condition_line, mark, said, *_ = hand.pane("said").splitlines()
            assert said.startswith("found 'cuont'")
            assert condition_line[mark.index("^") :].startswith("cuont")
            assert mark in hand.shown
        assert every[hand.screen.here - 1].kind == "Struck"

    looking_at(recorded, does)


@pytest.mark.slow(part="benches")
def test_the_command_line_does_what_a_script_does(recorded: Path, session: DebugSession) -> None:
    commands = Commands(session)

    async def does(hand: Hand) -> None:
        session.here = next(session.recording.all())
        for line in ("until kind == Counted and count == 4", "why count", "show", "break count == 4", "breaks"):
            await hand.type(f":{line}")
            said = in_words(commands.do(line))
            assert hand.said.split() == ("no more" if said.startswith("no more") else said).split()
            assert hand.screen.here == session.number
        for line in ("steq", "until count = 3", "state a.9", "go backwards"):
            await hand.type(f":{line}")
            with pytest.raises(DebugError) as refused:
                commands.do(line)
            assert sorted(str(refused.value).split()) == sorted(hand.said.split())
        await hand.press(":")
        await hand.press("up", "up")
        line = hand.screen.query_one(CommandLine)
        assert line.value == "state a.9"
        await hand.press("down", "down")
        assert line.value == ""
        await hand.press(*"ba", "tab")
        assert line.value == "back"
        assert hand.pane("said").split() == ["back", "back-until"]
        await hand.press("-", "tab", *"numb", "tab", *"> 3 and (ki", "tab", *"== Cou", "tab")
        assert line.value == "back-until number > 3 and (kind == Count"
        await hand.press("escape")
        await hand.press(":")
        await hand.press(*"sta", "tab", *"a.2", "enter")
        assert "registers" in hand.pane("said")
        assert "heartbeat" in hand.shown
        await hand.press("pagedown", "pagedown")  # it has the focus, and the list keeps its own place
        assert "heartbeat" not in hand.shown
        assert hand.screen.here == session.number
        await hand.press("escape")
        assert not hand.screen.query_one("#said", Pane).display
        await hand.press("up")
        assert hand.screen.here == session.number - 1

    looking_at(recorded, does)


@pytest.mark.rest
def test_the_frame_marks_what_each_hop_has_changed(recorded: Path, session: DebugSession) -> None:
    session.until(parse("kind == statistics and way == to_firmware and count == 4", NAMES))
    assert isinstance(session.here, RecordedMessage)
    frame, fields = session.here.frame, details(session.here)

    async def does(hand: Hand) -> None:
        await hand.type("/kind == statistics and way == to_firmware and count == 4")
        await hand.look()
        shown = hand.pane("frame")
        for name, value in fields.items():
            assert name in ("port", "bad", "records") or f"{name} {value}" in shown
        found = bytes.fromhex("".join(re.findall(r"^[0-9a-f]{4} ((?: [0-9a-f]{2})+)$", shown, re.MULTILINE)))
        assert found == frame
        counts = session.who("count")
        links = [
            line.strip("▸ ") for line in shown.replace("\n    ", " ").splitlines() if re.match(r"[▸ ]\d+ a\.", line)
        ]
        assert [line.split()[:3] for line in links] == [[str(hop.cycle), hop.gpu, hop.link] for hop in counts]
        for (before, after), line in zip(pairwise(counts), links[1:], strict=True):
            assert (f"count {before.value}→{after.value}" in line) is (before.value != after.value)
        before = session.hops()[-2].frame  # on the link to the GPU that gave it to its firmware
        changed = {f"{now:02x}" for was, now in zip(before, frame, strict=False) if was != now}
        assert changed <= hand.marked("frame")
        assert ("count 4*" in hand.marked("frame")) is (counts[-2].value != 4)
        await hand.press(*"<" * len(counts))
        assert "count 1" in hand.pane("frame")
        assert hand.marked("frame") == set()
        await hand.press(">")
        assert "count 2*" in hand.marked("frame")

    looking_at(recorded, does)


@pytest.mark.rest
def test_states_and_rings_are_those_of_the_run(recorded: Path, session: DebugSession) -> None:
    async def does(hand: Hand) -> None:
        for cycle in (39000, 12000):
            await hand.type(f":go {cycle}")
            session.go(cycle)
            await hand.press("f")
            assert session.here is not None
            assert hand.screen.chosen == session.recording.gpus[session.here.cell or 0]
            for _ in range(2):
                await hand.look()
                gpu = hand.screen.chosen
                shown = hand.pane("state")
                for name, value in session.registers(gpu).items():
                    assert re.search(rf" {name} {value}\b", shown) or (not value and name in shown)
                firmware = session.firmware(gpu)
                assert ("none, or failed" in shown) is (firmware is None)
                assert firmware is None or all(f" {name}" in shown for name in firmware)
                assert all(f" {name}" in shown for name in session.card("a"))
                await hand.press("]")
            await hand.look()
            rings = hand.pane("rings")
            for number in range(5):
                registers = session.registers(f"a.{number}")
                assert (f"─{number}✗─" in rings) is bool(registers["status"] & 3)
                assert (f"[{number}*]" in rings) is bool(registers["control"] & 1 and not registers["status"] & 3)

    looking_at(recorded, does)


def test_the_time_line_has_faults_and_roles_where_they_were(recorded: Path, session: DebugSession) -> None:
    events = list(session.recording.events())
    struck = [event.cycle for event in events if event.kind == "Struck"]
    entries = [e.cycle for e in events if e.kind == "Elected" and json.loads(e.fields)["role"] == "entry"]
    assert (len(struck), len(entries)) == (2, 2)

    async def does(hand: Hand) -> None:
        line = hand.screen.query_one(TimeLine)
        above, below = str(line.render()).split("\n")
        for sign, cycles in (("x", struck), ("E", entries)):
            assert {place for place, letter in enumerate(above) if letter == sign} == {
                line.column(cycle) for cycle in cycles
            }
        assert below.startswith("▲ 0")
        await hand.pilot.click(TimeLine, offset=(line.column(22_000), 0))
        await hand.rest()
        session.go(line.column(22_000) * next(session.recording.all_back()).cycle // 79)
        assert hand.screen.here == session.number
        assert "fault dead a.0" in str(line.render())
        await hand.press("end")
        assert str(line.render()).rstrip().endswith("▲")

    looking_at(recorded, does)


@pytest.mark.rest
def test_panes_help_and_a_terminal_that_is_too_small(recorded: Path) -> None:
    async def does(hand: Hand) -> None:
        for name in ("frame", "rings", "state", "listing"):
            await hand.press("tab")
            assert hand.screen.focused is not None
            assert hand.screen.focused.id == name
            await hand.press("z")
            assert hand.screen.focused.size.height > 20
            assert 75 < hand.screen.focused.size.width <= 80
            await hand.press("z")
            assert hand.screen.focused.size.height < 15
        await hand.press("z")
        await hand.type(":show")  # the answer is seen, whatever had the screen
        assert "  ttl: " in hand.shown
        await hand.press("escape", "?")
        assert "go to a cycle" in str(hand.screen.screen.query_one(Static).render())
        hand.screen.go(7)  # also while the help is shown, answers come
        await hand.look()
        await hand.press("q")
        assert hand.screen.is_running
        hand.screen.go(1)
        await hand.pilot.resize_terminal(60, 15)
        await hand.rest()
        small = hand.screen.query_one("#small", Static)
        assert str(small.render()) == "60 by 15 is too small; wanted is 72 by 20"
        assert small.display
        assert not hand.screen.query_one(Listing).display
        await hand.pilot.resize_terminal(100, 30)
        await hand.rest()
        assert not small.display
        assert hand.screen.query_one(Listing).display
        assert len(hand.lines()) > 10
        await hand.press("down")
        assert hand.screen.here == 2

    looking_at(recorded, does)
