"""Failures that are known are no news until their last day; what is known to fail, and passes, fails."""

import json
from datetime import date, timedelta
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.command import refusal

from ringhil.emulator.campaign.verify import Failure, Verdict, VerifyReport
from ringhil.emulator.campaign.verify.excused import excused, idle, stale
from ringhil.emulator.campaign.verify.junit import junit
from ringhil.emulator.front.cli.verify_reports import show
from ringhil.emulator.judge.known import KnownFailures, day
from ringhil.emulator.judge.outcome import VerdictWord

from .files import BAD, GOOD, ringhil, write
from .strict_junit import check

LAST = date(2026, 11, 30)
ENTRY = "known:\n- {reason: why not, until: 2026-11-30"
SORTS = ("work_once: N of N were not done [lasts]", "expectation: at: count [passes]")


def listed(folder: Path, entry: str, today: date = LAST) -> KnownFailures:
    (folder / "known.yaml").write_text(f"{ENTRY}, {entry}}}\n")
    return KnownFailures.load(folder / "known.yaml", today.isoformat())


def verdict(*sorts: str, state: VerdictWord = VerdictWord.FAIL, id_: str = "s/x.yaml[n=3]") -> Verdict:
    failures = tuple(Failure("work_once", "it was not done", 5, sort=sort) for sort in sorts)
    file, _, variant = id_.removesuffix("]").partition("[")
    return Verdict(Path(file), 0, variant, (), "x", state, 1, 10, 0.5, failures, "again")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(-400, 400), st.lists(st.sampled_from(SORTS), min_size=1, max_size=2), st.sampled_from((*SORTS, "*")))
def test_it_is_known_when_each_failure_is_and_the_day_is_not_over(
    tmp_path: Path, days: int, sorts: list[str], wanted: str
) -> None:
    known = listed(tmp_path, f'sort: "{wanted}"', LAST + timedelta(days))
    found, all_ = excused(verdict(*sorts), known), set(sorts) <= {wanted} or wanted == "*"
    assert bool(found.known) == (days <= 0 and all_)
    assert found.bad != bool(found.known)
    over = days > 0 and (wanted in sorts or wanted == "*")
    assert ("that is over: why not (until 2026-11-30" in " ".join(found.failures[0].notes)) == over
    error = verdict(*sorts, state=VerdictWord.ERROR)
    assert excused(error, known) == error


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_a_day_is_one_of_the_calendar(year: int, month: int, number: int) -> None:
    text = f"{year:04}-{month:02}-{number:02}"
    try:
        date(year, month, number)
    except ValueError:
        with pytest.raises(ValueError, match="there is no such day"):
            day(text)
    else:
        assert day(text) == text


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("s/x.yaml[n=3]", True),
        ("x.yaml[n=3]", True),
        ("./s/x.yaml", True),
        ("s/*[n=?]", True),
        ("s/x.yaml[n=33]", False),
        ("yaml", False),
        ("s/y.yaml", False),
    ],
)
def test_it_names_a_variant_a_file_or_many(tmp_path: Path, pattern: str, fits: bool) -> None:
    known = listed(tmp_path, f"scenario: '{pattern}'")
    assert bool(excused(verdict(*SORTS), known).known) == fits
    passed = excused(verdict(state=VerdictWord.PASS), known)
    assert (passed.state is VerdictWord.FAIL) == fits
    report = VerifyReport((verdict(*SORTS),), "r", "1", 1.0)
    assert bool(idle(report, known)) == (not fits)


def test_a_sort_of_which_nothing_fails_any_more_fails(tmp_path: Path) -> None:
    known = listed(tmp_path, f'sort: "{SORTS[0]}"')
    for sorts, gone in ((SORTS[:1], 0), (SORTS[1:], 1), ((), 1)):
        state = VerdictWord.FAIL if sorts else VerdictWord.PASS
        report = VerifyReport((excused(verdict(*sorts, state=state), known),), "r", "1", 1.0)
        report = VerifyReport(report.results, "r", "1", 1.0, stale=stale(report, known))
        assert len(report.stale) == gone
        assert (", 1 known and gone: " in report.summary) == bool(gone)
        assert report.exit_code == int(gone or sorts == SORTS[1:])
        assert check(junit(report)).attrib["failures"] == str(gone + (sorts == SORTS[1:]))


def test_what_is_known_for_one_reason_is_told_once(tmp_path: Path) -> None:
    known = listed(tmp_path, 'sort: "*"')
    found = tuple(excused(verdict(*SORTS, id_=f"s/x.yaml[n={n}]"), known) for n in range(12))
    output = StringIO()
    show(VerifyReport(found, "r", "1", 1.0), Console(file=output, width=80))
    (line,) = [line for line in output.getvalue().splitlines() if line.startswith("known to fail: ")]
    assert line.startswith("known to fail: 12 variants, s/x.yaml[n=0], s/x.yaml[n=1], ")
    assert line.endswith(f", ...: why not (until 2026-11-30, {tmp_path}/known.yaml:2)")


def test_a_run_with_a_list_says_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD, good=GOOD)
    (tmp_path / "known.yaml").write_text(f"{ENTRY}, scenario: bad.yaml}}\n")
    arguments = ("verify", ".", "--known", "known.yaml", "--today")
    done = ringhil(tmp_path, *arguments, "2026-11-30", "--junit", "out/x.xml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "known to fail: bad.yaml: why not (until 2026-11-30, known.yaml:2)\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 passed, 0 failed, 1 known to fail: 2 variants of 2 files, ")
    assert "passed over" not in done.stdout
    (skipped,) = check((tmp_path / "out" / "x.xml").read_text()).iter("skipped")
    assert skipped.attrib == {"type": "known", "message": "known to fail: why not (until 2026-11-30, known.yaml:2)"}
    after = json.loads(ringhil(tmp_path, *arguments, "2026-12-01", "--json").stdout)
    assert (after["verdict"], after["failed"], after["known"]) == ("fail", 1, 0)
    write(tmp_path, bad=GOOD)
    strict = ringhil(tmp_path, *arguments, "2026-11-30")
    assert strict.returncode == 1
    text = "it passes, and is known to fail: why not (until 2026-11-30, known.yaml:2); take it off the list"
    assert f"FAIL bad.yaml\n  bad.yaml: known: {text}\n" in strict.stdout


WRONG = {
    "nothing: 1\n": "1:1: found no key 'known'; needed is",
    "known: 5\n": "known: found 5; allowed is a list",
    "known: [5]\n": "known[0]: found 5; allowed is a mapping with scenario, sort, reason, until",
    ENTRY + ", sorts: x}\n": "unknown key 'sorts'",
    ENTRY + "}\n": "it says neither which scenario nor which sort",
    "known:\n- {sort: x, until: 2026-11-30}\n": "key 'reason' is missing",
    "known:\n- {sort: x, reason: y}\n": "key 'until' is missing",
    "known:\n- {sort: x, reason: y, until: 2026-02-30}\n": "until: found '2026-02-30'; there is no such day",
    "known:\n- {sort: x, reason: y, until: tomorrow}\n": "found 'tomorrow'; allowed is a day such as 2026-12-31",
    "known:\n- {sort: [], reason: y, until: 2026-02-01}\n": "sort: found an empty list; allowed is a text",
    "known: &a [*a]\n": "known.yaml:1:",
}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_list_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "known.yaml").write_text(text)
    line = refusal("verify", "good.yaml", "--known", "known.yaml", cwd=tmp_path)
    assert line.startswith("ringhil: known.yaml:")
    assert WRONG[text] in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--today", "2026-11-30"), "--today: it is the day for --known FILE, which is missing"),
        (("--known", "known.yaml", "--today", "30.11.2026"), "found '30.11.2026'; allowed is a day such as 2026-12-31"),
        (("--known", "no.yaml"), "no.yaml: "),
        (("--known", "known.yaml", "--junit", "known.yaml"), "would take the place of what is read"),
    ],
)
def test_wrong_options_are_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "known.yaml").write_text(f"{ENTRY}, scenario: good.yaml}}\n")
    assert says in refusal("verify", "good.yaml", *arguments, cwd=tmp_path)
    assert (tmp_path / "known.yaml").read_text().startswith("known:")
