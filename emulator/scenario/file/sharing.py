"""The applications that share GPUs (S1, S4)."""

from dataclasses import dataclass

from ringhil.emulator.scenario.file.topology import GpuRef

MOST_DEPTH = 8  # groups in groups, those of applications included
MOST_GROUPS = 4096
LONGEST_NAME = 255  # letters


@dataclass(frozen=True)
class Application:
    """A training task on one GPU. Memory in pages, times in cycles.

    `memory`: most that it may hold, None: as much as the GPU has. `slice`: in a row while others wait, 0: the GPU's
    default. It takes `wants` percent of the memory that it is told of, `piece` pages at a time; then it does `steps`
    steps: `host` cycles of its own, `input` bytes to the GPU, `compute` cycles there; `again` and again until all
    others have done theirs. `start`: cycles after the cards have been counted. `group`: path of the group in which its
    own is; empty: the root.
    """

    name: str
    gpu: GpuRef
    memory: int | None
    slice: int
    priority: int
    state: int
    wants: int
    piece: int
    steps: int
    host: int
    compute: int
    input: int
    again: bool
    start: int
    group: str


@dataclass(frozen=True)
class ApplicationGroup:
    """What those in a group may have together. Pages of each GPU, cycles; None, and 0 of `slice`: not given.
    `path`: names from the root, `team/first`."""

    path: str
    memory: int | None
    slice: int
    priority: int | None


@dataclass(frozen=True)
class Sharing:
    """`cycle`: nanoseconds that a cycle stands for; `page`: KiB that a page stands for. `groups`: each behind the one
    that it is in."""

    cycle: int
    page: int
    groups: tuple[ApplicationGroup, ...]
    applications: tuple[Application, ...]

    def slice_of(self, application: Application) -> int:
        """Cycles, as it and the groups around it say; 0: the GPU's default."""
        around = [group.slice for group in self.groups if f"{application.group}/".startswith(f"{group.path}/")]
        return min((given for given in (application.slice, *around) if given), default=0)
