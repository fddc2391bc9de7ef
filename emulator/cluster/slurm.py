"""Servers and tasks from the accounting of Slurm, as `sacct --parsable2` prints it.

| row | rule |
|---|---|
| a step (`123.batch`) | left out: its job has all that it has |
| a job that never began, or took no time | has no duration: no run over time has it; a saturation draws it |
| a job that runs still | ends with the dump: after its elapsed time, or at the latest time of any row |
| a job of an array (`123_4`) | a task like any other; an array that waits (`123_[5-9]`) is left out |
| a job over several nodes | a gang with a member on each: an equal part of all that it has, rounded up |
| a job that was tried again | its last row counts |
| GPUs | `gres/gpu` of AllocTRES, or of ReqTRES; a task may use the types that ReqTRES names, any otherwise |
| a server | has what its jobs used at most at the same time |
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from ringhil.emulator.cluster.cluster import WHOLE, ClusterServer, ClusterTask, TaskNeeds
from ringhil.emulator.cluster.convert import Imported
from ringhil.emulator.cluster.lists import MOST, ListRow, rows_of
from ringhil.emulator.cluster.moments import seconds_of
from ringhil.emulator.cluster.written import MOST_GPUS
from ringhil.emulator.scenario.file.names import IN_WORDS, LISTED
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted, shown

_NEVER = ("", "Unknown", "None", "N/A")
_NO_NODES = ("", "None assigned", "Unknown", "None", "(null)")
_UNTYPED = "GPU"  # the type of GPUs of which no job says it
_MEMORY = 1_048_576  # MiB of a server where no job says what it used, as in cluster files
_NOTE = "sacct knows no servers: each has what its jobs used at most at the same time. Correct that here."
_NAME = re.compile(LISTED)
_ELAPSED = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2})(?:\.[0-9]{1,9})?")
_QUANTITY = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([KMGTPE]?)[nc]?")
_KIBI = {letter: Fraction(1024) ** (power - 1) for power, letter in enumerate("KMGTPE")}  # to MiB
_MOST_NODES = 10_000  # of a job
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True)
class _Resources:
    gpus: int
    types: Mapping[str, int]  # those GPUs of which the type is known
    cpus: int
    memory: int

    def part(self, of: int) -> "_Resources":
        """One of `of` equal parts, which are together not less than all."""
        types = {kind: -(-gpus // of) for kind, gpus in self.types.items()}
        gpus = max(-(-self.gpus // of), sum(types.values()))
        return _Resources(gpus, types, -(-self.cpus // of), -(-self.memory // of))


@dataclass(frozen=True)
class _Job:
    submitted: int
    began: int | None
    ended: int | None
    has: _Resources
    types: tuple[str, ...]
    nodes: tuple[str, ...]
    parts: int


def imported_sacct(path: Path) -> Imported:
    """Raises ScenarioError."""
    left_out, jobs, entries = Counter[str](), dict[str, _Job](), 0
    for row in _rows(path):
        entries += 1
        name = row.cells["JobID"]
        if "." in name:
            left_out["steps"] += 1
        elif "[" in name:
            left_out["arrays that wait"] += 1
        elif (job := _job(row)) is None:
            left_out["without a time of submission"] += 1
        elif not (job.has.gpus or job.has.cpus or job.has.memory):
            left_out["without resources"] += 1
        else:
            if name in jobs:
                left_out["earlier tries"] += 1
            jobs[row.name("JobID")] = job
    if not jobs:
        raise ScenarioError(str(path), 1, 1, "no jobs; needed is at least one row of a job")
    latest = max(time for job in jobs.values() for time in (job.submitted, job.began, job.ended) if time is not None)
    servers, tasks = tuple(_servers(jobs, latest, path)), tuple(_tasks(jobs, latest))
    return Imported(servers, tasks, (_NOTE,), entries, left_out)


def _rows(path: Path) -> Iterator[ListRow]:
    """Raises ScenarioError also for a dump without a column that is needed."""
    yield from rows_of(path, ("JobID", "Submit", "Start", "NodeList"), bars=True, any_of=_ANY_OF)


_ANY_OF = (("AllocTRES", "ReqTRES"), ("ElapsedRaw", "Elapsed", "End"))


def _job(row: ListRow) -> _Job | None:
    submitted, began = _time(row, "Submit"), _time(row, "Start")
    if submitted is None:
        return None
    if row.cells.get("State", "").startswith("PENDING"):
        began = None
    asked, used = _tres(row, "ReqTRES"), _tres(row, "AllocTRES")
    if used and asked and not used.types:  # what was given says how many only: of the types that were asked for
        one = dict.fromkeys(asked.types, used.gpus) if len(asked.types) == 1 else {}
        used = replace(used, types=one or (asked.types if sum(asked.types.values()) == used.gpus else {}))
    nodes = _hosts(row)
    parts = len(nodes) or max(1, _nodes(row))
    ended = None
    if began is not None:
        elapsed, ended = _elapsed(row), _time(row, "End")
        if elapsed is not None and (elapsed or ended is not None):
            ended = began + elapsed
        if ended is not None and ended < began:
            raise row.error("End", f"found {shown(row.cells['End'])}, before its start; allowed is later")
    has = used or asked or _Resources(0, {}, 0, 0)
    if -(-has.gpus // parts) > MOST_GPUS:
        raise row.error("AllocTRES", f"{has.gpus:,} GPUs on {parts:,} nodes; allowed are {MOST_GPUS} on each")
    return _Job(submitted, began, ended, has, tuple(sorted(asked.types)) if asked else (), nodes, parts)


def _tasks(jobs: Mapping[str, _Job], latest: int) -> Iterator[ClusterTask]:
    first = min(job.submitted for job in jobs.values())
    for name, job in sorted(jobs.items(), key=lambda item: (item[1].submitted, *_by_number(item[0]))):
        lasts = None
        if job.began is not None:
            lasts = float((latest if job.ended is None else job.ended) - job.began) or None
        part, at = job.has.part(job.parts), float(job.submitted - first)
        needs = TaskNeeds(part.gpus, WHOLE, part.cpus, part.memory, job.types if part.gpus else ())
        yield ClusterTask(name, needs, at, lasts, job.parts, spread=job.parts > 1)


def _by_number(name: str) -> tuple[tuple[int, ...], str]:
    return tuple(int(digits[:18]) for digits in re.findall("[0-9]+", name)), name


def _servers(jobs: Mapping[str, _Job], latest: int, path: Path) -> Iterator[ClusterServer]:
    """In the order of their names; each has what was used there at most at the same time."""
    changes = defaultdict[str, list[tuple[int, int, _Resources]]](list)
    for job in jobs.values():
        if job.began is None:
            continue
        part = job.has.part(job.parts)
        for node in job.nodes:
            changes[node] += [(job.began, 1, part), (latest if job.ended is None else job.ended, -1, part)]
    for node in sorted(changes, key=_by_number):
        now, most = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for _, sign, part in sorted(changes[node], key=lambda change: change[:2]):  # who goes makes room for who comes
            now.update({("type", kind): sign * gpus for kind, gpus in part.types.items()})
            now.update({("all", "gpus"): sign * part.gpus, ("all", "cpus"): sign * part.cpus})
            now.update({("all", "memory"): sign * part.memory})
            most = most | now
        by_type = {kind: gpus for (what, kind), gpus in most.items() if what == "type"}
        gpus, typed = most["all", "gpus"], sum(by_type.values())
        if max(gpus, typed) > MOST_GPUS:
            problem = f"node {quoted(node)}: {max(gpus, typed):,} GPUs were used at once; allowed are {MOST_GPUS}"
            raise ScenarioError(str(path), None, None, problem)
        main = max(by_type, key=lambda kind: (by_type[kind], kind), default=_UNTYPED)
        by_type[main] = by_type.get(main, 0) + max(0, gpus - typed)
        types = tuple(kind for kind in sorted(by_type) for _ in range(by_type[kind]))
        memory = most["all", "memory"] or _MEMORY
        yield ClusterServer(node, types, frozenset(), most["all", "cpus"], memory, 0.0, None)


def _time(row: ListRow, column: str) -> int | None:
    """Seconds, None where there was no such moment. Raises ScenarioError."""
    text = row.cells.get(column, "")
    if text in _NEVER:
        return None
    if text.isascii() and text.isdecimal() and len(text) <= 12:
        return int(text)  # SLURM_TIME_FORMAT=%s
    try:
        return seconds_of(text)[0]
    except ValueError:
        raise row.error(column, f"found {shown(text)}; allowed is a time such as 2024-05-01T12:00:00") from None


def _elapsed(row: ListRow) -> int | None:
    """Raises ScenarioError."""
    if row.cells.get("ElapsedRaw"):
        return row.number("ElapsedRaw")
    text = row.cells.get("Elapsed", "")
    if text in _NEVER:
        return None
    found = _ELAPSED.fullmatch(text)
    if found is None:
        raise row.error("Elapsed", f"found {shown(text)}; allowed is [days-]hours:minutes:seconds")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _nodes(row: ListRow) -> int:
    return row.number("NNodes", _MOST_NODES) if row.cells.get("NNodes") else 1


def _tres(row: ListRow, column: str) -> _Resources | None:
    """Raises ScenarioError."""
    text = row.cells.get(column, "")
    if text in _NEVER:
        return None
    try:
        return _resources(text)
    except ValueError as error:
        raise row.error(column, str(error)) from None


@lru_cache(maxsize=10_000)  # most jobs ask for what others ask for
def _resources(text: str) -> _Resources:
    """Raises ValueError."""
    gpus, types, cpus, memory = 0, Counter[str](), Fraction(0), Fraction(0)
    for each in text.split(","):
        name, _, value = each.partition("=")
        if name not in ("cpu", "mem") and name.partition(":")[0] != "gres/gpu":
            continue
        found = _QUANTITY.fullmatch(value)
        amount = Fraction(found[1]) if found else Fraction(-1)
        kind = name.partition(":")[2]
        if found is None or amount > MOST or (name != "mem" and (found[2] or (name != "cpu" and amount % 1))):
            raise ValueError(f"found {shown(each)}; allowed is a number, such as cpu=8, mem=16G, gres/gpu:a100=2")
        if kind and not _NAME.fullmatch(kind):
            raise ValueError(f"found {shown(each)}; allowed as the name of a type is {IN_WORDS[LISTED]}")
        if name == "mem":
            memory = amount * _KIBI[found[2] or "M"]
        elif name == "cpu":
            cpus = amount
        elif kind:
            types[kind] += int(amount)
        else:
            gpus = int(amount)
    if memory > MOST or cpus > MOST // 1000:
        allowed = f"{MOST:,} MiB and {MOST // 1000:,} processors at most"
        raise ValueError(f"found {shown(text)}; allowed are {allowed}")
    return _Resources(max(gpus, sum(types.values())), types, round(cpus * 1000), round(memory))


def _hosts(row: ListRow) -> tuple[str, ...]:
    """The names of `gpu[01-03,7],login`. Raises ScenarioError."""
    text = row.cells["NodeList"]
    if text in _NO_NODES:
        return ()
    found = list[str]()
    for group in re.split(r",(?![^\[]*\])", text):
        names = [""]
        for plain, inside in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", group):
            ends = [plain] if plain else _numbers(inside)
            if not ends or len(names) * len(ends) + len(found) > _MOST_NODES:
                names = []
                break
            names = [name + end for name in names for end in ends]
        if not names or not all(map(_NAME.fullmatch, names)) or group.count("[") != group.count("]"):
            allowed = f"names such as gpu[01-03,7],login, of {_MOST_NODES:,} nodes at most"
            raise row.error("NodeList", f"found {shown(text)}; allowed are {allowed}")
        found += names
    if len(set(found)) < len(found):
        raise row.error("NodeList", f"found {shown(text)}; allowed is each node once, not {listing(_twice(found))}")
    return tuple(found)


def _twice(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _numbers(text: str) -> list[str]:
    """`01-03,7`: 01, 02, 03, 7; nothing where it isn't that."""
    found = list[str]()
    for each in text.split(","):
        ends = _RANGE.fullmatch(each)
        if ends is None:
            return []
        low, high = int(ends[1]), int(ends[2] or ends[1])
        if not low <= high < low + _MOST_NODES:
            return []
        found += [str(number).zfill(len(ends[1])) for number in range(low, high + 1)]
    return found
