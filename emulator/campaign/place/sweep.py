"""The runs of a comparison, and who plays one."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ringhil.emulator.campaign.place.run import PlaceError, PlaceRun, RunResult
from ringhil.emulator.campaign.place.servers import (
    HeldServers,
    PlaceAnswer,
    PlaceTask,
    ServersTask,
    ServersTold,
    servers_of,
)
from ringhil.emulator.campaign.pool import Lost, Pool
from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import EmulatedFleet, clock_of
from ringhil.emulator.cluster.fleet import Fleet, TableFleet
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.saturate import saturate
from ringhil.emulator.cluster.server_sets import ServerSet, servers_in
from ringhil.emulator.cluster.window import play_window
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError

Progress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """For who shows no progress."""


@dataclass(frozen=True)
class RunPlayer:
    """Plays runs of a cluster, and parts of the servers of one. `library`: where servers are emulated, in so many
    processes (`jobs`), those of a part in `part_jobs`."""

    cluster: GpuCluster
    policies: Mapping[str, type[PlacementPolicy]]
    library: Library | None = None
    jobs: int = 1
    part_jobs: int = 1
    held: HeldServers = field(default_factory=HeldServers)

    def __call__(self, task: PlaceTask) -> PlaceAnswer:
        """What comes of it; instead of an error of ours, its line."""
        try:
            if isinstance(task, ServersTask):
                return self.held.play(task, lambda: self._servers(task))
            return self.play(task)
        except RinghilError as error:
            return str(error)

    def play(self, run: PlaceRun, on_progress: Progress = no_progress) -> RunResult:
        """`on_progress`: tasks that came, of all. Raises FleetError and PolicyError."""
        cluster = self._at_load(run)
        if cluster.saturation is not None:
            return saturate(cluster, cluster.saturation, self.policies[run.policy], run.seed, on_progress)
        given = self._given(run)
        if run.fleet == TableFleet.name:
            return self._play(run, given, TableFleet(given), on_progress)
        assert self.library is not None
        if run.window is not None:
            policy, jobs = self.policies[run.policy], self.jobs
            return play_window(given, policy, run.seed, run.window, self.library, jobs=jobs, on_progress=on_progress)
        return self._play(run, given, EmulatedFleet.local(given, run.seed, self.library, self.jobs), on_progress)

    def play_spread(
        self, run: PlaceRun, pool: Pool[PlaceTask, PlaceAnswer], parts: int, on_progress: Progress = no_progress
    ) -> RunResult:
        """The same for an emulated run, here, with its servers in so many parts that `pool` plays. Raises FleetError,
        PolicyError, and what the pool raises."""
        given = self._given(run)
        servers = servers_of(pool, run, len(given.servers), parts)
        return self._play(run, given, EmulatedFleet(given, servers), on_progress)

    def _given(self, run: PlaceRun) -> GpuCluster:
        """What a run over time is played on."""
        return replace(self._at_load(run), until=run.until).with_failures(run.seed)

    def _at_load(self, run: PlaceRun) -> GpuCluster:
        return self.cluster if run.load is None else self.cluster.at_load(run.load)

    def _play(self, run: PlaceRun, given: GpuCluster, fleet: Fleet, on_progress: Progress) -> RunResult:
        with fleet:
            return play(given, self.policies[run.policy], run.seed, on_progress=on_progress, fleet=fleet)

    def _servers(self, task: ServersTask) -> ServerSet:
        assert self.library is not None
        given = self._given(task.run)
        numbers = task.of(len(given.servers))
        return servers_in(self.part_jobs, numbers, given, clock_of(given), self.library, task.run.seed)


def play_all(
    runs: Sequence[PlaceRun], pool: Pool[PlaceTask, PlaceAnswer], on_progress: Progress
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
            assert isinstance(heard.task, PlaceRun)
            assert not isinstance(heard.answer, ServersTold)
            played[heard.task] = heard.answer
            on_progress(len(played), len(runs))
    return {run: played[run] for run in runs}
