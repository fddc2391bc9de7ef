"""The layers of an ONNX file. It needs the package `onnx`, which is optional.

A node with weights or a product of matrices is a layer; what comes behind it (normalisation, activation, sums) belongs
to it, at one operation for each number that it writes.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of
from ringhil.emulator.scenario.networks.layers import Layer

if TYPE_CHECKING:
    import onnx

_MOST_BYTES = 2 << 30
_BATCH = 0  # dimension of an input
_PRODUCTS = ("Conv", "Gemm", "MatMul")
_FREE = ("Constant", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Shape", "Transpose", "Cast", "Dropout")
Sizes = tuple[int, ...]


class OnnxError(RinghilError, ValueError):
    """The file can't be used; the text is one line that says why."""


def onnx_layers(path: Path, sizes: Mapping[str, int]) -> tuple[Layer, ...]:
    """The layers, for a batch of one. `sizes`: of dimensions that the file only names. Raises OnnxError."""
    try:
        import onnx
    except ImportError:
        raise OnnxError(
            f"{path}: the package onnx is missing; install it with: pip install 'ringhil[models]'"
        ) from None
    model = _read(path)
    named = {each.dim_param for value in model.graph.input for each in value.type.tensor_type.shape.dim} - {""}
    if unknown := next((name for name in sizes if name not in named), None):
        there = f"those with names are {', '.join(sorted(named))}" if named else "none of them has a name"
        raise OnnxError(f"{path}: no dimension of its inputs is called '{unknown}'; {there}")
    for value in model.graph.input:
        _fix(path, value, sizes)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception as error:  # of several packages
        raise OnnxError(f"{path}: its shapes can't be told: {_line(error)}") from None
    layers = _Graph(path, inferred.graph).layers()
    if not any(layer.weights for layer in layers):
        raise OnnxError(f"{path}: found no layer with weights; needed is a neural network with its weights")
    return layers


def _read(path: Path) -> "onnx.ModelProto":
    import onnx

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise OnnxError(f"{path}: {path.stat().st_size:,} bytes; allowed are {_MOST_BYTES:,}")
        if not path.is_file():
            raise OnnxError(f"{path}: cannot be read: it is no file")
        data = path.read_bytes()
    except OSError as error:
        raise OnnxError(f"{path}: cannot be read: {reason_of(error)}") from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's own
        raise OnnxError(f"{path}: this is no ONNX file: {_line(error)}") from None
    if not model.ir_version or not model.graph.node:
        raise OnnxError(f"{path}: this is no ONNX file: it has no version and no nodes")
    return model


def _fix(path: Path, value: "onnx.ValueInfoProto", sizes: Mapping[str, int]) -> None:
    """Give sizes to the dimensions that have names: one sample, and what was asked for."""
    for place, dimension in enumerate(value.type.tensor_type.shape.dim):
        if dimension.HasField("dim_value"):
            continue
        name = dimension.dim_param
        if name in sizes:
            dimension.dim_value = sizes[name]
        elif place == _BATCH:
            dimension.dim_value = 1
        else:
            shown = f"'{name}'" if name else f"number {place}"
            problem = (
                f"dimension {shown} of its input '{value.name}' has no size; give it with --size {name or 'NAME'}=N"
            )
            raise OnnxError(f"{path}: {problem}")


class _Graph:
    """A graph whose shapes are known."""

    def __init__(self, path: Path, graph: "onnx.GraphProto") -> None:
        self._path, self._graph = path, graph
        self._weights = {each.name: tuple(each.dims) for each in graph.initializer}
        self._bytes = {each.name: math.prod(each.dims) * _width(each.data_type) for each in graph.initializer}
        self._shapes: dict[str, tuple[Sizes, int]] = {
            name: (dims, self._bytes[name] // max(1, math.prod(dims))) for name, dims in self._weights.items()
        }
        for value in (*graph.input, *graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            dims = tuple(each.dim_value for each in tensor.shape.dim)
            if tensor.HasField("shape") and all(dims) and tensor.elem_type:
                self._shapes.setdefault(value.name, (dims, _width(tensor.elem_type)))
        inputs = [each for each in graph.input if each.name not in self._weights]
        first = self._shapes.get(inputs[0].name, ((1,), 4))[0] if inputs else (1,)
        self._batch = max(1, first[_BATCH]) if first else 1
        self._counted: set[str] = set()

    def layers(self) -> tuple[Layer, ...]:
        """In the order of the nodes, which is one in which they can run."""
        found: list[Layer] = []
        for number, node in enumerate(self._graph.node):
            layer = self._layer(number, node)
            if found and not layer.weights and node.op_type not in _PRODUCTS:
                before = found[-1]
                outputs = before.outputs if node.op_type in _FREE else before.outputs + layer.outputs
                found[-1] = replace(before, outputs=outputs, operations=before.operations + layer.operations)
            elif layer.weights or layer.operations:
                found.append(layer)
        return tuple(found)

    def _layer(self, number: int, node: "onnx.NodeProto") -> Layer:
        own = [name for name in node.input if name in self._bytes and name not in self._counted]
        self._counted.update(own)
        written = [self._shape(name, node) for name in node.output if name] if node.op_type not in _FREE else []
        outputs = sum(math.prod(dims) * width for dims, width in written)
        operations = self._operations(node, math.prod(written[0][0])) if written else 0
        return Layer(
            node.name or f"{node.op_type}{number}",
            sum(self._bytes[name] for name in own),
            -(-outputs // self._batch),
            -(-operations // self._batch),
        )

    def _operations(self, node: "onnx.NodeProto", written: int) -> int:
        match node.op_type:
            case "Conv":
                dims = self._shape(node.input[1], node)[0]  # outputs, inputs of a group, window
                return 2 * written * math.prod(dims[1:])
            case "MatMul":
                return 2 * written * self._shape(node.input[0], node)[0][-1]
            case "Gemm":
                turned = any(each.name == "transA" and each.i for each in node.attribute)
                return 2 * written * self._shape(node.input[0], node)[0][0 if turned else -1]
            case "Gather":
                return 0
        return written

    def _shape(self, name: str, node: "onnx.NodeProto") -> tuple[Sizes, int]:
        if name not in self._shapes:
            raise OnnxError(f"{self._path}: the shape of '{name}' (node '{node.name or node.op_type}') can't be told")
        return self._shapes[name]


def _width(data_type: int) -> int:
    """Bytes of a number."""
    from onnx import helper

    return int(helper.tensor_dtype_to_np_dtype(data_type).itemsize)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
