"""The seam between scheduler and policy: a policy orders the servers that could take a task."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.cluster.cluster import TaskNeeds
from ringhil.emulator.cluster.servers import Rows, Servers
from ringhil.emulator.cluster.workload import TargetWorkload

Keys = Sequence[NDArray[Any]]


class PlacementPolicy(ABC):
    """Base of all policies of `ringhil place`, yours too: it orders the servers that could take a task.

    One object for a run. `keys` is all that a policy must have.

    `per_server`: the keys of a server follow from that server and the task alone, so that they are computed again only
    when it has changed. `one_each`: tasks of equal needs that come together take the first servers of one order, one
    each (P6); without it, each task has an order of its own.
    """

    per_server: ClassVar[bool] = False
    one_each: ClassVar[bool] = False

    def __init__(self, workload: TargetWorkload, random: np.random.Generator) -> None:
        self.workload = workload
        self.random = random

    @abstractmethod
    def keys(self, servers: Servers, needs: TaskNeeds) -> Keys:
        """Figures for each of the servers, all of which fit, the most important first: the least comes first. Of equals
        the one that stands first in the file does."""

    def settled(self, keys: Keys) -> Keys:
        """The keys of all servers that fit, once more, where they must be seen together."""
        return keys

    def gpu(self, servers: Servers, needs: TaskNeeds) -> Rows:
        """On each server the GPU for a task that needs one. Whole ones are the first that are idle."""
        return servers.tightest(needs)
