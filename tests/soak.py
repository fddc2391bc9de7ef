"""`make soak`: what takes too long for `make test`, in named parts, each below an hour on two cores.

    python -m tests.soak [--jobs N] [PART ...]      run these parts; without names, those not yet passed on this commit
    python -m tests.soak --ledger [--all] [--json]  what was run, when, for how long, with what result

A test marked `@pytest.mark.slow(part=NAME)` belongs to part NAME; other parts are commands. Each attempt adds one line
to the ledger (`LEDGER`, JSON lines, ignored by git). A part that was interrupted or has failed goes on where it was:
tests that have passed on the same commit are not run again. What is run on a changed work tree is marked as such,
counts for no commit and starts from the beginning.

Exit code 0: every part passed; 1: some part failed, the others were run all the same; 2: it could not start.

The functions at the end are a pytest plugin (`-p tests.soak`), which keeps that record of tests.
"""

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringhil.emulator.build.processes import unwinding_on_termination

from .command import ANEW

ROOT = Path(__file__).resolve().parents[1]
LEDGER = Path("build/soak.jsonl")
_LAST_LINES = 15  # of a failed part's log
_TWO = ("--jobs", "2")


@dataclass(frozen=True)
class Part:
    """Either the tests marked with its name, or a command (arguments of Python)."""

    name: str
    what: str
    minutes: int  # an estimate for two cores
    command: tuple[str, ...] = ()
    marks: str = ""  # of tests, in place of its own mark

    def __post_init__(self) -> None:
        if self.minutes >= 60:
            raise ValueError(f"part {self.name} takes {self.minutes} minutes; split it: each takes less than an hour")


PARTS = (
    Part("suite", "all of make test, with new examples and new processes", 40, marks="not slow"),
    Part("models", "elections explored with more faults", 10),
    Part("proofs", "the long proofs of the RTL, those of whole nodes, and their broken twins", 55),
    Part("engine", "cells and card wire by wire, saturated and large servers", 10),
    Part("singles", "each fault at 500 random cycles", 25),
    Part("pairs-1", "each pair of faults at 50 random cycles: first third of the pairs", 22),
    Part("pairs-2", "second third", 22),
    Part("pairs-3", "last third", 22),
    Part("cycles", "faults at every cycle of a census round", 10),
    Part("work", "random trouble under work, and several faults at once", 8),
    Part("alarms-1", "100,000 valid files of any kind, none of which may fail: first half", 55),
    Part("alarms-2", "second half", 55),
    Part("scenarios", "every variant of the scenarios that are shipped", 5),
    Part("explore-1", "random schedules, 100,000 on one card and 30,000 on two: first quarter", 30),
    Part("explore-2", "second quarter", 30),
    Part("explore-3", "third quarter", 30),
    Part("explore-4", "last quarter", 30),
    Part("bugs", "seeded bugs: found by explore, named by rtl check; the rules on Icarus", 35),
    Part("mutants", "400 mutants of the node", 45),
    Part("judges-1", "220 mutants of firmware and CPU", 40, ("-m", "benchmarks.mutation_firmware", "--quick", *_TWO)),
    Part("judges-2", "those left: all scenarios, more cases", 55, ("-m", "benchmarks.mutation_firmware", *_TWO)),
    Part("coverage", "what cocotb reaches of rtl/", 10, ("-m", "benchmarks.coverage")),
    Part("benches", "what rtl check reaches of the node; cocotb, explore, verify and clusters find the same", 20),
    Part("recovery", "tables of docs/reliability.md, fewer runs", 10, ("-m", "benchmarks.recovery", "100", "2")),
)
NAMES = tuple(part.name for part in PARTS)


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: one attempt at a part. Tests that were left out as they had passed before are counted."""

    part: str
    commit: str
    dirty: bool  # the work tree held something else, before or after
    start: str  # UTC
    seconds: int  # of this attempt
    passed: int
    failed: int
    skipped: int
    result: str  # passed, failed, interrupted

    def counts_for(self, commit: str) -> bool:
        """Whether it says that its part has passed on this commit."""
        return self.commit == commit and not self.dirty and self.result == "passed"


def ledger() -> list[Entry]:
    """All lines, oldest first."""
    with suppress(FileNotFoundError):
        return [Entry(**json.loads(line)) for line in LEDGER.read_text().splitlines()]
    return []


def state() -> tuple[str, bool]:
    """The commit, and whether the work tree differs from it. Raises CalledProcessError outside of a repository."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))


def play(part: Part, jobs: int) -> Entry:
    """One attempt at a part, with its line in the ledger. An interrupt is written down and raised again."""
    commit, dirty = state()
    folder = LEDGER.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    log, record = folder / f"{part.name}.log", folder / f"{part.name}-{commit}.tests"
    if dirty:
        record.unlink(missing_ok=True)
    command = [sys.executable, *(part.command or _pytest(part, jobs, record))]
    began, result = datetime.now(UTC), "interrupted"
    try:
        with log.open("w") as out:
            result = "passed" if _run(command, out.fileno()) in _good(part, record) else "failed"
    finally:
        after = state()
        tests = Counter(outcomes(record).values())
        seconds = round((datetime.now(UTC) - began).total_seconds())
        entry = Entry(
            part.name,
            commit,
            dirty or after != (commit, False),
            began.isoformat(timespec="seconds"),
            seconds,
            *(tests[outcome] for outcome in ("passed", "failed", "skipped")),
            result,
        )
        with LEDGER.open("a") as lines:
            lines.write(json.dumps(asdict(entry)) + "\n")
        if result == "passed" or entry.dirty:
            record.unlink(missing_ok=True)
    if result == "failed":
        print(*log.read_text(errors="replace").splitlines()[-_LAST_LINES:], f"all of it: {log}", sep="\n")
    return entry


def _pytest(part: Part, jobs: int, record: Path) -> tuple[str, ...]:
    marks = part.marks or f"slow(part='{part.name}')"
    options = ("--hypothesis-profile=new", f"--record={record.absolute()}", "-p", "tests.soak", "-m", marks)
    return ("-m", "pytest", "-q", "-n", str(jobs), *options)


def _good(part: Part, record: Path) -> tuple[int, ...]:
    """Exit codes of a part that has passed: if all of its tests had passed before, pytest finds no test."""
    return (0, pytest.ExitCode.NO_TESTS_COLLECTED) if "passed" in outcomes(record).values() else (0,)


def _run(command: Sequence[str], out: int) -> int:
    """Exit code of a command, which ends with us and with all that it has started."""
    environment = {**os.environ, ANEW: "1"}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, process_group=0, env=environment
    )
    try:
        return process.wait()
    except BaseException:
        for number in (signal.SIGINT, signal.SIGKILL):
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, number)
                process.wait(10)
        raise


def table(entries: Sequence[Entry], commit: str) -> str:
    """The ledger for a reader: one line for each entry."""
    rows = [("part", "commit", "start (UTC)", "minutes", "passed", "failed", "skipped", "result", "")]
    for e in entries:
        of = "this commit" if e.counts_for(commit) else "other work tree" if e.dirty else ""
        minutes, start = f"{e.seconds / 60:.1f}", e.start[:16].replace("T", " ")
        rows.append((e.part, e.commit[:9], start, minutes, *map(str, (e.passed, e.failed, e.skipped)), e.result, of))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def latest(entries: Sequence[Entry]) -> list[Entry]:
    """The last line of each part, in the order of the parts."""
    last = {entry.part: entry for entry in entries}
    return [last[name] for name in NAMES if name in last]


def show(every: bool, as_json: bool) -> None:
    """Print the ledger, and which parts this commit lacks."""
    entries, (commit, _) = ledger(), state()
    shown = entries if every else latest(entries)
    if as_json:
        print(json.dumps([asdict(entry) for entry in shown], indent=1))
        return
    print(table(shown, commit))
    left = missing(entries, commit)
    print(f"\n{len(NAMES) - len(left)} of {len(NAMES)} parts passed on {commit[:9]}; left: {', '.join(left) or '-'}")


def missing(entries: Sequence[Entry], commit: str) -> list[str]:
    """Parts that have not passed on this commit."""
    passed = {entry.part for entry in entries if entry.counts_for(commit)}
    return [name for name in NAMES if name not in passed]


def main() -> int:
    """Run parts, or print the ledger."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("part", nargs="*", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ledger", action="store_true", help="print what was run")
    parser.add_argument("--all", action="store_true", help="with --ledger: every attempt, not the last of each part")
    parser.add_argument("--json", action="store_true", help="with --ledger: as JSON")
    asked = parser.parse_args()
    if unknown := set(asked.part) - set(NAMES):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    os.chdir(ROOT)
    try:
        commit, dirty = state()
    except (OSError, subprocess.CalledProcessError):
        parser.error(f"{ROOT} is no git work tree, so there is no commit to write down")
    if asked.ledger:
        show(asked.all, asked.json)
        return 0
    LEDGER.parent.mkdir(exist_ok=True)
    with LEDGER.with_suffix(".lock").open("w") as lock, unwinding_on_termination():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            parser.error("it runs already in this work tree")
        if dirty:
            print("the work tree differs from its commit: what is run now counts for no commit")
        return run(asked.part or missing(ledger(), commit), asked.jobs)


def run(names: Sequence[str], jobs: int) -> int:
    """Exit code, after all of these parts."""
    failed = False
    for part in PARTS:
        if part.name in names:
            print(f"{part.name}: {part.what}; some {part.minutes} minutes", flush=True)
            entry = play(part, jobs)
            tests = f"{entry.passed} tests passed, {entry.failed} failed, {entry.skipped} skipped; "
            print(f"{part.name}: {entry.result}; {'' if part.command else tests}{entry.seconds} seconds", flush=True)
            failed |= entry.result != "passed"
    return int(failed)


# ---------------------------------------------------------------------------------------------------- in pytest


def outcomes(record: Path) -> dict[str, str]:
    """The last outcome of each test in a record: passed, failed or skipped."""
    lines = record.read_text().splitlines() if record.exists() else []
    return {test: outcome for outcome, _, test in (line.partition(" ") for line in lines if line)}


class Record:
    """Leaves out the tests that have passed before, and notes how each one ends."""

    def __init__(self, path: Path, *, worker: bool) -> None:
        self.path, self.worker = path, worker
        # A worker that starts late must find the same tests as the others: they read a copy.
        self.before = path.with_suffix(".before")
        if not worker:
            self.before.write_text(path.read_text() if path.exists() else "")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        passed = {test for test, outcome in outcomes(self.before).items() if outcome == "passed"}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Set-up and tear-down count only if they go wrong, or set-up skips.
        if not self.worker and (report.when == "call" or not report.passed):
            with self.path.open("a") as lines:
                lines.write(f"{report.outcome} {report.nodeid}\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --record."""
    parser.addoption("--record", type=Path, help="leave out the tests that have passed by this file; add outcomes")


def pytest_configure(config: pytest.Config) -> None:
    """Adds the plugin proper."""
    if path := config.getoption("--record"):
        config.pluginmanager.register(Record(path, worker=hasattr(config, "workerinput")))


if __name__ == "__main__":
    sys.exit(main())
