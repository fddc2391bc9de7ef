"""pytest plugin: the fixture `ringhil_bench` runs cocotb tests and takes waves of those that fail.

A run's seed is `--ringhil-seed` (1), and stands in the results of cocotb and of pytest. cocotb derives each test's seed
from it and from the test's name, so a failing test can be run again alone: that is how its waves are taken, and only
then. Folders are pytest's `tmp_path`, so tests may run in parallel (xdist). The bench's build is cached. With the
marker `cocotb_tests("bench_mine")` a test is one item for each cocotb test of that module.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ringhil.emulator.testbench.fixture import BenchRunner

_SEED, _WAVES, _COVERAGE = "--ringhil-seed", "--ringhil-waves", "--ringhil-coverage"
_FIXTURE, _MARKER = "ringhil_bench", "cocotb_tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Seed, and where waves and coverage go."""
    group = parser.getgroup("ringhil")
    group.addoption(_SEED, type=int, default=1, metavar="N", help="seed of cocotb runs (default: 1)")
    group.addoption(_WAVES, type=Path, default=None, metavar="DIR", help="keep waves of failing cocotb tests here")
    group.addoption(
        _COVERAGE, type=Path, default=None, metavar="DIR", help="write Verilator's coverage of cocotb tests here"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line("markers", f"{_MARKER}(module): one item for each cocotb test of the module")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item for each cocotb test of the module that the marker names."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    from ringhil.emulator.build.errors import BuildError
    from ringhil.emulator.testbench.listing import listed

    where = f"{metafunc.definition.nodeid}: {_MARKER}"
    if _FIXTURE not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{where}: wanted is the fixture {_FIXTURE}, which this test doesn't use")
    if marker.kwargs or len(marker.args) != 1 or not isinstance(marker.args[0], str):
        raise pytest.Collector.CollectError(f"{where}: wanted is the name of one module")
    try:
        tests = listed(marker.args[0], [metafunc.definition.path.parent])
    except BuildError as error:
        raise pytest.Collector.CollectError(f"{where}: {error}") from None
    skipped = pytest.mark.skip(reason="skipped by its bench")
    items = [pytest.param((marker.args[0], name), id=name, marks=[skipped] if skip else []) for name, skip in tests]
    metafunc.parametrize(_FIXTURE, items, indirect=True)


@pytest.fixture
def ringhil_bench(request: pytest.FixtureRequest, tmp_path: Path) -> "BenchRunner":
    """A function `run(module, top, sources, ...)`: build the bench, run the cocotb tests of the module that lies beside
    the test file, fail with what failed, its seed and its waves."""
    from ringhil.emulator.testbench.fixture import BenchRunner

    option = request.config.getoption
    return BenchRunner(
        request.node.nodeid,
        request.path.parent,
        tmp_path,
        lambda name, value: request.node.user_properties.append((name, value)),
        seed=int(option(_SEED)),
        waves=option(_WAVES),
        coverage=option(_COVERAGE),
        only=getattr(request, "param", None),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """An error of ours, such as that of a folder without sources, is one line, and no traceback through our code."""
    from ringhil.emulator.errors import RinghilError

    try:
        return (yield)
    except RinghilError as error:
        if _FIXTURE not in getattr(item, "fixturenames", ()):
            raise
        frames = [f for f in pytest.ExceptionInfo.from_exception(error).traceback if Path(f.path) == item.path]
        place = f"{item.path.name}:{frames[-1].lineno + 1}: " if frames else ""
        failed = pytest.fail.Exception(f"{place}{error}", pytrace=False)
    raise failed from None
