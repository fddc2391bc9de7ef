"""Shows that nothing changed: one hash for the recording and one for the JSON result of each of several thousand runs.

    python -m benchmarks.fingerprint --write FILE [--jobs N]      note the hashes of this version
    python -m benchmarks.fingerprint --compare FILE [--jobs N]    exit code 1, and a line each, where one differs

What is run: every variant of every file below examples/ and tests/scenarios/, and of four servers 500 cases each that
`ringhil explore` would play: half of them evenly spread over the single faults, half drawn from a seed; with little
work, so that a case is over soon. What follows from the machine is left out: speed, and the hash of the RTL (its
behaviour is in every recording).
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.campaign.explore.settle import bare, settle
from ringhil.emulator.campaign.explore.space import Case, Space
from ringhil.emulator.campaign.verify.discover import is_cluster
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.forks import forked
from ringhil.emulator.judge.findings import FACTS
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Variants, Workload, load, load_variants
from ringhil.emulator.trace import Recorder

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("examples", "tests/scenarios")
EXPLORED = ("one-card", "two-cards-faults", "fail-over", "chain-of-four")
CASES = 500  # of each server
SLICE = 125  # variants or cases in a task
WORK = Workload(60, None, 512)  # of explored servers
_LIMIT = 300.0  # seconds for a case
_OF_THE_MACHINE = ("rtl", "seconds", "cycles_per_second")

Task = tuple[str, int]  # a file, and the first of its variants; or the name of an explored server, and the first case
Line = tuple[str, str, str]  # what was run, hash of the recording, hash of the result


def files() -> list[str]:
    """The scenario files, by their paths in the project. Those of clusters have no recording."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.yaml"))
    return sorted(str(path.relative_to(ROOT)) for path in found if not is_cluster(path))


def tasks() -> Iterator[Task]:
    """All that there is to run, in parts of similar size."""
    for file in files():
        yield from ((file, first) for first in range(0, len(load_variants(ROOT / file)), SLICE))
    for name in EXPLORED:
        yield from ((name, first) for first in range(0, CASES, SLICE))


def run(task: Task) -> list[Line]:
    """The hashes of one part."""
    name, first = task
    if not name.endswith(".yaml"):
        return list(_explored(name, first))
    variants = load_variants(ROOT / name)
    return [_variant(name, variants, number) for number in range(first, min(first + SLICE, len(variants)))]


def _variant(file: str, variants: Variants, number: int) -> Line:
    variant = variants[number]
    server = Run(variant.scenario, _library())
    try:
        hashes = _hashed(server, server.run)
    finally:
        server.engine.close()
    return (f"{file} [{variant.text}]" if variant.text else file, *hashes)


def _explored(name: str, first: int) -> Iterator[Line]:
    scenario = replace(bare(load(ROOT / "examples" / f"{name}.yaml")), workload=WORK)
    warm, rounds = settle(scenario, _library())
    try:
        for case in _cases(Space(scenario.server, rounds, Plan(depth=4, random=CASES // 2)))[first : first + SLICE]:
            yield (f"explore {name}: {case.key}", *forked(lambda case=case: _case(warm.server, case), _LIMIT))  # type: ignore[misc]
    finally:
        warm.close()


def _cases(space: Space) -> list[Case]:
    every = [case for case in space if case.depth < 2 or case.key.startswith("#")]
    single, drawn = every[: -CASES // 2], every[-CASES // 2 :]
    step = len(single) / (CASES // 2)
    return [single[int(number * step)] for number in range(CASES // 2)] + drawn


def _case(server: Run, case: Case) -> tuple[str, str]:
    return _hashed(server, lambda: play(server, case.schedule.events).outcome)


def _hashed(server: Run, act: Callable[[], Outcome]) -> tuple[str, str]:
    cards = server.scenario.server.cards
    gpus = [f"{card.name}.{gpu}" for card in cards for gpu in range(card.gpus)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        with Recorder(path, name=server.scenario.name, seed=server.scenario.seed, rtl="", gpus=gpus) as recorder:
            server.observations.listen_to_frames(recorder.frame)
            outcome = act()
            recorder.commit()
        _, _, told = path.read_bytes().partition(b"\n")  # the first line names versions, which differ
        recording = hashlib.sha256(told).hexdigest()
    document = outcome.to_json()
    document["engine"] = {key: value for key, value in document["engine"].items() if key not in _OF_THE_MACHINE}
    document["violations"] = [{key: each[key] for key in FACTS} for each in document["violations"]]
    return recording[:16], hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _library() -> Library:
    return cells_library()


def main() -> int:
    """Write the hashes, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this in its name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    _library()  # built once, before there are processes
    todo = [task for task in tasks() if asked.only in task[0]]
    found: dict[str, tuple[str, str]] = {}
    with ProcessPoolExecutor(asked.jobs) as pool:
        for done, lines in enumerate(pool.map(run, todo), 1):
            found |= {name: (recording, result) for name, recording, result in lines}
            if sys.stderr.isatty():
                print(f"\r{done} of {len(todo)}", end="", file=sys.stderr)
    if asked.write:
        asked.write.write_text("".join(f"{r} {o} {name}\n" for name, (r, o) in found.items()))
    print(f"{len(found)} runs, {len({r for r, _ in found.values()})} different recordings")
    return _compared(found, asked.compare, asked.only) if asked.compare else 0


def _compared(found: dict[str, tuple[str, str]], path: Path, only: str) -> int:
    lines = (line.split(" ", 2) for line in path.read_text().splitlines())
    before = {name: (recording, result) for recording, result, name in lines if only in name}
    differ = 0
    for name in sorted(before.keys() | found.keys()):
        old, new = before.get(name), found.get(name)
        if old == new:
            continue
        differ += 1
        what = "new" if old is None else "gone" if new is None else "recording" if old[0] != new[0] else "result"
        print(f"{what}: {name}")
    print(f"{len(before) - differ} equal, {differ} different")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
