"""ONNX files as layers; files that are none are refused in one line."""

from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.scenario.networks import from_onnx
from ringhil.emulator.scenario.networks.from_onnx import OnnxError, onnx_layers
from ringhil.emulator.scenario.networks.table import read_layers

onnx = pytest.importorskip("onnx", reason="needs onnx: pip install onnx")


def network(path: Path, batch: int | str | None = 2, columns: int | str | None = 8) -> Path:
    """A convolution with its activation, then a fully connected layer."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, 8, columns])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["a"], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Flatten", ["b"], ["c"], name="flat"),
        helper.make_node("Gemm", ["c", "w2"], ["d"], name="full"),
        helper.make_node("MatMul", ["d", "w3"], ["out"], name="product"),
    ]
    shapes = {"w1": (4, 3, 3, 3), "b1": (4,), "w2": (4 * 8 * 8, 10), "w3": (10, 5)}
    weights = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in shapes.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [image], [out], weights)), str(path))
    return path


@pytest.mark.parametrize("batch", [2, 1, "n", None])
def test_layers_are_those_with_weights_for_one_sample(tmp_path: Path, batch: int | str | None) -> None:
    conv, full, product = onnx_layers(network(tmp_path / "n.onnx", batch), {})
    written = 4 * 8 * 8
    assert (conv.name, conv.weights) == ("conv", 4 * (4 * 3 * 3 * 3 + 4))
    assert conv.outputs == 2 * 4 * written  # its own and the activation's
    assert conv.operations == 2 * written * 3 * 3 * 3 + written
    assert (full.weights, full.outputs, full.operations) == (4 * 2560, 4 * 10, 2 * 10 * 256)
    assert (product.weights, product.operations) == (4 * 50, 2 * 5 * 10)


def test_the_command_prints_a_file_that_a_scenario_takes(tmp_path: Path) -> None:
    network(tmp_path / "n.onnx", columns="w")
    done = ringhil("switch", "--from-onnx", tmp_path / "n.onnx", "--size", "w=8")
    assert done.returncode == 0, done.stderr
    (tmp_path / "n.yaml").write_text(done.stdout)
    assert read_layers(tmp_path / "n.yaml") == onnx_layers(network(tmp_path / "again.onnx"), {})
    (tmp_path / "s.yaml").write_text(
        "server: {cards: {a: {gpus: 2}}}\n"
        "switching: {gpu: a.1, tasks: {x: {model: n.yaml}}, requests: [{task: x}, {task: x}]}\n"
    )
    assert ringhil("switch", tmp_path / "s.yaml", "--policy", "pipelined", "--json").returncode == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "this is no ONNX file: it has no version"),
        (b"ONNX\xff\xff\xff\xff", "this is no ONNX file"),
        (b"layers: []\n", "this is no ONNX file"),
    ],
)
def test_what_is_no_onnx_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.onnx").write_bytes(content)
    line = refusal("switch", "--from-onnx", "x.onnx", cwd=tmp_path)
    assert line.startswith("ringhil: x.onnx: ")
    assert words in line


def test_other_wrong_files_and_sizes_are_refused(tmp_path: Path) -> None:
    assert "missing.onnx: cannot be read: No such file" in refusal("switch", "--from-onnx", tmp_path / "missing.onnx")
    assert "cannot be read" in refusal("switch", "--from-onnx", tmp_path)
    network(tmp_path / "n.onnx", columns="w")
    line = refusal("switch", "--from-onnx", tmp_path / "n.onnx")
    assert "dimension 'w' of its input 'image' has no size; give it with --size w=N" in line
    unnamed = refusal("switch", "--from-onnx", network(tmp_path / "u.onnx", columns=None))
    assert unnamed.endswith("dimension number 3 of its input 'image' has no size; give it with --size NAME=N")
    assert "found 'w=0'; allowed is NAME=N" in refusal("switch", "--from-onnx", tmp_path / "n.onnx", "--size", "w=0")
    assert "either a scenario or --from-onnx" in refusal("switch")
    named = refusal("switch", "--from-onnx", network(tmp_path / "w.onnx", "n", "w"), "--size", "W=8")
    assert named.endswith("w.onnx: no dimension of its inputs is called 'W'; those with names are n, w")
    none = refusal("switch", "--from-onnx", network(tmp_path / "2.onnx"), "--size", "w=8")
    assert none.endswith("2.onnx: no dimension of its inputs is called 'w'; none of them has a name")
    assert "--size is for --from-onnx" in refusal("switch", "x.yaml", "--size", "w=1")
    data = (tmp_path / "n.onnx").read_bytes()
    (tmp_path / "half.onnx").write_bytes(data[: len(data) // 2])
    assert "half.onnx" in refusal("switch", "--from-onnx", tmp_path / "half.onnx")


def test_a_network_without_weights_is_refused(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [out])
    onnx.save(helper.make_model(graph), str(tmp_path / "n.onnx"))
    with pytest.raises(OnnxError, match="no layer with weights"):
        onnx_layers(tmp_path / "n.onnx", {})


@pytest.mark.parametrize("product", ["MatMul", "Gemm"])
@pytest.mark.parametrize("shape", [None, []])
def test_an_input_whose_shape_is_not_known_is_named(tmp_path: Path, product: str, shape: list[int] | None) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])
    weights = numpy_helper.from_array(np.zeros((16, 8), dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node(product, ["x", "w"], ["y"])], "g", [x], [y], [weights])
    file = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph), str(file))
    line = refusal("switch", "--from-onnx", file)
    assert "net.onnx: " in line
    assert ("the shape of 'x'" if shape is None else "rank") in line


def test_the_names_that_there_are_come_in_order(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [*"hcfaegbd"])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [])
    onnx.save(helper.make_model(graph), str(tmp_path / "n.onnx"))
    with pytest.raises(OnnxError, match=r"those with names are a, b, c, d, e, f, g, h$"):
        onnx_layers(tmp_path / "n.onnx", {"i": 1})


@pytest.mark.parametrize(("turned", "shape"), [(0, [2, 16]), (1, [16, 2])])
def test_a_product_is_as_long_as_what_is_summed(tmp_path: Path, turned: int, shape: list[int]) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])
    weights = numpy_helper.from_array(np.zeros((16, 8), dtype=np.float32), "w")
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transA=turned)
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y], [weights])), str(tmp_path / "n.onnx"))
    (layer,) = onnx_layers(tmp_path / "n.onnx", {})
    assert layer.operations == 2 * (2 * 8) * 16 // shape[0]


def test_a_file_has_at_most_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = network(tmp_path / "n.onnx").stat().st_size
    monkeypatch.setattr(from_onnx, "_MOST_BYTES", size)
    assert onnx_layers(tmp_path / "n.onnx", {})
    monkeypatch.setattr(from_onnx, "_MOST_BYTES", size - 1)
    with pytest.raises(OnnxError, match=f": {size:,} bytes; allowed are {size - 1:,}$"):
        onnx_layers(tmp_path / "n.onnx", {})
