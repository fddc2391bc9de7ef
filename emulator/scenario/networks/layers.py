"""Layers of a neural network, as far as memory, transfer and time go, and their division into subtasks (W1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FLOAT = 4  # bytes of a number


@dataclass(frozen=True)
class Layer:
    """`weights`: bytes of its parameters. For one sample of a batch: `outputs`, bytes that it writes, and `operations`,
    additions and multiplications."""

    name: str
    weights: int
    outputs: int
    operations: int


def divide(weights: Sequence[int], parts: int) -> tuple[tuple[int, int], ...]:
    """First layer and the one behind the last of each part. The largest part is as small as it can be; `parts` are at
    most as many as there are layers, and each has one at least."""
    low, high = max(weights), max(1, sum(weights))
    while low < high:
        middle = (low + high) // 2
        if len(_cut(weights, middle)) <= parts:
            high = middle
        else:
            low = middle + 1
    starts = _cut(weights, low)
    while len(starts) < parts:  # cut what is left whole, the heaviest first
        ends = [*starts[1:], len(weights)]
        several = [(sum(weights[a:b]), -a, b) for a, b in zip(starts, ends, strict=True) if b - a > 1]
        _, first, end = max(several)
        starts = sorted([*starts, (end - first) // 2])
    return tuple(pairwise((*starts, len(weights))))


def of_lengths(lengths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Parts with so many layers."""
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    return tuple(pairwise(ends))


def most_at_once(sizes: Sequence[int], steps: int) -> int:
    """What parts of these sizes hold at most: one and the next one (W5); all of them when they run several times."""
    if steps > 1 or len(sizes) == 1:
        return sum(sizes)
    return max(a + b for a, b in pairwise(sizes))


def _cut(weights: Sequence[int], most: int) -> list[int]:
    """First layers of parts that are as long as `most` allows."""
    starts, held = [0], 0
    for layer, weight in enumerate(weights):
        if held + weight > most and layer > starts[-1]:
            starts.append(layer)
            held = 0
        held += weight
    return starts
