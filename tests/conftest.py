"""Shared by all tests."""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]  # tests of the pytest plugin run pytest

_NO_SKIP = "RINGHIL_NO_SKIP"

# The same examples in every run, or a commit could fail for what another has done; `make soak` draws new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False, print_blob=True)
settings.load_profile("same")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, "pytest.CallInfo[None]", None]:
    """Where every optional tool is installed, a skipped test means that one is missing: a failure."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and os.environ.get(_NO_SKIP) and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {_NO_SKIP} is set: {report.longrepr}"
