"""Lines and toggles of the RTL: what counts, what is waived, and that nothing stays waived by accident."""

import json
from pathlib import Path

import pytest

from ringhil.emulator.coverage import CoverageError, waivers
from ringhil.emulator.coverage.hdl import Hdl, Tally, measure
from ringhil.emulator.coverage.verilator_dat import Hits, Point, Points, merge, read
from ringhil.emulator.coverage.waivers import Waiver
from ringhil.emulator.engine.library import RTL

TEXT = """module m (
  input logic [3:0] a_i,
  output logic b_o
);
  always_comb begin
    b_o = 1'b0;
    if (a_i[0]) b_o = 1'b1;
  end
endmodule
"""
POINTS: Points = {
    Point("/elsewhere/m.sv", 5, 3, "line", "block"): Hits(9, frozenset({(5, 6)})),
    Point("/elsewhere/m.sv", 7, 5, "branch", "if"): Hits(4, frozenset({(7, 7)})),
    Point("/elsewhere/m.sv", 7, 6, "branch", "else"): Hits(0),
    **{Point("/elsewhere/m.sv", 2, 21, "toggle", f"a_i[{b}]:0->1"): Hits(1 if b < 2 else 0) for b in range(4)},
    **{Point("/elsewhere/m.sv", 2, 21, "toggle", f"a_i[{b}]:1->0"): Hits(0) for b in range(4)},
    Point("/elsewhere/m.sv", 3, 16, "toggle", "b_o:0->1"): Hits(3),
    Point("/elsewhere/m.sv", 3, 16, "toggle", "b_o:1->0"): Hits(2),
}


@pytest.fixture
def rtl(tmp_path: Path) -> Path:
    (tmp_path / "m.sv").write_text(TEXT)
    (tmp_path / "unbuilt.sv").write_text("module unbuilt;\nendmodule\n")
    return tmp_path


def states(hdl: Hdl) -> dict[int, str]:
    (source,) = hdl.sources
    return {line.number: line.state for line in source.lines}


def test_a_line_counts_when_all_its_branches_were_taken(rtl: Path) -> None:
    hdl = measure(POINTS, rtl)
    assert states(hdl) == {5: "covered", 6: "covered", 7: "partly"}
    assert hdl.line_tally == Tally(2, 3, 0)
    (line,) = [line for line in hdl.sources[0].lines if line.number == 7]
    assert (line.points, line.reached, line.most, line.text) == (2, 1, 4, "    if (a_i[0]) b_o = 1'b1;")
    none = measure({point: Hits(0, hits.ranges) for point, hits in POINTS.items()}, rtl)
    assert states(none) == {5: "missed", 6: "missed", 7: "missed"}


def test_a_toggle_is_one_bit_going_one_way(rtl: Path) -> None:
    hdl = measure(POINTS, rtl)
    assert hdl.toggle_tally == Tally(4, 10, 0)
    found = {signal.name: (signal.line, signal.reached, signal.toggles) for signal in hdl.sources[0].signals}
    assert found == {"a_i": (2, 2, 8), "b_o": (3, 2, 2)}


def test_files_without_points_and_points_without_files_are_named(rtl: Path) -> None:
    hdl = measure({**POINTS, Point("/bench/top.sv", 1, 1, "line", "block"): Hits(1)}, rtl)
    assert (hdl.absent, hdl.outside) == (("unbuilt.sv",), ("top.sv",))
    assert hdl.line_tally == Tally(2, 3, 0)


def test_builds_at_two_places_are_one(rtl: Path) -> None:
    moved = {point._replace(file="/other/m.sv"): Hits(1, hits.ranges) for point, hits in POINTS.items()}
    hdl = measure(merge([POINTS, moved]), rtl)
    assert hdl.line_tally == Tally(3, 3, 0)
    assert max(line.most for line in hdl.sources[0].lines) == 10
    assert POINTS[Point("/elsewhere/m.sv", 5, 3, "line", "block")].count == 9


def test_a_point_beyond_the_file_tells_that_it_is_another_one(rtl: Path) -> None:
    with pytest.raises(CoverageError, match=r"m\.sv: a point on line 10, but the file has 9: it isn't the one built"):
        measure({Point("m.sv", 3, 1, "line", "block"): Hits(1, frozenset({(9, 10)}))}, rtl)


def test_a_waived_branch_is_left_out(rtl: Path) -> None:
    waiver = Waiver(1, "m.sv", "if (a_i[0]) *", "a_i[0] is tied high")
    hdl = measure(POINTS, rtl, [waiver])
    assert states(hdl) == {5: "covered", 6: "covered", 7: "waived"}
    assert hdl.line_tally == Tally(2, 2, 1)
    assert hdl.toggle_tally == Tally(4, 10, 0)
    assert hdl.waived == ((waiver, 1),)


@pytest.mark.parametrize(
    ("toggle", "bits", "waived"), [("a_i", (2, 3), 4), ("a_i[2]", None, 2), ("a*", None, 6), ("*", (0, 0), 1)]
)
def test_waived_toggles_are_left_out(rtl: Path, toggle: str, bits: tuple[int, int] | None, waived: int) -> None:
    hdl = measure(POINTS, rtl, [Waiver(1, "*", "input  logic [3:0]   a_i,", "tied", toggle, bits)])
    assert hdl.toggle_tally == Tally(4, 10 - waived, waived)
    assert hdl.line_tally == Tally(2, 3, 0)


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        (Waiver(4, "m.sv", "b_o = 1'b0;", "r"), r"waiver 4 \(m.sv: b_o = 1'b0;\): all that it waives was reached"),
        (Waiver(1, "m.sv", "output logic b_o", "r", "b_o"), r"toggles of b_o\): all that it waives was reached"),
        (Waiver(1, "m.sv", "input logic *", "r", "a_i", (0, 1)), None),
        (Waiver(1, "m.sv", "input logic *", "r", "c_i"), r"toggles of c_i\): all that it waives was reached"),
        (Waiver(2, "m.sv", "if (gone)", "r"), r"waiver 2 \(m.sv: if \(gone\)\): no such line in"),
        (Waiver(1, "gone.sv", "*", "r"), "no such line in"),
        (Waiver(1, "unbuilt.sv", "module unbuilt;", "r"), None),
    ],
)
def test_a_waiver_of_no_use_is_an_error(rtl: Path, waiver: Waiver, said: str | None) -> None:
    if said is None:
        measure(POINTS, rtl, [waiver])
    else:
        with pytest.raises(CoverageError, match=said):
            measure(POINTS, rtl, [waiver])


def test_a_directory_without_rtl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"no \*\.sv or \*\.v there"):
        measure(POINTS, tmp_path)
    with pytest.raises(CoverageError, match="cannot be read: No such file"):
        measure(POINTS, tmp_path / "no")


@pytest.mark.slow(part="benches")
def test_a_real_run(counted: tuple[Path, Path]) -> None:
    """No remote fault is ever played, and the carrier never goes away in READY."""
    hdl = measure(merge(read(path) for path in counted), RTL)
    (source,) = hdl.sources
    assert source.name == "link_state.sv"
    missed = {line.text.strip(): line.state for line in source.lines if line.state != "covered"}
    assert missed == {
        "if (!rx_up_i) state_d = DOWN;": "missed",
        "else if (!rx_fault_i) state_d = ACTIVE;": "partly",
    }
    reached = {signal.name: signal.reached for signal in source.signals}
    assert reached["clk_i"] == 2
    assert reached["rx_fault_i"] == 0
    assert reached["restore_i"] == 2  # 5, set once
    assert len(hdl.absent) == len(list(RTL.glob("*.sv"))) - 1


def test_our_own_waivers_fit_our_rtl() -> None:
    for waiver in waivers.load(waivers.DEFAULT):
        files = [file for file in RTL.glob("*.sv") if waiver.fits_file(file.name)]
        assert any(waiver.fits_line(line) for file in files for line in file.read_text().splitlines()), str(waiver)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"file": "a", "text": "b"}, r"waivers\[0\]: found \['file', 'text'\]; needed is 'reason' as well"),
        (
            {"file": "a", "text": "b", "reason": "c", "more": 1},
            r"waivers\[0\]: found a key 'more'; no such key is allowed",
        ),
        ({"file": "a", "text": "b", "reason": " "}, "reason: found ' '; allowed is a line of text"),
        ({"file": "a", "text": 3, "reason": "c"}, "text: found 3; allowed is a valid string"),
        ({"file": "a", "text": "b", "reason": "c", "bits": [0, 1]}, "bits: found .*with toggle"),
        ({"file": "a", "text": "b", "reason": "c", "toggle": "d", "bits": [2, 1]}, r"bits: found \[2, 1\]; allowed"),
        ({"file": "a", "text": "b", "reason": "c", "toggle": "d", "bits": None}, "bits: found None; allowed"),
        (7, "found 7; allowed is"),
    ],
)
def test_a_bad_waiver_is_refused(tmp_path: Path, row: object, said: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"format": waivers.FORMAT, "version": waivers.VERSION, "waivers": [row]}))
    with pytest.raises(CoverageError, match=said):
        waivers.load(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", r"the file: found \[\]; allowed is an object"),
        ('{"format": "x", "version": 1, "waivers": []}', "format: found 'x'; allowed is 'ringhil coverage waivers'"),
    ],
)
def test_a_bad_file_of_waivers_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(CoverageError, match=said):
        waivers.load(tmp_path / "w.json")


def test_waivers_are_read(tmp_path: Path) -> None:
    rows = [
        {"file": "a.sv", "text": "x", "reason": "never"},
        {"file": "*", "text": "y*", "toggle": "now_i", "bits": [40, 63], "reason": "years"},
    ]
    (tmp_path / "w.json").write_text(json.dumps({"format": waivers.FORMAT, "version": 1, "waivers": rows}))
    one, two = waivers.load(tmp_path / "w.json")
    assert one == Waiver(1, "a.sv", "x", "never")
    assert two == Waiver(2, "*", "y*", "years", "now_i", (40, 63))
    assert str(two) == "waiver 2 (*: y*, toggles of now_i[63:40])"
