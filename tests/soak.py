"""`make soak`: what takes too long for `make test`, in named parts, some of them in slices.

    python -m tests.soak [--jobs N] [PART[:SLICE] ...]  run these; without names, what has not passed on this commit
    python -m tests.soak --ledger [--all] [--json]      what was run, when, for how long, with what result

Of a part in slices, a commit plays the one that its hash draws, so that all parts together take some hours, and
many commits play all of it; `PART:7` plays the seventh, `PART:all` and `all` every one. CI plays a slice of `rest`
and of `turns` with each commit, so that no slow test is left behind by a change for long.

A test marked `@pytest.mark.slow(part=NAME)` belongs to part NAME, one marked `@pytest.mark.rest` to `rest`: what would
be at home in `make test`, if that were to take longer than it may. Other parts are commands. Each attempt adds one line
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
import zlib
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
# Parts of which a single case takes minutes.
_LONG = " or ".join(f"slow(part='{name}')" for name in ("mutants", "netlist", "proofs"))
_REST = "slow(part='rest')"
_ADDED = "benchmarks/counts.csv"  # part benches adds a row for the commit that it plays


@dataclass(frozen=True)
class Part:
    """Either the tests marked with its name, or a command (arguments of Python, `SLICE` stands for "3/8")."""

    name: str
    what: str
    minutes: int  # of one slice: an estimate for two cores
    slices: int = 1
    command: tuple[str, ...] = ()
    marks: str = ""  # of tests, in place of its own mark
    one_case: bool = False  # of each test, drawn by the commit
    as_in_test: bool = False  # with the examples of `make test`, and processes that are forked

    def __post_init__(self) -> None:
        if self.minutes > LONGEST:
            raise ValueError(f"part {self.name} takes {self.minutes} minutes; allowed are {LONGEST}: take more slices")

    def drawn(self, commit: str) -> int:
        """The slice, from 1, that a commit plays unless it is told otherwise."""
        return int(commit, 16) % self.slices + 1


LONGEST = 15  # minutes of a slice
SLICE = "SLICE"
_JUDGES = ("-m", "benchmarks.mutation_firmware", "220", "--slice", SLICE, *_TWO)
PARTS = (
    Part("rest", "what takes over a second or two, and more cases of what make test plays", 4, 8, as_in_test=True),
    Part("suite", "all of make test and rest, with new examples and processes", 12, 4, marks=f"not slow or {_REST}"),
    Part("turns", "one case of each slow test", 2, 96, marks=f"slow and not ({_LONG} or {_REST})", one_case=True),
    Part("models", "elections explored with more faults; firmware in C beside ours in 10,000 worlds", 9, 3),
    Part("netlist", "the netlist of an FPGA behind its bridge, wire by wire", 9),
    Part("proofs", "the long proofs of the RTL, those of whole nodes, and their broken twins", 12, 12),
    Part("engine", "cells and card wire by wire, saturated and large servers", 11),
    Part("clusters", "a day of 210 servers on both fleets, and with GPUs that fail", 10),
    Part("databases", "usage and loans in MariaDB and PostgreSQL, which go away and come back", 1),
    Part("pages", "what a page shows at 100 random moments", 2),
    Part("editors", "1,000 sequences of steps in an editor, both ways; Emacs and VS Code step a run", 3),
    Part("contexts", "10,000 random programs of commands to contexts, against their reference", 6),
    Part("singles", "each fault at 500 random cycles", 4, 8),
    Part("pairs", "each pair of faults at 50 random cycles", 4, 24),
    Part("cycles", "faults at every cycle of a census round", 4, 3),
    Part("work", "random trouble under work, and several faults at once", 4),
    Part("outside", "boards, nodes outside and firmware apart that get into trouble, 10,000 of each", 10, 6),
    Part("loans", "980 random sequences of loans, faults and restarts; some in a ring, judged", 4),
    Part("views", "pictures of the page at random moments, against registers and CPU", 1),
    Part("alarms", "100,000 valid files of any kind, none of which may fail", 4, 50),
    Part("scenarios", "every variant of the scenarios that are shipped", 4),
    Part("explore", "random schedules, 100,000 on one card and 30,000 on two", 4, 40),
    Part("bugs", "seeded bugs: found by explore, named by rtl check; the rules on Icarus", 10, 18),
    Part("mutants", "400 mutants of the node", 11, 21),
    Part("judges", "220 mutants of firmware and CPU", 11, 11, _JUDGES),
    Part("packages", "installed in clean environments of all Pythons; pipelines of examples/ci; image; licences", 9, 2),
    Part("coverage", "what cocotb reaches of rtl/", 10, command=("-m", "benchmarks.coverage")),
    Part("fuzz", "a guided fuzzer against each decoder, 2,000 or 20,000 executions; needs ringhil[fuzz]", 3),
    Part(
        "benches", "what rtl check reaches; cocotb, explore, verify, clusters find the same; noisy lines; fuzzing", 8, 8
    ),
    Part(
        "recovery",
        "tables of the page on reliability, fewer runs",
        5,
        command=("-m", "benchmarks.recovery", "50", "1"),
    ),
)
NAMES = tuple(part.name for part in PARTS)
MARKED = tuple(part.name for part in PARTS if not part.command and not part.marks)  # by slow(part=...)
ALL = "all"  # slices, or parts


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
    result: str  # passed, failed, interrupted; not judged: all of its tests were skipped
    slice: int = 1
    slices: int = 1  # of the part, then

    def counts_for(self, commit: str) -> bool:
        """Whether it says that its part has passed on this commit."""
        return self.commit == commit and not self.dirty and self.result == "passed"


def ledger() -> list[Entry]:
    """All lines, oldest first."""
    with suppress(FileNotFoundError):
        return [Entry(**json.loads(line)) for line in LEDGER.read_text().splitlines()]
    return []


def state() -> tuple[str, bool]:
    """The commit, and whether the work tree differs from it, but for what soak itself adds. Raises CalledProcessError
    outside of a repository."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", ".", f":(exclude){_ADDED}"))


def play(part: Part, jobs: int, number: int = 1) -> Entry:
    """One attempt at a slice of a part, with its line in the ledger. An interrupt is written down and raised again."""
    commit, dirty = state()
    folder = LEDGER.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    log, record = folder / f"{part.name}-{number}.log", folder / f"{part.name}-{number}-{commit}.tests"
    if dirty:
        record.unlink(missing_ok=True)
    piece = f"{number}/{part.slices}"
    arguments = [piece if word == SLICE else word for word in part.command]
    command = [sys.executable, *(arguments or _pytest(part, piece, jobs, record, commit))]
    began, result = datetime.now(UTC), "interrupted"
    try:
        with log.open("w") as out:
            ended = _run(command, out.fileno(), {} if part.as_in_test else {ANEW: "1"})
            skipped = {*outcomes(record).values()} == {"skipped"}
            result = "failed" if ended not in _good(part, record) else "not judged" if skipped else "passed"
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
            number,
            part.slices,
        )
        with LEDGER.open("a") as lines:
            lines.write(json.dumps(asdict(entry)) + "\n")
        if result == "passed" or entry.dirty:
            record.unlink(missing_ok=True)
    if result == "failed":
        print(*log.read_text(errors="replace").splitlines()[-_LAST_LINES:], f"all of it: {log}", sep="\n")
    return entry


def _pytest(part: Part, piece: str, jobs: int, record: Path, commit: str) -> tuple[str, ...]:
    marks = part.marks or f"slow(part='{part.name}')"
    plugin = ("-p", "tests.soak", f"--record={record.absolute()}", f"--slice={piece}")
    plugin += (f"--one-case={commit}",) if part.one_case else ()
    profile = () if part.as_in_test else ("--hypothesis-profile=new",)
    return ("-m", "pytest", "-q", "-n", str(jobs), *profile, *plugin, "-m", marks)


def _good(part: Part, record: Path) -> tuple[int, ...]:
    """Exit codes of a part that has passed: if all of its tests had passed before, pytest finds no test."""
    return (0, pytest.ExitCode.NO_TESTS_COLLECTED) if "passed" in outcomes(record).values() else (0,)


def _run(command: Sequence[str], out: int, more: dict[str, str]) -> int:
    """Exit code of a command, which ends with us and with all that it has started. Its environment has `more`."""
    environment = {**os.environ, **more}
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
    rows = [("part", "slice", "commit", "start (UTC)", "minutes", "passed", "failed", "skipped", "result", "")]
    for e in entries:
        of = "this commit" if e.counts_for(commit) else "other work tree" if e.dirty else ""
        minutes, start = f"{e.seconds / 60:.1f}", e.start[:16].replace("T", " ")
        tests = map(str, (e.passed, e.failed, e.skipped))
        rows.append((e.part, f"{e.slice}/{e.slices}", e.commit[:9], start, minutes, *tests, e.result, of))
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
    if over := [f"{name} {played} of {slices}" for name, played, slices in played_over_time(entries)]:
        print(f"slices passed on any commit: {', '.join(over)}")


def played_over_time(entries: Sequence[Entry]) -> list[tuple[str, int, int]]:
    """Of each part that has been played in the slices it has now: its name, how many passed on some commit, of how
    many."""
    passed = {(e.part, e.slices, e.slice) for e in entries if e.counts_for(e.commit)}
    counts = Counter((part, slices) for part, slices, _ in passed)
    return [(p.name, counts[p.name, p.slices], p.slices) for p in PARTS if p.slices > 1 and counts[p.name, p.slices]]


def missing(entries: Sequence[Entry], commit: str) -> list[str]:
    """Parts of which no slice has passed on this commit."""
    passed = {entry.part for entry in entries if entry.counts_for(commit)}
    return [name for name in NAMES if name not in passed]


def pieces(asked: str, commit: str) -> list[tuple[str, int]]:
    """Names and slices of a word of the command line. Raises ValueError."""
    name, _, wanted = asked.partition(":")
    if asked == ALL:
        return [piece for part in PARTS for piece in pieces(f"{part.name}:{ALL}", commit)]
    part = next((part for part in PARTS if part.name == name), None)
    if part is None:
        raise ValueError(f"no part {name}; there are {', '.join(NAMES)}")
    every = range(1, part.slices + 1)
    if wanted == ALL:
        return [(name, number) for number in every]
    if asked != name and wanted not in map(str, every):
        raise ValueError(f"{asked}: {name} has the slices 1 to {part.slices}, and {ALL}")
    return [(name, int(wanted) if wanted else part.drawn(commit))]


def main() -> int:
    """Run parts, or print the ledger."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("part", nargs="*", metavar="PART[:SLICE]", help=f"of {', '.join(NAMES)}; {ALL}: every slice")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ledger", action="store_true", help="print what was run")
    parser.add_argument("--all", action="store_true", help="with --ledger: every attempt, not the last of each part")
    parser.add_argument("--json", action="store_true", help="with --ledger: as JSON")
    asked = parser.parse_args()
    os.chdir(ROOT)
    try:
        commit, dirty = state()
    except (OSError, subprocess.CalledProcessError):
        parser.error(f"{ROOT} is no git work tree, so there is no commit to write down")
    try:
        words = asked.part or missing(ledger(), commit)
        chosen = [piece for word in words for piece in pieces(word, commit)]
    except ValueError as error:
        parser.error(str(error))
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
        return run(chosen, asked.jobs)


def run(chosen: Sequence[tuple[str, int]], jobs: int) -> int:
    """Exit code, after all of these slices of parts."""
    failed = False
    of = {part.name: part for part in PARTS}
    for name, number in dict.fromkeys(chosen):
        part = of[name]
        title = name if part.slices == 1 else f"{name} {number}/{part.slices}"
        print(f"{title}: {part.what}; some {part.minutes} minutes", flush=True)
        entry = play(part, jobs, number)
        tests = f"{entry.passed} tests passed, {entry.failed} failed, {entry.skipped} skipped; "
        print(f"{title}: {entry.result}; {'' if part.command else tests}{entry.seconds} seconds", flush=True)
        failed |= entry.result != "passed"
    return int(failed)


# ---------------------------------------------------------------------------------------------------- in pytest


def outcomes(record: Path) -> dict[str, str]:
    """The last outcome of each test in a record: passed, failed or skipped."""
    lines = record.read_text().splitlines() if record.exists() else []
    return {test: outcome for outcome, _, test in (line.partition(" ") for line in lines if line)}


class Record:
    """Leaves out the tests of other slices and those that have passed before, and notes how each one ends."""

    def __init__(self, path: Path, piece: str, draw: str, *, worker: bool) -> None:
        self.path, self.worker, self.draw = path, worker, draw
        self.number, self.slices = map(int, piece.split("/"))
        # A worker that starts late must find the same tests as the others: they read a copy.
        self.before = path.with_suffix(".before")
        if not worker:
            self.before.write_text(path.read_text() if path.exists() else "")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        passed = {test for test, outcome in outcomes(self.before).items() if outcome == "passed"}
        tests = [item.nodeid for item in items]
        if self.draw:
            cases = {test.partition("[")[0]: test for test in sorted(tests, key=self._drawn)}
            tests = sorted(cases.values())
        mine = {*tests[self.number - 1 :: self.slices]} - passed
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in mine])
        items[:] = [item for item in items if item.nodeid in mine]

    def _drawn(self, test: str) -> int:
        return zlib.crc32(f"{self.draw} {test}".encode())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Set-up and tear-down count only if they go wrong, or set-up skips.
        if not self.worker and (report.when == "call" or not report.passed):
            with self.path.open("a") as lines:
                lines.write(f"{report.outcome} {report.nodeid}\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --record, --slice and --one-case."""
    parser.addoption("--record", type=Path, help="leave out the tests that have passed by this file; add outcomes")
    parser.addoption("--slice", default="1/1", help="with --record: K/N, each Nth test from the Kth on")
    parser.addoption("--one-case", default="", metavar="DRAW", help="with --record: a case of each test, by this text")


def pytest_configure(config: pytest.Config) -> None:
    """Adds the plugin proper."""
    if path := config.getoption("--record"):
        chosen = config.getoption("--slice"), config.getoption("--one-case")
        config.pluginmanager.register(Record(path, *chosen, worker=hasattr(config, "workerinput")))


if __name__ == "__main__":
    sys.exit(main())
