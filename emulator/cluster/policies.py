"""The policies by name. Scores are cut to whole numbers where the published ones are: that makes ties, which matter."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.cluster.cluster import WHOLE, TaskNeeds
from ringhil.emulator.cluster.policy import Keys, PlacementPolicy
from ringhil.emulator.cluster.servers import Figures, Rows, Servers
from ringhil.emulator.cluster.workload import TargetWorkload

Scores = NDArray[np.int64]
_MOST_CPUS = 128_000  # thousandths of a processor, and of a GPU, of the largest server: scores are shares of them
_MOST_GPUS = 8_000
_DECIMALS = 6  # of watts


def second_power(servers: Servers, needs: TaskNeeds) -> Figures:
    """The sum of first power values over the idle GPUs that the task could use (P2, P4)."""
    # Sums that are equal in decimals must be equal here, whatever the order of the GPUs.
    return np.asarray((servers.task_watts * servers.usable(needs)).sum(axis=1).round(_DECIMALS))


def third_power(servers: Servers, needs: TaskNeeds) -> Figures:
    """The same, with the CPU's standby power where all GPUs are idle (P5)."""
    return np.asarray((second_power(servers, needs) + np.where(servers.unused, servers.standby, 0.0)).round(_DECIMALS))


class PackFirst(PlacementPolicy):
    """Fewest idle GPUs first; of equals the least power (P4, P5)."""

    per_server = one_each = True

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        """Number of idle GPUs, then watts."""
        return servers.usable(needs).sum(axis=1), third_power(servers, needs)


class PowerFirst(PlacementPolicy):
    """Least power of all idle GPUs first; of equals the fewest of them (P3)."""

    per_server = one_each = True

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        """Watts, then number of idle GPUs."""
        return second_power(servers, needs), servers.usable(needs).sum(axis=1)


class Random(PlacementPolicy):
    """Any server that fits, and any GPU of it."""

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        """Drawn anew for each task."""
        return (self.random.random(len(servers)),)

    def gpu(self, servers: Servers, needs: TaskNeeds) -> Rows:
        """Drawn as well."""
        drawn = self.random.random(servers.free.shape)
        return np.asarray(np.where(servers.usable(needs), drawn, -1.0).argmax(axis=1))


class _Scored(PlacementPolicy):
    """The highest score first."""

    per_server = True

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        return (-self.scores(servers, needs),)

    @abstractmethod
    def scores(self, servers: Servers, needs: TaskNeeds) -> Scores:
        """Of each of the servers, all of which fit."""


class BestFit(_Scored):
    """Least left over, of processors and GPUs, in shares of the largest server."""

    def scores(self, servers: Servers, needs: TaskNeeds) -> Scores:
        """0 to 100."""
        cpus = (servers.cpus_free - needs.cpus) / _MOST_CPUS
        gpus = (servers.free_in_all - needs.asked) / _MOST_GPUS
        return (100 * (1 - cpus / 2 - gpus / 2)).astype(np.int64)


class DotProduct(_Scored):
    """Least of what is free times what is asked, summed over processors and GPUs."""

    def scores(self, servers: Servers, needs: TaskNeeds) -> Scores:
        """0 to 100."""
        cpus = servers.cpus_free / _MOST_CPUS * (needs.cpus / _MOST_CPUS)
        gpus = servers.free_in_all / _MOST_GPUS * (needs.asked / _MOST_GPUS)
        return (100 * (1 - (cpus + gpus) / 2)).astype(np.int64)


class Packing(_Scored):
    """A GPU that is shared first, then an idle one of a server in use, an unused server last."""

    def scores(self, servers: Servers, needs: TaskNeeds) -> Scores:
        """0 to 100; of a shared GPU, the more the less it has left."""
        if not needs.gpus:
            return np.zeros(len(servers), np.int64)
        found = np.where(servers.unused, 33 - servers.size, max(50 - needs.gpus, 33))
        if needs.share == WHOLE:
            return found
        left = servers.free[np.arange(len(servers)), servers.tightest(needs)]
        return np.where(left < WHOLE, 100 - (left * 100 // WHOLE) // 10, found)


class Clustering(_Scored):
    """Tasks of a kind together: those that share a GPU, those with one whole, with two, ..."""

    def scores(self, servers: Servers, needs: TaskNeeds) -> Scores:
        """0 to 100: up to 25 for GPUs that are used, and more the fewer other kinds there are."""
        if not needs.gpus:
            return np.zeros(len(servers), np.int64)
        used = 25 * (_MOST_GPUS - servers.free_in_all) // _MOST_GPUS
        kinds = (servers.held > 0).sum(axis=1)
        same = servers.held[:, needs.gpus if needs.share == WHOLE else 0] > 0
        return used + np.where(same, np.where(kinds == 1, 75, 50), np.where(kinds == 0, 25, 0))


class _Looking(PlacementPolicy):
    """Compares each server before and after the task, on each GPU that could be the task's."""

    per_server = True

    def __init__(self, workload: TargetWorkload, random: np.random.Generator) -> None:
        super().__init__(workload, random)
        self._seen: tuple[Servers, Rows] | None = None  # servers that were judged last, and the best GPU of each

    @abstractmethod
    def cost(self, servers: Servers) -> Figures:
        """What the task is to make as little more of as it can."""

    @abstractmethod
    def score(self, less: Figures) -> Scores:
        """For so much less of it."""

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        before = self.cost(servers)
        if not needs.gpus or needs.share == WHOLE:
            return (-self.score(before - self.cost(servers.with_whole(needs))),)
        usable = servers.usable(needs)
        # GPUs of one type with equally much left are one choice.
        alike = servers.free * len(servers.types) + servers.type_of
        new = usable.copy()
        for gpu in range(1, alike.shape[1]):
            new[:, gpu] &= ~((alike[:, :gpu] == alike[:, gpu, None]) & usable[:, :gpu]).any(axis=1)
        rows, gpus = np.nonzero(new)
        found = np.full(usable.shape, np.iinfo(np.int64).min)
        found[rows, gpus] = self.score(before[rows] - self.cost(servers.at(rows).with_task(needs, gpus)))
        best = found.argmax(axis=1)
        self._seen = servers, best
        return (-found[np.arange(len(servers)), best],)

    def gpu(self, servers: Servers, needs: TaskNeeds) -> Rows:
        """That with the highest score, the first of equals."""
        if self._seen is None or self._seen[0] is not servers:
            self.keys(servers, needs)
        assert self._seen is not None
        return self._seen[1]


class Fgd(_Looking):
    """Fragmentation gradient descent: where what the next task can't use grows least."""

    def cost(self, servers: Servers) -> Figures:
        """Thousandths of a GPU."""
        return self.workload.fragmentation(servers)

    def score(self, less: Figures) -> Scores:
        """0 to 100; 50 where it stays as it is."""
        return np.asarray((100 / (1 + np.exp(-less / 1000))).astype(np.int64))


class Pwr(_Looking):
    """Least more power."""

    def cost(self, servers: Servers) -> Figures:
        """Watts."""
        return servers.watts()

    def score(self, less: Figures) -> Scores:
        """Whole watts."""
        return np.asarray(less.astype(np.int64))

    def settled(self, keys: Keys) -> Keys:
        """0 to 100 over the servers that fit."""
        return (-spread(-keys[0]),)


class PwrFgd(PlacementPolicy):
    """Both, weighted."""

    per_server = True
    weights: ClassVar[tuple[int, int]] = (100, 900)

    def __init__(self, workload: TargetWorkload, random: np.random.Generator) -> None:
        super().__init__(workload, random)
        self._pwr, self._fgd = Pwr(workload, random), Fgd(workload, random)

    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        return *self._pwr.keys(servers, needs), *self._fgd.keys(servers, needs)

    def settled(self, keys: Keys) -> Keys:
        power, fragmentation = self.weights
        return (-(power * spread(-keys[0]) - fragmentation * keys[1]),)

    def gpu(self, servers: Servers, needs: TaskNeeds) -> Rows:
        """That of the heavier one."""
        return self._fgd.gpu(servers, needs)


def spread(scores: NDArray[Any]) -> Scores:
    """From 0 for the least to 100 for the most; 100 where all are equal."""
    least, most = scores.min(), scores.max()
    if least == most:
        return np.full(len(scores), 100)
    return np.asarray((scores - least) * 100 // (most - least))


DEFAULT = "pack-first"
POLICIES: dict[str, type[PlacementPolicy]] = {
    DEFAULT: PackFirst,
    "power-first": PowerFirst,
    "random": Random,
    "best-fit": BestFit,
    "dot-product": DotProduct,
    "packing": Packing,
    "clustering": Clustering,
    "fgd": Fgd,
    "pwr": Pwr,
    "pwr-fgd": PwrFgd,
}
