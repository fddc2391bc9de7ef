"""Counterexamples are made small by two simulations: ours says what the contract allows."""

import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringhil.emulator.build.node_rtl import NODE, sources
from ringhil.emulator.conformance.check import CheckSettings, check
from ringhil.emulator.conformance.referee import SOCKET, Cases, Referee
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.testbench.build import HDL, build_bench
from ringhil.emulator.testbench.runner import run_bench
from ringhil.emulator.testbench.stimulus import Poke, Stimulus

from .bugs import BUGS

RULE = "control.count"


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Referee]:
    """Our node, simulated."""
    files = [*sources(RTL), HDL / "node_bench.sv"]
    bench = build_bench("verilator", "node_bench", files, defines={"RINGHIL_NODE": NODE})
    theirs, ours = (end.detach() for end in socket.socketpair())
    settings = {SOCKET: str(theirs), "RINGHIL_CHECK_SEED": "1", "RINGHIL_CHECK_EFFORT": "1"}
    module = "ringhil.emulator.conformance.referee"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run_bench, bench, [module], tmp_path, settings=settings, patience=100, hand=(theirs,))
        referee = Referee(ours)
        yield referee
        referee.close()


def test_our_node_passes_what_the_contract_allows_and_nothing_else(asked: Referee) -> None:
    case = Cases(1, 1)(RULE, 0)
    assert asked.passes(RULE, 0, case.stimulus)
    late = Poke(case.stimulus.actions[-1].at + 50, "weight", 999)
    changed = case.stimulus.with_actions([*case.stimulus.actions, late])
    assert not asked.passes(RULE, 0, changed), "the rule is about settings that are written before the frames"
    assert asked.passes(RULE, 0, case.stimulus), "it is asked again and again"


def test_a_simulation_that_has_gone_passes_nothing() -> None:
    here, there = socket.socketpair()
    referee = Referee(here.detach())
    there.close()
    assert not referee.passes(RULE, 0, Cases(1, 1)(RULE, 0).stimulus)
    referee.close()


@pytest.mark.slow(part="bugs")
def test_a_simulation_that_ends_meanwhile_leaves_the_stimulus_as_it_was(tmp_path: Path) -> None:
    """A node that ends the simulation when a frame comes earlier than any case sends one."""
    bug, rtl = BUGS[0], Path(shutil.copytree(RTL, tmp_path / "rtl"))
    (rtl / bug.file).write_text((rtl / bug.file).read_text().replace(bug.before, bug.after))
    trap = "  always @(posedge clk_i) if (p1_rx_ctl_i[LINK_VALID] && now_i < 64'd9) $finish;\n"
    node = rtl / "gpu_node.sv"
    node.write_text(node.read_text().replace("  logic unused_ok;", f"{trap}  logic unused_ok;"))
    rules = (RULE, "control.ttl")
    settings = CheckSettings(rules=rules, out=tmp_path / "out", waves=False, patience=60)
    verdicts = check(rtl, settings=settings).verdicts
    assert verdicts["rtl.ends"].state == "not judged", "no case ends it"
    for rule in rules:
        path = verdicts[rule].stimulus
        assert path is not None
        assert Stimulus.read(path) == Cases(1, 1)(rule, 0).stimulus
