"""What a run of cocotb tests left behind: results, and of one that came to no results, how it ended."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.documents import one_line
from ringhil.emulator.forks import describe

_FRAME = re.compile(r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>\S+))?$', re.M)
_RUNNING = re.compile(r" INFO +cocotb\.regression +running \S*?\.?(?P<name>[^.\s]+(?:/.*)?) \((?P<n>\d+)/\d+\)$", re.M)
_TRACEBACK = "Traceback (most recent call last):"
_NOISE = re.compile(r"^- .*Verilog \$finish$|\*\* |\*{20}")
_TAIL = 4000  # characters of a simulator's output that are kept for a message
# What Verilator and Icarus say of an assertion inside the RTL that fails.
_ASSERTION = (
    re.compile(r"^\[(?P<time>\d+)\] %Fatal: (?P<place>\S+): Assertion failed in (?P<where>\S+): (?P<rule>.*)$", re.M),
    re.compile(r"^FATAL: (?P<place>\S+): (?P<rule>.*)\n +Time: (?P<time>\d+) +Scope: (?P<where>\S+)$", re.M),
)


class EndedError(BuildError):
    """A simulation came to no results. `test`: which cocotb test ran, "" if none did."""

    def __init__(self, message: str, log: str = "", test: str = "") -> None:
        super().__init__(message, log)
        self.test = test


class KilledError(EndedError):
    """A simulation was ended from outside, or for want of memory: that says nothing about the design."""


@dataclass(frozen=True)
class TestResult:
    """One cocotb test, `name`: `failure` is None or what it said; `seed` replays it; `skipped`: it wasn't run.

    Of a failure: `place` is the innermost line of the bench ("bench_mine.py:12 in helper"), `cycle` counts from the
    test's beginning, `ends_at` from that of the simulation and of its waves. A cycle is a nanosecond.
    """

    __test__ = False  # not a test of pytest's

    name: str
    failure: str | None
    seed: int
    skipped: bool = False
    place: str = ""
    cycle: int = 0
    ends_at: int = 0

    @property
    def told(self) -> str:
        """A failure, with where and when."""
        where = f"{self.place}, " if self.place else ""
        return f"{self.name}: {where}cycle {self.cycle}: {self.failure}"


def results(xml: Path, seed: int, folders: Sequence[Path]) -> tuple[TestResult, ...]:
    """From cocotb's file; the bench's own files lie in `folders`. Raises BuildError."""
    try:
        root = ElementTree.parse(xml).getroot()
    except ElementTree.ParseError as error:
        raise BuildError(f"the results of the simulation break off ({error}); is there room on the disk?") from None
    return tuple(_result(case, seed, folders) for case in root.iter("testcase"))


def _result(case: ElementTree.Element, seed: int, folders: Sequence[Path]) -> TestResult:
    name, skipped = case.get("name", "?"), case.find("skipped") is not None
    failure = case.find("failure")
    if failure is None:
        failure = case.find("error")
    if failure is None:
        return TestResult(name, None, seed, skipped)
    text = failure.text or ""
    said = failure.get("error_msg") or failure.get("message") or text.strip() or "failed"
    kind = (failure.get("type") or "").rpartition(".")[2]
    if kind not in ("", "AssertionError"):
        said = f"{kind}: {said}"
    properties = {p.get("name"): p.get("value") or "" for p in case.iter("property")}
    begins, ends = (float(properties.get(f"sim_time_{when}") or 0) for when in ("start", "stop"))
    place = _bench_line(text, folders) or f"{Path(properties.get('file', '?')).name}:{properties.get('line', '?')}"
    return TestResult(name, said, seed, skipped, place, round(ends - begins), int(ends))


def _bench_line(trace: str, folders: Sequence[Path]) -> str:
    """The innermost line of the bench's own in a traceback."""
    inside = [found for found in _FRAME.finditer(trace) if Path(found["file"]).parent in folders]
    if not inside:
        return ""
    last = inside[-1]
    named = f" in {last['name']}" if last["name"] not in (None, "<module>") else ""
    return f"{Path(last['file']).name}:{last['line']}{named}"


def ended(log: Path, modules: Sequence[str], folders: Sequence[Path], seed: int, simulator: str) -> EndedError:
    """How a simulation ended that left no results."""
    said = log.read_text(errors="replace")
    test = running(said)
    if _TRACEBACK in said and not test:
        return EndedError(not_imported(said, modules, folders), said[-_TAIL:])
    return EndedError(
        f"{simulator} ended without results{_within(test, seed)}; {_last_words(said)}", said[-_TAIL:], test
    )


def killed(log: Path, number: int, seed: int, simulator: str) -> KilledError:
    """Signal `number` ended a simulation."""
    said = log.read_text(errors="replace")
    test = running(said)
    return KilledError(f"{simulator} {describe(-number)}{_within(test, seed)}, from outside", said[-_TAIL:], test)


def not_imported(said: str, modules: Sequence[str], folders: Sequence[Path]) -> str:
    """Why these modules of a bench can't be imported, from what Python said."""
    trace = said.rpartition(_TRACEBACK)[2]
    if "No tests were discovered" in trace:
        return "no cocotb tests: mark them with @cocotb.test()"
    lines = [line for line in trace.splitlines() if line and not line.startswith(" ")]
    error = one_line(lines[0]) if lines else "an exception without a name"
    missing = next((m for m in modules if error == f"ModuleNotFoundError: No module named '{m}'"), None)
    if missing is not None:
        where = ", ".join(map(str, folders)) or "the folders of sys.path"
        return f"can't be imported: there is no {missing}.py in {where}"
    place = _bench_line(trace, folders)
    return f"can't be imported: {f'{place}: ' if place else ''}{error}"


def assertion(log: Path, seed: int) -> EndedError | None:
    """An assertion inside the RTL that failed, and ended a simulation."""
    said = log.read_text(errors="replace")
    failed = next((found for pattern in _ASSERTION if (found := pattern.search(said))), None)
    if failed is None:
        return None
    test = running(said)
    # A cycle is a nanosecond.
    place = f"{failed['place']}, {failed['where']}, cycle {failed['time']} of the simulation"
    return EndedError(f"assertion failed{_within(test, seed)}: {failed['rule']} ({place})", said[-_TAIL:], test)


def _within(test: str, seed: int) -> str:
    return f" in {test} (seed {seed})" if test else ""


def running(said: str) -> str:
    """The name of the test that a log says last is running; "" if none is."""
    begun = list(_RUNNING.finditer(said))
    return begun[-1]["name"] if begun else ""


def too_long(log: Path, standing: Path, seed: int, took: str) -> EndedError:
    """A simulation that was ended because it `took` too long; the file `standing` is what `standing.py` wrote."""
    try:
        found = json.loads(standing.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {"place": "", "awaited": "", "log": None}
        stood = "the simulator was busy outside of Python"
    else:
        awaits = f", awaiting {one_line(found['awaited'])}" if found["awaited"] else ""
        place = found["place"] or "outside of the bench's own files"
        stood = f"it stood at {place}{awaits}, cycle {found['ns']:.0f} of the simulation"
    said = log.read_bytes()[: found["log"]].decode(errors="replace")
    test = running(said)
    when = _within(test, seed) or " before its first test began"
    text = f"the simulation {took}{when}; {stood}; {_last_words(said)}"
    return EndedError(text, said[-_TAIL:], test)


def _last_words(said: str) -> str:
    """Of a simulation: its log may lie in a folder that is gone when somebody reads of it."""
    lines = [x for x in said.splitlines() if x.strip() and not _NOISE.search(x)]
    return f"it said last: {one_line(lines[-1])}" if lines else "it said nothing"
