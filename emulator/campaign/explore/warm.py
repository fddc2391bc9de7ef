"""A server that has been played up to a cycle once, and from there as often as one likes.

Every play is a forked process. It has all of the server as it was, RTL, firmware, CPU and judge, for memory is shared
until somebody writes to it; so a play needs no start, costs no copy, and can't be seen by the next one.
"""

import gc
from collections.abc import Iterable

from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.engine.library import Library
from ringhil.emulator.forks import forked
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, TimelineEvent
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice

PATIENCE = 120.0  # seconds that a play may take


class Warm:
    """A server that has come to rest, from which any number of cases are played.

    `scenario`, played up to `until`: what is to happen in that very cycle is still to come.
    """

    def __init__(self, scenario: Scenario, library: Library, until: int, *, firmware: FirmwareChoice = OURS) -> None:
        self.scenario = scenario
        self.all_in_memory = not firmware.chosen  # others' firmware has processes, or boards, of its own
        self.server = Run(scenario, library, firmware=firmware)
        self.server.start()
        self.run_to(until)

    @property
    def now(self) -> int:
        """The cycle at which plays begin."""
        return self.server.kernel.now

    def run_to(self, cycle: int) -> None:
        """Let plays begin at a later cycle."""
        self.server.run_to(cycle)
        # The file that work is read from, if any, would be shared with its position.
        if self.server.cpu.workload is not None:
            self.server.cpu.workload.close()
        # Objects that stay are left alone by the collector, which would write to the pages that they lie in.
        gc.freeze()

    def play(self, events: Iterable[TimelineEvent], *, limit: float = PATIENCE) -> Outcome:
        """What comes of it when these events are added, at or after `now`; as in a run of its own, to the server's end.

        Raises ForkedError when there is no outcome after `limit` seconds, or the process has died.
        """
        timeline = tuple(events)
        return forked(lambda: play(self.server, timeline, rounds=None).outcome, limit)

    def close(self) -> None:
        """Free the models."""
        self.server.engine.close()
