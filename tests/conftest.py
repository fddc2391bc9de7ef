"""Shared by all tests."""

import os
from collections.abc import Generator

import pytest

pytest_plugins = ["pytester"]  # tests of the pytest plugin run pytest

_NO_SKIP = "RINGHIL_NO_SKIP"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, "pytest.CallInfo[None]", None]:
    """Where every optional tool is installed, a skipped test means that one is missing: a failure."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and os.environ.get(_NO_SKIP) and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {_NO_SKIP} is set: {report.longrepr}"
