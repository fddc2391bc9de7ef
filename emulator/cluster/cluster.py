"""A cluster as a file says it: servers, tasks, and what hardware draws. Frozen and checked.

| quantity | unit |
|---|---|
| power | watts |
| time | seconds |
| share of a GPU, processors | thousandths |
| memory of a server | MiB |
"""

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

WHOLE = 1000  # thousandths of a GPU
RING = "a"  # a server's card


@dataclass(frozen=True)
class TypePower:
    """What a GPU of one type draws, in watts: `task` is the first power value (P2), `low` in its low-power state, `off`
    when its server sleeps (P7)."""

    idle: float
    task: float
    low: float
    off: float


@dataclass(frozen=True)
class Processor:
    """Power of one of the equal processors of a server, in watts, and how many `cores` it has."""

    idle: float
    task: float
    cores: int


@dataclass(frozen=True)
class ClusterServer:
    """`types`: of each GPU. `busy`: GPUs that are taken for the whole run. `standby`: watts of the CPU of a server that
    sleeps (P5); also of one that works when its `processor` isn't given."""

    name: str
    types: tuple[str, ...]
    busy: frozenset[int]
    cpus: int
    memory: int
    standby: float
    processor: Processor | None


@dataclass(frozen=True)
class TaskNeeds:
    """What a task needs of one server: `share` thousandths of each of `gpus` GPUs of one of `types`, any for none."""

    gpus: int
    share: int
    cpus: int
    memory: int
    types: tuple[str, ...]

    @property
    def asked(self) -> int:
        """Thousandths of a GPU, of all of them."""
        return self.gpus * self.share


@dataclass(frozen=True)
class ClusterTask:
    """A task that comes `at` and `lasts` so long, None: its list doesn't say, so that only a saturation draws it. A
    gang has several `members`, each of which needs the same: they begin together or not at all. `spread`: each on a
    server of its own."""

    name: str
    needs: TaskNeeds
    at: float
    lasts: float | None
    members: int = 1
    spread: bool = False

    @property
    def asked(self) -> int:
        """Thousandths of a GPU, of all its members."""
        return self.needs.asked * self.members


@dataclass(frozen=True)
class Saturation:
    """Tasks that come until `load` times all GPUs were asked for; nobody leaves. `arrivals`: places in the list of
    tasks, None: drawn by the seed. `ties`: the place of each server among equals, None: as in the file. Both were read
    from `column` of their files."""

    load: float
    column: str
    arrivals: tuple[int, ...] | None
    ties: tuple[int, ...] | None


@dataclass(frozen=True)
class ClusterFault:
    """Something of `server`, its place in the file, fails `at`: its GPU `gpu`, its ring link from GPU `link`
    clockwise, or all of it. `ends`: when it is well again, infinite: never."""

    at: float
    ends: float
    server: int
    gpu: int | None = None
    link: int | None = None

    @property
    def whole(self) -> bool:
        """The server is out of order, with its CPU."""
        return self.gpu is None and self.link is None

    def strikes(self, server: int, gpu: int) -> bool:
        """Whether this GPU fails."""
        return server == self.server and self.link is None and self.gpu in (None, gpu)


@dataclass(frozen=True)
class PolicyBound:
    """What is expected of a policy: `what` as the file names it (see `expect.py`), in its unit. `line` of the file."""

    policy: str
    what: str
    bound: float
    line: int


@dataclass(frozen=True)
class GpuCluster:
    """`until`: seconds to which energy is counted and nothing begins after; None: to the end of the last task.
    `census`: seconds from one count of a server's GPUs to the next. `sleeps`: what is idle does (P7).
    `failing`: percent of all GPUs that fail for good, each at a moment that is drawn."""

    name: str
    seed: int
    until: float | None
    power: Mapping[str, TypePower]
    servers: tuple[ClusterServer, ...]
    tasks: tuple[ClusterTask, ...]
    saturation: Saturation | None
    census: float = 60.0
    sleeps: bool = True
    faults: tuple[ClusterFault, ...] = ()
    failing: float = 0.0
    expect: tuple[PolicyBound, ...] = ()

    @property
    def own_seed(self) -> int:
        """Where arrivals and ties are read from a column for a seed, that one."""
        number = None if self.saturation is None else re.search(r"[0-9]{1,9}$", self.saturation.column)
        return self.seed if number is None else int(number[0])

    @property
    def gpus(self) -> int:
        """Of all servers."""
        return sum(len(server.types) for server in self.servers)

    def at_load(self, load: float) -> "GpuCluster":
        """The same tasks with so many times as many in a second: all moments of the file, also `until` and those of
        faults, are divided by `load`, and nothing lasts longer or shorter. Of what is filled: the `load` that is asked
        for."""
        if self.saturation is not None:
            return replace(self, saturation=replace(self.saturation, load=load))
        return replace(
            self,
            until=None if self.until is None else self.until / load,
            tasks=tuple(replace(task, at=task.at / load) for task in self.tasks),
            faults=tuple(
                replace(fault, at=fault.at / load, ends=fault.at / load + (fault.ends - fault.at))
                for fault in self.faults
            ),
        )

    def with_failures(self, seed: int) -> "GpuCluster":
        """The same with GPUs that fail for good: `failing` percent of those that nobody has taken, one at least, each
        at a moment before `until` that the seed draws."""
        if not self.failing:
            return self
        assert self.until is not None
        gpus = [
            (number, gpu)
            for number, server in enumerate(self.servers)
            for gpu in range(len(server.types))
            if gpu not in server.busy
        ]
        draw = random.Random(seed)
        struck = draw.sample(gpus, min(len(gpus), max(1, round(len(gpus) * self.failing / 100))))
        drawn = tuple(ClusterFault(draw.uniform(0, self.until), math.inf, number, gpu) for number, gpu in struck)
        return replace(self, faults=self.faults + drawn, failing=0.0)
