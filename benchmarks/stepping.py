"""Prints what it costs to record a long run and to walk through it: the figures of docs/howto/stepping.md.

    python -m benchmarks.stepping [--cycles N] [--pairs N] [--looks N] [--json]

The run is one of 64 GPUs with work, two failures and a liar. It is played with and without a recording, in turn, and
the processor time of the commands is compared. Then its recording is opened, played to its end once, and looked at: at
random moments, one message back from each, and four questions are asked. A look is all registers of a GPU, so the run
has to be there. Times are of this machine; the ratio, sizes and numbers of moments are not.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library

SERVER = """seed: 1
server: {{cards: {{a: {{gpus: 64, host_links: [0, 1]}}}}}}
workload: {{units: {units}, size: 600}}
timeline:
  - {{at: {first}, fault: dead, gpu: a.17}}
  - {{at: {second}, fault: dead, gpu: a.0}}
  - {{at: {third}, fault: skip_count, gpu: a.40}}
until: {cycles}
"""


def server(cycles: int) -> str:
    """The file: work for half of the run, faults at a tenth, three and seven tenths of it."""
    tenth = cycles // 10
    return SERVER.format(units=cycles // 500, first=tenth, second=3 * tenth, third=7 * tenth, cycles=cycles)


def played(*arguments: object) -> float:
    """Runs `ringhil run`; seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ringhil.emulator", "run", *map(str, arguments)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def timed(act: Callable[[], object]) -> float:
    """Seconds that something takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def spread(seconds: list[float]) -> dict[str, float]:
    """Median, 99th percentile, largest, in milliseconds."""
    found = sorted(seconds)
    at = {"p50": len(found) // 2, "p99": len(found) * 99 // 100, "most": len(found) - 1}
    return {name: round(1000 * found[place], 1) for name, place in at.items()}


def walked(recording: Path, looks: int) -> dict[str, object]:
    """What it takes to walk through it."""
    library, dice, found = cells_library(), random.Random(1), dict[str, object]()
    opened: list[DebugSession] = []
    found["open_ms"] = round(1000 * timed(lambda: opened.append(DebugSession(recording, library))), 1)
    (session,) = opened
    last, messages = session.recording.last_cycle, session.recording.last_number

    def look(cycle: int) -> None:
        session.go(cycle)
        session.registers("a.3")

    def back() -> None:
        session.back()
        session.registers("a.3")

    with session:
        found["bytes_per_message"] = round(recording.stat().st_size / messages)
        found["messages"] = messages
        found["first_way_to_the_end_s"] = round(timed(lambda: look(last)), 1)
        jumps, steps = list[float](), list[float]()
        for _ in range(looks):
            cycle = dice.randrange(last)
            jumps.append(timed(partial(look, cycle)))
            steps.append(timed(back))
        found["jump_ms"], found["back_ms"] = spread(jumps), spread(steps)
        found["moments"], found["moments_mib"] = len(session.past.moments), session.past.used() >> 20
        found["questions_ms"] = {
            name: round(1000 * timed(ask), 1) for name, ask in questions(session, recording).items()
        }
    return found


def questions(session: DebugSession, recording: Path) -> dict[str, Callable[[], object]]:
    """Which hop damaged a count, whose loss moved a role, which message differs first, which census first missed a GPU;
    each from one end of the run."""
    do = Commands(session).do
    end = session.recording.last_cycle

    def damaged() -> None:
        do(f"go {end}")
        do("back-until kind == Rejected")
        home = next(told for told in do("why rejected")["chain"] if told.get("way") == "to_firmware")
        do(f"back-until number == {home['number']}")
        assert do("who count")["hops"]

    def moved() -> None:
        do(f"go {end}")
        assert do("why role")["chain"]

    def missed() -> None:
        do("go 0")
        do("until kind == Counted and not members has 17")
        assert session.cycle

    return {
        "hop that damaged a count": damaged,
        "loss that moved a role": moved,
        "first message that differs, of none": lambda: session.compare(recording),
        "first census without a GPU": missed,
    }


def main() -> None:
    """Plays, walks, prints."""
    parser = argparse.ArgumentParser(description="What it costs to record a run and to walk through it.")
    parser.add_argument("--cycles", type=int, default=10_000_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--looks", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        file, recording = Path(folder, "server.yaml"), Path(folder, "run.rec")
        file.write_text(server(asked.cycles))
        plain, recorded = list[float](), list[float]()
        for _ in range(asked.pairs):
            plain.append(played(file))
            recorded.append(played(file, "--record", recording))
        ratio = min(recorded) / min(plain)
        found = {"cycles": asked.cycles, "recorded_to_plain": round(ratio, 3), **walked(recording, asked.looks)}
    if asked.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
