"""The screen of `ringhil step`, by its keys: what it shows is what the recording holds and what the session says."""

import asyncio
import json
import os
import re
import select
import shutil
import signal
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, nullcontext
from itertools import pairwise
from multiprocessing import active_children, get_context
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from ringhil.emulator.debug.commands import NAMES, Commands, in_words
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.told import decoded, details
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.tui.app import _TICK, StepScreen
from ringhil.emulator.front.tui.asking import CommandLine
from ringhil.emulator.front.tui.growing import Growing
from ringhil.emulator.front.tui.listing import Listing
from ringhil.emulator.front.tui.opening import step
from ringhil.emulator.front.tui.panes import Pane, TimeLine
from ringhil.emulator.front.tui.rows import KEPT, PAGE
from ringhil.emulator.kernel.observations import FRAMES
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import RecordedMessage, Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import WAYS

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
workload: {units: 20, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
- {at: 20000, fault: dead, gpu: a.0}
until: 40000
"""
_LIMIT = 120.0  # seconds
_KEYS = {" ": "space", "=": "equals_sign", "/": "slash", ":": "colon", ".": "full_stop", "_": "underscore"}
_KEYS |= {"<": "less_than_sign", ">": "greater_than_sign", "?": "question_mark", ",": "comma", "-": "minus"}
_KEYS |= {"[": "left_square_bracket", "]": "right_square_bracket", "(": "left_parenthesis"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "r"
    record_run(path, loads(SERVER), cells_library())
    return path


@pytest.fixture
def session(recorded: Path) -> Iterator[DebugSession]:
    with DebugSession(recorded, cells_library()) as found:
        yield found


class Hand:
    """At the keys."""

    def __init__(self, screen: StepScreen, pilot: "Pilot[None]") -> None:
        self.screen, self.pilot = screen, pilot

    async def begin(self, *keys: str) -> None:
        """All at once, as a slow line has them; what they ask for has begun."""
        for key in keys:
            self.screen.post_message(Key(_KEYS.get(key, key), key if len(key) == 1 else None))
        await self.pilot.pause(0)
        while self.screen.typing:
            await asyncio.sleep(0)

    async def press(self, *keys: str) -> None:
        """The same, and wait for what they ask for."""
        await self.begin(*keys)
        await self.rest()

    async def type(self, text: str) -> None:
        """And Enter."""
        await self.press(*text, "enter")

    async def look(self) -> None:
        """Wait for the state of the GPU, and for the frame's hops."""
        await self.rest(lambda: not self.screen.looking)

    async def rest(self, until: Callable[[], bool] = lambda: True) -> None:
        """Wait for what was asked."""

        async def quiet() -> None:
            await self.pilot.pause(0)
            while self.screen.busy or not until():
                await asyncio.sleep(0.01)
            await self.pilot.pause(0)

        await asyncio.wait_for(quiet(), _LIMIT)

    def lines(self) -> list[str]:
        """Of the list, as they are on the screen."""
        listing = self.screen.query_one(Listing)
        height = listing.scrollable_content_region.height
        return [listing.render_line(y).text.rstrip() for y in range(height)]

    def pane(self, name: str) -> str:
        """What a pane holds."""
        return self.screen.query_one(f"#{name}", Pane).text.plain

    def marked(self, name: str) -> set[str]:
        """What in a pane is reversed."""
        text = self.screen.query_one(f"#{name}", Pane).text
        return {text.plain[span.start : span.end].strip() for span in text.spans if "reverse" in str(span.style)}

    @property
    def said(self) -> str:
        """The answer to a command: a pane where it is long."""
        return self.pane("said") if self.screen.query_one("#said", Pane).display else self.status

    @property
    def shown(self) -> str:
        """The whole screen."""
        return "\n".join(strip.text for strip in self.screen.screen._compositor.render_strips())

    @property
    def status(self) -> str:
        """The last line."""
        return str(self.screen.query_one("#status", Static).render())


def looking_at(
    path: Path,
    does: Callable[[Hand], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    growing: Growing | None = None,
) -> None:
    """The screen of a recording, and somebody who does this."""

    async def played() -> None:
        screen = StepScreen(path, lambda: DebugSession(path, cells_library()), growing)
        try:
            async with screen.run_test(size=size) as pilot:
                hand = Hand(screen, pilot)
                await hand.rest()
                await does(hand)
        finally:
            screen.close()

    asyncio.run(played())


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


def synthetic(path: Path, model: Path, messages: int) -> None:
    """A recording of so many messages, each again and again one of another recording."""
    kinds = {kind.WAY: kind for kind in FRAMES}
    with Recording(model) as recording:
        some = list(recording.messages())
        with RecordingWriter(path, recording.about, recording.gpus) as writer:
            for number in range(messages):
                told = some[number % len(some)]
                writer.message(kinds[WAYS[told.way]](number, told.cell, told.port, told.frame, bool(told.bad)))
            writer.end({"verdict": "pass"})


def test_however_long_a_recording_is_few_rows_of_it_are_read(recorded: Path, tmp_path: Path) -> None:
    messages = 12_000
    synthetic(tmp_path / "long", recorded, messages)

    async def does(hand: Hand) -> None:
        assert hand.screen.rows.read <= 3 * PAGE
        for key in ("G", "pageup", "home", "pagedown"):
            await hand.press(key)
        await hand.type(f"/{messages - 1000} ")
        assert hand.screen.here == messages - 999
        assert hand.screen.rows.read <= 8 * PAGE
        for number in range(1, messages, PAGE):
            hand.screen.go(number)
        assert hand.screen.rows.kept <= KEPT * PAGE
        assert hand.screen.rows.read <= messages + 8 * PAGE

    looking_at(tmp_path / "long", does)


def test_a_search_can_be_broken_off(recorded: Path, tmp_path: Path) -> None:
    synthetic(tmp_path / "long", recorded, 100_000)

    async def does(hand: Hand) -> None:
        desks = [child.pid for child in active_children() if child.pid]
        for desk in desks:  # whatever this machine is doing, the search isn't over before the key is pressed
            os.kill(desk, signal.SIGSTOP)
        await hand.begin(*"/nowhere", "enter")
        assert hand.status.startswith("searching nowhere")
        await hand.begin("escape")
        for desk in desks:
            os.kill(desk, signal.SIGCONT)
        await hand.rest()
        assert hand.status == "broken off"
        assert hand.screen.here == 1
        await hand.type("/statistics")
        assert "statistics" in hand.status
        assert hand.screen.here > 1

    looking_at(tmp_path / "long", does)


def test_a_run_is_looked_at_while_it_is_recorded(recorded: Path, tmp_path: Path) -> None:
    growing = Growing(tmp_path / "g", loads(SERVER), cells_library(), OURS)

    async def does(hand: Hand) -> None:
        await hand.rest(lambda: hand.screen.rows.count > 0)
        await hand.press("down")
        await hand.rest(lambda: hand.screen.rows.recording.complete)
        await hand.press("end")
        with Recording(recorded) as whole:
            assert hand.screen.rows.count == whole.last_number
            assert list(hand.screen.rows.recording.all()) == list(whole.all())
        assert "verdict" in str(hand.screen.query_one("#head", Static).render())
        await hand.press("]")
        await hand.look()
        assert "registers" in hand.pane("state")

    try:
        looking_at(tmp_path / "g", does, growing=growing)
    finally:
        growing.close()
    assert growing.failed is None


def test_a_run_that_dies_is_told(tmp_path: Path) -> None:
    endless = SERVER.replace("until: 40000", "until: 2000000000")
    growing = Growing(tmp_path / "g", loads(endless), cells_library(), OURS)

    async def does(hand: Hand) -> None:
        await hand.rest(lambda: hand.screen.rows.count > 0)
        os.kill(growing.process, signal.SIGKILL)
        await hand.rest(lambda: growing.failed is not None and "broke off" in hand.status)
        await hand.press("end")
        assert hand.screen.here == hand.screen.rows.count

    try:
        looking_at(tmp_path / "g", does, growing=growing)
    finally:
        growing.close()
    assert growing.failed == "the process that played the run has died"


def test_a_run_that_cannot_begin_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DebugError, match=r"g: cannot be written"):
        Growing(tmp_path / "none" / "g", loads(SERVER), cells_library(), OURS)


def test_a_run_ends_with_whoever_looks_at_it(tmp_path: Path) -> None:
    endless = loads(SERVER.replace("until: 40000", "until: 2000000000"))
    reading, writing = os.pipe()  # every process that is forked from here has it open until its end

    def looks() -> None:
        growing = Growing(tmp_path / "g", endless, cells_library(), OURS)
        screen = StepScreen(tmp_path / "g", lambda: DebugSession(tmp_path / "g", cells_library()), growing)
        os.write(writing, b"begun")
        screen.run(headless=True)

    looker = get_context("fork").Process(target=looks)
    looker.start()
    os.close(writing)
    try:
        assert os.read(reading, 100) == b"begun"
        looker.kill()
        looker.join()
        assert select.select([reading], [], [], _LIMIT)[0]
        assert os.read(reading, 100) == b""
    finally:
        os.close(reading)


# -------------------------------------------------------------------------------------------------- damaged, or evil

ONE = "(SELECT min(number) FROM messages WHERE number >= ?)"


def changed(recorded: Path, path: Path, change: str, *values: object) -> Path:
    """A copy in which a row is another."""
    shutil.copy(recorded, path)
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(change, values).rowcount == 1
    return path


def test_of_a_damaged_page_no_line_is_there_and_all_others_are(recorded: Path, tmp_path: Path) -> None:
    damaged = 2 * PAGE + 9
    path = changed(recorded, tmp_path / "r", f"UPDATE messages SET frame = 'text' WHERE number = {ONE}", damaged)

    async def does(hand: Hand) -> None:
        assert all(hand.lines())
        with Recording(recorded) as whole:
            there = {told.number: told.cycle for told in whole.all()}
        for number in (PAGE + 60, 3 * PAGE + 60):
            await hand.type(f":go {there[number]}")
            assert all(hand.lines())
        assert hand.screen.rows.damaged is None
        hand.screen.go(damaged)
        await hand.rest()
        assert not any(hand.lines())
        assert "is damaged: message " in str(hand.screen.rows.damaged)
        hand.screen.go(3 * PAGE + 60)
        await hand.rest()
        assert all(hand.lines())

    looking_at(path, does)


def test_a_screen_of_what_is_damaged_ends_with_one_line(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it was looked at."""
    path = changed(recorded, tmp_path / "r", f"UPDATE messages SET cell = 99 WHERE number = {ONE}", 2 * PAGE + 9)
    for number, told in ((1, False), (2 * PAGE, True)):
        monkeypatch.setattr(StepScreen, "run", lambda screen, at=number: screen.rows.get(at))
        with pytest.raises(RecordingError, match="is damaged: message ") if told else nullcontext():
            step(path, cells_library(), OURS)


def test_a_damaged_event_is_told_once_and_lets_commands_be(recorded: Path, tmp_path: Path) -> None:
    path = changed(recorded, tmp_path / "r", "UPDATE events SET fields = '[' WHERE kind = 'Struck' AND cycle = 9000")

    async def does(hand: Hand) -> None:
        assert "damaged: event " in hand.said
        await hand.type(":state a.1")
        await asyncio.sleep(3 * _TICK)
        await hand.rest()
        assert "registers:" in hand.said

    looking_at(path, does)


def test_what_a_recording_says_does_nothing_to_the_terminal(recorded: Path, tmp_path: Path) -> None:
    evil, shown = "\x1b[31m\x07\x9b2J", r"\x1b[31m\x07\x9b2J"
    fields = json.dumps({"role": evil, "epoch": 1, evil: evil})
    one = "(SELECT min(number) FROM events WHERE kind = 'Elected')"
    path = changed(recorded, tmp_path / "r", f"UPDATE events SET fields = ? WHERE number = {one}", fields)

    async def does(hand: Hand) -> None:
        await hand.type(":next Elected")
        assert shown in "".join(hand.lines())
        assert shown in hand.pane("frame")
        await hand.type(":show")
        assert shown in hand.shown
        assert not {*"\x1b\x07\x9b"} & {*hand.shown}

    looking_at(path, does)
