"""A recording as a trace for Perfetto: a track for each card, in it its GPUs, in these what they send, get and say.

| in the trace | is |
|---|---|
| an instant | a message or an event, with its fields; a flow joins all places where one message was seen |
| a slice | a census, from the cycle in which it was sent to that in which it was counted |
| a slice, too | what a context has of the engine of a shared GPU, and the switch before it |
| a counter | the last count of a card; memory that contexts hold |

A cycle is a nanosecond.
"""

import json
from hashlib import blake2b
from pathlib import Path

from ringhil.emulator.trace.export.capture import Progress, end_of, written
from ringhil.emulator.trace.export.perfetto import BEGIN, END, INSTANT, PerfettoWriter
from ringhil.emulator.trace.identity import header, identity
from ringhil.emulator.trace.recorder import RecordingError
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol.frames import BY_KIND

_OF_CPU = frozenset({WAYS.index("to_cpu"), WAYS.index("from_cpu")})
_CPU, _SERVER, _EVENTS = "CPU", "server", "events"
_CENSUS, _COUNT, _ENGINE, _MEMORY = "census", "count", "engine", "memory held"


def write_tracks(recording: Recording, path: Path, on_progress: Progress = lambda done: None) -> int:
    """All messages and events; their number. The file appears when it is whole. Raises RecordingError."""
    with written(path) as file:
        return _Tracks(recording, PerfettoWriter(file)).write(on_progress)


def flow_of(frame: bytes) -> int | None:
    """The same number wherever a message is seen, without a list of those that are on their way; None: no frame."""
    found = identity(frame)
    if found is None:
        return None
    return int.from_bytes(blake2b(repr(found).encode(), digest_size=8).digest())


class _Tracks:
    def __init__(self, recording: Recording, writer: PerfettoWriter) -> None:
        self._recording, self._writer = recording, writer
        self._places: dict[tuple[str, ...], int] = {}
        self._taken = set[int]()  # tracks of engines that somebody has
        for name in (_SERVER, _CPU):
            self._track(name)
        for gpu in recording.gpus:
            self._track(_card(gpu), _COUNT, counter=True)
            self._track(_card(gpu), gpu)

    def _track(self, *names: str, counter: bool = False) -> int:
        """By its name and those that it is in, outermost first."""
        if not names:
            return 0
        known = self._places.get(names)
        if known is None:
            known = self._places[names] = self._writer.track(names[-1], self._track(*names[:-1]), counter=counter)
        return known

    def write(self, on_progress: Progress) -> int:
        done = now = 0
        for done, told in enumerate(self._recording.all(), 1):
            now = max(now, told.cycle)
            if isinstance(told, RecordedMessage):
                self._message(told)
            else:
                self._event(told)
            on_progress(done)
        for engine in sorted(self._taken):
            self._writer.event(END, engine, now, "", {})
        return done

    def _message(self, told: RecordedMessage) -> None:
        gpu = self._recording.gpus[told.cell]
        end = f"{WAYS[told.way]} {end_of(told.way, told.port)}"
        at = (_CPU, gpu, end) if told.way in _OF_CPU else (_card(gpu), gpu, end)
        kind = BY_KIND.get(told.kind)
        name = "no frame" if kind is None else kind.__name__.lower()
        about = {"number": told.number, **(header(told.frame) or {}), **({"bad": True} if told.bad else {})}
        self._writer.event(INSTANT, self._track(*at), told.cycle, name, about, flow_of(told.frame))

    def _event(self, told: RecordedEvent) -> None:
        fields = self._recording.said(told)
        about = {name: _plain(value) for name, value in fields.items() if value is not None}
        about["number"] = told.number
        if told.cell is None:
            self._writer.event(INSTANT, self._track(_SERVER, _EVENTS), told.cycle, told.kind, about)
            return
        gpu = self._recording.gpus[told.cell]
        card = _card(gpu)
        self._writer.event(INSTANT, self._track(card, gpu, _EVENTS), told.cycle, told.kind, about)
        if told.kind == "Counted":
            sent, count = self._number(told, "sent_at", told.cycle), self._number(told, "count")
            census = self._track(card, gpu, _CENSUS)
            self._writer.event(BEGIN, census, sent, f"census {fields.get('verdict')}", about)
            self._writer.event(END, census, told.cycle, "", {})
            self._writer.count(self._track(card, _COUNT, counter=True), told.cycle, count)
        elif told.kind == "MemoryHeld":
            memory = self._track(card, gpu, _MEMORY, counter=True)
            self._writer.count(memory, told.cycle, self._number(told, "pages"))
        elif told.kind == "Turn":
            self._turn(told, self._track(card, gpu, _ENGINE))

    def _turn(self, told: RecordedEvent, engine: int) -> None:
        """Who had the engine has it no longer."""
        if engine in self._taken:
            self._taken.remove(engine)
            self._writer.event(END, engine, told.cycle, "", {})
        if told.said.get("context") is not None:
            what = "switch to context" if told.said.get("switching") else "context"
            self._writer.event(BEGIN, engine, told.cycle, f"{what} {self._number(told, 'context')}", {})
            self._taken.add(engine)

    def _number(self, told: RecordedEvent, field: str, most: int = 1 << 64) -> int:
        """Raises RecordingError: it isn't one, or above `most`."""
        found = told.said.get(field)
        if isinstance(found, int) and 0 <= found <= most:
            return found
        raise RecordingError(f"{self._recording.path}: is damaged: event {told.number}: {told.fields[:100]}")


def _card(gpu: str) -> str:
    return f"card {gpu.split('.')[0]}"


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | str) else json.dumps(value)
