"""What a case of a campaign costs, in counts that no other load changes: `python -m benchmarks.counts [--append]`.

counts.csv has a row for each commit that somebody has measured (`make soak`, part `benches`); no times. Cases are fault
schedules of a card of 8 (`bench --only scenarios`); all counts are means of them.

| column | |
|---|---|
| `commit`, `python` | what was measured, and by which Python: calls are counted in other ways by others |
| `evaluations` | of nodes |
| `leap` | node-cycles for each evaluation: how much the engine leaves out |
| `calls` | of Python functions, built-in ones among them |
| `engine`, `rest` | instructions of the engine's library, and of all else; `not measured` where there is no callgrind |
| `why` | a growth that is meant: later rows are compared with this one |
"""

import cProfile
import csv
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from statistics import mean

import click

from ringhil.emulator.bench.schedules import KINDS, ROUNDS, described
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.campaign.explore.result import summed_up
from ringhil.emulator.campaign.explore.settle import settle
from ringhil.emulator.campaign.explore.space import Case, Space
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.forks import forked

TABLE = Path(__file__).with_name("counts.csv")
GPUS, CASES = 8, 4
SHARE = 0.05  # by which a count may grow from one row to the next
COUNTS = ("evaluations", "calls", "engine", "rest")
NOT_MEASURED = "not measured"
NO_AVX512 = " -mno-avx512f"
_COST = re.compile(r"^ *([\d,]+) \([ \d.]+%\) +[^:]*:.*\[(.*)\]$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """Of the table. Counts are numbers as text, or NOT_MEASURED."""

    commit: str
    python: str
    evaluations: str
    leap: str
    calls: str
    engine: str = NOT_MEASURED
    rest: str = NOT_MEASURED
    why: str = ""


def rows(table: Path = TABLE) -> list[Row]:
    """All of them, oldest first."""
    with table.open(newline="") as file:
        return [Row(**line) for line in csv.DictReader(file)]


def grown(before: Row, after: Row) -> list[str]:
    """What has grown by more than SHARE, in words; nothing where `after` says why."""
    found = []
    for name in () if after.why else COUNTS:
        old, new = getattr(before, name), getattr(after, name)
        same = NOT_MEASURED not in (old, new) and (name != "calls" or before.python == after.python)
        if same and int(new) > int(old) * (1 + SHARE):
            found.append(f"{name}: {int(new):,} a case at {after.commit}, {int(old):,} at {before.commit}")
    return found


def counted() -> Row:
    """What can be counted without callgrind."""
    warm, cases = _prepared()
    found = [forked(lambda case=case: _counted(warm, case), 60) for case in cases]  # type: ignore[misc]
    warm.close()
    evaluations, cycles, calls = (mean(column) for column in zip(*found, strict=True))
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Row(_commit(), python, f"{evaluations:.0f}", f"{cycles * GPUS / evaluations:.1f}", f"{calls:.0f}")


def instructions() -> tuple[int, int]:
    """Those of the engine's library and of all else, for each case. Raises OSError where there is no valgrind."""
    with tempfile.TemporaryDirectory(prefix="ringhil-counts-") as scratch:
        out = Path(scratch) / "out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}.%p"]
        command += [sys.executable, "-m", "benchmarks.counts", "--inside"]
        # callgrind doesn't know AVX-512.
        environment = os.environ | {"CXX": os.environ.get("CXX", "c++").removesuffix(NO_AVX512) + NO_AVX512}
        subprocess.run([sys.executable, "-c", _BUILD], check=True, env=environment)
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        (engine, all_), *cases = [_by_library(Path(f"{out}.{pid}")) for pid in said.split()]
    found = [(e - engine, a - all_) for e, a in cases]
    return round(mean(e for e, _ in found)), round(mean(a - e for e, a in found))


_BUILD = "from ringhil.emulator.engine.library import cells_library; cells_library()"


def measured() -> Row:
    """All that can be counted here."""
    row = counted()
    try:
        engine, rest = instructions()
    except (OSError, subprocess.CalledProcessError) as error:
        click.echo(f"instructions: {NOT_MEASURED}: {error}", err=True)
        return row
    return replace(row, engine=str(engine), rest=str(rest))


def append(row: Row, table: Path = TABLE) -> None:
    """Add a row, in place of one of the same commit."""
    kept = [old for old in rows(table) if old.commit != row.commit] if table.exists() else []
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(astuple(each) for each in [*kept, row])


def _prepared() -> tuple[Warm, list[Case]]:
    """The warm server, where all cases begin: those are spread over all kinds of faults."""
    scenario = described(GPUS)
    warm, found = settle(scenario, cells_library())
    space = [case for case in Space(scenario.server, found, Plan(kinds=KINDS, phases=1, lasts=(None,))) if case.depth]
    cases = space[:: -(-len(space) // CASES)]
    warm.run_to(max(case.schedule.start for case in cases))
    return warm, cases


def _play(warm: Warm, case: Case) -> None:
    summed_up(play(warm.server, case.schedule.events, rounds=ROUNDS))


def _counted(warm: Warm, case: Case) -> tuple[int, int, int]:
    """Evaluations, cycles and calls."""
    engine, began, profile = warm.server.engine, warm.now, cProfile.Profile()
    before = engine.evaluations
    profile.runcall(_play, warm, case)
    calls = sum(entry.callcount for entry in profile.getstats())
    return engine.evaluations - before, warm.now - began, calls


def _play_counted() -> None:
    """Run inside callgrind: forks that play nothing, and each a case. Prints their process ids."""
    warm, cases = _prepared()
    for case in (None, *cases):
        pid = os.fork()
        if pid == 0:
            if case is not None:
                _play(warm, case)
            os._exit(0)
        os.waitpid(pid, 0)
        click.echo(pid)


def _by_library(out: Path) -> tuple[int, int]:
    annotate = ["callgrind_annotate", "--threshold=100", str(out)]
    listing = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    costs = [(int(cost.replace(",", "")), where) for cost, where in _COST.findall(listing)]
    return sum(cost for cost, where in costs if Path(where).name.startswith("libV")), sum(cost for cost, _ in costs)


def _commit() -> str:
    def git(*words: str) -> str:
        where = TABLE.parent
        return subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


@click.command()
@click.option("--append", "adding", is_flag=True, help="to counts.csv")
@click.option("--why", default="", help="a growth that is meant")
@click.option("--inside", is_flag=True, hidden=True)
def main(adding: bool, why: str, inside: bool) -> None:
    """Count, print the row, and what has grown since the last one of the table."""
    if inside:
        _play_counted()
        return
    row = replace(measured(), why=why)
    for name, value in asdict(row).items():
        click.echo(f"{name:>12}  {value}")
    before = rows()[-1:] if TABLE.exists() else []
    if adding:
        append(row)
    wrong = [text for old in before for text in grown(old, row)]
    if wrong:
        raise click.ClickException("; ".join(wrong))


if __name__ == "__main__":
    main()
