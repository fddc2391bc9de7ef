"""Recordings of whole runs in one SQLite file: what was run, every message, and why. See docs/howto/recordings.md."""

from ringhil.emulator.trace.recording.reader import RecordedEvent, RecordedMessage, RecordedState, Recording
from ringhil.emulator.trace.recording.tables import About
from ringhil.emulator.trace.recording.writer import RecordingWriter

__all__ = ["About", "RecordedEvent", "RecordedMessage", "RecordedState", "Recording", "RecordingWriter"]
