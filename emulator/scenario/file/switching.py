"""The tasks that follow one another on a GPU (W1 to W7)."""

from dataclasses import dataclass

from ringhil.emulator.scenario.file.policies import SwitchPolicyName
from ringhil.emulator.scenario.file.topology import GpuRef
from ringhil.emulator.scenario.networks.layers import Layer

MIB = 1 << 20
_BACKWARDS = 3  # times the operations of inference takes a step of training


@dataclass(frozen=True)
class NetworkTask:
    """A task and how it is divided (W1): part i has the layers from `parts[i][0]` up to, without, `parts[i][1]`.
    `model`: the published one whose layers they are. `start`, `clean`: microseconds; `environment`: MiB."""

    name: str
    model: str | None
    layers: tuple[Layer, ...]
    parts: tuple[tuple[int, int], ...]
    training: bool
    batch: int
    steps: int
    start: int
    clean: int
    environment: int

    def memory(self, first: int, end: int) -> int:
        """Bytes that a part of these layers asks for (W6): weights and what the layers read and write; in training the
        gradients as well, and every output until the end."""
        layers = self.layers[first:end]
        outputs = [layer.outputs * self.batch for layer in layers]
        weights = sum(layer.weights for layer in layers)
        return 2 * weights + sum(outputs) if self.training else weights + 2 * max(outputs)

    def operations(self, end: int) -> int:
        """Of the layers before number `end`, in one step."""
        factor = _BACKWARDS if self.training else 1
        return factor * self.batch * sum(layer.operations for layer in self.layers[:end])


@dataclass(frozen=True)
class SwitchingRequest:
    """`after`: microseconds after the cards have been counted."""

    task: str
    after: int


@dataclass(frozen=True)
class TaskSwitching:
    """All of it, in the units of the file."""

    cycle: int
    page: int
    link: int
    piece: int
    rate: int
    gpus: tuple[GpuRef, ...]
    policy: SwitchPolicyName
    first_preset: int | None
    second_preset: int
    left: int
    workers: int
    recycle: int
    interrupt: bool
    tasks: tuple[NetworkTask, ...]
    requests: tuple[SwitchingRequest, ...]

    def cycles(self, microseconds: int) -> int:
        """Rounded up."""
        return -(-microseconds * 1000 // self.cycle)

    def pages(self, size: int) -> int:
        """Of so many bytes, rounded up."""
        return -(-size // (self.page * 1024))

    def worked(self, operations: int) -> int:
        """Cycles that the GPU takes for them, to the nearest."""
        return (2 * operations + self.rate * self.cycle) // (2 * self.rate * self.cycle)

    @property
    def stands_for(self) -> float:
        """Bytes of a model that one on the wire stands for."""
        return self.link * self.cycle / 8000

    def on_wire(self, size: int) -> int:
        """Bytes that stand for so many of a model, rounded up: the link carries 8 of them in a cycle, as many of the
        model as its speed says."""
        return -(-size * 8 * 1000 // (self.link * self.cycle))

    @property
    def piece_on_wire(self) -> int:
        """Bytes of a copy at most."""
        return self.on_wire(self.piece * 1024)
