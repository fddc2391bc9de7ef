"""What is to be done, in the units of the hardware: pages, bytes on the link, cycles."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subtask:
    """A part of a task (W1): what it asks for, what is copied for it, what it computes."""

    pages: int
    data: int
    cycles: int


@dataclass(frozen=True)
class PlannedTask:
    """`start` and `clean`: cycles on the CPU; `environment`: pages of the first stage; `most`: those that it holds
    at most when it is prepared subtask by subtask. `whole`: its subtasks in one piece; `layers`: one for each layer."""

    name: str
    start: int
    clean: int
    environment: int
    training: bool
    steps: int
    most: int
    subtasks: tuple[Subtask, ...]
    whole: Subtask
    layers: tuple[Subtask, ...]


@dataclass(frozen=True)
class WantedTask:
    """A request: its number, and when it comes, counted from when the cards have been counted."""

    number: int
    task: PlannedTask
    at: int


@dataclass(frozen=True)
class SwitchPlan:
    """`gpus`: (card, GPU), each used when those before it are lost. `piece`: bytes of a copy at most. `first` and
    `second` preset value: pages; `left`: subtasks. `workers` and `recycle` (cycles): those of PipeSwitch. `interrupt`:
    training is stopped for a request that has come, by policies that do so."""

    policy: str
    gpus: tuple[tuple[int, int], ...]
    requests: Sequence[WantedTask]
    piece: int
    first: int
    second: int
    left: int
    workers: int
    recycle: int
    interrupt: bool
