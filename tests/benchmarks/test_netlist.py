"""Mutants of a netlist: drawn with a seed, all in one model, one of them at work at a time."""

import re
from pathlib import Path

import pytest
from benchmarks.netlist.__main__ import measure
from benchmarks.netlist.mutants import Mutant, Mutants, drawn, mutated
from benchmarks.netlist.same_step import Gates
from tests.rtl.netlist_plays import Play

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.engine.engine import Topology
from ringhil.emulator.engine.library import rtl_files

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "examples" / "fpga" / "models.v"
RESTS = "assign quiescent_o = node_quiescent && channel_busy == 4'b0000;"

# Whether the GPU rests, by way of two look-up tables as Yosys writes them: and a second one, of which nothing is
# made: its third input says whether both others are set.
TABLES = """
  logic still;
  assign still = channel_busy == 4'b0000;
  LUT4 #(
    .INIT(16'h8888)
  ) _1_ (
    .A(node_quiescent),
    .B(still),
    .C(1'h0),
    .D(1'h0),
    .Z(quiescent_o)
  );
  logic unused_table;
  LUT4 #(
    .INIT(16'h8888)
  ) _2_ (
    .A(node_quiescent),
    .B(still),
    .C(quiescent_o),
    .D(1'h0),
    .Z(unused_table)
  );
"""


# Two registers' product, which the second table multiplies by the first of them again; the third one's bit is added to
# that, in tables which don't look at their third input.
GATES = """
  output [3:0] z_o;
  wire [3:0] z_o;
  LUT4 #(
    .INIT(16'h8888)
  ) _1_ (
    .A(_10_),
    .B(_11_),
    .C(1'h0),
    .D(1'h0),
    .Z(_12_)
  );
  LUT4 #(
    .INIT(16'h8888)
  ) _2_ (
    .A(_12_),
    .B(_10_),
    .C(1'h0),
    .D(1'h0),
    .Z(_13_)
  );
  LUT4 #(
    .INIT(16'h00ff)
  ) _3_ (
    .A(1'h0),
    .B(1'h0),
    .C(1'h0),
    .D(_11_),
    .Z(FED)
  );
  CCU2C #(
    .INIT0(16'h66aa),
    .INIT1(16'h66aa),
    .INJECT1_0("NO"),
    .INJECT1_1("NO")
  ) _4_ (
    .A0(_13_),
    .A1(1'h0),
    .B0(_14_),
    .B1(1'h0),
    .C0(_16_),
    .C1(1'h0),
    .CIN(1'h0),
    .COUT(_15_),
    .D0(1'h1),
    .D1(1'h1),
    .S0(_17_),
    .S1(_18_)
  );
  TRELLIS_FF #(
    .GSR("DISABLED")
  ) _5_ (
    .CLK(clk_i),
    .DI(_18_),
    .LSR(1'h0),
    .Q(_14_)
  );
  assign z_o = { 2'h0, _13_, _15_ };
"""


def netlist() -> str:
    """Our RTL as one file, with these two tables in it."""
    files = [file.read_text() for file in rtl_files() if not file.name.startswith(("hil_", "uart", "ringhil_pkg"))]
    cells = "".join(text for text in files if "_top" not in text)
    assert RESTS in cells
    return MODELS.read_text() + cells.replace(RESTS, TABLES)


def test_a_bit_that_a_constant_rules_out_is_not_drawn() -> None:
    places = {mutant.name: set[int]() for mutant in drawn(TABLES, 2, 1)}
    for seed in range(200):
        for mutant in drawn(TABLES, 2, seed):
            places[mutant.name].add(mutant.place)
    assert places == {"_1_": {0, 1, 2, 3}, "_2_": {0, 1, 2, 3, 4, 5, 6, 7}}
    assert drawn(TABLES, 2, 7) == drawn(TABLES, 2, 7)
    with pytest.raises(BuildError, match=r"found 2 look-up tables; wanted are 3 mutants"):
        drawn(TABLES, 3, 1)


def test_only_the_table_that_is_named_is_another_one() -> None:
    text = mutated(TABLES, [Mutant(5, "_2_", 6)])
    (first, second) = re.findall(r"(\w+)#\(\n(.*?)\)(_\d_)", text.replace(" ", ""), re.DOTALL)
    assert first == ("LUT4", ".INIT(16'h8888)\n", "_1_")
    assert second == ("MUTANT", ".PLACE(4'd6),\n.NUMBER(5),\n.INIT(16'h8888)\n", "_2_")


@pytest.mark.parametrize(
    ("name", "place", "same"),
    [
        ("_1_", 1, False),  # the product may be set where the second register isn't
        ("_1_", 2, True),  # where the first isn't, the second table hides it
        ("_2_", 1, True),  # can't be addressed: a product without its factor
        ("_2_", 2, False),
    ],
)
def test_a_mutant_that_no_state_shows_is_no_mistake(name: str, place: int, same: bool) -> None:
    assert Gates(GATES.replace("FED", "_16_")).same_step(Mutant(1, name, place)) is same


@pytest.mark.parametrize(("fed", "same"), [("_16_", True), ("_14_", False)])
def test_a_mutant_is_followed_through_carries_to_registers(fed: str, same: bool) -> None:
    """The third table ends in an input that nothing depends on, or in one that a register gets by way of a carry."""
    text = GATES.replace("FED", fed).replace(".Q(_14_)", ".Q(_19_)").replace("_13_, _15_", "2'h0")
    assert Gates(text).same_step(Mutant(1, "_3_", 8)) is same


@pytest.mark.slow(part="netlist")
def test_one_is_found_and_one_is_never_addressed(tmp_path: Path) -> None:
    """To rest while something is under way is found; nothing follows from the other table."""
    mutants = [Mutant(1, "_1_", 2), Mutant(2, "_2_", 4), Mutant(3, "_2_", 7)]
    made = Mutants(netlist(), mutants, tmp_path, print)
    busy, never, unseen = measure(
        made, Gates(f"  output quiescent_o;\n{TABLES}"), (Play("a ring of four", Topology((4,)), 2, 1500),)
    )
    assert (busy.addressed, "a ring of four: " in busy.found) == (("a ring of four",), True)
    assert (never.addressed, never.found) == ((), "")
    assert (unseen.addressed, unseen.found) == (("a ring of four",), "")
    assert (busy.same, never.same, unseen.same) == (False, True, True)
