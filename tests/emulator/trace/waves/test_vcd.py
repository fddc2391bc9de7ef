"""An FST made of a VCD shows the same values at the same times under the same names."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ringhil.emulator.trace.waves import WaveError
from ringhil.emulator.trace.waves.vcd import Converted, ValueNames, convert

from .played import VerilatorBench, Waves, fst, traffic

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

HEADER = """$date today $end
$version some simulator $end
$timescale 1ps $end
$scope module top $end
$var wire 1 ! clk $end
$var reg 8 " data [7:0] $end
$scope module u_a $end
$var wire 8 " data_i [7:0] $end
$var real 64 # level $end
$upscope $end
$upscope $end
$enddefinitions $end
"""
BODY = """#0
$dumpvars
0!
bx "
r0.5 #
$end
#5
1!
#10
0!
b101 "
#15
1!
b11110000 "
r-1e3 #
#20
bz1 "
#25
"""


def made(folder: Path, text: str, **options: int | None) -> Waves:
    (folder / "w.vcd").write_text(text)
    convert(folder / "w.vcd", folder / "w.fst", **options)  # type: ignore[arg-type]
    return fst(folder / "w.fst")


def test_values_and_names(tmp_path: Path) -> None:
    waves = made(tmp_path, HEADER + BODY)
    assert waves.scopes == ["top", "top.u_a"]
    assert waves.changes["top.clk"] == [(0, "0"), (5, "1"), (10, "0"), (15, "1")]
    data = [(0, "x" * 8), (10, "00000101"), (15, "11110000"), (20, "zzzzzzz1")]
    assert waves.changes["top.data [7:0]"] == waves.changes["top.u_a.data_i [7:0]"] == data
    assert [(t, float(v)) for t, v in waves.changes["top.u_a.level"]] == [(0, 0.5), (15, -1000.0)]
    assert waves.end == 25


def test_what_was_converted_is_told(tmp_path: Path) -> None:
    (tmp_path / "w.vcd").write_text(HEADER + BODY)
    assert convert(tmp_path / "w.vcd", tmp_path / "w.fst") == Converted(variables=4, changes=10, end=25)


def test_values_before_the_first_time_hold_from_the_beginning(tmp_path: Path) -> None:
    waves = made(tmp_path, HEADER + '1!\nb1 "\n#7\n0!\n#9\n')
    assert waves.changes["top.clk"] == [(0, "1"), (7, "0")]
    assert waves.at("top.data [7:0]", 3) == "00000001"


# ----------------------------------------------------------------------------------------------------- any VCD


@dataclass(frozen=True)
class Recorded:
    """`widths` of the variables; at each time, value by variable as VCD writes it."""

    widths: list[int]
    times: list[tuple[int, dict[int, str]]]

    @property
    def text(self) -> str:
        head = "".join(f"$var wire {w} v{i} n{i} $end\n" for i, w in enumerate(self.widths))
        body = []
        for time, values in self.times:
            body.append(f"#{time}\n")
            for i, value in values.items():
                body.append(f"{value}v{i}\n" if self.widths[i] == 1 else f"b{value} v{i}\n")
        return f"$scope module t $end\n{head}$upscope $end\n$enddefinitions $end\n{''.join(body)}"

    def value(self, variable: int, time: int) -> str:
        """What holds at a time, all bits of it; x before the first value."""
        width, held = self.widths[variable], "x"
        for when, values in self.times:
            if when <= time:
                held = values.get(variable, held)
        fill = held[0] if held[0] in "xz" else "0"
        return held.rjust(width, fill)


@st.composite
def recordings(draw: st.DrawFn) -> Recorded:
    widths = draw(st.lists(st.sampled_from([1, 2, 8, 64, 65, 200]), min_size=1, max_size=5))
    times = sorted(draw(st.sets(st.integers(0, 2**40), min_size=1, max_size=8)))
    values = [st.text("01xz", min_size=1, max_size=width) for width in widths]
    rows = []
    for time in times:
        changed = draw(st.sets(st.integers(0, len(widths) - 1)))
        rows.append((time, {i: draw(values[i]) for i in sorted(changed)}))
    return Recorded(widths, rows)


@unhurried
@given(recordings())
def test_any_recording(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> None:
    assume(any(values for _, values in recorded.times))
    waves = made(tmp_path_factory.mktemp("vcd"), recorded.text)
    for variable in range(len(recorded.widths)):
        for time, _ in recorded.times:
            assert waves.at(f"t.n{variable}", time) == recorded.value(variable, time)
    assert waves.end == recorded.times[-1][0]


@unhurried
@given(recordings(), st.data())
def test_a_window_shows_what_the_whole_shows(
    tmp_path_factory: pytest.TempPathFactory, recorded: Recorded, data: st.DataObject
) -> None:
    last = recorded.times[-1][0]
    start = data.draw(st.integers(0, last))
    end = data.draw(st.none() | st.integers(start, last + 10))
    until = last if end is None else min(end, last)
    assume(any(values for time, values in recorded.times if time <= until))
    waves = made(tmp_path_factory.mktemp("vcd"), recorded.text, start=start, end=end)
    for variable in range(len(recorded.widths)):
        name = f"t.n{variable}"
        for time in {start, until, *(t for t, _ in recorded.times if start <= t <= until)}:
            assert waves.at(name, time) == recorded.value(variable, time)
        assert all(start <= time <= until for time, _ in waves.changes[name])


# ------------------------------------------------------------------------------------------ what Verilator wrote


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return VerilatorBench.built(tmp_path_factory.mktemp("bench")).play(traffic(3, 500), tmp_path_factory.mktemp("real"))


def by_hand(vcd: Path) -> dict[str, list[tuple[int, str]]]:
    """The changes in a file as Verilator lays it out: a word for each change, a line for each word or pair."""
    codes: dict[str, list[tuple[str, int]]] = {}
    scope: list[str] = []
    found: dict[str, list[tuple[int, str]]] = {}
    time = 0
    for line in vcd.read_text().splitlines():
        words = line.split()
        match words:
            case ["$scope", _, name, "$end"]:
                scope.append(name)
            case ["$upscope", "$end"]:
                scope.pop()
            case ["$var", _, width, code, *name, "$end"]:
                full = ".".join([*scope, " ".join(name)])
                codes.setdefault(code, []).append((full, int(width)))
                found[full] = []
            case [stamp] if stamp.startswith("#"):
                time = int(stamp[1:])
            case [value, code] if value.startswith("b"):
                for name_, width_ in codes[code]:
                    found[name_].append((time, value[1:].rjust(width_, "0")))
            case [bit] if bit[0] in "01":
                for name_, _ in codes[bit[1:]]:
                    found[name_].append((time, bit[0]))
    return found


@pytest.mark.slow(part="benches")
def test_a_file_of_verilator(real: Path, tmp_path: Path) -> None:
    convert(real, tmp_path / "w.fst", shell="")
    waves = fst(tmp_path / "w.fst")
    wanted = by_hand(real)
    assert waves.changes == wanted
    assert sum(len(changes) for changes in wanted.values()) > 5000


@pytest.mark.rest
def test_the_scope_around_the_top_is_left_out(real: Path, tmp_path: Path) -> None:
    convert(real, tmp_path / "w.fst")
    waves = fst(tmp_path / "w.fst")
    wanted = {
        n.removeprefix("TOP."): c for n, c in by_hand(real).items() if n.count(".") > 1 or not n.startswith("TOP")
    }
    assert waves.changes == wanted
    assert "view_bench.clk_i" in wanted
    assert "view_bench.u_view_p1_rx" in waves.scopes
    assert not [scope for scope in waves.scopes if scope.startswith("TOP")]


def test_the_same_vcd_gives_the_same_file(real: Path, tmp_path: Path) -> None:
    convert(real, tmp_path / "one.fst")
    convert(real, tmp_path / "two.fst")
    assert (tmp_path / "one.fst").read_bytes() == (tmp_path / "two.fst").read_bytes()
    assert (tmp_path / "one.fst").stat().st_size < real.stat().st_size / 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.fst", "two.fst"]


def test_a_simulation_that_was_killed_loses_its_last_line_only(real: Path, tmp_path: Path) -> None:
    convert(real, tmp_path / "whole.fst")
    whole = fst(tmp_path / "whole.fst")
    text = real.read_bytes()
    for at in range(len(text) - 60, len(text) - 1, 7):
        (tmp_path / "cut.vcd").write_bytes(text[:at])
        convert(tmp_path / "cut.vcd", tmp_path / "cut.fst")
        cut = fst(tmp_path / "cut.fst")
        for name, changes in cut.changes.items():
            assert whole.changes[name][: len(changes)] == changes
            assert all(time >= cut.end for time, _ in whole.changes[name][len(changes) :])


# --------------------------------------------------------------------------------------------- names of values


def test_values_get_names(tmp_path: Path) -> None:
    (tmp_path / "w.vcd").write_text(HEADER + BODY)
    colours = {1: "RED", 5: "GREEN", 300: "TOO_LARGE"}
    names = [ValueNames("u_*", "data_i", colours), ValueNames("top", "clk", {0: "LOW", 1: "HIGH"})]
    convert(tmp_path / "w.vcd", tmp_path / "w.fst", names=names)
    assert fst(tmp_path / "w.fst").enums == {
        "top.u_a.data_i [7:0]": {"00000001": "RED", "00000101": "GREEN"},
        "top.clk": {"0": "LOW", "1": "HIGH"},
    }


# -------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":0: ends without $enddefinitions; is it VCD?"),
        ("hello\n", ":1: found 'hello'; allowed are $scope, $var and the like"),
        ("$end\n", ":1: found '$end'"),
        ("$scope module\n", ":1: '$scope' has no $end"),
        ("$scope module $end\n", ":1: found 'module'; allowed is $scope TYPE NAME"),
        ("$scope module " + 600 * "n" + " $end\n", ":1: found a name of 600 bytes; allowed are 500"),
        ("$upscope $end\n", ":1: found $upscope; allowed is one for each $scope"),
        ("$var wire x ! a $end\n", ":1: found 'wire x ! a'; allowed is $var TYPE WIDTH CODE NAME"),
        ("$var wire 0 ! a $end\n", "1 to 1,048,576 bits"),
        ("$var wire 9999999 ! a $end\n", "1 to 1,048,576 bits"),
        ("$var wire 1 ! $end\n", "allowed is $var TYPE WIDTH CODE NAME"),
        ("$var wire 1 ! a $end\n$var wire 2 ! b $end\n", ":2: '!' has 2 bits; allowed are the 1 that it had before"),
        (HEADER + "#5\n", ": no values in it, so there is nothing to show"),
        (HEADER + "#5\n#4\n", ":14: found time '#4'; allowed are numbers from #5 on"),
        (HEADER + "#x\n", "found time '#x'; allowed are numbers from #0 on"),
        (HEADER + "#0\n1?\n", ":14: found '1 ?'; no variable has the code '?'"),
        (HEADER + '#0\nb123 "\n', "found '123'; allowed are 8 bits of 0, 1, x, z"),
        (HEADER + '#0\nb111111111 "\n', "found '111111111'; allowed are 8 bits of 0, 1, x, z"),
        (HEADER + "#0\nrone #\n", "found 'one'; allowed is a real number"),
        (HEADER + "#0\nb1 #\n", "found 'b1'; '#' is a real"),
        (HEADER + "#0\n1#\n", "found '1'; '#' is a real"),
        (HEADER + '#0\nr1 "\n', "found 'r1'; '\"' is a vector"),
        (HEADER + "#0\nstext #\n", ":14: found 'stext'; allowed are times (#) and values (0, 1, x, z, b, r)"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    vcd = tmp_path / "w.vcd"
    vcd.write_text(text)
    with pytest.raises(WaveError) as error:
        convert(vcd, tmp_path / "w.fst")
    assert str(error.value).startswith(f"{vcd}:")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [vcd]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": 26}, "w.vcd: ends at 25; allowed are starts up to there, not 26"),
        ({"start": 9, "end": 8}, "the window ends at 8; allowed is its start, 9, or later"),
    ],
)
def test_a_window_outside_the_file_is_refused(tmp_path: Path, options: dict[str, int], said: str) -> None:
    with pytest.raises(WaveError, match=said):
        made(tmp_path, HEADER + BODY, **options)
    assert [path.name for path in tmp_path.iterdir()] in (["w.vcd"], [])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WaveError, match=r"no\.vcd: cannot be read: No such file"):
        convert(tmp_path / "no.vcd", tmp_path / "w.fst")
    (tmp_path / "w.vcd").write_text(HEADER + BODY)
    with pytest.raises(WaveError, match=r"w\.fst: cannot be written"):
        convert(tmp_path / "w.vcd", tmp_path / "no" / "w.fst")
    with pytest.raises(WaveError, match=r"cannot be read: it is a folder; name a file"):
        convert(tmp_path, tmp_path / "w.fst")


def attempt(vcd: Path, to: Path) -> Waves | str:
    """The waves, or why they were refused."""
    try:
        convert(vcd, to)
    except WaveError as error:
        return str(error)
    return fst(to)


@unhurried
@given(recordings(), st.data())
def test_damage_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, recorded: Recorded, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("vcd")
    text = recorded.text.encode()
    at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 20))
    (folder / "w.vcd").write_bytes(text[:at] + data.draw(st.binary(max_size=20)) + text[at + length :])
    found = attempt(folder / "w.vcd", folder / "w.fst")
    if isinstance(found, str):
        assert found.startswith(str(folder))
        assert "\n" not in found
        assert [path.name for path in folder.iterdir()] == ["w.vcd"]
