"""What `ringhil place` says of the expectations of a cluster file: a run that `verify` would play too is judged alike.

Judged are the runs of the file as it is: at its own load, with what is idle asleep, each seed on its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.cluster.cluster import GpuCluster, PolicyBound
from ringhil.emulator.cluster.expect import JudgedBound, expected_of, judge
from ringhil.emulator.front.cli.place_tables import ByLoad, Played
from ringhil.emulator.pages.verdicts import marked, ok


@dataclass(frozen=True)
class ExpectAnswer:
    """To one expectation: by `seeds`; none of them: why it isn't judged. `expected`: in words."""

    bound: PolicyBound
    expected: str
    seeds: dict[int, JudgedBound]
    why: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether it holds for every seed; None: it isn't judged."""
        return all(each.ok for each in self.seeds.values()) if self.seeds else None

    @property
    def text(self) -> str:
        """A line, with the seeds that fail where there are several."""
        what = f"{self.bound.policy}: {self.expected}"
        if not self.seeds:
            return f"{what}: {self.why}"
        several = len(self.seeds) > 1
        failed = [f"{each.seen}{f', seed {seed}' if several else ''}" for seed, each in self._failed()]
        more = f" and {len(failed) - 1} more of {len(self.seeds)} seeds" if len(failed) > 1 else ""
        return f"{what} (found {failed[0]}{more})" if failed else what

    def to_json(self) -> dict[str, Any]:
        """`found` in the unit of the bound, by seed."""
        found = [{"seed": seed, "ok": each.ok, "found": each.found} for seed, each in self.seeds.items()]
        of = {"policy": self.bound.policy, "what": self.bound.what, "bound": self.bound.bound, "line": self.bound.line}
        return {**of, "ok": self.ok, "expected": self.expected, "seeds": found, "not_judged": self.why or None}

    def _failed(self) -> Iterator[tuple[int, JudgedBound]]:
        return ((seed, each) for seed, each in self.seeds.items() if not each.ok)


def answers(cluster: GpuCluster, played: ByLoad) -> list[ExpectAnswer]:
    """One for each expectation of the file, in its order."""
    filling = cluster.saturation
    of_file = (None, 1.0 if filling is None else filling.load)
    runs = next((at for load, at in played.items() if load in of_file), None)
    return [_answer(bound, cluster, runs, filled=filling is not None) for bound in cluster.expect]


def _answer(bound: PolicyBound, cluster: GpuCluster, runs: Played | None, *, filled: bool) -> ExpectAnswer:
    expected = expected_of(bound, filled=filled)
    if runs is None:
        return ExpectAnswer(bound, expected, {}, "not played at the load of the file")
    if not cluster.sleeps:
        return ExpectAnswer(bound, expected, {}, "played with nothing asleep (--no-sleep)")
    if bound.policy not in runs:
        return ExpectAnswer(bound, expected, {}, f"not played; --policy {bound.policy} plays it")
    seeds = {seed: next(judge([bound], run, filled=filled)) for seed, run in runs[bound.policy].items()}
    return ExpectAnswer(bound, expected, seeds)


def lines(found: list[ExpectAnswer]) -> list[str]:
    """As a page has them."""
    words = {True: "ok", False: "failed", None: "not judged"}
    return [f"{words[each.ok]}: {each.text}" for each in found]


def show(found: list[ExpectAnswer], console: Console) -> None:
    """As `ringhil run` does."""
    marks = {True: ok(True), False: ok(False), None: marked("not judged", "not judged:")}
    for each in found:
        console.print(f"{marks[each.ok]} {escape(each.text)}", soft_wrap=True)
