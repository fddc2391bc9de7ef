"""`make soak` forgets no test, goes on where it was, and counts only what was run on the commit itself."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from . import conftest, soak
from .command import ANEW
from .soak import ROOT, Entry, Part

PART = Part("part", "a test that passes and one that waits", 1, marks="slow")
TESTS = """
import time, pathlib, pytest
from hypothesis import settings

settings.register_profile("new")

def told(what):
    with open("build/ran", "a") as ran:
        ran.write(what + " ")

@pytest.fixture
def tidy():
    yield
    assert not pathlib.Path("build/untidy").exists()

@pytest.mark.slow
def test_first(tidy): told("first")

@pytest.mark.slow
def test_second():
    told("second")
    while pathlib.Path("build/wait").exists():
        time.sleep(0.02)
    assert not pathlib.Path("build/wrong").exists()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two slow tests; what is in build/ is ignored."""
    (tmp_path / "conftest.py").write_text(TESTS[: TESTS.index("def told")])
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n.hypothesis/\n.pytest_cache/\n")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "src")]))
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "x")):
        subprocess.run(["git", *command], check=True)
    return tmp_path


def ran(project: Path) -> str:
    """What was run since the last call."""
    file = project / "build" / "ran"
    text = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return text.strip()


@pytest.mark.rest
def test_a_part_goes_on_where_it_was(project: Path) -> None:
    # Interrupted while the second test waits ...
    wait, wrong = project / "build" / "wait", project / "build" / "wrong"
    wait.touch()
    wrong.touch()
    play = "from tests import soak; from tests.test_soak import PART; soak.play(PART, 0)"
    with subprocess.Popen([sys.executable, "-c", play]) as attempt:
        deadline = time.monotonic() + 60
        while not (project / "build/ran").exists() or "second" not in (project / "build/ran").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        attempt.send_signal(signal.SIGINT)
    assert ran(project) == "first second"
    assert [(e.result, e.passed, e.failed) for e in soak.ledger()] == [("interrupted", 1, 0)]
    # ... it goes on with the second, which fails, and then passes.
    wait.unlink()
    failed = soak.play(PART, 0)
    assert (failed.result, failed.passed, failed.failed, ran(project)) == ("failed", 1, 1, "second")
    commit, dirty = soak.state()
    assert not dirty
    assert soak.missing([failed], commit) == list(soak.NAMES)
    wrong.unlink()
    passed = soak.play(PART, 0)
    assert (passed.result, passed.passed, passed.failed, ran(project)) == ("passed", 2, 0, "second")
    assert passed.counts_for(commit)
    assert soak.ledger()[1:] == [failed, passed]


@pytest.mark.slow(part="benches")
def test_asked_for_once_more_it_starts_from_the_beginning(project: Path) -> None:
    """And on another work tree it counts for no commit; the row that part benches adds makes none."""
    commit, _ = soak.state()
    (project / "benchmarks").mkdir()
    for file, changed in (("build/any", False), ("benchmarks/counts.csv", False), ("new", True)):
        (project / file).touch()
        entry = soak.play(PART, 0)
        assert (entry.result, entry.passed, ran(project)) == ("passed", 2, "first second")
        assert (entry.dirty, entry.counts_for(commit)) == (changed, not changed)


@pytest.mark.slow(part="benches")
def test_what_was_run_on_a_changed_work_tree_is_not_gone_on_with(project: Path) -> None:
    wrong, new = project / "build" / "wrong", project / "new"
    wrong.touch()
    assert soak.play(PART, 0).result == "failed"
    assert ran(project) == "first second"
    new.touch()
    assert (soak.play(PART, 0).dirty, ran(project)) == (True, "first second")
    new.unlink()
    assert (soak.play(PART, 0).dirty, ran(project)) == (False, "first second")
    wrong.unlink()
    assert (soak.play(PART, 0).result, ran(project)) == ("passed", "second")


@pytest.mark.slow(part="benches")
def test_what_has_passed_on_another_commit_is_run_again_and_does_not_count(project: Path) -> None:
    wrong = project / "build" / "wrong"
    wrong.touch()
    assert soak.play(PART, 0).passed == 1
    assert ran(project) == "first second"
    before = [soak.play(replace(PART, name="models"), 0)]
    commit()
    wrong.unlink()
    assert soak.play(PART, 0).passed == 2
    assert ran(project).endswith("first second")
    now, _ = soak.state()
    passed = [replace(entry, result="passed", failed=0) for entry in before]
    assert passed[0].counts_for(passed[0].commit)
    assert not passed[0].counts_for(now)
    assert "models" in soak.missing(passed, now)
    assert "models" not in soak.missing(passed, passed[0].commit)


def commit() -> None:
    subprocess.run([sys.executable, "-c", COMMIT], check=True)


COMMIT = "import os; os.system('git -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m x')"


@pytest.mark.parametrize("change", ["open('new', 'w')", COMMIT], ids=["a file", "a commit"])
def test_what_changes_the_work_tree_while_it_is_run_counts_for_no_commit(project: Path, change: str) -> None:
    before, _ = soak.state()
    entry = soak.play(Part("changes", "", 1, command=("-c", change)), 0)
    assert entry.result == "passed"
    assert entry.dirty
    assert not any(entry.counts_for(commit) for commit in (before, soak.state()[0]))


@pytest.mark.rest
def test_a_test_that_leaves_a_mess_has_not_passed(project: Path) -> None:
    untidy = project / "build" / "untidy"
    untidy.touch()
    failed = soak.play(PART, 0)
    assert (failed.result, failed.passed, failed.failed, ran(project)) == ("failed", 1, 1, "first second")
    untidy.unlink()
    passed = soak.play(PART, 0)
    assert (passed.result, passed.passed, passed.failed, ran(project)) == ("passed", 2, 0, "first")


@pytest.mark.rest
def test_a_part_without_a_test_has_not_passed(project: Path) -> None:
    assert soak.play(Part("nothing", "", 1, marks="nothing"), 0).result == "failed"


@pytest.mark.rest
def test_a_part_of_which_all_is_skipped_has_not_passed(project: Path) -> None:
    lacking = "import pytest\n@pytest.mark.slow\n@pytest.mark.skip\ndef test_it(): pass\n"
    (project / "test_it.py").write_text(lacking)
    entry = soak.play(PART, 0)
    assert (entry.passed, entry.skipped, entry.result) == (0, 1, "not judged")


def test_a_part_that_fails_keeps_no_other_from_running(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = (Part("wrong", "fails", 1, command=("-c", "exit(3)")), Part("right", "passes", 1, command=("-c", "")))
    monkeypatch.setattr(soak, "PARTS", parts)
    monkeypatch.setattr(soak, "NAMES", ("wrong", "right"))
    assert soak.run([(name, 1) for name in soak.NAMES], 1) == 1
    assert [(e.part, e.result) for e in soak.ledger()] == [("wrong", "failed"), ("right", "passed")]
    commit, _ = soak.state()
    assert soak.missing(soak.ledger(), commit) == ["wrong"]
    capsys.readouterr()
    soak.show(every=False, as_json=False)
    shown = capsys.readouterr().out
    assert "1 of 2 parts passed" in shown
    assert "left: wrong" in shown
    soak.show(every=True, as_json=True)
    assert [Entry(**entry) for entry in json.loads(capsys.readouterr().out)] == soak.ledger()


def test_without_names_it_runs_what_has_not_passed_on_this_commit(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = (Part("wrong", "fails", 1, command=("-c", "exit(3)")), Part("right", "passes", 1, command=("-c", "")))
    monkeypatch.setattr(soak, "PARTS", parts)
    monkeypatch.setattr(soak, "NAMES", ("wrong", "right"))
    monkeypatch.setattr(soak, "ROOT", project)
    monkeypatch.setattr(sys, "argv", ["soak"])
    assert soak.main() == 1
    assert soak.main() == 1
    assert [entry.part for entry in soak.ledger()] == ["wrong", "right", "wrong"]


SLICED = """
import pathlib, pytest
from hypothesis import settings

settings.register_profile("new")

@pytest.mark.parametrize("number", range(7))
@pytest.mark.slow
def test_it(number):
    with open("build/ran", "a") as ran:
        ran.write(f"{number} ")
    assert number != 4 or not pathlib.Path("build/wrong").exists()
"""


@pytest.mark.rest
def test_slices_are_all_of_a_part_and_share_no_test(project: Path) -> None:
    (project / "test_it.py").write_text(SLICED)
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "x"], check=True)
    part, wrong = replace(PART, slices=3), project / "build" / "wrong"
    wrong.touch()
    entries, played = [], []
    for number in (1, 2, 3):
        entries.append(soak.play(part, 0, number))
        played.append(ran(project))
    assert played == ["0 3 6", "1 4", "2 5"]
    assert [(e.slice, e.slices, e.result, e.passed) for e in entries] == [
        (1, 3, "passed", 3),
        (2, 3, "failed", 1),
        (3, 3, "passed", 2),
    ]
    # What has failed goes on with its own slice.
    wrong.unlink()
    again = soak.play(part, 0, 2)
    assert (again.result, again.passed, ran(project)) == ("passed", 2, "4")


@pytest.mark.rest
def test_one_case_of_each_test_is_drawn_by_the_commit(project: Path) -> None:
    (project / "test_it.py").write_text(SLICED + SLICED[SLICED.index("@pytest") :].replace("test_it", "test_other"))
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qam", "x"], check=True)
    part, played = replace(PART, one_case=True), []
    for _ in range(3):
        for _ in range(2):
            assert soak.play(part, 0).passed == 2
            played.append(ran(project))
        assert played[-1] == played[-2]
        commit()
    assert len({*played}) > 1
    halves = [soak.play(replace(part, slices=2), 0, number) for number in (1, 2)]
    assert [entry.passed for entry in halves] == [1, 1]


def test_a_slice_goes_to_a_command(project: Path) -> None:
    told = ("-c", "import sys; open('build/ran', 'w').write(sys.argv[1])", soak.SLICE)
    assert soak.play(Part("command", "", 1, 5, told), 0, 4).result == "passed"
    assert ran(project) == "4/5"


def test_a_commit_draws_its_slice_and_commits_draw_all_of_them() -> None:
    part = Part("many", "", 1, 7)
    commits = [f"{n * 0x9E3779B97F4A7C15:040x}" for n in range(100)]
    drawn = [part.drawn(commit) for commit in commits]
    assert {*drawn} == {*range(1, 8)}
    assert drawn == [part.drawn(commit) for commit in commits]


def test_what_is_asked_for() -> None:
    commit = "c0ffee"
    pairs = next(part for part in soak.PARTS if part.name == "pairs")
    assert soak.pieces("pairs", commit) == [("pairs", 0xC0FFEE % pairs.slices + 1)]
    assert soak.pieces("pairs:7", commit) == [("pairs", 7)]
    assert soak.pieces("pairs:all", commit) == [("pairs", n + 1) for n in range(pairs.slices)]
    assert len(soak.pieces("all", commit)) == sum(part.slices for part in soak.PARTS)
    for wrong in ("pears", "pairs:", "pairs:0", f"pairs:{pairs.slices + 1}", "pairs:x", "pairs:+1", "all:1", ""):
        with pytest.raises(ValueError, match=r"no part|has the slices 1 to"):
            soak.pieces(wrong, commit)


def test_slices_that_have_passed_on_any_commit_are_counted() -> None:
    pairs = next(part for part in soak.PARTS if part.name == "pairs")
    entry = Entry("pairs", "a", False, "", 1, 1, 0, 0, "passed", 3, pairs.slices)
    others = [
        replace(entry, commit="b"),  # the same slice once more
        replace(entry, commit="b", slice=4),
        replace(entry, slice=5, result="failed"),
        replace(entry, slice=6, dirty=True),
        replace(entry, slice=7, slices=pairs.slices + 1),  # when there were other slices
    ]
    assert soak.played_over_time([entry, *others]) == [("pairs", 2, pairs.slices)]


def test_every_part_has_a_name_of_its_own_and_short_slices() -> None:
    assert len(set(soak.NAMES)) == len(soak.PARTS)
    with pytest.raises(ValueError, match="take more slices"):
        Part("long", "", soak.LONGEST + 1)


@pytest.mark.parametrize(
    "mark",
    ["slow", "slow(part='no such part')", "slow(part='proofs')\n@pytest.mark.slow(part='bugs')", "slow(part='judges')"],
)
def test_a_slow_test_that_is_not_in_exactly_one_part_is_refused(pytester: pytest.Pytester, mark: str) -> None:
    """Refused wherever it is collected: tests/conftest.py looks at all of them in every run."""
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): pass")
    assert pytester.inline_run("-m", "not slow", plugins=[conftest]).ret == pytest.ExitCode.USAGE_ERROR


RESTING = """
import pytest

@pytest.mark.rest
def test_all(): pass

@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("case", [pytest.param(0, marks=pytest.mark.slow(part="bugs")), *range(1, 8)])
def test_some(case): pass

@pytest.mark.rest(but_one_in=2, start=3)
@pytest.mark.parametrize("case", range(6))
def test_later(case): pass
"""


def test_of_the_cases_of_a_test_some_stay_and_no_case_is_lost(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RESTING)

    def played(marks: str) -> str:
        passed, skipped, failed = pytester.inline_run("-m", marks, plugins=[conftest]).listoutcomes()
        assert (skipped, failed) == ([], [])
        return " ".join(report.nodeid.partition("::test_")[2] for report in passed)

    assert played("not slow") == "some[1] some[4] some[7] later[3] later[5]"
    assert played("slow(part='rest')") == "all some[2] some[3] some[5] some[6] later[0] later[1] later[2] later[4]"
    assert played("slow(part='bugs')") == "some[0]"


def test_tests_of_make_test_are_played_as_there_and_others_in_new_processes(project: Path) -> None:
    code = f"import os; open('build/ran', 'a').write(os.environ.get({ANEW!r}, '0'))"
    for as_in_test in (True, False):
        assert soak.play(Part("part", "", 1, command=("-c", code), as_in_test=as_in_test), 0).result == "passed"
    assert ran(project) == "01"
