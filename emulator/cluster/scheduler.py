"""The scheduler: which server, and which GPUs of it, a task gets; and the books of who has what (the table fleet)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.cluster.cluster import WHOLE, ClusterTask, TaskNeeds
from ringhil.emulator.cluster.policy import Keys, PlacementPolicy
from ringhil.emulator.cluster.servers import Flags, Rows, Servers

_MOST_KNOWN = 2000  # different needs whose keys are kept


@dataclass(frozen=True)
class PlacedOn:
    """Where a task is: the place of its server in the file, and its GPUs."""

    server: int
    gpus: tuple[int, ...]


@dataclass
class _Known:
    """Of tasks with equal needs: who fits, the keys of those, and the GPU of each that a task would share, as of the
    `seen` first changes."""

    fits: Flags
    gpu: Rows
    keys: list[NDArray[Any]] = field(default_factory=list)
    seen: int = 0


class Scheduler:
    """Servers, and a policy that orders them. `ties`: a place for each server; of equals the least comes first."""

    def __init__(self, servers: Servers, policy: PlacementPolicy, ties: Sequence[int] | None = None) -> None:
        self.servers = servers
        self._policy = policy
        self._ties = np.arange(len(servers)) if ties is None else np.array(ties)
        self._changed = list[int]()
        self._known = dict[TaskNeeds, _Known]()

    def choose(self, needs: TaskNeeds) -> PlacedOn | None:
        """The first of the order; None: no server has room."""
        known = self._refreshed(needs)
        rows = np.flatnonzero(known.fits)
        if not len(rows):
            return None
        if len(rows) > 1:
            left = np.arange(len(rows))
            for key in self._settled(known, rows, needs):
                left = left[key[left] == key[left].min()]
            rows = rows[left]
            rows = rows[self._ties[rows].argmin()][None]
        return self.on(int(rows[0]), needs)

    def order(self, needs: TaskNeeds) -> list[int]:
        """The places of all servers that fit, first to last."""
        known = self._refreshed(needs)
        rows = np.flatnonzero(known.fits)
        if not len(rows):
            return []
        keys = self._settled(known, rows, needs)
        return [int(row) for row in rows[np.lexsort((self._ties[rows], *reversed(list(keys))))]]

    def on(self, server: int, needs: TaskNeeds) -> PlacedOn:
        """The GPUs that a task gets on a server that it fits."""
        row = np.array([server])
        if _shares(needs):
            known = self._refreshed(needs)
            gpu = known.gpu[row] if self._policy.per_server else self._policy.gpu(self.servers.at(row), needs)
            return PlacedOn(server, (int(gpu[0]),))
        usable = self.servers.at(row).usable(needs)[0]
        return PlacedOn(server, tuple(int(gpu) for gpu in np.flatnonzero(usable)[: needs.gpus]))

    def choose_all(self, task: ClusterTask, *, one_each: bool) -> list[PlacedOn]:
        """Places for all members of a task, taken, or none. A gang is placed as so many equal tasks that come together;
        where they are to spread, on the first servers of one order."""
        needs, found = task.needs, list[PlacedOn]()
        while len(found) < task.members:
            if task.members > 1 and (one_each or task.spread):
                order = self.order(needs)[: task.members - len(found)]
                chosen = [self.on(server, needs) for server in order]
            else:
                first = self.choose(needs)
                chosen = [] if first is None else [first]
            for placed in chosen:
                self.take(placed, needs)
            found += chosen
            if not chosen or (task.spread and len(found) < task.members):
                for placed in found:
                    self.give_back(placed, needs)
                return []
        return found

    def take(self, placed: PlacedOn, needs: TaskNeeds) -> None:
        """The task is there from now on."""
        self.servers.take(placed.server, needs, list(placed.gpus))
        self._changed.append(placed.server)

    def give_back(self, placed: PlacedOn, needs: TaskNeeds) -> None:
        """The task is gone."""
        self.servers.take(placed.server, needs, list(placed.gpus), sign=-1)
        self._changed.append(placed.server)

    def count(self, server: int, counted: Flags, as_built: Servers) -> None:
        """These of its GPUs are there, and no others."""
        self.servers.count(server, counted, as_built)
        self._changed.append(server)

    def _refreshed(self, needs: TaskNeeds) -> _Known:
        known = self._known.get(needs)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[needs] = _Known(self.servers.fits(needs), np.zeros(len(self.servers), np.int64))
            rows = np.arange(len(self.servers))
        else:
            rows = np.array(sorted({*self._changed[known.seen :]}), np.int64)
            if len(rows):
                known.fits[rows] = self.servers.at(rows).fits(needs)
        known.seen = len(self._changed)
        rows = rows[known.fits[rows]]
        if self._policy.per_server and len(rows):
            these = self.servers.at(rows)
            keys = self._policy.keys(these, needs)
            if not known.keys:
                known.keys = [np.zeros(len(self.servers), key.dtype) for key in keys]
            for all_keys, key in zip(known.keys, keys, strict=True):
                all_keys[rows] = key
            if _shares(needs):
                known.gpu[rows] = self._policy.gpu(these, needs)
        return known

    def _settled(self, known: _Known, rows: Rows, needs: TaskNeeds) -> Keys:
        if self._policy.per_server:
            return self._policy.settled([key[rows] for key in known.keys])
        return self._policy.settled(self._policy.keys(self.servers.at(rows), needs))


def _shares(needs: TaskNeeds) -> bool:
    return needs.gpus == 1 and needs.share < WHOLE
