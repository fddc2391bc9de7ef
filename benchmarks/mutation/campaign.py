"""Shows all mutants to the suite, in as many simulations as it takes: a mutant may end one."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from benchmarks.mutation.mutant import Mutant
from benchmarks.mutation.suite import PREFIX

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.conformance.check import ENDS
from ringhil.emulator.testbench.build import Bench
from ringhil.emulator.testbench.runner import run_bench

_SUITE = "benchmarks.mutation.suite"
_CASE = 120.0  # seconds that one case may take; it takes a second on a slow machine
_ALL = 86_400.0


@dataclass(frozen=True)
class Suite:
    """What is played: `rules` (all, if empty) with cases drawn from `seed`; `effort` scales how many."""

    rules: tuple[str, ...] = ()
    seed: int = 1
    effort: int = 1


@dataclass(frozen=True)
class Fate:
    """What became of a mutant. `rule` is empty when it kept all rules; `cases`: how many it was shown."""

    mutant: Mutant
    cases: int
    rule: str = ""
    case: str = ""
    cycle: int = 0
    found: str = ""

    @property
    def killed(self) -> bool:
        return bool(self.rule)


def run(
    bench: Bench, mutants: Sequence[Mutant], suite: Suite, progress: Callable[[int], None] = lambda done: None
) -> list[Fate]:
    """In the order of `mutants`, which are numbered from 1 in the bench. Raises BuildError when the node without a
    mistake breaks a rule, or the suite itself fails."""
    modules = {"0": ""} | {str(i): m.module for i, m in enumerate(mutants, 1)}
    with tempfile.TemporaryDirectory(prefix="ringhil-mutation-") as scratch:
        out, todo = Path(scratch) / "results.jsonl", Path(scratch) / "todo.json"
        out.write_text("")
        todo.write_text(json.dumps(modules))
        given = {"OUT": str(out), "MUTANTS": str(todo), "PATIENCE": str(_CASE), "RULES": ",".join(suite.rules)}
        given |= {"SEED": str(suite.seed), "EFFORT": str(suite.effort)}
        settings = {PREFIX + name: value for name, value in given.items()}
        with _Watch(out, progress):
            while (left := len(modules) - len(_done(out))) > 0:
                _simulate(bench, settings, Path(scratch), out)
                _refuse_sick(_done(out))
                if len(modules) - len(_done(out)) >= left:
                    raise BuildError("a simulation ended without a result")
        entries = _done(out)
    fates = []
    for i, mutant in enumerate(mutants, 1):
        entry = entries[i]
        fields = {name: entry[name] for name in ("rule", "case", "cycle", "found") if name in entry}
        fates.append(Fate(mutant, entry["cases"], **fields))
    return fates


def _simulate(bench: Bench, settings: dict[str, str], scratch: Path, out: Path) -> None:
    """One simulation; if it ends within a mutant, that is what the mutant is killed by."""
    try:
        ran = run_bench(bench, [_SUITE], scratch / "run", settings=settings, patience=_ALL)
        if not ran.failed:
            return
        ended, why = f"the suite failed: {ran.failed[0].failure}", ran.log.read_text()
    except BuildError as error:
        ended, why = str(error), error.args[-1]
    last = json.loads(out.read_text().splitlines()[-1]) if out.stat().st_size else {}
    if last.get("begin", 0) == 0:
        raise BuildError(ended, why)
    shown = sum(json.loads(line).get("begin") == last["begin"] for line in out.read_text().splitlines())
    entry = {"mutant": last["begin"], "cases": shown, "rule": ENDS, "case": f"{last['rule']}, {last['case']}"}
    with out.open("a") as lines:
        lines.write(json.dumps({**entry, "cycle": 0, "found": ended.splitlines()[0]}) + "\n")


def _refuse_sick(entries: dict[int, dict[str, Any]]) -> None:
    healthy = entries.get(0, {})
    if "rule" in healthy:
        raise BuildError(f"without a mistake the node breaks {healthy['rule']} ({healthy['case']}): {healthy['found']}")


def _done(out: Path) -> dict[int, dict[str, Any]]:
    entries = [json.loads(line) for line in out.read_text().splitlines()]
    return {entry["mutant"]: entry for entry in entries if "mutant" in entry}


class _Watch:
    """Reports how many mutants have a result, while the simulation writes them down."""

    def __init__(self, out: Path, progress: Callable[[int], None]) -> None:
        self._out, self._progress, self._stop = out, progress, Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            self._progress(self._out.read_text().count('{"mutant"'))
