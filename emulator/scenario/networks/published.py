"""Published networks as layers, of numbers from their papers alone.

A convolution is one layer with the normalisation behind it, which costs no time here.
"""

from typing import NamedTuple

from ringhil.emulator.scenario.networks.layers import FLOAT, Layer


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


_STAGES = ((3, 64), (8, 128), (36, 256), (3, 512))  # blocks, channels of the middle
_WIDER = 4  # times the middle's channels has a block's output
_CLASSES = 1000


def resnet_152() -> tuple[Layer, ...]:
    """ResNet-152: He, Zhang, Ren and Sun, Deep Residual Learning for Image Recognition, CVPR 2016, table 1. Images of
    224 by 224. A block's shortcut is a layer of its own where it has weights."""
    net = Layers()
    shape = net.convolution("conv1", Shape(3, 224), 64, 7, stride=2, padding=3)
    shape = Shape(64, pooled(shape.size, 3, 2, 1))
    for stage, (blocks, middle) in enumerate(_STAGES, 2):
        for block in range(blocks):
            name = f"conv{stage}_{block + 1}"
            stride = 2 if block == 0 and stage > 2 else 1
            inner = net.convolution(f"{name}.1", shape, middle, 1)
            inner = net.convolution(f"{name}.2", inner, middle, 3, stride, padding=1)
            out = net.convolution(f"{name}.3", inner, _WIDER * middle, 1)
            if block == 0:
                net.convolution(f"{name}.shortcut", shape, _WIDER * middle, 1, stride)
            shape = out
    net.linear("fc", shape.channels, _CLASSES)
    return tuple(net.made)


_Step = tuple[int, int | tuple[int, int], int, int]  # channels, kernel, stride, padding
_WIDE, _TALL = (1, 7), (7, 1)
_ENDS = (("wide", (1, 3)), ("tall", (3, 1)))


def inception_v3() -> tuple[Layer, ...]:
    """Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, Rethinking the Inception Architecture for Computer
    Vision, CVPR 2016, table 1 and figures 5 to 7, without the auxiliary classifier, which inference doesn't use. Images
    of 299 by 299."""
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


_BLOCKS, _WIDTH, _HEADS, _INNER = 12, 768, 12, 3072
_WORDS, _PLACES, _SEGMENTS = 30_522, 512, 2
_NORMALISATION = 2 * _WIDTH


def bert_base(words: int = 251) -> tuple[Layer, ...]:
    """BERT-base: Devlin, Chang, Lee and Toutanova, BERT: Pre-training of Deep Bidirectional Transformers, NAACL 2019,
    section 3 (12 blocks, 768 wide, 12 heads); the vocabulary of 30,522 words is that of the published uncased model.
    Texts of `words` words. To look words up takes no operations, and reads a large table."""
    net = Layers()
    vectors = FLOAT * _WIDTH * words
    embeddings = (("words", _WORDS, 0), ("places", _PLACES, 0), ("segments", _SEGMENTS, _NORMALISATION))
    for name, rows, extra in embeddings:
        net.made.append(Layer(f"embeddings.{name}", FLOAT * (rows * _WIDTH + extra), vectors, 0))
    for number in range(1, _BLOCKS + 1):
        block = f"block{number}"
        for name in ("query", "key", "value"):
            net.linear(f"{block}.{name}", _WIDTH, _WIDTH, words)
        # Each word with each: scores and their sums, over all heads as much as over one of the whole width.
        scores = FLOAT * _HEADS * words**2
        net.made.append(Layer(f"{block}.attention", 0, scores + vectors, 2 * 2 * words**2 * _WIDTH))
        net.linear(f"{block}.output", _WIDTH, _WIDTH, words, _NORMALISATION)
        net.linear(f"{block}.wider", _WIDTH, _INNER, words)
        net.linear(f"{block}.narrower", _INNER, _WIDTH, words, _NORMALISATION)
    net.linear("pooler", _WIDTH, _WIDTH)
    return tuple(net.made)
