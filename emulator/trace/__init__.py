"""Recordings of runs: every message, with its cycle and place, in a file that anything can read."""

from ringhil.emulator.trace.recorder import Recorder, RecordingError

__all__ = ["Recorder", "RecordingError"]
