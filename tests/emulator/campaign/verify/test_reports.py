"""JUnit, annotations, Code Quality and Markdown: whatever a failure says, the document stays whole."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ringhil.emulator.campaign.verify import Failure, Verdict, VerifyReport
from ringhil.emulator.campaign.verify.annotations import code_quality, github, marks, summary
from ringhil.emulator.campaign.verify.junit import junit
from ringhil.emulator.campaign.verify.report import Unplayed
from ringhil.emulator.front.cli.verify_reports import show
from ringhil.emulator.judge.expectations import EXPECT
from ringhil.emulator.judge.findings import Finding, FindingKind
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.pages import cell, visible
from ringhil.emulator.pages.github import MOST

from .strict_junit import check, facts, properties

TEXT = st.text(st.characters(), max_size=30)
STATES = [VerdictWord.PASS, VerdictWord.FAIL, VerdictWord.ERROR]
LINE = st.none() | st.integers(1, 50)
KINDS = st.sampled_from(["expectation", "wrong_count", "work_once"])
FAILURES = st.lists(st.builds(Failure, KINDS, TEXT, LINE, LINE, LINE), min_size=1, max_size=3).map(tuple)


@st.composite
def verdicts(draw: st.DrawFn) -> tuple[Verdict, ...]:
    found = []
    for file in range(draw(st.integers(0, 4))):
        for number in range(draw(st.integers(1, 4))):
            state: VerdictWord = draw(st.sampled_from(STATES))
            failures = () if state == "pass" else draw(FAILURES)
            name = f"{number} {draw(TEXT)}"
            parameters = (("n", draw(TEXT)),)
            path, seconds = Path(f"dir/{file}.yaml"), draw(st.floats(0, 10))
            found.append(
                Verdict(path, number, f"n={number}", parameters, name, state, 1, 10, seconds, failures, draw(TEXT))
            )
    return tuple(found)


REPORTS = st.builds(VerifyReport, verdicts(), st.just("sha256:00"), st.just("1.2.3"), st.just(1.0))


@given(REPORTS)
def test_junit_is_well_formed_and_complete(report: VerifyReport) -> None:
    root = check(junit(report))
    cases = list(root.iter("testcase"))
    assert len(cases) == len(report.results)
    for case, verdict in zip(cases, report.results, strict=True):
        said = facts(case)
        assert (said["cycles"], said["seed"], said["rtl"]) == ("10", "1", "sha256:00")
        assert said["id"] == verdict.id
        assert (case.find("failure") is not None) == (verdict.state == "fail")
        assert (case.find("error") is not None) == (verdict.state == "error")
    for case, verdict in zip(
        ElementTree.fromstring(junit(report, places=True)).iter("testcase"), report.results, strict=True
    ):
        assert (case.attrib["file"], case.attrib["line"]) == (verdict.file.as_posix(), str(verdict.line))


def report(*failures: Failure, file: str = "s/x.yaml", replay: str = "again") -> VerifyReport:
    verdict = Verdict(Path(file), 0, "", (), "x", "fail", 1, 10, 0.5, failures, replay)
    return VerifyReport((verdict,), "sha256:00", "1.2.3", 1.0)


def test_control_characters_are_written_out_and_text_is_kept() -> None:
    text = "\x1b[31m <&> \ufffe ü\n\ud800"
    root = check(junit(report(Failure("expectation", text, 3))))
    (case,) = root.iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"].split("\n")[0] == "\\x1b[31m <&> \\xfffe ü"
    assert "\\ud800" in (failure.text or "")
    assert "s/x.yaml:3: \\x1b[31m <&>" in (failure.text or "")
    assert "replay: again" in (failure.text or "")


def untold(text: str) -> Finding:
    promise = EXPECT if text.startswith("expected") else "bounded_recovery"
    return Finding(text, promise=promise, kind=FindingKind.NOT_JUDGED)


def test_what_no_variant_of_a_file_could_tell_is_said_once() -> None:
    told = {"x.yaml": [("expected a", "expected b"), ("expected b",)], "y.yaml": [("expected a",), ()]}
    told |= {"z.yaml": [("card a at the end", "expected c")]}
    results = tuple(
        Verdict(
            Path(file), n, "", (), "x", VerdictWord.PASS, 1, 10, 0.5, (), "again", unjudged=tuple(map(untold, texts))
        )
        for file, runs in told.items()
        for n, texts in enumerate(runs)
    )
    found = VerifyReport(results, "sha256:00", "1.2.3", 1.0)
    never = [("x.yaml", "expected b"), ("z.yaml", "card a at the end"), ("z.yaml", "expected c")]
    assert found.never_judged() == [(Path(file), text) for file, text in never]
    assert "not judged: card a at the end" in junit(found)
    assert found.to_json()["results"][4]["not_judged"] == ["card a at the end", "expected c"]
    output = StringIO()
    show(found, Console(file=output, width=200))
    assert output.getvalue().splitlines()[:3] == [f"not judged: {file}: {text}" for file, text in never]


def test_an_interrupted_run_has_not_passed_in_any_report() -> None:
    passed = Verdict(Path("s/x.yaml"), 0, "n=0", (), "x", VerdictWord.PASS, 1, 10, 0.5, (), "again")
    left = (Unplayed(Path("s/x.yaml"), 3), Unplayed(Path("s/y.yaml"), None))
    stopped = VerifyReport((passed,), "r", "1", 1.0, KeyboardInterrupt(), left)
    assert stopped.verdict is VerdictWord.ERROR
    document = stopped.to_json()
    assert (document["verdict"], document["passed"], document["interrupted"]) == ("error", 1, True)
    assert document["not_played"] == [{"file": "s/x.yaml", "variants": 3}, {"file": "s/y.yaml", "variants": None}]
    assert stopped.summary.startswith("1 passed, 0 failed: 1 variant of 1 file, ")
    assert stopped.summary.endswith("(interrupted: not played: 3 variants and 1 unread file)")
    root = check(junit(stopped))
    assert [properties(suite)["interrupted"] for suite in root] == ["true"] * 3
    assert (root.attrib["tests"], root.attrib["errors"]) == ("4", "1")
    states = {
        (c.attrib["classname"], c.attrib["name"]): [e.tag for e in c if e.tag != "system-out"]
        for c in root.iter("testcase")
    }
    assert states == {
        ("s.x", "x"): [],
        ("s.x", "not played"): ["skipped"],
        ("s.y", "not played"): ["skipped"],
        ("ringhil.verify", "all was played"): ["error"],
    }
    assert "### ringhil verify: error" in summary(stopped)
    assert [parse_command(line)[0]["file"] for line in github(stopped, None)] == ["s/x.yaml", "s/y.yaml"]
    assert [issue["location"]["path"] for issue in json.loads(code_quality(stopped, None))] == ["s/x.yaml", "s/y.yaml"]
    failed = VerifyReport(report(Failure("expectation", "x")).results, "r", "1", 1.0, KeyboardInterrupt(), left)
    assert failed.verdict is VerdictWord.FAIL
    nothing = VerifyReport((), "r", "1", 1.0, KeyboardInterrupt())
    assert nothing.verdict is VerdictWord.ERROR
    assert check(junit(nothing)).attrib["errors"] == "1"


def parse_command(line: str) -> tuple[dict[str, str], str]:
    """As GitHub's runner reads a workflow command."""
    found = re.fullmatch(r"::(?:error|notice) (.*?)::(.*)", line)
    assert found, line
    values = dict(word.split("=", 1) for word in found[1].split(","))
    escapes = (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
    for code, character in escapes:
        values = {name: value.replace(code, character) for name, value in values.items()}
    text = found[2]
    for code, character in escapes[2:]:
        text = text.replace(code, character)
    return values, text


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.text(st.sampled_from("ab:,%\r\n="), min_size=1))
def test_github_reads_back_file_line_and_message(text: str, name: str) -> None:
    (line,) = github(report(Failure("expectation", text, 12, 3), file=f"s/{name}.yaml"), None)
    assert "\n" not in line
    assert "\r" not in line
    values, message = parse_command(line)
    assert message == text
    assert values == {
        "file": f"s/{name}.yaml",
        "line": "12",
        "col": "3",
        "title": "ringhil: expectation",
    }


def test_a_line_has_one_annotation_and_there_are_ten_at_most() -> None:
    def of(variant: int, line: int) -> Verdict:
        failure = Failure("expectation", "count", line)
        return Verdict(Path("s.yaml"), variant, f"n={variant}", (), f"s [{variant}]", "fail", 1, 1, 0.0, (failure,), "")

    same = VerifyReport(tuple(of(n, 5) for n in range(50)), "r", "1", 1.0)
    assert [parse_command(line)[1] for line in github(same, None)] == ["count [n=0, and 49 more]"]
    assert len(json.loads(code_quality(same, None))) == 1
    many = VerifyReport(tuple(of(n, n + 1) for n in range(50)), "r", "1", 1.0)
    lines = github(many, None)
    assert sum(line.startswith("::error ") for line in lines) == MOST
    assert "40 more" in lines[-1]


def test_paths_are_relative_to_the_working_copy(tmp_path: Path) -> None:
    found = report(Failure("expectation", "x", 2), file=str(tmp_path / "s" / "x.yaml"))
    assert parse_command(github(found, tmp_path)[0])[0]["file"] == "s/x.yaml"
    (issue,) = json.loads(code_quality(found, tmp_path))
    assert issue["location"] == {"path": "s/x.yaml", "lines": {"begin": 2}}


@given(REPORTS)
def test_code_quality_has_what_gitlab_demands(report: VerifyReport) -> None:
    issues = json.loads(code_quality(report, None))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith(("/", "./"))
    assert bool(issues) == bool(report.bad())


@given(REPORTS)
def test_every_row_of_the_markdown_table_has_its_four_cells(report: VerifyReport) -> None:
    text = summary(report)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == (2 + len(report.sorts()) if report.bad() else 0)
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 5, row
    for verdict in report.bad():
        assert cell(verdict.id) in text
        assert all(str(visible(cell(failure.text))) in text for failure in verdict.failures)


def test_variants_of_one_cause_are_one_line_and_nothing_of_it_is_cut() -> None:
    """In a job's summary and for people: all that a variant has failed at, however long, and the others' names."""
    long, notes = "members " + ", ".join(map(str, range(900))), ("it was so at cycle 9", "before: fault dead of a.1")
    failures = (
        Failure("expectation", long, 5, sort="expectation: members", notes=notes),
        Failure("work_once", "2 of 9 work units were not done", sort="work_once: N of N work units were not done"),
    )
    found = tuple(
        Verdict(Path("s.yaml"), n, f"n={n}", (), f"s [{n}]", VerdictWord.FAIL, 1, 1, 0.0, failures, f"replay {n}")
        for n in range(12)
    )
    report = VerifyReport(found, "r", "1", 1.0)
    assert parse_command(github(report, None)[1])[1].startswith(
        "work_once: 2 of 9 work units were not done [n=0, and 11"
    )
    assert "; it was so at cycle 9" in marks(report)[0].message
    (row,) = [line for line in summary(report).splitlines() if line.startswith("| s.yaml")]
    output = StringIO()
    show(report, Console(file=output, width=80))
    assert output.getvalue().count(long) == row.count(long) == 1
    for text in (row, output.getvalue(), junit(report)):
        assert all(words in text for words in (long, *notes, "2 of 9 work units were not done"))
        assert all(f"s.yaml[n={n}]" in text for n in range(12))
    assert "do 11 more: s.yaml[n=1], " in output.getvalue()
    many = tuple(replace(found[0], number=n, failures=(replace(failures[0], sort=f"{n}"),)) for n in range(400))
    text = summary(VerifyReport(many, "r", "1", 1.0))
    assert len(text.encode()) < 2**20
    assert f"and {400 - text.count(long)} more" in text


def test_a_report_of_nothing_has_not_passed() -> None:
    report = VerifyReport((), "sha256:0", "0", 0.0)
    assert (report.verdict, report.exit_code) == (VerdictWord.ERROR, 2)


@given(verdicts())
def test_variants_that_fail_alike_are_counted_as_one(found: tuple[Verdict, ...]) -> None:
    report = VerifyReport(found, "sha256:0", "0", 0.0)
    sorts = report.to_json()["sorts"]
    assert sum(one["variants"] for one in sorts) == len(report.bad())
    assert len({one["sort"] for one in sorts}) == len(sorts)
    ids = [verdict.id for verdict in report.bad()]
    assert all(one["first"] in ids for one in sorts)
