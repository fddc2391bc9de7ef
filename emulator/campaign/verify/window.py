"""Waves of a part of a run: the wires of all links from cycle `start` on, with the values that held there.

The run is played from its beginning and everything is followed; only what falls into the window is written.
"""

from pathlib import Path

from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.hardware import Advanced
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
from ringhil.emulator.trace.waves.fst import WindowWriter

LONGEST = 20_000  # cycles before the failure that are shown at most
SHORTEST = 2_000  # and at least, as far as there are so many
AFTER = 1_000  # cycles after it


def window(scenario: Scenario, cycle: int) -> tuple[int, int]:
    """First and last cycle to show of a failure at `cycle`: from the last event before it, within limits."""
    before = [event.at for event in scenario.timeline if event.at < cycle]
    start = before[-1] - 100 if before else 0
    return max(0, min(max(start, cycle - LONGEST), cycle - SHORTEST)), cycle + AFTER


def record(
    path: Path,
    scenario: Scenario,
    library: Library,
    start: int,
    end: int,
    *,
    firmware: FirmwareChoice = OURS,
    nodes: NodeChoice = ALL_HERE,
) -> None:
    """Play the scenario up to cycle `end` and write the window as FST. Raises WaveError and NodeError."""
    server = Run(scenario, library, firmware=firmware, nodes=nodes)
    try:
        with WindowWriter(path, server.engine, [card.name for card in scenario.server.cards], start) as writer:
            server.start()
            server.observations.listen(Advanced, lambda _: writer.drain())
            server.run_to(end)
            writer.commit()
    finally:
        server.engine.close()
