"""Fragmentation: how much of what is free the next task couldn't use (Weng et al., "Beware of Fragmentation", USENIX
ATC '23). The next task is one of the kinds in the list of tasks, each as likely as it is frequent there."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ringhil.emulator.cluster.cluster import ClusterTask, TaskNeeds
from ringhil.emulator.cluster.servers import Figures, Servers

_COVERED = 0.95  # of the tasks


class TargetWorkload:
    """The most frequent kinds of `tasks`, until 95 percent of them are covered; of equally frequent ones the larger
    first."""

    def __init__(self, tasks: Sequence[ClusterTask], types: Sequence[str]) -> None:
        found = Counter[tuple[int, int, int, tuple[str, ...]]]()
        for task in tasks:
            needs = task.needs
            found[needs.cpus, needs.share if needs.gpus else 0, needs.gpus, needs.types] += task.members
        kinds, covered = list[tuple[int, int, int, tuple[str, ...]]](), 0
        for kind in sorted(found, key=lambda kind: (found[kind], kind), reverse=True):
            if covered >= _COVERED * found.total():
                break
            kinds.append(kind)
            covered += found[kind]
        self.likely = tuple(TaskNeeds(gpus, share, cpus, 0, types) for cpus, share, gpus, types in kinds)
        self._weights = np.array([found[kind] / covered for kind in kinds])
        self._cpus = np.array([kind[0] for kind in kinds])
        self._gpus = np.array([kind[2] for kind in kinds])
        # GPUs are looked at once for each share and choice of types, not once for each kind.
        looks = list(dict.fromkeys((share, allowed) for _, share, _, allowed in kinds))
        self._look = np.array([looks.index((share, allowed)) for _, share, _, allowed in kinds])
        self._shares = np.array([share for share, _ in looks])
        self._allowed = np.array([[not a or each in a for each in types] for _, a in looks], np.bool_)
        self._any = bool(self._allowed.all())

    def fragmentation(self, servers: Servers) -> Figures:
        """Thousandths of a GPU of each server that the expected next task can't use."""
        free = servers.free[:, None, :]
        fitting = servers.there[:, None, :] & (free >= self._shares[:, None])
        if not self._any:
            fitting &= self._allowed[:, servers.type_of].swapaxes(0, 1)
        number = fitting.sum(axis=2)
        left = np.where(fitting, 0, free).sum(axis=2)
        useless = (self._gpus == 0) | (servers.cpus_free[:, None] < self._cpus) | (number[:, self._look] < self._gpus)
        lost = np.where(useless, servers.free_in_all[:, None], left[:, self._look])
        # One after the other, so that a server has the same figure whatever servers stand beside it.
        return np.asarray(np.cumsum(lost * self._weights, axis=1)[:, -1])
