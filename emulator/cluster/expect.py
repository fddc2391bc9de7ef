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


def failures(bounds: Iterable[PolicyBound], run: Any, *, filled: bool) -> Iterator[tuple[PolicyBound, str]]:
    """Those that the run of their policy has not kept, and what to say: policy, what is allowed, what was found."""
    figures = judged(filled=filled)
    for each in bounds:
        figure = figures[each.what]
        value = figure.of(run)
        found = None if value is None else value / figure.scale
        least = each.what in _LEAST
        if found is not None and (found >= each.bound if least else found <= each.bound):
            continue
        allowed = f"{'at least' if least else 'at most'} {each.bound:g}{figure.unit}"
        seen = "no task that began" if found is None else f"{found:.6g}{figure.unit}"
        yield each, f"{each.policy}: expected {each.what} {allowed}; found {seen}"
