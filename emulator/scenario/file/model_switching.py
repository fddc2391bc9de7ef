"""The part `switching` of a file, and files of layers, as they are written; see `model.py`."""

from typing import Annotated, Literal

from pydantic import Field

from ringhil.emulator.scenario.file.policies import SwitchPolicyText
from ringhil.emulator.scenario.file.types import CardName, Members, Number, OneLine, Part, Positive

_MOST = (1 << 48) - 1  # bytes or operations of a layer
Amount = Annotated[int, Field(ge=0, le=_MOST)]

# Keys that exclude one another.
LAYERS: tuple[Literal["model", "layers"], ...] = ("model", "layers")
DIVISIONS: tuple[Literal["subtasks", "division"], ...] = ("subtasks", "division")


class ModelLayer(Part):
    """A layer of a neural network."""

    name: OneLine = Field(description="what it is called in reports")
    weights: Amount = Field(description="bytes of its parameters")
    outputs: Amount = Field(0, description="bytes that it writes for one sample of a batch")
    operations: Amount = Field(description="additions and multiplications for one sample of a batch")


class ModelTable(Part):
    """A file of layers."""

    source: OneLine | None = Field(None, description="where they are from")
    layers: list[ModelLayer] = Field(min_length=1, max_length=10_000, description="in the order in which they run")


class SwitchTask(Part):
    """A task (W1). Exactly one of `model` and `layers`, at most one of `subtasks` and `division`."""

    model: OneLine | None = Field(
        None, description="a published network, or a file of layers, relative to this file's folder"
    )
    layers: list[ModelLayer] | None = Field(
        None, min_length=1, max_length=10_000, description="layers in the order in which they run"
    )
    kind: Literal["inference", "training"] = Field(
        "inference", description="training: three times the operations, gradients, and all outputs are kept"
    )
    batch: int = Field(1, ge=1, le=65536, description="samples that are computed at a time")
    steps: Positive = Field(1, description="passes through all layers")
    subtasks: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="parts that the layers are divided into, of about equal weights (4)",
    )
    division: list[Positive] | None = Field(None, min_length=1, description="layers of each part")
    start: Number = Field(0, description="microseconds: first stage of the preparation")
    clean: Number = Field(0, description="microseconds: cleanup on the CPU")
    environment: Number = Field(0, description="MiB that the first stage takes")


class SwitchRequest(Part):
    """Someone wants a task done, once."""

    task: CardName = Field(description="name of the task")
    after: Number = Field(0, description="microseconds after the cards have been counted")


class Switching(Part):
    """Tasks that use one GPU one after the other, and what the emulator's units stand for."""

    cycle: Positive = Field(1000, description="nanoseconds that a cycle stands for")
    page: Positive = Field(1024, description="KiB that a page of memory stands for")
    link: Positive = Field(15754, description="MB/s: raw speed of the link that models come over (PCIe 3.0 x16)")
    piece: Positive = Field(4096, description="KiB of a model that one command copies at most")
    rate: Positive = Field(6800, description="operations in a nanosecond that the GPU does")
    gpu: Members = Field(description="the GPU that they use; of a list, the next one when one is lost")
    policy: SwitchPolicyText = Field("pipelined", description="how one task follows another")
    first_preset: Positive | None = Field(
        None, description="MiB that the initialised tasks may hold together; all memory of the GPU unless given (W2)"
    )
    second_preset: Number = Field(
        0, description="MiB: a subtask that wants more is marked, and subtasks that run together have at most that"
    )
    left: Number = Field(2, description="subtasks: with fewer of them left the next task's first one is prepared (W3)")
    workers: int = Field(2, ge=2, le=14, description="processes of the policy pipeswitch, active or standing by")
    recycle: Number = Field(1000, description="microseconds until a worker of pipeswitch can be active again")
    interrupt: bool = Field(
        False, description="pipeswitch and stop_start stop training for a request that has come, and go on later"
    )
    tasks: dict[CardName, SwitchTask] = Field(min_length=1, max_length=1000, description="tasks by name")
    requests: list[SwitchRequest] = Field(
        min_length=1, max_length=10_000, description="which task is wanted when, in the order in which they are done"
    )
