"""A pytest plugin that says at the end of a run which tests of `make test` take more processor time than one of them
may have: they belong to `make soak` (`@pytest.mark.rest`), or can be made cheaper. It fails no run: other machines are
slower.
"""

import os
from collections.abc import Generator

import pytest

from . import command

MOST = 3.0  # seconds of a phase (set-up, call, tear-down), with all processes that have ended in it
_SHOWN = 20
_before = 0.0


def _stat(pid: int) -> bytes:
    """Not by `Path`: tests put their own in place of its parts."""
    file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def used() -> float:
    """Seconds of this process, of those that it has waited for, and of commands that were forked for it."""
    own = os.times()
    forked = (_stat(pid).rpartition(b")")[2].split()[11:15] for pid in command.forking())
    return sum(own[:4]) + sum(int(ticks) for each in forked for ticks in each) / os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes in each report what its phase has used."""
    global _before
    report = yield
    now = used()
    report.processor = now - _before  # type: ignore[attr-defined]
    _before = now
    return report


def pytest_runtest_protocol() -> None:
    """A test begins."""
    global _before
    _before = used()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The longest first."""
    reports = [
        report
        for kind in ("passed", "failed", "")  # "": set-ups and tear-downs
        for report in terminalreporter.getreports(kind)
        if hasattr(report, "processor") and "slow" not in report.keywords
    ]
    long = sorted((r for r in reports if r.processor > MOST), key=lambda report: -report.processor)
    if long:
        terminalreporter.section(f"more than {MOST:g} s of processor time: slow tests are part of make soak")
    for report in long[:_SHOWN]:
        terminalreporter.line(f"{report.processor:6.1f} s {report.when:8} {report.nodeid}")
    if len(long) > _SHOWN:
        terminalreporter.line(f"and {len(long) - _SHOWN} more")
