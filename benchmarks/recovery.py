"""Plays what docs/explanation/evidence.md sums up: every fault at random cycles, alone and in pairs.

    python -m benchmarks.recovery [RUNS [PAIR_RUNS]] [--jobs N]

The cases are those of tests/emulator/server/campaign.py: two cards at work, short periods. For a fault alone: cycles
from the event until all is as it must be (a right count, a role with a GPU that can hold it, a liar named), over
every run in which something had to happen. Cases with a wrong count, a split brain, a missed bound, lost or
duplicated work are printed to stderr, and the exit code is then 1.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product

from tests.emulator.server.campaign import KINDS, SIZES, case

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.scenario import Settings
from ringhil.emulator.server.times import Times

_TRANSIT = Times(SIZES["a"], Settings(), True).ring_time  # cycles

Found = list[tuple[int, int, int]]  # of the first event: cycles to recover, to detect, percent of the bound


@cache
def _library() -> Library:
    return cells_library()


def play(kinds: tuple[str, ...], seeds: range) -> tuple[Found, list[str]]:
    """Run cases; what they took, of those events that could be judged, and the cases that failed."""
    found, failed = [], []
    for seed in seeds:
        chosen = case(kinds, seed)
        outcome = chosen.run(_library())
        if outcome.failures:
            failed.append(f"{kinds}, seed {seed}: {outcome.failures}\n{chosen.text}")
        for event in outcome.recoveries:
            if event.action == "fault" and event.fault == kinds[0] and event.recounted is not None:
                took = event.recounted - event.at
                found.append((took, (event.detected or event.recounted) - event.at, 100 * took // event.bound))
    return found, failed


def percentile(values: list[int], percent: int) -> int:
    """Of sorted values."""
    return values[min(len(values) - 1, len(values) * percent // 100)]


def row(kind: str, runs: int, found: Found) -> str:
    """A line of the table of single faults."""
    if not found:
        return f"| {kind} | {runs} | 0 | - | - | - | - | - | - |"
    took, detected = sorted(f[0] for f in found), sorted(f[1] for f in found)
    p50, p99, most = percentile(took, 50), percentile(took, 99), took[-1]
    transits = " / ".join(f"{value / _TRANSIT:.1f}" for value in (p50, p99, most))
    share = max(f[2] for f in found)
    fields = (kind, runs, len(found), percentile(detected, 50), p50, p99, most, transits, f"{share} %")
    return "| " + " | ".join(map(str, fields)) + " |"


def show(failed: list[str]) -> list[str]:
    """Print cases that failed, as soon as they are known."""
    for text in failed:
        print(text, file=sys.stderr, flush=True)
    return failed


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=int, nargs="?", default=500)
    parser.add_argument("pair_runs", type=int, nargs="?", default=50)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    _library()
    print("| fault | runs | judged | detected, p50 | recovered, p50 | p99 | max | the same in transits | of bound |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(asked.jobs) as pool:
        singles = [(kind,) for kind in KINDS]
        failed = []
        for kinds, (found, bad) in zip(
            singles, pool.map(play, singles, [range(asked.runs)] * len(singles)), strict=True
        ):
            print(row(kinds[0], asked.runs, found), flush=True)
            failed += show(bad)
        pairs = [*product(KINDS, KINDS)]
        results: Found = []
        for found, bad in pool.map(play, pairs, [range(asked.pair_runs)] * len(pairs), chunksize=4):
            results += found
            failed += show(bad)
    took = sorted(f[0] for f in results)
    print(f"\n{len(pairs)} ordered pairs, {len(pairs) * asked.pair_runs} runs, {len(took)} first faults judged:")
    if took:
        figures = [percentile(took, 50), percentile(took, 99), took[-1]]
        cycles = " / ".join(map(str, figures))
        transits = " / ".join(f"{value / _TRANSIT:.1f}" for value in figures)
        worst = max(f[2] for f in results)
        print(f"p50 / p99 / max {cycles} cycles, {transits} transits; at most {worst} % of the bound")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
