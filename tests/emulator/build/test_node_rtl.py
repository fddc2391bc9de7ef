"""A directory with somebody's node is completed with our files, and takes the place of our node in a whole server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import cell_sources, modules, sources
from ringhil.emulator.engine.library import RTL

ROOT = Path(__file__).parents[3]
THIRD_PARTY = ROOT / "examples" / "third-party" / "rtl"


def test_our_own_directory_stays_as_it_is() -> None:
    files = cell_sources(RTL)
    assert files == sources(RTL)
    assert files[0].name == "ringhil_pkg.sv"


def test_a_lone_node_gets_what_it_lacks() -> None:
    files = cell_sources(THIRD_PARTY, "other_node")
    there = modules(files)
    assert {"ringhil_pkg", "ring_cell", "link_channel", "gpu_node", "other_node"} <= set(there)
    assert there["ring_cell"].parent == RTL
    assert "other_node u_node (.*);" in there["gpu_node"].read_text()


def test_a_node_that_never_rests_gets_an_adapter_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "restless.sv").write_text("module restless (input logic clk_i);\nendmodule\n")
    text = modules(cell_sources(tmp_path, "restless"))["gpu_node"].read_text()
    assert "assign quiescent_o = 1'b0;" in text
    assert ".mrx3_ctl_o" in text
    assert ".quiescent_o" not in text


def test_names_in_comments_are_no_modules(tmp_path: Path) -> None:
    (tmp_path / "a.sv").write_text("// module ghost\n/*\nmodule ghost2;\n*/\nmodule real_one;\nendmodule\n")
    assert set(modules((tmp_path / "a.sv",))) == {"real_one"}


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"// caf\xe9\n", b"/* \xff\xfe */ ", "// é\n".encode()])
def test_a_mark_and_comments_in_any_encoding_are_read(before: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.sv").write_bytes(before + b"module real_one; // \xe9\nendmodule\n")
    assert set(modules((tmp_path / "a.sv",))) == {"real_one"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.sv", b"\xff\xfe", "no module 'gpu_node'; there are: none"),
        ('a"b.sv', b"", "has a quote, backslash or line break in its name; rename it"),
        ("a.sv", b"module other;\nendmodule\n", "no module 'gpu_node'; there are: other"),
    ],
)
def test_what_cannot_be_completed_is_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BuildError, match=said):
        cell_sources(tmp_path)


@pytest.mark.slow(part="engine")
@pytest.mark.parametrize("example", ["one-card.yaml", "fail-over.yaml"])
def test_a_server_runs_with_somebody_elses_node(example: str) -> None:
    arguments = ["run", ROOT / "examples" / example, "--rtl", THIRD_PARTY, "--top", "other_node", "--json"]
    command = [sys.executable, "-m", "ringhil.emulator", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "pass"
    ours = subprocess.run([*command[:5], "--json"], capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(ours.stdout)["engine"]["rtl"] != document["engine"]["rtl"]


@pytest.mark.slow(part="engine")
def test_a_copy_of_our_node_under_another_name_gives_the_same_run(tmp_path: Path) -> None:
    rtl = Path(shutil.copytree(RTL, tmp_path / "rtl"))
    for name in ("ring_cell", "link_channel", "card_top", "server_top", "ringhil_pkg"):
        (rtl / f"{name}.sv").unlink()
    node = rtl / "gpu_node.sv"
    node.write_text(node.read_text().replace("\nmodule gpu_node\n", "\nmodule renamed\n"))
    node.rename(rtl / "renamed.sv")
    example = str(ROOT / "examples" / "one-card.yaml")
    documents = []
    for more in ([], ["--rtl", str(rtl), "--top", "renamed"]):
        command = [sys.executable, "-m", "ringhil.emulator", "run", example, "--json", *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        document = json.loads(done.stdout)
        document.pop("engine")
        document["hashes"].pop("rtl")  # over names, too
        documents.append(document)
    assert documents[0] == documents[1]
