"""A server at work, and its judge."""

from collections.abc import Callable, Iterable

from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.judge import Judge
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.scenario import Scenario, TimelineEvent
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice


class Run:
    """One run of a scenario, played and judged: `run`, or `start`, any number of `run_to` and `strike`, and `finish`;
    each run once."""

    def __init__(
        self,
        scenario: Scenario,
        library: Library,
        *,
        firmware: FirmwareChoice = OURS,
        nodes: NodeChoice = ALL_HERE,
        skipping: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.server = server = LiveServer(
            scenario, library, firmware=firmware, nodes=nodes, skipping=skipping, on_progress=on_progress
        )
        self.engine, self.kernel, self.cpu = server.engine, server.kernel, server.cpu
        self.observations, self.places = server.observations, server.wiring.places
        self.judge = Judge(server)
        self.watch = self.judge.watch

    @property
    def scenario(self) -> Scenario:
        """The scenario as it is played."""
        return self.server.scenario

    def run(self) -> Outcome:
        """Play it all; raises DataError when the workload's files can't be read."""
        self.start()
        return self.finish()

    def start(self) -> None:
        """Power up. No time passes."""
        self.server.start()

    def run_to(self, cycle: int) -> None:
        """Play until `cycle`, or nothing if that is past; what is to happen in that very cycle is still to come."""
        self.server.run_to(cycle)

    def strike(self, events: Iterable[TimelineEvent]) -> None:
        """Add events as if they had stood in the file, after its own. Raises ValueError for one before now."""
        self.server.strike(events)

    def end_at(self, cycle: int) -> None:
        """End there, as if the file had said `until`."""
        self.server.end_at(cycle)

    def finish(self) -> Outcome:
        """Play to the end and judge; raises DataError when the workload's files can't be read."""
        since = self.kernel.now
        self.server.play_out(self.judge.horizon())
        try:
            return self.judge.outcome(since)
        finally:
            self.kernel.tell_differences()
            self.server.close_work()

    def isolated(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are healthy, and kept out by a switch that does not do what it is told."""
        return self.judge.results.isolated(card)

    def lent(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are lent to virtual machines."""
        return self.judge.results.lent(card)

    def close(self) -> None:
        """Free the models, and what firmware runs in."""
        self.server.close()
