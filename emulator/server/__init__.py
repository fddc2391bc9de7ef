"""A whole server at work: cards in the engine, firmware, CPU, and the timeline of a scenario."""

from ringhil.emulator.server.server import LiveServer

__all__ = ["LiveServer"]
