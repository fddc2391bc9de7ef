"""A recording as JSON lines: all messages, as `ringhil run --record FILE.jsonl` writes them, and all events."""

import json
from pathlib import Path

from ringhil.emulator.trace.export.capture import Progress, written
from ringhil.emulator.trace.recorder import FORMAT, VERSION
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS


def write_json_lines(recording: Recording, path: Path, on_progress: Progress = lambda done: None) -> int:
    """The number of messages and events. The file appears when it is whole. Raises RecordingError."""
    about, number = recording.about, 0
    with written(path) as file:
        head = {"format": FORMAT, "version": VERSION, "name": about.name, "rtl": about.rtl, "hashes": about.hashes}
        file.write(_line({**head, "gpus": recording.gpus}))
        for number, told in enumerate(recording.all(), 1):
            gpu = None if told.cell is None else recording.gpus[told.cell]
            row: dict[str, object] = {"cycle": told.cycle, "gpu": gpu}
            if isinstance(told, RecordedMessage):
                row |= {"way": WAYS[told.way], "port": told.port, "frame": told.frame.hex()}
                row |= {"bad": True} if told.bad else {}
            else:
                row |= {"event": told.kind, **recording.said(told)}
            file.write(_line(row))
            on_progress(number)
    return number


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"
