"""What the fixture `ringhil_bench` does: build, run, and of what failed a line, its seed and its waves."""

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.files import reason_of, write_whole
from ringhil.emulator.testbench.build import Bench, Simulator, build_bench
from ringhil.emulator.testbench.results import EndedError
from ringhil.emulator.testbench.runner import PATIENCE, WAVES, BenchRun, run_bench
from ringhil.emulator.trace.waves.fst import WaveError
from ringhil.emulator.trace.waves.transactions import gtkwave
from ringhil.emulator.trace.waves.vcd import CYCLE, convert
from ringhil.emulator.trace.waves.viewers import value_names

_AGAIN = 20.0  # seconds for the waves of a test that came to no end
_LARGEST = 8_000_000  # bytes of them: what is converted in some seconds
_LONGEST = 120  # characters of a file's name


class BenchRunner:
    """What the fixture `ringhil_bench` gives: builds a bench, and runs its cocotb tests.

    Call it: `run(module, top, sources, ...)`. The module lies in `beside`; files go into `folder`, waves and
    coverage that are kept into `waves` and `coverage`. `only`: a module and its test, which alone is run.
    """

    def __init__(
        self,
        item: str,
        beside: Path,
        folder: Path,
        record: Callable[[str, object], None],
        *,
        seed: int,
        waves: Path | None,
        coverage: Path | None,
        only: tuple[str, str] | None,
    ) -> None:
        self._item, self._beside, self._folder, self._record = item, beside, folder, record
        self._seed, self._waves, self._coverage, self._only = seed, waves, coverage, only
        self._calls = 0

    def __call__(
        self,
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
        patience: float = PATIENCE,
    ) -> None:
        """Fails the test of pytest with what failed; skips it if all cocotb tests were skipped. Raises BuildError."""
        __tracebackhide__ = True
        self._calls += 1
        chosen = self._seed if seed is None else seed
        tests = self._chosen(module, tests)
        self._record("seed", chosen)
        self._record("simulator", simulator)
        counted = self._coverage is not None and simulator == "verilator"
        build = partial(build_bench, simulator, top, sources, parameters=parameters, optimise=optimise)
        play = partial(run_bench, modules=[module], seed=chosen, settings=settings, paths=[self._beside])
        run = self._of_call("run")
        try:
            bench = build(defines=defines, coverage=counted)
            first = play(bench, folder=run, tests=tests, patience=patience)
        except EndedError as error:
            self._count(run)
            lines = [f"{module}: {error}"]
            again = [error.test] if error.test else []
            limits: dict[str, Any] = {"patience": min(patience, _AGAIN), "largest": _LARGEST}
        else:
            self._count(run)
            self._record("results", str(first.xml))
            lines = [result.told for result in first.failed]
            again = [result.name for result in first.failed]
            limits = {"patience": patience}
            if not lines:
                return self._passed(module, tests, first)
        views = {"RINGHIL_VIEWS": "1"} if any(f.name == "ring_view.sv" for f in sources) else {}
        lines.append(f"seed {chosen}: pytest '{self._item}' --ringhil-seed={chosen}")
        if again:
            recorder = partial(build, defines={**(defines or {}), **views}, waves=True)
            lines.append(self._shown(recorder, partial(play, tests=again, waves=True, **limits)))
        if (run / "simulation.log").is_file():
            lines.append(f"log {run / 'simulation.log'}")
        pytest.fail("\n".join(lines), pytrace=False)

    def _chosen(self, module: str, tests: Sequence[str]) -> Sequence[str]:
        if self._only is None:
            return tests
        named, test = self._only
        if module != named:
            raise BuildError(f"found module {module!r}; allowed is the one that cocotb_tests names, {named!r}")
        if tests:
            raise BuildError("tests: with cocotb_tests each of them is an item; choose with pytest's -k")
        return [test]

    def _passed(self, module: str, tests: Sequence[str], run: BenchRun) -> None:
        __tracebackhide__ = True
        found = [result.name for result in run.results]
        absent = [test for test in tests if test not in found]
        if absent or not found:
            pytest.fail(
                f"{module}: no cocotb test {absent[0]!r}" if absent else f"{module}: no test ran", pytrace=False
            )
        if all(result.skipped for result in run.results):
            pytest.skip(f"{module}: skipped: {', '.join(found)}")

    def _of_call(self, name: str) -> Path:
        """A folder of this call: a test may run several benches."""
        return self._folder / (name if self._calls == 1 else f"{name}-{self._calls}")

    @property
    def _name(self) -> str:
        """Of files that are kept: another one for each item of pytest, and for each call in it."""
        whole = self._item if self._calls == 1 else f"{self._item}-{self._calls}"
        plain = "".join(c if c.isalnum() or c in "_." else "-" for c in whole).strip("-")
        return f"{plain[-_LONGEST:]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"

    def _shown(self, build: Callable[[], Bench], play: Callable[..., BenchRun]) -> str:
        """Waves of what failed: a line that says where they are."""
        folder = self._of_call("waves")
        note = ""
        try:
            bench = build()
            try:
                play(bench, folder=folder)
            except EndedError:
                note = " (as far as it came)"
            waves = self._kept(folder / WAVES)
        except (BuildError, WaveError) as error:
            return f"no waves: {error}"
        self._record("waves", str(waves))
        if waves is not None:
            note += f"\ngtkwave -a {waves.with_suffix('.gtkw')} {waves}"
        return f"waves {waves}{note}" if waves else "no waves: the run with waves wrote none"

    def _kept(self, recorded: Path) -> Path | None:
        """The waves as FST, where they are kept if that is given."""
        if not recorded.is_file():
            return None
        target = recorded.with_suffix(".fst")
        if self._waves is not None:
            target = _folder(self._waves, "--ringhil-waves") / f"{self._name}.fst"
        converted = convert(recorded, target, names=value_names())
        write_whole(target.with_suffix(".gtkw"), gtkwave(converted.frames, CYCLE, end=True))
        return target

    def _count(self, run: Path) -> None:
        """Coverage is kept, also that of a test that failed."""
        counts = run / "coverage.dat"
        if self._coverage is not None and counts.is_file():
            shutil.copyfile(counts, _folder(self._coverage, "--ringhil-coverage") / f"{self._name}.dat")


def _folder(path: Path, option: str) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"{option} {path}: can't be made: {reason_of(error)}") from None
    return path
