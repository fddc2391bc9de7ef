"""Prints the table of recoveries in docs/reliability.md: every fault, at every cycle of one census period's round.

    python benchmarks/recovery.py [GPUS]

Each run powers up one card, sets one fault at one cycle and clears it later. Cycles from the event until a right
count is accepted; for a GPU that lies, until it is named.
"""

import sys
from collections.abc import Iterator

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import FAULTS, loads
from ringhil.emulator.server import Server
from ringhil.firmware import timing

FIRST = 5000  # the second round begins here
CLEAR = 9_000  # cycles later


def scenario(gpus: int, kind: str, place: int, at: int) -> str:
    """One fault and its end."""
    where = f"link: a.{place}-a.{(place + 1) % gpus}" if FAULTS[kind].target == "link" else f"gpu: a.{place}"
    return (
        f"server: {{cards: {{a: {{gpus: {gpus}}}}}}}\ntimeline:\n"
        f"  - {{at: {at}, fault: {kind}, {where}}}\n  - {{at: {at + CLEAR}, clear: {kind}, {where}}}\n"
    )


def runs(gpus: int, kind: str) -> Iterator[tuple[int, int, int]]:
    """(cycles to recover from the fault, from its end, worst share of the bound in percent) of every run."""
    library = cells_library()
    for offset in range(-2, timing.ring_time(gpus, records=True) + 40):
        place = 1 + offset % (gpus - 1)
        outcome = Server(loads(scenario(gpus, kind, place, FIRST + offset)), library).run()
        if outcome.wrong_counts:
            raise SystemExit(f"{kind} at {FIRST + offset}: {outcome.wrong_counts}")
        begins, ends = outcome.recoveries
        if begins.recounted is None or ends.recounted is None:
            raise SystemExit(f"{kind} at {FIRST + offset}: not recovered")
        took = (begins.recounted - begins.at, ends.recounted - ends.at)
        yield (*took, max(100 * took[0] // begins.bound, 100 * took[1] // ends.bound))


def main() -> None:
    """Print the table."""
    gpus = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    transit = timing.ring_time(gpus, records=True)
    print("| fault | runs | p50 | p99 | max | max, ring transits | cleared, max | worst share of its bound |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind in FAULTS:
        results = list(runs(gpus, kind))
        took = sorted(r[0] for r in results)
        p50, p99 = took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)]
        cleared, share = max(r[1] for r in results), max(r[2] for r in results)
        row = (kind, len(took), p50, p99, took[-1], f"{took[-1] / transit:.1f}", cleared, f"{share} %")
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
