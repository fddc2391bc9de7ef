"""The runs of a comparison, and who plays one."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ringhil.emulator.campaign.pool import Lost, Pool
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet
from ringhil.emulator.cluster.fleet import TableFleet
from ringhil.emulator.cluster.play import PlacementRun, play
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.saturate import Saturated, saturate
from ringhil.emulator.cluster.window import PlayedWindow, TimeWindow, play_window
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError

RunResult = PlacementRun | Saturated | PlayedWindow
Progress = Callable[[int, int], None]


class PlaceError(RinghilError, ValueError):
    """A run that can't be played."""


@dataclass(frozen=True)
class PlaceRun:
    """`load`: see `GpuCluster.at_load`, None: as the file has it; `until`: seconds, as the file has it after that;
    None: to the end of the last task. `fleet`: by name; it has no meaning for a cluster that is filled. `window`:
    seconds that are emulated in a run of the table, of which nothing else is told."""

    load: float | None
    policy: str
    seed: int
    until: float | None = None
    fleet: str = TableFleet.name
    window: TimeWindow | None = None

    def __str__(self) -> str:
        """As it is named where several are played."""
        at = "" if self.load is None else f", load {self.load:g}"
        window = "" if self.window is None else f", {self.window} s"
        return f"{self.policy}, seed {self.seed}{at}{window}"


@dataclass(frozen=True)
class RunPlayer:
    """Plays runs of a cluster. `library`: where servers are emulated, in so many processes (`jobs`)."""

    cluster: GpuCluster
    policies: Mapping[str, type[PlacementPolicy]]
    library: Library | None = None
    jobs: int = 1

    def __call__(self, run: PlaceRun) -> RunResult | str:
        """The same; instead of an error of ours, its line."""
        try:
            return self.play(run)
        except RinghilError as error:
            return str(error)

    def play(self, run: PlaceRun, on_progress: Progress = lambda done, total: None) -> RunResult:
        """`on_progress`: tasks that came, of all. Raises FleetError and PolicyError."""
        cluster = self.cluster if run.load is None else self.cluster.at_load(run.load)
        policy = self.policies[run.policy]
        if cluster.saturation is not None:
            return saturate(cluster, cluster.saturation, policy, run.seed, on_progress)
        given = replace(cluster, until=run.until).with_failures(run.seed)
        if run.fleet == TableFleet.name:
            return play(given, policy, run.seed, on_progress=on_progress)
        assert self.library is not None
        if run.window is not None:
            return play_window(
                given, policy, run.seed, run.window, self.library, jobs=self.jobs, on_progress=on_progress
            )
        with EmulatedFleet(given, run.seed, self.library, jobs=self.jobs) as fleet:
            return play(given, policy, run.seed, on_progress=on_progress, fleet=fleet)


def play_all(
    runs: Sequence[PlaceRun], pool: Pool[PlaceRun, RunResult | str], on_progress: Progress
) -> dict[PlaceRun, RunResult]:
    """Each once, in the order of `runs`, whoever ends first. Raises PlaceError."""
    waiting, played = deque(runs), dict[PlaceRun, RunResult]()
    while waiting or pool.busy:
        while waiting and pool.room > 0:
            pool.give([waiting.popleft()])
        for heard in pool.hear():
            if isinstance(heard, Lost):
                raise PlaceError(f"{heard.task}: {heard.why}")
            if isinstance(heard.answer, str):
                raise PlaceError(heard.answer)
            played[heard.task] = heard.answer
            on_progress(len(played), len(runs))
    return {run: played[run] for run in runs}
