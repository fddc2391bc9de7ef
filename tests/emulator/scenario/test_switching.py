"""The part `switching` of a file: how layers are divided, what is refused, and that it is written as it was read."""

from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.switching import SWITCH_POLICIES
from ringhil.emulator.scenario import ScenarioError, SwitchPolicyName, dumps, load, loads
from ringhil.emulator.scenario.networks.layers import divide, most_at_once

GOOD = """server: {cards: {a: {gpus: 3}}}
switching:
  gpu: a.1
  tasks:
    x: {layers: [{name: l, weights: 5000, operations: 7}, {name: m, weights: 9, operations: 0}]}
    r: {model: resnet-152, kind: training, batch: 8, subtasks: 5, environment: 100, start: 70, clean: 8, steps: 3}
  requests: [{task: x}, {task: r, after: 5}]
"""


LAYERS = "layers: [{name: l, weights: 5000, operations: 7}, {name: m, weights: 9, operations: 0}]"


def test_what_is_written_loads_to_the_same() -> None:
    scenario = loads(GOOD, "s")
    text = dumps(scenario)
    assert loads(text) == scenario
    assert dumps(loads(text)) == text
    assert "model: resnet-152" in text


def test_layers_of_a_file_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("layers: [{name: a, weights: 1, operations: 2}]\n")
    (tmp_path / "s.yaml").write_text(GOOD.replace("resnet-152", "m.yaml").replace("subtasks: 5", "subtasks: 1"))
    scenario = load(tmp_path / "s.yaml")
    assert loads(dumps(scenario)) == scenario


@pytest.mark.parametrize(("piece", "size"), [(125001, 65000), (14, 8)])
def test_a_piece_is_as_long_as_a_command_can_be(piece: int, size: int) -> None:
    switching = loads(GOOD.replace("gpu: a.1", f"gpu: a.1\n  piece: {piece}")).switching
    assert switching is not None
    assert switching.piece_on_wire == size


def test_a_task_has_four_parts_or_as_many_as_it_has_layers() -> None:
    switching = loads(GOOD.replace("subtasks: 5, ", "")).switching
    assert switching is not None
    assert [len(task.parts) for task in switching.tasks] == [2, 4]


@pytest.mark.parametrize("environment", [100, 163])
def test_its_environment_takes_room_beside_its_parts(environment: int) -> None:
    """Below the first preset value, and on the GPU: there the model is one piece."""
    text = GOOD.replace("environment: 100", f"environment: {environment}")

    def said(old: str, new: str) -> str:
        try:
            loads(text.replace(old, new))
        except ScenarioError as error:
            return str(error).partition("switching.tasks.r: ")[2]
        return "good"

    parts = 1149  # pages of the model
    first, room = environment + parts, environment + parts - 1
    assert said("gpu: a.1", f"gpu: a.1\n  first_preset: {first}") == "good"
    wanted = f"it takes {first} pages; the first preset value is {first - 1}"
    assert said("gpu: a.1", f"gpu: a.1\n  first_preset: {first - 1}") == wanted
    on_gpu = "gpus: 3}}}}, settings: {{device_memory: {}}}}}"
    wanted = f"it takes {room} pages as a whole; the GPU has {room - 1} (device_memory)"
    assert said("gpus: 3}}}", on_gpu.format(room - 1)) == wanted
    assert said("gpus: 3}}}", on_gpu.format(first)) == "good"


def test_policies_of_a_file_are_those_that_there_are() -> None:
    assert list(SWITCH_POLICIES) == list(SwitchPolicyName)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=9), st.data())
def test_the_heaviest_part_is_as_light_as_can_be(weights: list[int], data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, len(weights)))
    divided = divide(weights, parts)
    assert len(divided) == parts
    assert [first for first, _ in divided] == [0, *(end for _, end in divided[:-1])]
    assert divided[-1][1] == len(weights)
    assert all(first < end for first, end in divided)
    every = (pairwise((0, *cuts, len(weights))) for cuts in combinations(range(1, len(weights)), parts - 1))
    least = min(max(sum(weights[first:end]) for first, end in way) for way in every)
    assert max(sum(weights[first:end]) for first, end in divided) == least


def test_what_a_task_holds_at_most() -> None:
    assert most_at_once([5, 7, 3], 1) == 12
    assert most_at_once([5, 7, 3], 2) == 15
    assert most_at_once([5], 1) == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("gpu: a.1", "gpu: a.3"), "s.yaml:3:8: switching.gpu: unknown GPU 'a.3'"),
        (("gpu: a.1", "gpu: [a.1, a.1]"), "switching.gpu[1]: a.1 a second time"),
        ((LAYERS, "layers: []"), "found an empty list"),
        (("subtasks: 5", "subtasks: 0"), "found 0; allowed is a whole number, 1 .. 10000"),
        (("subtasks: 5", "subtasks: 157"), "found 157; there are 156 layers, so allowed are 1 .. 156"),
        (("subtasks: 5", "division: [3, 4]"), "found parts with 7 layers; there are 156"),
        (("subtasks: 5", "subtasks: 5, division: [156]"), "key 'division' beside 'subtasks'"),
        (("weights: 5000", "weights: -1"), "found -1; allowed is a whole number, 0 .. 281474976710655"),
        (("weights: 5000", "weights: 281474976710656"), "found 281474976710656"),
        (("weights: 5000", "weights: 281474976710655"), "the GPU has 65536 (device_memory)"),
        ((LAYERS, f"{LAYERS}, batch: 65536".replace("7", "281474976710655")), "takes more than 4294967295 cycles"),
        (("model: resnet-152", "model: resnet-151"), "unknown model 'resnet-151'; did you mean 'resnet-152'?"),
        (("model: resnet-152", "model: no.yaml"), "'no.yaml' cannot be read: No such file"),
        (("model: resnet-152, ", ""), "none of the keys that say which; allowed is exactly one of model, layers"),
        (("task: r, after: 5", "task: q"), "unknown task 'q'"),
        (("task: r, after: 5", "task: r, after: -5"), "found -5"),
        (("requests: [", "requests: [] #"), "found an empty list"),
        (("gpu: a.1", "gpu: a.1\n  policy: fastest"), "found 'fastest'; allowed is one of pipelined, pipeswitch"),
        (("gpu: a.1", "gpu: a.1\n  first_preset: 70000"), "found 70000 MiB, 70000 pages; the GPU has 65536"),
        (("gpu: a.1", "gpu: a.1\n  first_preset: 90"), "pages; the first preset value is 90"),
        (("gpu: a.1", "gpu: a.1\n  second_preset: -1"), "found -1"),
        (("gpu: a.1", "gpu: a.1\n  piece: 400000000"), "allowed are 8 .. 65000, at this speed 14 .. 125001 KiB"),
        (("gpu: a.1", "gpu: a.1\n  link: 4294967295"), "s.yaml:4:9: switching.link: a piece of 4096 KiB takes 1 bytes"),
        (("gpu: a.1", "gpu: a.1\n  cycle: 1\n  link: 1"), "s.yaml:5:9: switching.link: a piece of 4096 KiB takes"),
        (("gpu: a.1", "gpu: a.1\n  cycle: 1"), "s.yaml:4:10: switching.cycle: a piece of 4096 KiB takes"),
        (("gpu: a.1", "gpu: a.1\n  piece: 125002"), "a piece of 125002 KiB takes 65001 bytes"),
        (("gpu: a.1", "gpu: a.1\n  piece: 13"), "a piece of 13 KiB takes 7 bytes"),
        (("gpu: a.1", "gpu: a.1\n  workers: 1"), "found 1; allowed is a whole number, 2 .. 14"),
        (("kind: training", "kind: trainig"), "found 'trainig'; allowed is one of inference, training"),
        (
            ("switching:", "sharing: {applications: {z: {gpu: a.1, steps: 1, compute: 1}}}\nswitching:"),
            "beside 'sharing'",
        ),
    ],
)
def test_wrong_files_are_refused(change: tuple[str, str], words: str) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    with pytest.raises(ScenarioError) as caught:
        loads(text, "s.yaml")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("layers: []\n", "m.yaml:1:9: layers: found an empty list"),
        ("layers: [{name: a, weights: x, operations: 1}]\n", "m.yaml:1:29: layers[0].weights: found 'x'"),
        ("layer: []\n", "m.yaml:1:1: top level: unknown key 'layer'; did you mean 'layers'?"),
        ("layers: [{name: a, weights: 1}]\n", "key 'operations' is missing"),
        ("[1]\n", "m.yaml:1:1: top level: found a list of length 1; allowed is a mapping"),
        ("layers: [\n", "m.yaml:2"),
    ],
)
def test_wrong_files_of_layers_are_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "m.yaml").write_text(content)
    (tmp_path / "s.yaml").write_text(GOOD.replace("resnet-152", "m.yaml"))
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "s.yaml")
    assert words in str(caught.value)
