"""Layers of convolutional networks: each convolution with the normalisation behind it, which costs no time here."""

from typing import NamedTuple

from ringhil.emulator.scenario.networks.layer import FLOAT, Layer


class Shape(NamedTuple):
    """Of what a layer reads or writes for one sample: channels, rows and columns (a square)."""

    channels: int
    size: int

    @property
    def bytes(self) -> int:
        """What it takes."""
        return FLOAT * self.channels * self.size**2


class Layers:
    """A network while it is put together."""

    def __init__(self) -> None:
        self.made: list[Layer] = []

    def convolution(
        self, name: str, of: Shape, channels: int, kernel: int | tuple[int, int], stride: int = 1, padding: int = 0
    ) -> Shape:
        """Without bias, and a normalisation (a scale and a shift for each channel). `kernel`: rows and columns; with
        two of them the padding keeps the size."""
        rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
        size = of.size if rows != columns else pooled(of.size, rows, stride, padding)
        shape = Shape(channels, size)
        parameters = of.channels * rows * columns * channels
        operations = 2 * parameters * size**2
        self.made.append(Layer(name, FLOAT * (parameters + 2 * channels), shape.bytes, operations))
        return shape

    def linear(self, name: str, inputs: int, outputs: int, rows: int = 1, extra: int = 0) -> None:
        """With bias; of `rows` vectors for each sample. `extra`: parameters of a normalisation behind it."""
        parameters = inputs * outputs
        weights = FLOAT * (parameters + outputs + extra)
        self.made.append(Layer(name, weights, FLOAT * outputs * rows, 2 * parameters * rows))


def pooled(size: int, kernel: int, stride: int, padding: int = 0) -> int:
    """Rows that are left of `size` by a window of `kernel` rows."""
    return (size + 2 * padding - kernel) // stride + 1
