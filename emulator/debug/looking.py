"""What can be seen of a run at a moment: the state of a GPU, its firmware, the CPU's view of a card."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from ringhil.emulator.children import temporary_folder
from ringhil.emulator.debug.chained import Chained
from ringhil.emulator.debug.changes import plan
from ringhil.emulator.debug.editing import Sources
from ringhil.emulator.debug.futures import WayToFail, fails
from ringhil.emulator.debug.hops import Links
from ringhil.emulator.debug.items import gpus_there
from ringhil.emulator.debug.lines import Breakpoints, LineTracer, StackedFunction, StoppedLine, TracedLines
from ringhil.emulator.debug.memory import WatchedMemory, plain, variables
from ringhil.emulator.debug.outside import Acts, RecordedOutside, close_boards
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.events.hardware import Advanced, RegisterChanged
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import About, Recording
from ringhil.emulator.trace.recording.tables import RunChange
from ringhil.emulator.trace.waves.values import SignalValue, signals
from ringhil.protocol.registers import ADDRESS

Document = dict[str, Any]


class SteppedRun:
    """A run that is played to a cycle and looked at. See `processes.Debuggee`."""

    def __init__(
        self,
        run: Run,
        changes: Sequence[RunChange] = (),
        states: Mapping[int, tuple[int, bytes]] | None = None,
        sources: Sources | None = None,
        outside: RecordedOutside | None = None,
        firmware: FirmwareChoice = OURS,
    ) -> None:
        self._run, self._choice = run, firmware
        self._acts = None if outside is None else Acts(run, outside, _other_bytes)
        self._links: Links | None = None
        self._changed: list[tuple[int, Any]] = []
        self._memory: WatchedMemory | None = None
        self._lines: LineTracer | None = None
        self._stopped: StoppedLine | None = None
        self._chained = Chained(run, states or {})
        self._sources = sources
        run.start()
        for change in changes:
            plan(run, change)

    def go(self, cycle: int) -> None:
        """Play to this cycle. Raises DebugError when the run isn't the recorded one."""
        if self._acts is None:
            self._run.run_to(cycle)
        else:
            try:
                self._acts.play_to(cycle)
            except RecordingError as error:
                raise DebugError(str(error)) from None
        self._chained.check()

    def ask(self, what: str, *values: Any) -> Any:
        """One of `registers`, `firmware`, `signals` (of a GPU such as `a.3`), `card` (by its name) and `everything`;
        `links`: from now on, what passes them, which `passed` has; `watch`: from now on, how a register or a value in
        the firmware's memory changes, which `changed` has; `trace`: from now on, the lines of firmware that are run,
        which `traced` has; `branch`: play on to the end, and record it; `edited`: the same with source that was changed
        since; `fails`: play on to the end with chance drawn anew. Raises DebugError."""
        found: dict[str, Callable[..., Any]] = {
            "registers": self._registers,
            "firmware": self._firmware,
            "card": self._card,
            "signals": self._signals,
            "everything": self._everything,
            "links": self._watch_links,
            "passed": lambda: [] if self._links is None else self._links.passed,
            "watch": self._watch,
            "changed": self._found_changed,
            "trace": self._trace,
            "traced": self._found_traced,
            "branch": self._branch,
            "edited": self._edited,
            "fails": self._fails,
        }
        return found[what](*values)

    def _everything(self) -> dict[str, Any]:
        """Of all GPUs and cards."""
        wiring = self._run.server.wiring
        gpus = wiring.places.gpus
        found = {gpu: {"registers": self._registers(gpu), "firmware": self._firmware(gpu)} for gpu in gpus}
        return {**found, **{card.name: self._card(card.name) for card in wiring.cards}}

    def _watch_links(self) -> None:
        links = self._links = Links(self._run.engine)
        self._run.observations.listen(Advanced, lambda _: links.drain())

    def _watch(self, gpu: str, name: str) -> None:
        cell = self._cell(gpu)
        if name not in ADDRESS:
            self._memory = WatchedMemory(name, lambda: self._run.server.running(cell), lambda: self._run.engine.now)
            self._run.observations.listen(Advanced, self._memory.look)
            return

        def changed(seen: RegisterChanged) -> None:
            if (seen.cell, seen.address) == (cell, ADDRESS[name]):
                self._changed.append((seen.cycle, seen.value))

        self._run.engine.watch_register(cell, name)
        self._run.observations.listen(RegisterChanged, changed)

    def _trace(self, breaks: Breakpoints, listing: bool, at: int | None) -> None:
        """See LineTracer."""
        sources = self._sources or Sources(("ringhil.firmware",))

        def look(gpu: str, stack: list[StackedFunction]) -> None:
            card = self._card(gpu.partition(".")[0])
            self._stopped = StoppedLine(gpu, stack, self._registers(gpu), self._firmware(gpu), card)

        self._lines = LineTracer(
            self._run, lambda: self._chained.number, sources.holds, breaks, listing=listing, at=at, look=look
        )

    def _found_traced(self) -> TracedLines:
        assert self._lines is not None
        return TracedLines(self._lines.calls, self._lines.lines, self._lines.hits, self._stopped)

    def _found_changed(self) -> list[tuple[int, Any]]:
        if self._memory is None:
            return self._changed
        self._memory.look()
        return self._memory.changed

    def _fails(self, failure: WayToFail, seed: str | None, way: str) -> str:
        """See `futures.fails`."""
        acts = self._acts
        if acts is not None:
            acts.free(lambda row: None)

        def play_to(cycle: int | None) -> None:
            if acts is not None:
                acts.play_to(cycle)
            elif cycle is not None:
                self._run.run_to(cycle)

        return fails(self._run, play_to, failure, None if seed is None else Random(seed), way)

    def _edited(self, path: Path, source: Path, about: About, changes: Sequence[RunChange]) -> Document:
        """The same with the firmware's source as it is now."""
        modules, misfits = ([], []) if self._sources is None else self._sources.reload()
        return {"modules": modules, "misfits": misfits, "verdict": self._branch(path, source, about, changes)}

    def _branch(self, path: Path, source: Path, about: About, changes: Sequence[RunChange]) -> str:
        """On from here, with these changes, to the end; the recording has all that was before, too. The verdict."""
        for change in changes:
            plan(self._run, change)
        begun = (source, self._chained.number, self._chained.chain.copy())
        try:
            with Recording(source) as recording:
                self._chained.check_all(recording)
            with RunRecorder(path, self._run, about=about, begun=begun, choice=self._choice) as recorder:
                if self._acts is not None:
                    self._acts.free(recorder.note)
                    self._acts.play_to(None)
                outcome = self._run.finish()
                said = close_boards(self._choice)
                recorder.end(outcome)
        except RecordingError as error:
            raise DebugError(str(error)) from None
        if said is not None:
            path.unlink()
            raise DebugError(f"{said}: what the board would have done nobody knows")
        return outcome.verdict

    def _cell(self, gpu: str) -> int:
        wiring = self._run.server.wiring
        names = wiring.places.gpus
        if gpu not in names:
            raise DebugError(f"found GPU {gpu!r}; there are {gpus_there(names)}")
        return wiring.cell_of(GpuRef.parse(gpu))

    def _registers(self, gpu: str) -> dict[str, int]:
        cell = self._cell(gpu)
        return {name: self._run.engine.peek(cell, name) for name in ADDRESS}

    def _firmware(self, gpu: str) -> Any:
        """None: it has none, or has failed."""
        running = self._run.server.running(self._cell(gpu))
        if running is None:
            return None
        found, values = plain(running), variables(running)
        return {**found, "variables": values} if values is not None else found

    def _signals(self, gpu: str) -> dict[str, SignalValue]:
        """All that is in its hardware."""
        cell = self._cell(gpu)
        with temporary_folder("ringhil-inside-") as folder:
            file = folder / "inside.vcd"
            self._run.engine.inside(cell, file)
            with file.open() as lines:
                return signals(lines)

    def _card(self, name: str) -> Any:
        cards = {card.name: view for card, view in zip(self._run.server.wiring.cards, self._run.cpu.cards, strict=True)}
        if name not in cards:
            raise DebugError(f"found card {name!r}; there are {', '.join(cards)}")
        return plain(cards[name])


def _other_bytes(text: str) -> None:
    raise DebugError(f"the run isn't what was recorded: {text}")
