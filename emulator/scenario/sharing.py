"""The applications that share GPUs (S1, S4)."""

from dataclasses import dataclass

from ringhil.emulator.scenario.topology import GpuRef


@dataclass(frozen=True)
class Application:
    """A training task on one GPU. Memory in pages, times in cycles.

    `memory`: most that it may hold, None: as much as the GPU has. `slice`: in a row while others wait, 0: the GPU's
    default. It takes `wants` percent of the memory that it is told of, `piece` pages at a time; then it does `steps`
    steps: `host` cycles of its own, `input` bytes to the GPU, `compute` cycles there; `again` and again until all
    others have done theirs. `start`: cycles after the cards have been counted.
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


@dataclass(frozen=True)
class Sharing:
    """`cycle`: nanoseconds that a cycle stands for; `page`: KiB that a page stands for."""

    cycle: int
    page: int
    applications: tuple[Application, ...]
