"""Throughput of fault scenarios: the same schedules as `explore` and `verify` play them, and in cocotb."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.bench import scenarios_peer
from ringhil.emulator.bench.schedules import ROUNDS, Schedules, prepare
from ringhil.emulator.campaign.explore.campaign import local, run
from ringhil.emulator.campaign.verify.evidence import Replay
from ringhil.emulator.campaign.verify.player import Player
from ringhil.emulator.campaign.verify.run import VerifyPlan, run_all
from ringhil.emulator.campaign.verify.selection import Selection
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import dumps

Progress = Callable[[str], None]
JOBS = (1, 2)


@dataclass(frozen=True)
class Rate:
    """`schedules` played in `seconds`, `cycles` of the card simulated for them. `processor`: seconds that all processes
    together have computed for it, which depends less on what else the machine does."""

    schedules: int
    cycles: int
    seconds: float
    processor: float

    @property
    def per_second(self) -> float:
        return self.schedules / self.seconds

    @property
    def cycles_per_second(self) -> float:
        return self.cycles / self.seconds


@dataclass(frozen=True)
class Scenarios:
    """`explore` and `verify` by number of processes; `cocotb` by kind of monitor, empty without peers.

    `cycles`: from power-up to the end, of all schedules together; `settling`: seconds before `explore` plays the first.
    `load`: mean number of processes that were running before and after (the last minute's).
    """

    gpus: int
    schedules: int
    cycles: int
    settling: float
    explore: dict[int, Rate]
    verify: dict[int, Rate]
    cocotb: dict[str, Rate]
    load: tuple[float, float]

    def ratio(self, other: Rate) -> float:
        """How many times as many schedules a second one process of `explore` plays."""
        return self.explore[1].per_second / other.per_second

    def processor_ratio(self, other: Rate) -> float:
        """The same for a second of a processor."""
        mine = self.explore[1]
        return (other.processor / other.schedules) / (mine.processor / mine.schedules)

    def to_json(self) -> dict[str, Any]:
        """The section of `bench --json`. Ratios are those of one process of `explore` to each."""
        return {
            "gpus": self.gpus,
            "schedules": self.schedules,
            "cycles": self.cycles,
            "settling_seconds": self.settling,
            "load": {"before": self.load[0], "after": self.load[1]},
            "explore": {str(jobs): self._rate(rate) for jobs, rate in self.explore.items()},
            "verify": {str(jobs): self._rate(rate) for jobs, rate in self.verify.items()},
            "cocotb": {monitors: self._rate(rate) for monitors, rate in self.cocotb.items()},
        }

    def _rate(self, rate: Rate) -> dict[str, Any]:
        return {
            "schedules": rate.schedules,
            "cycles": rate.cycles,
            "seconds": rate.seconds,
            "processor_seconds": rate.processor,
            "schedules_per_second": rate.per_second,
            "cycles_per_second": rate.cycles_per_second,
            "ratio": self.ratio(rate),
            "processor_ratio": self.processor_ratio(rate),
        }


def measure(
    library: Library,
    gpus: int = 8,
    *,
    number: int,
    seconds: float = 2.0,
    peers: bool = True,
    progress: Progress = lambda text: None,
) -> Scenarios:
    """Measure at most `number` schedules; `explore` repeats them for about `seconds`. All must find the same at the
    end: raises RuntimeError where one doesn't."""
    before = os.getloadavg()[0]
    progress(f"fault schedules of {gpus} GPUs")
    schedules = prepare(library, gpus, number, time.perf_counter)
    try:
        explore = {}
        for jobs in JOBS:
            progress(f"schedules as explore plays them, {jobs} at a time")
            explore[jobs] = explored(schedules, jobs, seconds)
        with temporary_folder("ringhil-bench-") as scratch:
            files = written(schedules, scratch)
            verify = {}
            for jobs in JOBS:
                progress(f"schedules as verify plays them, {jobs} at a time")
                verify[jobs] = verified(files, library, jobs)
            cocotb = {}
            for monitors in scenarios_peer.MONITORS if peers else ():
                progress(f"schedules in cocotb, {monitors} monitors")
                spent = scenarios_peer.play(schedules, files, monitors, scratch, progress)
                cocotb[monitors] = Rate(len(files), sum(s.cycles for s in schedules.played), *spent)
    finally:
        schedules.warm.close()
    return Scenarios(
        gpus,
        len(files),
        sum(s.cycles for s in schedules.played),
        schedules.settling,
        explore,
        verify,
        cocotb,
        (before, os.getloadavg()[0]),
    )


def explored(schedules: Schedules, jobs: int, seconds: float) -> Rate:
    """Play the schedules as a campaign, all of them again and again."""
    lengths = [schedule.cycles for schedule in schedules.played]
    warm, size = schedules.warm, len(schedules.played)

    def play(times: int) -> Rate:
        pool = local(warm, jobs=jobs, rounds=ROUNDS)
        cases = ((n, schedules.played[n % size].case) for n in range(times * size))
        cycles, computed, began = 0, _computed(), time.perf_counter()
        with closing(run(pool, cases)) as results:
            for number, case, result in results:
                if result.verdict != VerdictWord.PASS or result.cycles != lengths[number % size]:
                    raise RuntimeError(f"explore: {case.key}: {result.verdict} after {result.cycles} cycles")
                cycles += result.cycles - warm.now
        return Rate(times * size, cycles, time.perf_counter() - began, _computed() - computed)

    return play(max(1, round(seconds / play(1).seconds)))


def _computed() -> float:
    """Seconds that this process has computed, and those that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def written(schedules: Schedules, folder: Path) -> list[Path]:
    """Scenario files that expect what `explore` has found."""
    files = []
    for schedule in schedules.played:
        file = folder / f"{schedule.number:04}.yaml"
        file.write_text(dumps(schedules.cold(schedule)), encoding="utf-8")
        files.append(file)
    return files


def verified(files: list[Path], library: Library, jobs: int) -> Rate:
    player = Player(files, library, Selection(), None, Replay(), None)
    computed = _computed()
    report = run_all(VerifyPlan(player, jobs, False, ""))
    if report.stopped is not None:
        raise report.stopped
    for verdict in report.bad():
        raise RuntimeError(f"verify: {verdict.name}: {verdict.failures[0].text}")
    return Rate(len(report.results), report.cycles, report.seconds, _computed() - computed)
