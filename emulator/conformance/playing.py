"""Plays rules in several simulations at a time: each takes the next rule that none has begun, the longest first.

What a rule comes to doesn't depend on who plays it, nor on what is played before: at the end everything is put in
order.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.testbench.build import Bench
from ringhil.emulator.testbench.results import KilledError
from ringhil.emulator.testbench.runner import run_bench, stop_benches

SUITE = "ringhil.emulator.conformance.suite"
Judged = Callable[[str, list[dict[str, Any]]], None]
_LOOK = 0.2  # seconds from one look at what has been played to the next


@dataclass(frozen=True)
class End:
    """A simulation ended in a case of a rule: why, and whether somebody outside ended it (`killed`)."""

    rule: str
    case: str
    stimulus: str
    why: str
    killed: bool


@dataclass
class PlayedRules:
    """Results of cases (see `suite`) and ends of simulations, in the order of the rules; `counts`: Verilator's, of the
    last simulation, b"" without coverage."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    counts: bytes = b""


class Playing:
    """The rules of one check, and the simulations that share them."""

    def __init__(
        self, bench: Bench, rules: Sequence[str], settings: Mapping[str, str], scratch: Path, patience: float
    ) -> None:
        self._bench, self._rules, self._settings = bench, [*rules], settings
        self._scratch, self._patience = scratch, patience
        self._shared = scratch / "begun"
        self._shared.mkdir()
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._played = PlayedRules()
        self._read: dict[Path, int] = {}  # files of results, and how many bytes of each have been looked at
        self._judged: dict[str, list[dict[str, Any]]] = {}
        self._done: set[str] = set()

    def run(self, jobs: int, progress: Callable[[str], None], judged: Judged) -> PlayedRules:
        """Play all of them. `judged` is called with each rule and its results, in the order of the rules, as soon as it
        and those before it are judged; not any more once a simulation has ended in a rule. Raises BuildError when the
        suite itself fails."""
        known = all_rules()
        order = sorted(self._rules, key=lambda name: -known[name].weight)
        with ThreadPoolExecutor(jobs) as pool:
            runs = [pool.submit(self._one, number, order) for number in range(min(jobs, len(order)))]
            try:
                self._watch(runs, progress, judged)
                for done in runs:
                    done.result()
            except BaseException:
                self._stopped.set()
                stop_benches()
                raise
        place = {rule: number for number, rule in enumerate(self._rules)}
        self._played.entries.sort(key=lambda entry: place[entry["rule"]])
        self._played.ends.sort(key=lambda end: place[end.rule])
        return self._played

    def _watch(self, runs: Sequence["Future[None]"], progress: Callable[[str], None], judged: Judged) -> None:
        """Say how far it is, until all have ended or one has failed."""
        told = iter(self._rules)
        next_one, ended = next(told, None), False
        while not ended:
            ended = all(done.done() for done in runs)
            self._look()
            while next_one in self._done:
                judged(next_one, self._judged.get(next_one, []))
                next_one = next(told, None)
            if any(done.done() and done.exception() for done in runs):
                return
            begun = sorted(self._shared.iterdir(), key=lambda file: file.stat().st_mtime_ns)
            if begun:
                progress(f"rule {len(begun)} of {len(self._rules)}, {begun[-1].name}")
            if not ended:
                time.sleep(_LOOK)

    def _look(self) -> None:
        """What has been written down since the last look."""
        with self._lock:
            files = [*self._read.items()]
        for file, at in files:
            with file.open("rb") as results:
                results.seek(at)
                lines = results.read().rpartition(b"\n")[0]
            if not lines:
                continue
            self._read[file] = at + len(lines) + 1
            for entry in map(json.loads, lines.splitlines()):
                if "rule" in entry:
                    self._judged.setdefault(entry["rule"], []).append(entry)
                elif "done" in entry:
                    self._done.add(entry["done"])

    def _one(self, number: int, order: Sequence[str]) -> None:
        """Simulations one after the other; after one that ended in a case the other rules are played in a new one."""
        while not self._stopped.is_set() and len([*self._shared.iterdir()]) < len(order):
            lines, ended, killed = self._simulated(number, order)
            with self._lock:
                self._played.entries += [entry for entry in lines if "rule" in entry]
            if not ended or self._stopped.is_set():
                return
            if not lines or ("rule" in lines[-1] and not killed):
                raise BuildError(ended)
            last = lines[-1]
            at = last["begin"] if "begin" in last else last["rule"]
            with self._lock:
                self._played.ends.append(End(at, last["case"], last.get("stimulus", ""), ended, killed))

    def _simulated(self, number: int, order: Sequence[str]) -> tuple[list[dict[str, Any]], str, bool]:
        """What the suite wrote down, why the simulation ended before its time ("" if it didn't), and whether that was
        somebody outside."""
        folder, ended, killed = self._scratch / f"run{number}", "", False
        with self._lock:
            out = self._scratch / f"results{len(self._read)}.jsonl"
            out.write_text("")
            self._read[out] = 0
        given = {**self._settings, "OUT": str(out), "SHARED": str(self._shared), "RULES": ",".join(order)}
        try:
            run = run_bench(
                self._bench,
                [SUITE],
                folder,
                seed=int(self._settings["SEED"]),
                settings={f"RINGHIL_CHECK_{k}": v for k, v in given.items()},
                patience=self._patience,
                going=out,  # each case: all together may take hours
            )
            if run.failed:
                raise BuildError(f"the suite failed: {run.failed[0].failure}", run.log.read_text(errors="replace"))
        except BuildError as error:
            ended, killed = str(error), isinstance(error, KilledError)
        counts = folder / "coverage.dat"
        if counts.is_file():
            self._played.counts = counts.read_bytes()
        try:
            lines = [json.loads(line) for line in out.read_text().splitlines()]
        except ValueError as error:  # it ended in the middle of a line
            why = ended or f"what the simulation wrote breaks off ({error}); is there room on the disk?"
            raise BuildError(why) from None
        return [line for line in lines if "done" not in line], ended, killed
