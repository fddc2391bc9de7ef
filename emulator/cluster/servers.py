"""Servers as a policy sees them: a row each, what is free, what it draws. Arrays: a policy judges all at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.cluster.cluster import WHOLE, GpuCluster, TaskNeeds

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
Figures = NDArray[np.float64]


@dataclass(frozen=True)
class Servers:
    """The servers that a policy chooses from, as arrays with a row each.

    `n` servers of at most `g` GPUs; a policy reads them and changes nothing.

    | array | shape | what it is |
    |---|---|---|
    | `place` | n | which server of the cluster it is, in the order of the file |
    | `free` | n, g | thousandths of each GPU that nobody uses; 0 where there is no such GPU |
    | `there` | n, g | whether there is such a GPU |
    | `type_of` | n, g | its type, a place in `types` |
    | `cpus`, `cpus_free` | n | thousandths of a processor |
    | `memory_free` | n | MiB |
    | `held` | n, g + 1 | tasks on it: that share a GPU, that have 1, 2, ... whole ones |
    | `task_watts`, `idle_watts` | n, g | of each GPU |
    | `standby` | n | watts of the CPU of a server that sleeps |
    | `answers` | n | whether a census counts any of its GPUs: who doesn't gets no task |
    | `processor` | n, 3 | idle watts, task watts, thousandths of one processor; 0 where it isn't known |
    """

    types: tuple[str, ...]
    place: Rows
    free: Rows
    there: Flags
    type_of: Rows
    cpus: Rows
    cpus_free: Rows
    memory_free: Rows
    held: Rows
    task_watts: Figures
    idle_watts: Figures
    standby: Figures
    processor: Figures
    answers: Flags

    @classmethod
    def of(cls, cluster: GpuCluster) -> "Servers":
        """Those of a cluster before any task has come."""
        types = tuple(cluster.power)
        servers = cluster.servers
        shape = (len(servers), max(1, *(len(server.types) for server in servers)))
        free, type_of = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        there = np.zeros(shape, np.bool_)
        for row, server in enumerate(servers):
            for gpu, kind in enumerate(server.types):
                there[row, gpu] = True
                free[row, gpu] = 0 if gpu in server.busy else WHOLE
                type_of[row, gpu] = types.index(kind)
        power = list(cluster.power.values())
        cpus = np.array([server.cpus for server in servers], np.int64)
        processors = [server.processor for server in servers]
        return cls(
            types=types,
            place=np.arange(len(servers)),
            free=free,
            there=there,
            type_of=type_of,
            cpus=cpus,
            cpus_free=cpus.copy(),
            memory_free=np.array([server.memory for server in servers], np.int64),
            held=np.zeros((shape[0], shape[1] + 1), np.int64),
            task_watts=np.array([each.task for each in power])[type_of] * there,
            idle_watts=np.array([each.idle for each in power])[type_of] * there,
            standby=np.array([server.standby for server in servers], np.float64),
            processor=np.array(
                [(0, 0, 0) if each is None else (each.idle, each.task, each.cores * 1000) for each in processors],
                np.float64,
            ),
            answers=np.ones(len(servers), np.bool_),
        )

    def __len__(self) -> int:
        return len(self.place)

    def at(self, rows: Rows) -> "Servers":
        """Some of them; a row may come twice. Copies: what is done to them changes nothing here."""
        return Servers(
            self.types,
            self.place[rows],
            self.free[rows],
            self.there[rows],
            self.type_of[rows],
            self.cpus[rows],
            self.cpus_free[rows],
            self.memory_free[rows],
            self.held[rows],
            self.task_watts[rows],
            self.idle_watts[rows],
            self.standby[rows],
            self.processor[rows],
            self.answers[rows],
        )

    @property
    def size(self) -> Rows:
        """GPUs of each."""
        return np.asarray(self.there.sum(axis=1))

    @property
    def unused(self) -> Flags:
        """Whether all GPUs of a server are idle."""
        return np.asarray((self.free == WHOLE).sum(axis=1) == self.size)

    @property
    def free_in_all(self) -> Rows:
        """Thousandths, over all GPUs of each."""
        return np.asarray(self.free.sum(axis=1))

    def usable(self, needs: TaskNeeds) -> Flags:
        """GPUs that the task could use: enough free, of an allowed type (P1). Of whole ones: those that are idle."""
        enough = self.there & (self.free >= needs.share)
        if not needs.types:
            return enough
        allowed = np.array([kind in needs.types for kind in self.types], np.bool_)
        return np.asarray(enough & allowed[self.type_of])

    def fits(self, needs: TaskNeeds) -> Flags:
        """Servers that could take the task: enough such GPUs (P1), processors and memory."""
        enough: Flags = self.answers & (self.cpus_free >= needs.cpus) & (self.memory_free >= needs.memory)
        if not needs.gpus:
            return enough
        return np.asarray(enough & (self.usable(needs).sum(axis=1) >= needs.gpus))

    def watts(self) -> Figures:
        """What each draws with nothing asleep: a GPU that somebody uses `task`, else `idle`; and its processors."""
        used = self.there & (self.free < WHOLE)
        return np.asarray(np.where(used, self.task_watts, self.idle_watts).sum(axis=1) + self.cpu_watts())

    def cpu_watts(self) -> Figures:
        """What the processors of each draw while it is awake: as many `task` as the tasks together could fill, the rest
        `idle`."""
        idle, task, cores = self.processor.T
        known = cores > 0
        per = np.where(known, cores, 1.0)
        working = np.ceil((self.cpus - self.cpus_free) / per)
        resting = np.ceil(self.cpus / per) - working
        return np.asarray(np.where(known, working * task + resting * idle, self.standby))

    def tightest(self, needs: TaskNeeds) -> Rows:
        """On each the usable GPU with least to spare, the first of equals. For tasks that need one GPU."""
        return np.asarray(np.where(self.usable(needs), self.free, 2 * WHOLE).argmin(axis=1))

    def count(self, row: int, counted: Flags, as_built: "Servers") -> None:
        """Of a server these GPUs are there from now on, and idle where they weren't; who is gone must have no task."""
        new, gone = counted & ~self.there[row], self.there[row] & ~counted
        self.there[row] = counted
        self.answers[row] = counted.any() or not as_built.there[row].any()
        self.free[row, gone] = 0
        self.free[row, new] = as_built.free[row, new]
        self.task_watts[row] = as_built.task_watts[row] * counted
        self.idle_watts[row] = as_built.idle_watts[row] * counted

    def take(self, row: int, needs: TaskNeeds, gpus: list[int], sign: int = 1) -> None:
        """Book a task on a server; `sign` -1: it is gone."""
        self.free[row, gpus] -= sign * needs.share
        self.cpus_free[row] -= sign * needs.cpus
        self.memory_free[row] -= sign * needs.memory
        if needs.gpus:
            self.held[row, needs.gpus if needs.share == WHOLE else 0] += sign

    def with_task(self, needs: TaskNeeds, gpus: Rows) -> "Servers":
        """Each of them with the task, which needs one GPU, on the GPU of `gpus`."""
        free = self.free.copy()
        free[np.arange(len(self)), gpus] -= needs.share
        return self._with(free, self.cpus_free - needs.cpus)

    def with_whole(self, needs: TaskNeeds) -> "Servers":
        """Each of them with the task, which needs whole GPUs or none, on the first that it can use."""
        usable = self.usable(needs)
        first = usable & (usable.cumsum(axis=1) <= needs.gpus)
        return self._with(self.free - first * needs.share, self.cpus_free - needs.cpus)

    def _with(self, free: Rows, cpus_free: Rows) -> "Servers":
        return Servers(
            self.types,
            self.place,
            free,
            self.there,
            self.type_of,
            self.cpus,
            cpus_free,
            self.memory_free,
            self.held,
            self.task_watts,
            self.idle_watts,
            self.standby,
            self.processor,
            self.answers,
        )
