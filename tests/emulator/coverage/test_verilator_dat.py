"""Files of Verilator are read and merged as its own tool does it; anything else is refused in one line."""

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.coverage import CoverageError
from ringhil.emulator.coverage.hdl import measure
from ringhil.emulator.coverage.verilator_dat import HEADER, Hits, Point, Points, merge, read
from ringhil.emulator.engine.library import RTL

from .built import unhurried

TOOL = shutil.which("verilator_coverage_bin_dbg") or shutil.which("verilator_coverage_bin")
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="%"), max_size=12)
PLACES = st.integers(0, 10_000_000)
RANGES = st.frozensets(st.tuples(PLACES, PLACES).map(lambda pair: (min(pair), max(pair))), max_size=3)
POINTS = st.builds(Point, NAMES.filter(bool), PLACES, PLACES, st.sampled_from(["line", "branch", "toggle"]), NAMES)
COUNTS = st.dictionaries(POINTS, st.builds(Hits, st.integers(0, 2**64 - 1), RANGES), max_size=5)

FEW = st.builds(Point, st.just("x.sv"), st.integers(1, 3), st.just(1), st.just("line"), st.just(""))
SHARED = st.dictionaries(FEW, st.builds(Hits, st.integers(0, 9), RANGES), max_size=3)  # often the same points


def line(point: Point, hits: Hits, module: str = "m", instance: str = "TOP.a") -> str:
    ranges = ",".join(f"{a}-{b}" if a != b else str(a) for a, b in sorted(hits.ranges))
    fields = {"f": point.file, "l": point.line, "n": point.column, "t": point.kind}
    fields |= {"page": f"v_{point.kind}/{module}", "o": point.comment, "S": ranges, "h": instance}
    return "C '" + "".join(f"\x01{name}\x02{value}" for name, value in fields.items()) + f"' {hits.count}\n"


def saved(path: Path, *lines: str) -> Path:
    path.write_text(HEADER + "\n" + "".join(lines))
    return path


def test_a_real_file(counted: tuple[Path, Path]) -> None:
    points = read(counted[0])
    assert {point.file for point in points} == {str(RTL / "link_state.sv")}
    assert {point.kind for point in points} == {"line", "branch", "toggle"}
    clock = {p.comment: hits.count for p, hits in points.items() if p.comment.startswith("clk_i:")}
    assert clock == {"clk_i:0->1": 100, "clk_i:1->0": 99}
    text = (RTL / "link_state.sv").read_text().splitlines()
    (start,) = [n for n, row in enumerate(text, 1) if "always_ff" in row]
    (reset,) = [(p, h) for p, h in points.items() if (p.line, p.comment) == (start + 1, "if")]
    assert reset[1].lines(reset[0]) == {start + 1, start + 2, start + 3, start + 4}
    assert reset[1].count == 2  # the cycles in reset


def test_counts_of_several_files_add(counted: tuple[Path, Path]) -> None:
    one, two = read(counted[0]), read(counted[1])
    both = merge([one, two])
    assert both.keys() == one.keys() == two.keys()
    assert all(both[p].count == one[p].count + two[p].count for p in both)
    assert merge([two, one]) == both
    assert read(counted[0]) == one  # merging changed neither


@pytest.mark.slow(part="engine")  # not because it is: an optional tool, which CI needn't have
@pytest.mark.skipif(TOOL is None, reason="no verilator_coverage: apt-get install verilator")
def test_verilators_own_tool_says_the_same(counted: tuple[Path, Path], tmp_path: Path) -> None:
    agrees([*counted], RTL, tmp_path)


def agrees(files: list[Path], rtl: Path, folder: Path) -> None:
    """Merged counts, its total, and the lines that it marks as not reached."""
    assert TOOL is not None
    points = merge(read(file) for file in files)
    said = subprocess.run([TOOL, "--write", folder / "all.dat", *files], capture_output=True, text=True, check=True)
    assert merge([read(folder / "all.dat")]) == points

    # Its total is of columns of lines, whatever the kind of their points.
    columns: dict[tuple[str, int, int], int] = defaultdict(int)
    for point, hits in points.items():
        for number in hits.lines(point):
            columns[point.file, number, point.column] += hits.count
    command = [TOOL, "--annotate-min", "1", "--annotate-all", "--annotate"]
    said = subprocess.run([*command, folder / "all", *files], capture_output=True, text=True, check=True)
    total = re.search(r"Total coverage \((\d+)/(\d+)\)", said.stdout)
    assert total is not None, said.stdout
    assert (int(total[1]), int(total[2])) == (sum(map(bool, columns.values())), len(columns))

    # Lines apart from toggles, as we count them.
    rows = [HEADER, *(row for file in files for row in file.read_text().splitlines() if "\x01t\x02toggle" not in row)]
    (folder / "lines.dat").write_text("\n".join(row for n, row in enumerate(rows) if n == 0 or row != HEADER) + "\n")
    subprocess.run([*command, folder / "lines", folder / "lines.dat"], capture_output=True, check=True)
    measured = measure(points, rtl)
    assert measured.sources
    for source in measured.sources:
        annotated = folder / "lines" / source.name
        assert {row.number for row in source.lines if row.state != "covered"} == _marked(annotated, source.name)


def _marked(annotated: Path, name: str) -> set[int]:
    """Lines with a column that was never reached, of an annotated file: a further column is a row of its own."""
    if not annotated.exists():
        return set()
    found, number = set(), 0
    for row in annotated.read_text().splitlines()[1:]:
        if "verilator_coverage: (next point on previous line)" in row:
            pass
        elif row or number == 0:
            number += 1
        if row.startswith("%0"):
            found.add(number)
    return found


@unhurried
@given(COUNTS)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, points: Points) -> None:
    path = saved(tmp_path_factory.mktemp("dat") / "c.dat", *(line(p, hits) for p, hits in points.items()))
    assert read(path) == points


@unhurried
@given(SHARED, SHARED, SHARED)
def test_counts_add_and_lines_join_in_any_order(a: Points, b: Points, c: Points) -> None:
    merged = merge([a, b, c])
    assert merged == merge([c, merge([b, a])])
    for point, hits in merged.items():
        parts = [part[point] for part in (a, b, c) if point in part]
        assert hits.count == sum(part.count for part in parts)
        assert hits.ranges == frozenset().union(*(part.ranges for part in parts))


def test_instances_and_parameters_of_a_module_are_one_point(tmp_path: Path) -> None:
    point = Point("x.sv", 3, 7, "branch", "if")
    rows = [line(point, Hits(2), "m", "TOP.a"), line(point, Hits(3), "m", "TOP.b"), line(point, Hits(0), "m__L6", "")]
    assert read(saved(tmp_path / "c.dat", *rows)) == {point: Hits(5)}


def test_quoted_characters_are_taken_back(tmp_path: Path) -> None:
    point = Point("Überkreuz/100%.sv", 1, 1, "line", "a \"b\" 'c'")
    row = line(point._replace(file="%C3%9Cberkreuz/100%25.sv", comment="a %22b%22 'c'"), Hits(1))
    assert list(read(saved(tmp_path / "c.dat", row))) == [point]


GOOD = line(Point("x.sv", 3, 7, "line", "block"), Hits(1, frozenset({(3, 5)})))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty; the first line must be '# SystemC::Coverage-3'"),
        ("# SystemC::Coverage-9\n", ":1: found '# SystemC::Coverage-9'; the first line must be"),
        (HEADER + "\nD 'x' 1\n", ":2: found \"D 'x' 1\"; allowed are comments"),
        (HEADER + "\n" + GOOD + GOOD.replace("' 1", "' -1"), ":3: found"),
        (HEADER + "\n" + GOOD.replace("' 1", "' 99999999999999999999"), "allowed are comments (#) and C"),
        (HEADER + "\n" + GOOD[:40], ":2: found"),
        (HEADER + "\n" + GOOD.replace("\x01l\x023", "\x01l\x02three"), ":2: l is 'three'; allowed are 0 to"),
        (HEADER + "\n" + GOOD.replace("\x01n\x027", "\x01n\x0299999999"), ":2: n is '99999999'; allowed are 0 to"),
        (HEADER + "\n" + GOOD.replace("3-5", "5-3"), "S is '5-3'; allowed are ranges that go up"),
        (HEADER + "\n" + GOOD.replace("3-5", "1;2"), "S is '1;2'; allowed are numbers of lines such as"),
        (HEADER + "\n" + GOOD.replace("v_line/m", "line"), "a point needs a file (f) and a page"),
        (HEADER + "\n" + GOOD.replace("x.sv", ""), "a point needs a file (f) and a page"),
        (HEADER + "\n" + "C 'é' 1\n", "allowed are ASCII characters"),
        (HEADER + "\n" + "#" * 70_000, ":2: a line of more than 65,536 bytes"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.dat"
    path.write_text(text)
    with pytest.raises(CoverageError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert said in message
    assert "\n" not in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"no\.dat: cannot be read: No such file"):
        read(tmp_path / "no.dat")
    with pytest.raises(CoverageError, match="cannot be read: it is a folder; name a file"):
        read(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "c.dat").open("wb") as file:
        file.truncate(600 * 2**20)
    with pytest.raises(CoverageError, match=r"629,145,600 bytes; allowed are 536,870,912"):
        read(tmp_path / "c.dat")


def attempt(path: Path) -> Points | str:
    """What is in the file, or why it was refused."""
    try:
        return read(path)
    except CoverageError as error:
        return str(error)


@unhurried
@given(st.data())
def test_damage_is_refused_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    points = data.draw(COUNTS)
    text = (HEADER + "\n" + "".join(line(p, hits) for p, hits in points.items())).encode()
    at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 30))
    text = text[:at] + data.draw(st.binary(max_size=30)) + text[at + length :]
    path = tmp_path_factory.mktemp("dat") / "c.dat"
    path.write_bytes(text)
    found = attempt(path)
    if isinstance(found, str):
        assert found.startswith(str(path))
        assert "\n" not in found
    else:
        assert all(hits.count >= 0 and point.file for point, hits in found.items())
