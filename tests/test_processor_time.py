"""A test that takes too long for `make test` is seen at the end of the run, also where a process of its own does."""

import pytest

from . import processor_time
from .soak import ROOT

TESTS = """
import pytest, time
from tests.command import ringhil

def work():
    end = time.process_time() + 0.4
    while time.process_time() < end: pass

def test_itself(): work()

def test_a_command(): assert ringhil("devices", "nonesuch").returncode

@pytest.fixture
def prepared(): work()

def test_set_up(prepared): pass

def test_sleeps(): time.sleep(0.4)

@pytest.mark.slow
def test_in_soak(): work()
"""


@pytest.mark.rest
def test_who_takes_long_is_named(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a run in several processes."""
    monkeypatch.setattr(processor_time, "MOST", 0.3)
    monkeypatch.syspath_prepend(ROOT)
    pytester.makeini("[pytest]\nmarkers = slow")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "tests.processor_time", "-n", "1")
    result.assert_outcomes(passed=5)
    *long, _ = result.stdout.get_lines_after("*processor time*")
    named = {(when, test.partition("::")[2]) for _, _, when, test in map(str.split, long)}
    assert named == {("call", "test_itself"), ("call", "test_a_command"), ("setup", "test_set_up")}
