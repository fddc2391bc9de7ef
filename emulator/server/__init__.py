"""A whole server: cards in the engine, firmware, CPU, the timeline of a scenario, and the judgement of it."""

from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.server.server import Server

__all__ = ["Outcome", "Server"]
