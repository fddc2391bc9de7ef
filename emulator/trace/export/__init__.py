"""A recording in the formats of other tools."""

from ringhil.emulator.trace.export.capture import write_capture
from ringhil.emulator.trace.export.jsonl import write_json_lines
from ringhil.emulator.trace.export.tracks import write_tracks

__all__ = ["write_capture", "write_json_lines", "write_tracks"]
