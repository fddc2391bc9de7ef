"""What the conformance check reaches of our own node, and how circumstances are counted."""

from pathlib import Path

import pytest

from ringhil.emulator.conformance.check import CheckSettings, check
from ringhil.emulator.conformance.coverage import collector, sample
from ringhil.emulator.coverage import report as coverage_report
from ringhil.emulator.coverage.result import CoverageReport
from ringhil.emulator.coverage.waivers import DEFAULT
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Fault, Stimulus
from ringhil.protocol import codec, registers
from ringhil.protocol.frames import Election

CROSS = "forwarding"
NOT_IN_A_NODE = (
    *("card_top.sv", "hil_board.sv", "hil_bridge.sv", "hil_line.sv", "hil_look.sv", "hil_rx.sv", "hil_tx.sv"),
    *("link_channel.sv", "ring_cell.sv", "ringhil_pkg.sv", "server_top.sv"),
    *("uart.sv", "uart_fifo.sv", "uart_link.sv", "uart_rx.sv", "uart_ticks.sv", "uart_tx.sv"),
)


def reached(folder: Path, *rules: str) -> CoverageReport:
    """Of our node by these rules; by all, if none is named."""
    found = check(RTL, settings=CheckSettings(rules=rules, out=folder / "out", waves=False, coverage=folder / "counts"))
    assert found.ok
    return coverage_report.gather(sorted((folder / "counts").iterdir()), RTL, DEFAULT)


@pytest.mark.slow(part="benches")
def test_the_check_reaches_the_whole_node(tmp_path: Path) -> None:
    result = reached(tmp_path)
    assert result.hdl is not None
    assert result.functional is not None
    assert result.hdl.absent == NOT_IN_A_NODE
    assert [s.name for s in result.hdl.sources if s.line_tally.percentage < 98] == []
    assert result.hdl.line_tally.percentage >= 98
    assert result.functional.percentage(CROSS) >= 95
    assert result.contradictions(CROSS) == []


@pytest.mark.slow(part="benches")
def test_one_rule_alone_reaches_less(tmp_path: Path) -> None:
    result = reached(tmp_path, "control.count")
    assert result.hdl is not None
    assert result.functional is not None
    assert 5 < result.hdl.line_tally.percentage < 80
    assert 0 < result.functional.percentage(CROSS) < 5


def status(*bits: str) -> int:
    return sum(registers.StatusBit.codes()[bit] for bit in bits)


OUT = ("bypass_cw", "bypass_ccw")


@pytest.mark.parametrize(
    ("bits", "faults", "counted"),
    [
        (["healthy"], [], ("through", "none")),
        (["healthy"], ["slow", "corrupt"], ("through", "corrupt")),
        ([*OUT], ["dead", "corrupt"], ("bypass", "dead")),
        ([*OUT, "healthy", "tripped", "restoring"], ["hang"], ("bypass", "hang")),
        ([*OUT, "healthy", "restoring"], [], ("restoring", "none")),
        (["stuck"], ["switch_stuck_through", "dead"], ("stuck", "switch_stuck_through")),
        ([*OUT, "healthy", "stuck"], ["switch_stuck_bypass"], ("stuck", "switch_stuck_bypass")),
        # It waits for the end of a frame.
        ([*OUT, "healthy", "stuck"], [], ("bypass", "none")),
        # On its way to BYPASS: not counted.
        ([], ["dead"], None),
    ],
)
def test_a_frame_counts_by_the_switch_and_the_fault_that_decides(
    bits: list[str], faults: list[str], counted: tuple[str, str] | None
) -> None:
    frame = RingFrame.of(codec.encode(Election(0, 0, 3, 1, 1, 1, 0, 1, 1, 1000, 1)))
    observed = Observed(status=[(5, status(*bits))])
    observed.arrived["host"].append(RingFrame(frame.data, "control", began=50, ended=54))
    # Each fault was on before, and went; what was set after the frame came doesn't matter.
    actions = [Fault(1, "babble", True), Fault(2, "babble", False)]
    actions += [Fault(10 + i, name, True) for i, name in enumerate(faults)]
    actions.append(Fault(51, "dead", True))
    coverage = collector()
    sample(coverage, Stimulus.of(actions), observed)
    switch, fault = counted if counted is not None else ("", "")
    wanted = {(switch, "election", "host", fault): 1} if counted is not None else {}
    assert coverage.counts[CROSS] == wanted
