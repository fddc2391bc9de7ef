"""ResNet-152: He, Zhang, Ren and Sun, Deep Residual Learning for Image Recognition, CVPR 2016, table 1."""

from ringhil.emulator.scenario.networks.convolutions import Layers, Shape, pooled
from ringhil.emulator.scenario.networks.layer import Layer

_STAGES = ((3, 64), (8, 128), (36, 256), (3, 512))  # blocks, channels of the middle
_WIDER = 4  # times the middle's channels has a block's output
_CLASSES = 1000


def resnet_152() -> tuple[Layer, ...]:
    """Images of 224 by 224. A block's shortcut is a layer of its own where it has weights."""
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
