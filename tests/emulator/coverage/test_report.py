"""The reports say what was measured, stand alone, and are the same bytes for the same results."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.emulator.pages.page import Page, assert_stands_alone, said

from ringhil.emulator.coverage import CoverageError, Cross, FunctionalCoverage, Ignore, forwarding
from ringhil.emulator.coverage.hdl import Tally, measure
from ringhil.emulator.coverage.report import gather, write
from ringhil.emulator.coverage.result import CoverageReport, share
from ringhil.emulator.coverage.verilator_dat import HEADER, merge, read
from ringhil.emulator.coverage.waivers import Waiver
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.front.cli.rtl_coverage import coverage as command

TINY = Cross("tiny", {"a": ("x", "<y>"), "b": ("1", "2")}, (Ignore({"a": ("<y>",), "b": ("2",)}, "no | such"),))


def functional() -> FunctionalCoverage:
    found = FunctionalCoverage([TINY, forwarding()])
    for _ in range(12):
        found.sample("tiny", a="x", b="1")
    found.sample("forwarding", switch="through", kind="work", way="cw", fault="none")
    return found


@pytest.fixture
def report(counted: tuple[Path, Path], tmp_path: Path) -> CoverageReport:
    functional().save(tmp_path / "f.json")
    found = gather([*counted, tmp_path / "f.json"], RTL, None)
    assert found.hdl is not None
    waiver = Waiver(1, "link_state.sv", "if (!rx_up_i) state_d = DOWN;", "for <the> test")
    return CoverageReport(measure(merge(map(read, counted)), RTL, [waiver]), found.functional)


@pytest.mark.slow(part="benches")
def test_the_page_stands_alone(report: CoverageReport, tmp_path: Path) -> None:
    write(report, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert_stands_alone(text)
    assert "http:" not in said(text)
    assert "https:" not in text


@pytest.mark.rest
def test_the_page_says_what_was_measured(report: CoverageReport, tmp_path: Path) -> None:
    write(report, tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text())
    assert report.hdl is not None
    lines, toggles = report.hdl.line_tally, report.hdl.toggle_tally
    assert (lines.wanted, lines.waived) == (23, 1)
    texts = [text for _, text in page.cells]
    at = texts.index("link_state.sv")
    numbers = [str(n) for n in (lines.reached, lines.wanted, lines.waived)] + [share(lines), ""]
    assert texts[at + 1 : at + 6] == numbers
    assert texts[at + 6] == str(toggles.reached)
    assert "else if (!rx_fault_i) state_d = ACTIVE;" in page.words  # a line not reached, from the source
    assert "for <the> test" in page.words
    assert page.cells.count(("n d2", "12")) == 1  # the heat of a count of two digits
    heats = [kind.split()[-1] for kind, _ in page.cells if kind]
    wanted, seen = forwarding().size + 3, 2
    assert heats.count("hole") == wanted - seen
    assert heats.count("ignored") == 1


def test_the_markdown_says_the_same(report: CoverageReport, tmp_path: Path) -> None:
    write(report, tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert re.search(r"^\| lines \| 22 \| 23 \| 95\.6 % \| 1 \|$", text, re.M)
    assert re.search(r"^~ +\d+ +\d+  +else if \(!rx_fault_i\) state_d = ACTIVE;$", text, re.M)
    assert re.search(r"^w +\d+ +0  +if \(!rx_up_i\) state_d = DOWN;$", text, re.M)
    assert "| `link_state.sv` | `if (!rx_up_i) state_d = DOWN;` |  | 1 | for &lt;the> test |" in text
    assert "| cross tiny | 1 | 3 | 33.3 % | 1 |" in text
    assert "| x | 12 | . |\n| &lt;y> | . | - |" in text
    assert "### Holes of tiny: 2\n\n| a | b |\n|---|---|\n| x | 2 |\n| &lt;y> | any |" in text
    assert "| a: &lt;y>, b: 2 | no \\| such |" in text
    assert "| bypass | any | any | any |" in text
    # Every row of a table has the cells of its head.
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_same_results_are_the_same_bytes(report: CoverageReport, tmp_path: Path, suffix: str) -> None:
    write(report, tmp_path / f"one{suffix}")
    write(report, tmp_path / f"two{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_the_order_of_files_does_not_matter(counted: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = FunctionalCoverage([TINY]), FunctionalCoverage([forwarding()])
    one.sample("tiny", a="x", b="1")
    one.save(tmp_path / "1.json")
    two.save(tmp_path / "2.json")
    files = [*counted, tmp_path / "1.json", tmp_path / "2.json"]
    write(gather(files, RTL, None), tmp_path / "a.html")
    write(gather(files[::-1], RTL, None), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_contradiction_is_shown(tmp_path: Path) -> None:
    found = functional()
    found.sample("tiny", a="<y>", b="2")
    for suffix in (".html", ".md"):
        write(CoverageReport(None, found), tmp_path / f"r{suffix}")
    page = Page((tmp_path / "r.html").read_text())
    assert ("n contradiction", "1") in page.cells
    said = "cross tiny: <y> x 2 was seen 1 times, but is ignored: no | such"
    assert said in page.words
    assert "was seen 1 times, but is ignored" in (tmp_path / "r.md").read_text()


@pytest.mark.rest
def test_a_cross_too_large_for_a_table_has_its_holes_listed(tmp_path: Path) -> None:
    large = FunctionalCoverage([Cross("large", {c: tuple("0123456789") for c in "abcde"})])
    for digit in "0123456789":
        large.sample("large", a=digit, b=digit, c=digit, d=digit, e=digit)
    for suffix in (".html", ".md"):
        write(CoverageReport(None, large), tmp_path / f"r{suffix}")
        text = (tmp_path / f"r{suffix}").read_text()
        assert "99,990" in text
        assert len(said(text)) < 100_000


@pytest.mark.parametrize(
    ("tally", "text"),
    [
        (Tally(0, 7, 0), "0.0 %"),
        (Tally(10**17 - 1, 10**17, 0), "99.9 %"),
        (Tally(7, 7, 0), "100.0 %"),
        (Tally(0, 0, 3), "-"),
    ],
)
def test_a_share_is_never_rounded_up(tally: Tally, text: str) -> None:
    assert share(tally) == text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"r\.html: cannot be written"):
        write(CoverageReport(None, functional()), tmp_path / "no" / "r.html")
    with pytest.raises(CoverageError, match=r"r\.pdf: found '.pdf'; allowed are .html and .md"):
        write(CoverageReport(None, functional()), tmp_path / "r.pdf")


# --------------------------------------------------------------------------------------------- the command


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    code = (
        "import sys, click\n"
        "from ringhil.emulator.front.cli.rtl_coverage import coverage\n"
        "try:\n"
        "    sys.exit(coverage.main(standalone_mode=False))\n"
        "except click.ClickException as error:\n"
        "    sys.exit(2 if print(error.format_message(), file=sys.stderr) is None else 3)\n"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_merges_prints_and_writes(counted: tuple[Path, Path], tmp_path: Path) -> None:
    functional().save(tmp_path / "f.json")
    done = run(*counted, tmp_path / "f.json", "--rtl", RTL, "-o", tmp_path / "r.html", "-o", tmp_path / "r.md")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^lines +22 +24 +91\.6 % +0$", done.stdout, re.M)
    assert re.search(r"^cross tiny +1 +3 +33\.3 % +1$", done.stdout, re.M)
    assert re.search(r"^link_state\.sv +22 +24 +91\.6 %", done.stdout, re.M)
    assert (tmp_path / "r.html").exists()
    assert (tmp_path / "r.md").exists()


def test_the_document_has_the_numbers(counted: tuple[Path, Path], tmp_path: Path) -> None:
    functional().save(tmp_path / "f.json")
    waived = tmp_path / "w.json"
    row = {"file": "link_state.sv", "text": "else if (!rx_fault_i) *", "reason": "never"}
    waived.write_text(json.dumps({"format": "ringhil coverage waivers", "version": 1, "waivers": [row]}))
    done = run(*counted, tmp_path / "f.json", "--json", "--rtl", RTL, "--waivers", waived)
    document = json.loads(done.stdout)
    assert document["totals"]["lines"] == {"reached": 22, "of": 23, "left_out": 1}
    assert document["totals"]["cross tiny"] == {"reached": 1, "of": 3, "left_out": 1}
    assert document["files"]["link_state.sv"]["lines"] == document["totals"]["lines"]
    assert document["waived"] == [{**row, "toggles": None, "points": 1}]
    assert "gpu_node.sv" in document["absent"]


def test_a_contradiction_is_exit_code_1(tmp_path: Path) -> None:
    found = functional()
    found.sample("tiny", a="<y>", b="2")
    found.save(tmp_path / "f.json")
    done = run(tmp_path / "f.json", "-o", tmp_path / "r.md")
    assert done.returncode == 1
    assert done.stderr == "cross tiny: <y> x 2 was seen 1 times, but is ignored: no | such\n"
    assert (tmp_path / "r.md").exists()


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(("share", "short"), [("0.91", []), ("0.92", ["lines: 22 of 24"]), ("0", [])])
def test_too_little_is_exit_code_1(counted: tuple[Path, Path], share: str, short: list[str]) -> None:
    """Of the lines 91.6 % are reached."""
    done = run(*counted, "--rtl", RTL, "--json", "--at-least", share)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == ((1, "fail") if short else (0, "pass"))
    asked = f" were reached: --at-least asks for {100 * float(share):g} % of them"
    assert done.stderr.splitlines() == [what + asked for what in short]


def test_too_little_of_a_cross_is_exit_code_1(tmp_path: Path) -> None:
    FunctionalCoverage([TINY]).save(tmp_path / "f.json")
    done = run(tmp_path / "f.json", "--at-least", "0.5")
    assert done.returncode == 1
    assert done.stderr == "cross tiny: 0 of 3 were reached: --at-least asks for 50 % of them\n"


def test_nothing_of_nothing_is_no_success(tmp_path: Path) -> None:
    """Neither where the files have no points, nor where none of them is of this RTL."""
    (tmp_path / "empty.dat").write_text(HEADER + "\n")
    done = run(tmp_path / "empty.dat", "--rtl", RTL, "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (2, "not judged")
    assert done.stderr == f"ringhil: lines: 0 of 0 were reached: nothing of {RTL} was counted\n"
    FunctionalCoverage([]).save(tmp_path / "none.json")
    done = run(tmp_path / "none.json", "--at-least", "1", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (2, "not judged")
    said = f"nothing in {tmp_path / 'none.json'} was counted"
    assert done.stderr == f"ringhil: coverage: 0 of 0 were reached: {said}\n"


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.txt"], "x.txt: found '.txt'; allowed are *.dat of Verilator and *.json of ours"),
        (["no.dat"], "no.dat: cannot be read: No such file or directory"),
        (["good.dat", "-o", "r.pdf"], "r.pdf: found '.pdf'; allowed are .html and .md"),
        (["bad.dat"], "bad.dat:2: found 'X'; allowed are comments (#) and C 'NAMES AND VALUES' COUNT"),
        (["good.dat", "--rtl", "no"], "no: cannot be read: No such file or directory"),
        (["good.dat", "--waivers", "no.json"], "no.json: cannot be read: No such file or directory"),
        (["one.json", "--rtl", "no"], "--rtl no: is for *.dat of Verilator; there is none among the files"),
        (["one.json", "--waivers", "no.json"], "--waivers no.json: is for *.dat of Verilator; there is none among"),
        (["one.json", "other.json"], "other.json: cross 'tiny' has other bins on axis 'a'"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.dat").write_text(HEADER + "\nX\n")
    Path("good.dat").write_text(HEADER + "\n")
    FunctionalCoverage([TINY]).save(Path("one.json"))
    FunctionalCoverage([Cross("tiny", {"a": ("z",), "b": ("1", "2")})]).save(Path("other.json"))
    done = run(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert not Path("r.pdf").exists()


def test_the_command_has_its_name() -> None:
    assert command.name == "coverage"
