"""A scenario played to its end with its judge."""

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario


def play(scenario: Scenario, library: Library) -> Outcome:
    """How it ended; the engine is closed, whatever happens."""
    server = Run(scenario, library)
    try:
        return server.run()
    finally:
        server.engine.close()
