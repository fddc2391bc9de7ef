"""pytest plugin: the fixture `ringhil_bench` runs cocotb tests and takes waves of those that fail.

A run's seed is `--ringhil-seed` (1), and stands in the results of cocotb and of pytest. cocotb derives each test's seed
from it and from the test's name, so a failing test can be run again alone: that is how its waves are taken, and only
then. Folders are pytest's `tmp_path`, so tests may run in parallel (xdist). The bench's build is cached.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

_SEED, _WAVES = "--ringhil-seed", "--ringhil-waves"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Seed, and where waves go."""
    group = parser.getgroup("ringhil")
    group.addoption(_SEED, type=int, default=1, metavar="N", help="seed of cocotb runs (default: 1)")
    group.addoption(_WAVES, type=Path, default=None, metavar="DIR", help="keep waves of failing cocotb tests here")


Run = Callable[..., None]


@pytest.fixture
def ringhil_bench(
    request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Run:
    """A function `run(module, top, sources, ...)`: build the bench, run the cocotb tests of the module that lies beside
    the test file, fail with what failed, its seed and its waves."""
    from ringhil.emulator.build.errors import BuildError
    from ringhil.emulator.testbench.build import Simulator, build_bench
    from ringhil.emulator.testbench.runner import run_bench

    def run(
        module: str,
        top: str,
        sources: Sequence[Path],
        *,
        simulator: Simulator = "verilator",
        parameters: Mapping[str, int] | None = None,
        defines: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        tests: Sequence[str] = (),
        seed: int | None = None,
        optimise: str = "-O1",
        patience: float = 600,
    ) -> None:
        chosen = int(request.config.getoption(_SEED)) if seed is None else seed
        record_property("seed", chosen)
        record_property("simulator", simulator)
        build = partial(build_bench, simulator, top, sources, parameters=parameters, optimise=optimise)
        play = partial(run_bench, seed=chosen, settings=settings, paths=[request.path.parent], patience=patience)
        try:
            first = play(build(defines=defines), [module], tmp_path / "run", tests=tests)
        except BuildError as error:
            log = tmp_path / "run" / "simulation.log"
            pytest.fail(f"{module}: {error}" + (f"\nlog {log}" if log.exists() else ""), pytrace=False)
        record_property("results", str(first.xml))
        assert first.results, f"{module}: no cocotb tests"
        if not first.failed:
            return
        names = [result.name for result in first.failed]
        views = {"RINGHIL_VIEWS": "1"} if any(f.name == "ring_view.sv" for f in sources) else {}
        recorder = build(defines={**(defines or {}), **views}, waves=True)
        again = play(recorder, [module], tmp_path / "waves", tests=names, waves=True)
        waves = _kept(again.waves, request.config.getoption(_WAVES), request.node.name)
        record_property("waves", str(waves))
        lines = [f"{result.name}: {result.failure}" for result in first.failed]
        lines.append(f"seed {chosen}: pytest {request.node.nodeid} {_SEED}={chosen}")
        lines.append(f"waves {waves}" if waves else "no waves: the run with waves wrote none")
        pytest.fail("\n".join(lines), pytrace=False)

    return run


def _kept(recorded: Path | None, folder: Path | None, name: str) -> Path | None:
    """The waves as FST, in `folder` if one is given."""
    if recorded is None:
        return None
    from ringhil.emulator.trace.waves.vcd import convert
    from ringhil.emulator.trace.waves.viewers import value_names

    target = recorded.with_suffix(".fst")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / ("".join(c if c.isalnum() else "-" for c in name) + ".fst")
    convert(recorded, target, names=value_names())
    return target
