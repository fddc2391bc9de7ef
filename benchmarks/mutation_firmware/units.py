"""The unit tests that could find a mistake in a file, and their run in a process in which it has been planted."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.mutation_firmware.found import Found, allow
from benchmarks.mutation_firmware.mutant import ROOT

_TESTS = {"firmware": "tests/firmware", "emulator": "tests/emulator/host"}
_LONG = ("test_election_model.py",)  # as all others twice
# Where assertions are rewritten, our own modules are loaded by that, without the mistake; and these tests need neither
# workers nor a cache.
_OPTIONS = ("-q", "-x", "-m", "not slow", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")


def unit_tests(file: str, *, deep: bool) -> list[str]:
    """Test files of the room that `file` is in, those of its own name first; unless `deep`, only those that import it
    by its name and don't take long."""
    folder, own = ROOT / _TESTS[Path(file).parts[0]], f"test_{Path(file).stem}"
    module = ".".join(Path(file).with_suffix("").parts)
    found = sorted(folder.rglob("test_*.py"), key=lambda t: (t.stem != own, t.name in _LONG, t.stat().st_size, t.name))
    near = [t for t in found if t.name not in _LONG and _is_near(t, own, module)]
    return [str(test.relative_to(ROOT)) for test in (found if deep or not near else near)]


def _is_near(test: Path, own: str, module: str) -> bool:
    return test.stem == own or test.stem.startswith(f"{own}_") or f"ringhil.{module} " in test.read_text()


class _First:
    """Notes the first test that fails, and gives each its time."""

    def __init__(self, patience: int) -> None:
        self.found, self._patience = Found(), patience

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        allow(self._patience)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.found.played += 1
        self._note(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self.found.finder:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            self.found.by(report.nodeid, lines[0][2:].strip() if lines else "")


def run(tests: Sequence[str], patience: int) -> Found:
    """Up to the first that fails, or can't be loaded: exit codes 1 and 2 of pytest.

    `patience`: seconds of processor time for a test, and for loading them, after which the process is ended.
    """
    allow(patience)
    os.chdir(ROOT)
    first = _First(patience)
    code = pytest.main([*_OPTIONS, *tests], plugins=[first])
    if code != pytest.ExitCode.OK and not first.found.finder:
        first.found.by("pytest", f"exit code {int(code)}")
    return first.found
