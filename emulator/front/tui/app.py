"""The screen and its keys."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Static

from ringhil.emulator.debug.commands import in_words
from ringhil.emulator.debug.desk import Desk, Looked, Open, Unanswered
from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.items import decoded
from ringhil.emulator.debug.marks import TimeMarks
from ringhil.emulator.debug.session import FrameOnLink
from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import printable
from ringhil.emulator.front.tui import frame, rings
from ringhil.emulator.front.tui.asking import CommandLine, Completions
from ringhil.emulator.front.tui.help import Help
from ringhil.emulator.front.tui.keys import KeysInOrder
from ringhil.emulator.front.tui.listing import Listing
from ringhil.emulator.front.tui.panes import Pane, Rings, TimeLine, state
from ringhil.emulator.front.tui.rows import Rows
from ringhil.emulator.front.tui.words import folded, mark_first
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import RecordedMessage

LEAST = (72, 20)  # columns and lines
_REST = 0.15  # seconds without a move, after which states are asked for
_SHOWN = 40  # letters of a verdict
_TICK = 0.2  # seconds between looks at a recording that grows
_HINT = "? help   : command   / search   g cycle   . same kind   Tab pane   q quit"


class StepScreen(KeysInOrder):
    """A recording. `growing`: the run that is still recorded in it. Raises RecordingError and DebugError.

    Two desks: a state that takes long must not keep a search waiting.
    """

    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #head { height: 1; text-style: bold; background: $primary-background; }
    #listing { height: 3fr; min-height: 4; overflow-x: hidden; }
    #panes { height: 2fr; min-height: 9; }
    .saying #panes { min-height: 7; }
    .saying #said { display: block; }
    Listing, Pane { border-top: solid $secondary; border-title-color: $text; padding: 0; }
    Listing, Pane { scrollbar-size-vertical: 1; scrollbar-color: $secondary; }
    #frame { width: 8fr; min-width: 32; }
    #rings { width: 5fr; min-width: 22; border-left: solid $secondary; }
    #state { width: 7fr; border-left: solid $secondary; }
    Listing:focus, Pane:focus { border-top: heavy $accent; border-title-style: bold; }
    Pane > Static { height: auto; }
    #timeline { height: 2; }
    #said { height: auto; max-height: 40%; border-top: solid $accent; display: none; }
    #line { height: 1; }
    #sign { width: 1; display: none; }
    #asked { width: 1fr; display: none; padding: 0; }
    #status { width: 1fr; height: 1; }
    .asking #sign, .asking #asked { display: block; }
    .asking #status { display: none; }
    #small { display: none; }
    .small > * { display: none; }
    .small > #small { display: block; }
    .-maximized { width: 100% !important; height: 100% !important; border-left: none !important; }
    Help { align: center middle; }
    #help { width: 100%; max-width: 82; height: auto; max-height: 100%; border-top: solid $accent; }
    #help { border-bottom: solid $accent; background: $surface; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit"),
        Binding("question_mark", "help"),
        Binding("right,l", "message(1)"),
        Binding("left,h", "message(-1)"),
        Binding("full_stop", "same_kind('next')"),
        Binding("comma", "same_kind('previous')"),
        Binding("colon", "ask(':')"),
        Binding("g", "ask(':', 'go ')"),
        Binding("slash", "ask('/')"),
        Binding("n", "search(False)"),
        Binding("N", "search(True)"),
        Binding("left_square_bracket", "choose(-1)"),
        Binding("right_square_bracket", "choose(1)"),
        Binding("f", "follow"),
        Binding("less_than_sign", "hop(-1)"),
        Binding("greater_than_sign", "hop(1)"),
        Binding("z", "alone"),
        Binding("escape", "leave"),
    ]

    def __init__(self, path: Path, open_session: Open, growing: Growing | None = None, first: int = 1) -> None:
        super().__init__()
        self.here, self._first = 0, first
        self.rows = Rows(path)
        try:
            self._commands = Desk(open_session)
            try:
                self._states = Desk(open_session)
            except BaseException:
                self._commands.close()
                raise
        except BaseException:
            self.rows.close()
            raise
        self._growing = growing
        self._marks = TimeMarks(self.rows.recording)
        self._chosen: str | None = None  # None: that of the message
        self.looked: Looked | Unanswered | None = None
        self._hops: list[FrameOnLink] = []
        self._hop: int | None = None
        self._shown_for: tuple[int, str] | None = None  # what `looked` is of
        self._looking: tuple[int, str] | None = None  # what is asked for at present
        self._rest: Timer | None = None
        self._searched = ""
        self._marks_left = True

    def close(self) -> None:
        """End all processes, close the file."""
        for desk in (self._commands, self._states):
            desk.close()
        self.rows.close()

    # ------------------------------------------------------------------------------------------------ what is there

    def compose(self) -> ComposeResult:
        """From top to bottom. They are kept by name: a query would find nothing of them while the help is shown."""
        self._small = Static(id="small", markup=False)
        self._head = Static(id="head", markup=False)
        self._listing = Listing(self.rows)
        self._frame, self._rings, self._state = Pane("frame", "frame"), Rings("rings", "rings"), Pane("state", "state")
        self._said, self._time = Pane("said", ""), TimeLine()
        self._sign = Static(id="sign", markup=False)
        self._line = CommandLine(Completions(self._commands.verbs, self.rows.recording.gpus))
        self._status = Static(_HINT, id="status", markup=False)
        yield self._small
        yield self._head
        yield self._listing
        yield Horizontal(self._frame, self._rings, self._state, id="panes")
        yield self._said
        yield self._time
        yield Horizontal(self._sign, self._line, self._status, id="line")

    def on_mount(self) -> None:
        """Whatever answers is heard; a recording that grows is looked at again and again."""
        loop = asyncio.get_running_loop()
        for desk in (self._commands, self._states):
            loop.add_reader(desk.fileno(), self._heard, desk)
        self.set_interval(_TICK, self._tick)
        self._listing.focus()
        self.go(min(self._first, self.rows.count))
        self._tick()

    def on_unmount(self) -> None:
        """Nothing is heard any more."""
        loop = asyncio.get_running_loop()
        for desk in (self._commands, self._states):
            loop.remove_reader(desk.fileno())

    def _heard(self, desk: Desk) -> None:
        if not desk.heard():
            asyncio.get_running_loop().remove_reader(desk.fileno())

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """A file that is damaged is told; the screen stays."""
        try:
            yield
        except RecordingError as error:
            self.say(str(error))

    def _tick(self) -> None:
        """What has been written since."""
        with self._readable():
            if self._growing is not None:
                if self._growing.over():
                    self.rows.reopen()
                    if self._growing.failed is not None:
                        self.say(f"the run broke off: {self._growing.failed}")
                    self._growing = None
                else:
                    self.rows.grown()
                self._listing.grown()
                if not self.here and self.rows.count:
                    self.go(1)
                self._marks.read(self.rows.recording)
                self._show_place()
            elif self._marks_left:
                self._marks_left = False  # what is damaged is told once
                self._marks_left = self._marks.read(self.rows.recording)
                self._show_place()

    def on_resize(self, event: Resize) -> None:
        """Too small: one line says so."""
        columns, lines = event.size
        small = columns < LEAST[0] or lines < LEAST[1]
        self.screen_stack[0].set_class(small, "small")
        wanted = f"{LEAST[0]} by {LEAST[1]}"
        self._small.update(f"{columns} by {lines} is too small; wanted is {wanted}")
        if not small and self.focused is None:  # what is hidden has lost it
            self._listing.focus()
        self.call_after_refresh(self._show)

    def note(self, text: str) -> None:
        """In the last line, as far as there is room."""
        self._status.update(printable(text))
        if self._said.has_focus:
            self._listing.focus()
        self.screen_stack[0].remove_class("saying")

    def say(self, text: str) -> None:
        """The same of what has one line; more than that has a pane of its own."""
        lines = text.splitlines() or [""]
        if len(lines) == 1 and len(text) <= self.size.width:
            self.note(text)
            return
        self._status.update("arrows scroll this, Esc closes it")
        self._open_said(mark_first(lines))
        if not self._line.has_focus:
            self._said.focus()

    def _open_said(self, lines: Sequence[str]) -> None:
        self._minimize()
        self._said.show(Text("\n".join(folded(lines, self.size.width - 2))))
        self._said.scroll_home(animate=False)
        self.screen_stack[0].add_class("saying")

    def _minimize(self) -> None:
        """A pane that has the whole screen gives it back."""
        main = self.screen_stack[0]
        if main.maximized is not None:
            main.minimize()

    # ------------------------------------------------------------------------------------------------ to and fro

    def go(self, number: int) -> None:
        """To a message or event; 0: before the first."""
        self.here = number
        self._hops, self._hop = [], None
        self._listing.go(number)
        self._show()
        self._look_soon()

    def on_listing_moved(self, event: Listing.Moved) -> None:
        """By a key, or the mouse."""
        with self._readable():
            self.go(event.number)

    def on_time_line_asked(self, event: TimeLine.Asked) -> None:
        """By the mouse."""
        self._do(f"go {event.cycle}")

    def action_message(self, step: int) -> None:
        """To the next one, or the one before; events are passed over."""
        with self._readable():
            number = self.here + step
            while (told := self.rows.get(number)) is not None and not isinstance(told, RecordedMessage):
                number += step
            if told is None:
                self.note("no more")
            else:
                self.go(number)

    def action_same_kind(self, verb: str) -> None:
        """To the next of this kind."""
        told = self.rows.get(self.here)
        if told is not None:
            self._do(f"{verb} {decoded(told.frame)[0] if isinstance(told, RecordedMessage) else told.kind}")

    def action_search(self, back: bool) -> None:
        """To the next one that was searched for."""
        if not self._searched:
            self.note("nothing was searched for yet; / searches")
            return
        self.note(f"searching {self._searched} ...   Esc breaks off")
        self._commands.ask(self._found, "find", lambda: self.here, self._searched, back)

    def _found(self, answer: Any) -> None:
        if isinstance(answer, Unanswered):
            self.say(answer.why)
        elif answer is None:
            self.note(f"no more: {self._searched}")
        else:
            self.note(f"/{self._searched}")
            self._arrive(answer)

    def _do(self, line: str) -> None:
        self.note(f"{line} ...   Esc breaks off")
        self._commands.ask(self._done, "do", lambda: self.here, line)

    def _done(self, answer: Any) -> None:
        if isinstance(answer, Unanswered):
            self.say(answer.why)
            return
        number, document = answer
        self.say("no more" if document.get("moved") is False and "same" not in document else in_words(document))
        if number != self.here:
            self._arrive(number)

    def _arrive(self, number: int) -> None:
        with self._readable():
            self.rows.grown()  # it may be one of those that this process hasn't seen yet
            self._listing.grown()
            self.go(number)

    # ------------------------------------------------------------------------------------------------ asking

    def action_ask(self, sign: str, text: str = "") -> None:
        """A command, or what to look for."""
        self._minimize()
        self._sign.update(sign)
        self.screen.add_class("asking")
        self._line.begin(sign, text)
        self._line.focus()

    def on_command_line_given(self, event: CommandLine.Given) -> None:
        """Do it."""
        self.screen.remove_class("asking")
        self._listing.focus()
        if event.line is None:
            self.note(_HINT)
        elif event.sign == ":" and event.line in ("quit", "exit"):
            self.exit()
        elif event.sign == ":":
            self._do(event.line)
        else:
            self._searched = event.line
            self.action_search(False)

    def on_command_line_several(self, event: CommandLine.Several) -> None:
        """They are shown."""
        self._open_said(["  ".join(event.names)])

    def action_leave(self) -> None:
        """Whatever is in the way goes; what is being done is broken off."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self._commands.busy:
            self._commands.stop()
        else:
            self.note(_HINT)

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(Help())

    def action_alone(self) -> None:
        """A pane has the whole screen, or has it no more."""
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif self.focused is not None:
            self.screen.maximize(self.focused)
        self.call_after_refresh(self._show)

    # ------------------------------------------------------------------------------------------------ the panes

    @property
    def chosen(self) -> str:
        """The GPU whose state is shown."""
        if self._chosen is not None:
            return self._chosen
        told, gpus = self.rows.get(self.here), self.rows.recording.gpus
        return gpus[0 if told is None or told.cell is None else told.cell]

    def action_choose(self, step: int) -> None:
        """The next GPU, or the one before."""
        gpus = self.rows.recording.gpus
        self._choose(gpus[(gpus.index(self.chosen) + step) % len(gpus)])

    def on_rings_chosen(self, event: Rings.Chosen) -> None:
        """By the mouse."""
        self._choose(event.gpu)

    def action_follow(self) -> None:
        """Again that of the message."""
        self._choose(None)

    @property
    def busy(self) -> bool:
        """Whether something is done that was asked for."""
        return self._commands.busy

    @property
    def looking(self) -> bool:
        """Whether a state is still to come."""
        return self._rest is not None or self._looking is not None

    def _choose(self, gpu: str | None) -> None:
        self._chosen = gpu
        self._show_state()
        self._show_rings()
        self._look_soon()

    def action_hop(self, step: int) -> None:
        """The frame as it was on another link."""
        if self._hops:
            place = (len(self._hops) if self._hop is None else self._hop) + step
            self._hop = None if place >= len(self._hops) else max(0, place)
            self._show_frame()

    def _look_soon(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_REST, self._look)

    def _look(self) -> None:
        """Ask for the state, unless it is being asked for: the answer to that asks again."""
        self._rest = None
        if self._looking is None:
            self._looking = (self.here, self.chosen)
            self._states.ask(self._have_looked, "look", lambda: self.here, self.chosen)
            self._show_state()

    def _have_looked(self, answer: Any) -> None:
        if self._looking != (self.here, self.chosen):
            self._looking = None
            self._look()
            return
        self.looked = answer
        self._shown_for = self._looking
        self._show_state()
        self._show_rings()
        if isinstance(answer, Looked) and isinstance(self.rows.get(self.here), RecordedMessage):
            self._states.ask(self._have_hops, "hops", lambda: self.here)
        else:
            self._looking = None

    def _have_hops(self, answer: Any) -> None:
        asked, self._looking = self._looking, None
        if asked != (self.here, self.chosen):
            self._look()
        elif not isinstance(answer, Unanswered):
            self._hops = answer
            self._show_frame()

    def _show(self) -> None:
        self._show_place()
        self._show_frame()
        self._show_state()
        self._show_rings()

    def _show_place(self) -> None:
        told, last = self.rows.get(self.here), self.rows.get(self.rows.count)
        cycle, end = (0 if each is None else each.cycle for each in (told, last))
        mark = self._marks.last(self.here)
        self._time.show(self._marks.all, cycle, end, "" if mark is None else f"{mark.cycle} {mark.text}")
        recording = self.rows.recording
        what = "being recorded" if self._growing is not None else "breaks off"
        if recording.outcome is not None:
            what = one_line(f"verdict {recording.outcome.get('verdict', '?')}", _SHOWN)
        self._head.update(
            f" {recording.path.name}   {self.here} of {self.rows.count}   cycle {cycle} of {end}   {what}"
        )

    def _show_frame(self) -> None:
        pane, told = self._frame, self.rows.get(self.here)
        if told is None:
            pane.show(Text(), "frame")
            return
        if not isinstance(told, RecordedMessage):
            pane.show(frame.shown(told, [], None, pane.inside), told.kind)
            return
        title = f"{decoded(told.frame)[0]}, {len(told.frame)} bytes"
        if self._hop is not None:
            title += f", hop {self._hop + 1} of {len(self._hops)}"
        pane.show(frame.shown(told, self._hops, self._hop, pane.inside), title)

    @property
    def _current(self) -> Looked | None:
        """What was looked at, if it is of here."""
        fits = self._shown_for == (self.here, self.chosen)
        return self.looked if fits and isinstance(self.looked, Looked) else None

    def _show_state(self) -> None:
        pane = self._state
        title = f"{self.chosen}{'' if self._chosen is None else ' (kept)'}"
        if self._current is not None:
            pane.show(state(self._current, pane.inside), title)
        elif isinstance(self.looked, Unanswered) and self._shown_for == (self.here, self.chosen):
            pane.show(Text(printable(self.looked.why)), title)
        else:
            pane.show(pane.text, f"{title} ...")

    def _show_rings(self) -> None:
        pane, told = self._rings, self.rows.get(self.here)
        gpus = self.rows.recording.gpus
        here = "" if told is None or told.cell is None else gpus[told.cell]
        registers = None if self._current is None else self._current.registers
        text, pane.places = rings.picture(gpus, self._marks.known(self.here), registers, here, self.chosen, pane.inside)
        pane.show(text)
