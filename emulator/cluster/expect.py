"""What a cluster file expects of policies, and what a run has of it.

| `what` | unit | of |
|---|---|---|
| `energy` | kWh, at most | runs over time |
| `waiting.median`, `waiting.p99` | seconds, at most | runs over time |
| `awake`, `wake_ups` | servers, times, at most | runs over time |
| `unplaced` | tasks, at most | both |
| `lost` | tries that were lost with what they ran on, at most | runs over time |
| `fragments` | percent, at most | both |
| `allocated` | percent, at least | `saturate` |
| `power` | kW, at most | `saturate` |
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.cluster.cluster import PolicyBound
from ringhil.emulator.cluster.figures import FILLED, RUN, Figure

_RUN = {
    "energy": "energy_j",
    "waiting.median": "waiting_median_s",
    "waiting.p99": "waiting_p99_s",
    "unplaced": "unplaced",
    "lost": "lost_tries",
    "awake": "awake_servers",
    "wake_ups": "wake_ups",
    "fragments": "fragmentation",
}
_FILLED = {"unplaced": "unplaced", "fragments": "fragmentation", "allocated": "allocated", "power": "watts"}
UNTIL = ("energy", "awake", "fragments")  # depend on how far they are counted
_LEAST = ("allocated",)


def judged(*, filled: bool) -> dict[str, Figure]:
    """What can be expected of runs over time, or of a cluster that is filled."""
    keys, figures = (_FILLED, FILLED) if filled else (_RUN, RUN)
    by_key = {figure.key: figure for figure in figures}
    return {what: by_key[key] for what, key in keys.items()}


@dataclass(frozen=True)
class JudgedBound:
    """An expectation and what the run of its policy has in its place. `expected`: what and how much, in words; `found`:
    in the unit of the bound, None: no task began, so that the run has no such figure, and the expectation fails."""

    bound: PolicyBound
    ok: bool
    expected: str
    found: float | None
    unit: str

    @property
    def seen(self) -> str:
        """What was found, in words."""
        return "no task that began" if self.found is None else f"{self.found:.6g}{self.unit}"

    @property
    def text(self) -> str:
        """Of a failure: policy, what is allowed, what was found."""
        return f"{self.bound.policy}: expected {self.expected}; found {self.seen}"


def expected_of(bound: PolicyBound, *, filled: bool) -> str:
    """What is expected and how much, in words."""
    least = "at least" if bound.what in _LEAST else "at most"
    return f"{bound.what} {least} {bound.bound:g}{judged(filled=filled)[bound.what].unit}"


def judge(bounds: Iterable[PolicyBound], run: Any, *, filled: bool) -> Iterator[JudgedBound]:
    """Each of them, all of which are of the run's policy."""
    figures = judged(filled=filled)
    for each in bounds:
        figure = figures[each.what]
        value = figure.of(run)
        found = None if value is None else value / figure.scale
        ok = found is not None and (found >= each.bound if each.what in _LEAST else found <= each.bound)
        yield JudgedBound(each, ok, expected_of(each, filled=filled), found, figure.unit)
