"""RTL that can't be checked at all is refused in one line, exit code 2."""

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.command import refusal

from ringhil.emulator.engine.library import RTL

NODE = "gpu_node.sv"
FIRST = "  logic [3:0][63:0] d_data, "  # where the wires of the node itself begin


@pytest.fixture
def rtl(tmp_path: Path) -> Path:
    """A copy of our RTL."""
    return Path(shutil.copytree(RTL, tmp_path / "rtl"))


def change(file: Path, before: str, after: str) -> None:
    """Exactly one place."""
    text = file.read_text()
    assert text.count(before) == 1, before
    file.write_text(text.replace(before, after))


def refused(*arguments: object, path: str | None = None) -> str:
    """What `ringhil rtl` says when it refuses."""
    environment = dict(os.environ) if path is None else {**os.environ, "PATH": path}
    return refusal("rtl", *arguments, env=environment)


def test_what_does_not_compile(rtl: Path) -> None:
    change(rtl / NODE, "assign out_of_ring = bypassed != 2'b00;", "assign out_of_ring = ;")
    said = refused("check", "--rtl", rtl)
    assert f"{rtl / NODE}:" in said
    assert "syntax error" in said


def test_a_missing_port(rtl: Path) -> None:
    text = (rtl / NODE).read_text()
    text = text.replace("    output logic [                 3:0] mrx3_ctl_o,\n", "")
    text = text.replace(FIRST, f"  logic [3:0] mrx3_ctl_o;\n{FIRST}")
    (rtl / NODE).write_text(text)
    assert "gpu_node: port mrx3_ctl_o is missing; the contract asks for an output of 4 bits" in refused(
        "check", "--rtl", rtl
    )


@pytest.mark.rest
def test_a_port_of_the_wrong_width(rtl: Path) -> None:
    change(rtl / NODE, "input  logic [                63:0] now_i,", "input  logic [                31:0] now_i,")
    said = refused("check", "--rtl", rtl, "--top", "gpu_node")
    # Other complaints about widths are warnings; this one decides.
    assert "gpu_node: port now_i is an input of 32 bits; the contract asks for an input of 64 bits" in said


def test_a_port_of_the_wrong_direction_and_an_unknown_input(tmp_path: Path) -> None:
    text = (RTL / NODE).read_text()
    ports = text[text.index("    input  logic                        clk_i") : text.index(");")]
    (tmp_path / "stub.sv").write_text(
        "module stub import ringhil_pkg::*; (\n  input logic extra_i,\n"
        + ports.replace("output logic                        mtx_ready_o", "input  logic mtx_ready_o")
        + ");\nendmodule\n"
    )
    said = refused("check", "--rtl", tmp_path, "--top", "stub")
    assert "stub: port mtx_ready_o is an input of 1 bit; the contract asks for an output of 1 bit (and 1 more)" in said


@pytest.mark.rest
def test_a_combinational_loop(rtl: Path) -> None:
    change(rtl / NODE, "  assign out_of_ring = bypassed != 2'b00;", "  assign out_of_ring = bypassed[0] ^ looped;")
    change(
        rtl / NODE,
        FIRST,
        "  logic looped, twisted;\n  assign looped = twisted | out_of_ring;\n  assign twisted = ~looped & now_i[0];\n"
        + FIRST,
    )
    said = refused("check", "--rtl", rtl)
    assert "combinational loop: " in said
    assert NODE in said
    assert "every output must be registered" in said


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("logic", "loop"),
    [
        ("assign pass_o = !mute_o && !muted_q", "pass_o -> mute_o -> pass_o"),
        ("logic again;\n  assign again = !again && fresh;\n  assign pass_o = again && !muted_q", "again -> again"),
    ],
)
def test_a_combinational_loop_is_reported_in_its_file(rtl: Path, logic: str, loop: str) -> None:
    """Also one that Verilator, which joins modules, tells of their parent."""
    change(rtl / "guardian.sv", "assign pass_o = !muted_q", logic)
    said = refused("check", "--rtl", rtl)
    assert re.search(rf"combinational loop: {re.escape(str(rtl / 'guardian.sv'))}:\d+:\d+: {loop} in gpu_node\.", said)


@pytest.mark.parametrize("command", ["check", "build"])
def test_no_such_module(rtl: Path, command: str) -> None:
    said = refused(command, "--rtl", rtl, "--top", "gpu_nodes")
    assert "no module 'gpu_nodes'; did you mean 'gpu_node'" in said
    assert "? there are: babbler, bypass_switch" in said


def test_no_files(tmp_path: Path) -> None:
    assert f"{tmp_path}: no SystemVerilog files (*.sv, *.v) found" in refused("check", "--rtl", tmp_path)
    assert f"{tmp_path / 'none'}: no such directory" in refused("check", "--rtl", tmp_path / "none")


def test_a_name_that_is_none(rtl: Path) -> None:
    assert "top 'a b' is no module's name" in refused("check", "--rtl", rtl, "--top", "a b")


def test_an_unknown_rule(rtl: Path) -> None:
    said = refused("check", "--rtl", rtl, "--rule", "control.cuont")
    assert "no rule 'control.cuont'; did you mean 'control.count'" in said


@pytest.mark.rest
def test_no_simulator(rtl: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    said = refused("check", "--simulator", "icarus", path=str(tmp_path / "bin"))
    assert "Icarus Verilog isn't installed; install it, e.g. 'apt-get install iverilog'" in said


def test_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert "no C++ compiler found" in refused("check", path=str(tmp_path / "bin"))


def test_a_stimulus_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[]")
    assert f"{tmp_path / 'bad.json'}: no stimulus: 'schema' must be" in refused("play", tmp_path / "bad.json")


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "report.xml"
    said = refused("check", "--rule", "control.own", "--junit", target)
    assert f"{target}: cannot be written" in said
