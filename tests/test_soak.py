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
    # Asked for once more, it starts from the beginning; and on another work tree it counts for no commit.
    assert soak.play(PART, 0).passed == 2
    assert ran(project) == "first second"
    (project / "new").touch()
    other = soak.play(PART, 0)
    assert (other.result, other.dirty, other.counts_for(commit), ran(project)) == (
        "passed",
        True,
        False,
        "first second",
    )


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
    entry = soak.play(Part("changes", "", 1, ("-c", change)), 0)
    assert entry.result == "passed"
    assert entry.dirty
    assert not any(entry.counts_for(commit) for commit in (before, soak.state()[0]))


def test_a_test_that_leaves_a_mess_has_not_passed(project: Path) -> None:
    untidy = project / "build" / "untidy"
    untidy.touch()
    failed = soak.play(PART, 0)
    assert (failed.result, failed.passed, failed.failed, ran(project)) == ("failed", 1, 1, "first second")
    untidy.unlink()
    passed = soak.play(PART, 0)
    assert (passed.result, passed.passed, passed.failed, ran(project)) == ("passed", 2, 0, "first")


def test_a_part_without_a_test_has_not_passed(project: Path) -> None:
    assert soak.play(Part("nothing", "", 1, marks="nothing"), 0).result == "failed"


def test_a_part_that_fails_keeps_no_other_from_running(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = (Part("wrong", "fails", 1, ("-c", "exit(3)")), Part("right", "passes", 1, ("-c", "")))
    monkeypatch.setattr(soak, "PARTS", parts)
    monkeypatch.setattr(soak, "NAMES", ("wrong", "right"))
    assert soak.run(soak.NAMES, 1) == 1
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
    parts = (Part("wrong", "fails", 1, ("-c", "exit(3)")), Part("right", "passes", 1, ("-c", "")))
    monkeypatch.setattr(soak, "PARTS", parts)
    monkeypatch.setattr(soak, "NAMES", ("wrong", "right"))
    monkeypatch.setattr(soak, "ROOT", project)
    monkeypatch.setattr(sys, "argv", ["soak"])
    assert soak.main() == 1
    assert soak.main() == 1
    assert [entry.part for entry in soak.ledger()] == ["wrong", "right", "wrong"]


def test_every_part_has_a_name_of_its_own_and_takes_less_than_an_hour() -> None:
    assert len(set(soak.NAMES)) == len(soak.PARTS)
    with pytest.raises(ValueError, match="less than an hour"):
        Part("long", "", 60)


@pytest.mark.parametrize(
    "mark", ["slow", "slow(part='no such part')", "slow(part='proofs')\n@pytest.mark.slow(part='bugs')"]
)
def test_a_slow_test_that_is_not_in_exactly_one_part_is_refused(pytester: pytest.Pytester, mark: str) -> None:
    """Refused wherever it is collected: tests/conftest.py looks at all of them in every run."""
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): pass")
    assert pytester.inline_run("-m", "not slow", plugins=[conftest]).ret == pytest.ExitCode.USAGE_ERROR
