"""Which fleet plays a cluster: emulated servers, or a table."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ringhil.emulator.cluster.cluster import GpuCluster
from ringhil.emulator.cluster.emulated_fleet import MOST_COUNTED, EmulatedFleet, counted_in_all, misfit
from ringhil.emulator.cluster.fleet import Fleet, TableFleet
from ringhil.emulator.cluster.play import play
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.cli import terminal

FLEETS = (EmulatedFleet.name, TableFleet.name)


def with_end(cluster: GpuCluster, policies: dict[str, type[PlacementPolicy]], seeds: Sequence[int]) -> GpuCluster:
    """The same, with an end: where the file says none, that of the last task by any of these policies and seeds."""
    if cluster.until is not None:
        return cluster
    ends = (play(cluster, policy, seed).until for policy in policies.values() for seed in seeds)
    return replace(cluster, until=max(ends))


def fleet_of(cluster: GpuCluster, wanted: str | None, runs: int) -> str:
    """The one that is wanted, or else the emulated one for what can be emulated within about a minute, with so
    many runs. Raises FleetError."""
    problem = None if wanted == TableFleet.name else misfit(cluster)
    if wanted == EmulatedFleet.name and problem is not None:
        raise problem
    if wanted is not None:
        return wanted
    large = problem is not None or runs * counted_in_all(cluster) > MOST_COUNTED
    return TableFleet.name if large else EmulatedFleet.name


@contextmanager
def fleets(name: str, jobs: int) -> Iterator[Callable[[GpuCluster, int], Fleet]]:
    """Makes fleets for a cluster with an end and a seed; emulated ones in so many processes."""
    if name == TableFleet.name:
        yield lambda cluster, seed: TableFleet(cluster)
        return
    with terminal.building() as progress:
        library = cells_library(progress=progress)

    def made(cluster: GpuCluster, seed: int) -> Fleet:
        with terminal.working("powering up the servers"):
            return EmulatedFleet(cluster, seed, library, jobs=jobs)

    yield made
