"""Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, Rethinking the Inception Architecture for Computer Vision,
CVPR 2016, table 1 and figures 5 to 7, without the auxiliary classifier, which inference doesn't use."""

from ringhil.emulator.scenario.networks.convolutions import Layers, Shape, pooled
from ringhil.emulator.scenario.networks.layer import Layer

_CLASSES = 1000
_Step = tuple[int, int | tuple[int, int], int, int]  # channels, kernel, stride, padding
_WIDE, _TALL = (1, 7), (7, 1)
_ENDS = (("wide", (1, 3)), ("tall", (3, 1)))


def inception_v3() -> tuple[Layer, ...]:
    """Images of 299 by 299."""
    net = Layers()
    shape = _branch(net, "stem", Shape(3, 299), [(32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1)])
    shape = Shape(64, pooled(shape.size, 3, 2))
    shape = _branch(net, "stem2", shape, [(80, 1, 1, 0), (192, 3, 1, 0)])
    shape = Shape(192, pooled(shape.size, 3, 2))
    for number, pool in enumerate((32, 64, 64), 1):
        shape = _block_a(net, f"mixed5.{number}", shape, pool)
    shape = _block_b(net, "mixed6.0", shape)
    for number, middle in enumerate((128, 160, 160, 192), 1):
        shape = _block_c(net, f"mixed6.{number}", shape, middle)
    shape = _block_d(net, "mixed7.0", shape)
    for number in (1, 2):
        shape = _block_e(net, f"mixed7.{number}", shape)
    net.linear("fc", shape.channels, _CLASSES)
    return tuple(net.made)


def _branch(net: Layers, name: str, shape: Shape, steps: list[_Step]) -> Shape:
    for number, (channels, kernel, stride, padding) in enumerate(steps, 1):
        shape = net.convolution(f"{name}.{number}", shape, channels, kernel, stride, padding)
    return shape


def _joined(*branches: Shape, pooled_channels: int = 0) -> Shape:
    return Shape(sum(branch.channels for branch in branches) + pooled_channels, branches[0].size)


def _block_a(net: Layers, name: str, of: Shape, pool: int) -> Shape:
    """Figure 5."""
    return _joined(
        _branch(net, f"{name}.single", of, [(64, 1, 1, 0)]),
        _branch(net, f"{name}.five", of, [(48, 1, 1, 0), (64, 5, 1, 2)]),
        _branch(net, f"{name}.double", of, [(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 1, 1)]),
        _branch(net, f"{name}.pool", of, [(pool, 1, 1, 0)]),
    )


def _block_b(net: Layers, name: str, of: Shape) -> Shape:
    """Half as large."""
    three = _branch(net, f"{name}.three", of, [(384, 3, 2, 0)])
    double = _branch(net, f"{name}.double", of, [(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 2, 0)])
    return _joined(three, double, pooled_channels=of.channels)


def _block_c(net: Layers, name: str, of: Shape, middle: int) -> Shape:
    """Figure 6."""
    first: _Step = (middle, 1, 1, 0)
    seven: list[_Step] = [first, (middle, _WIDE, 1, 0), (192, _TALL, 1, 0)]
    double: list[_Step] = [
        first,
        (middle, _TALL, 1, 0),
        (middle, _WIDE, 1, 0),
        (middle, _TALL, 1, 0),
        (192, _WIDE, 1, 0),
    ]
    return _joined(
        _branch(net, f"{name}.single", of, [(192, 1, 1, 0)]),
        _branch(net, f"{name}.seven", of, seven),
        _branch(net, f"{name}.double", of, double),
        _branch(net, f"{name}.pool", of, [(192, 1, 1, 0)]),
    )


def _block_d(net: Layers, name: str, of: Shape) -> Shape:
    """Half as large."""
    three = _branch(net, f"{name}.three", of, [(192, 1, 1, 0), (320, 3, 2, 0)])
    steps: list[_Step] = [(192, 1, 1, 0), (192, _WIDE, 1, 0), (192, _TALL, 1, 0), (192, 3, 2, 0)]
    return _joined(three, _branch(net, f"{name}.seven", of, steps), pooled_channels=of.channels)


def _block_e(net: Layers, name: str, of: Shape) -> Shape:
    """Figure 7: two of its branches fork once more."""
    single = _branch(net, f"{name}.single", of, [(320, 1, 1, 0)])
    three = _branch(net, f"{name}.three", of, [(384, 1, 1, 0)])
    three_ends = [net.convolution(f"{name}.three.{end}", three, 384, kernel) for end, kernel in _ENDS]
    double = _branch(net, f"{name}.double", of, [(448, 1, 1, 0), (384, 3, 1, 1)])
    double_ends = [net.convolution(f"{name}.double.{end}", double, 384, kernel) for end, kernel in _ENDS]
    pool = _branch(net, f"{name}.pool", of, [(192, 1, 1, 0)])
    return _joined(single, *three_ends, *double_ends, pool)
