"""A counterexample is read from the solver's wave and told by the names of fields."""

import random

from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.proofs.counterexample import SHOWN, read_inputs, trace_of
from ringhil.emulator.proofs.replay import telling
from ringhil.protocol.registers import ADDRESS, FaultBit
from ringhil.protocol.wire import FLIT_BYTES, LinkBit

UP = LinkBit.UP * 0x01010101

# As the solver's driver writes it: a scope for each instance, a step every ten units of time, a clock in between.
VCD = """\
$var integer 32 t smt_step $end
$var event 1 ! smt_clock $end
$scope module ringhil_environment $end
$var wire 1 n0 clk_i $end
$var wire 8 n1 p1_rx_ctl_i $end
$var wire 1 n2 reg_we_i $end
$var wire 8 n3 rx_ctl $end
$scope module dut $end
$var wire 8 n4 p1_rx_ctl_i $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
1!
b00000000000000000000000000000000 t
b1 n0
b01000000 n1
1n2
b11111111 n3
b11111111 n4
#5
b0 n0
#10
1!
b00000000000000000000000000000001 t
b01000101 n1
0n2
#20
b00000000000000000000000000000010 t
"""


def test_inputs_of_the_harness_are_read_cycle_by_cycle() -> None:
    assert read_inputs(VCD) == [{"p1_rx_ctl_i": 0x40, "reg_we_i": 1}, {"p1_rx_ctl_i": 0x45, "reg_we_i": 0}]


def cycle(**signals: int) -> dict[str, int]:
    return dict.fromkeys(SHOWN, 0) | {"rx_ctl": UP, "tx_ctl": UP, "node_q": 3, "size_q": 8} | signals


def test_what_happens_is_told_with_kinds_and_fields() -> None:
    data = statistics(random.Random(1), card=2, origin=4, ttl=5, size=8)
    first, third = (int.from_bytes(data[8 * i : 8 * i + FLIT_BYTES], "big") for i in (0, 2))
    valid = UP | LinkBit.VALID
    seen = [
        cycle(),
        cycle(rx_ctl=valid | LinkBit.SOF, rx_data=first, fault=FaultBit.HANG),
        cycle(rx_ctl=valid, rx_data=7, reg_we=1, reg_addr=ADDRESS["watchdog"], reg_wdata_i=9, fault=FaultBit.HANG),
        cycle(rx_ctl=valid, rx_data=third),
        cycle(tx_ctl=UP & ~(LinkBit.UP << 8), tx_data=1 << 64),
    ]
    lines = trace_of(seen, 1).lines()
    assert lines[0] == "straps: card 0, node 3, ring size 8"
    text = "\n".join(lines)
    assert "     0 fault hang on" in text
    assert "     0 p1       -> control flit 0 (first): kind statistics, card 2, flags 0x" in text
    assert "ttl 5, home 4" in text
    assert "     1 register watchdog := 9" in text
    assert "     2 fault hang off" in text
    assert "     2 p1       -> control flit 2: count " in text
    assert "     3 p2       <- carrier down" in text
    assert "     3 p2       <- data 0000000000000001 in a cycle without a flit" in text


def test_in_the_simulator_assertions_tell_and_assumptions_go() -> None:
    text = telling("if (a) kept: assert (b == (c));\nassume (d\n  && e);\n")
    assert text.startswith('if (a) kept: assert (b == (c)) else $display("claim broken: kept at %0d"')
    assert text.endswith("begin end\n")
