"""A layer of a neural network, as far as memory, transfer and time go."""

from dataclasses import dataclass

FLOAT = 4  # bytes of a number


@dataclass(frozen=True)
class Layer:
    """`weights`: bytes of its parameters. For one sample of a batch: `outputs`, bytes that it writes, and `operations`,
    additions and multiplications."""

    name: str
    weights: int
    outputs: int
    operations: int
