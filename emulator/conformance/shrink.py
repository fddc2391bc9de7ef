"""Counterexamples made small: two simulations, one of the node under test, one of ours that says what the contract
allows. Both are started only when a rule is broken."""

import json
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, OURS, sources
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.conformance.referee import SOCKET
from ringhil.emulator.conformance.report import RuleFinding
from ringhil.emulator.testbench.build import HDL, Bench, build_bench
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.runner import run_bench
from ringhil.emulator.testbench.stimulus import Stimulus

_SHRINKING = "ringhil.emulator.conformance.shrinking"
_REFEREE = "ringhil.emulator.conformance.referee"
_FULL = 10  # rules for each of which all plays may be spent; where more are broken they share as many
_LEAST = 20  # plays for each


@dataclass(frozen=True)
class Effort:
    """What making stimuli small may cost. `plays`: for each rule; `patience`: seconds for a simulation; `seed` and
    `effort`: of the check."""

    plays: int
    patience: float
    seed: int
    effort: int


def shrunk(
    bench: Bench, findings: Sequence[RuleFinding], effort: Effort, progress: Callable[[str], None]
) -> dict[str, RuleFinding]:
    """By broken rule, the smallest stimulus that was found for it, and its breach; the same whenever it is asked for.

    A rule in whose turn the simulation ends keeps the stimulus that it has.
    """
    found = {f.breach.rule: f for f in findings}
    if effort.plays < 1:
        return found
    ours = _ours(bench, progress)
    waiting = list(findings)
    with temporary_folder("ringhil-shrink-") as scratch:
        while waiting:
            lines = _simulated(bench, ours, waiting, effort, scratch, len(findings))
            for line in lines:
                if "stimulus" in line:
                    rule, cycle, what = line["breach"]
                    small = Stimulus.from_json(line["stimulus"])
                    found[rule] = replace(found[rule], breach=Breach(rule, cycle, what), stimulus=small)
            begun = sum("begin" in line for line in lines)
            if not lines or "stimulus" in lines[-1]:
                break
            waiting = waiting[begun:]
    return found


def _ours(bench: Bench, progress: Callable[[str], None]) -> Bench | None:
    """The bench of our node; None if it is the one that is checked, or can't be built."""
    with suppress(BuildError):
        files = [*sources(OURS), HDL / f"{bench.top}.sv"]
        ours = build_bench(bench.simulator, bench.top, files, defines={"RINGHIL_NODE": NODE}, progress=progress)
        return ours if ours.rtl != bench.rtl else None
    return None


def _simulated(
    bench: Bench, ours: Bench | None, waiting: Sequence[RuleFinding], effort: Effort, scratch: Path, broken: int
) -> list[dict[str, Any]]:
    """What the simulation of the node under test has written down, whether it came to its end or not."""
    out, breaches = scratch / "small.jsonl", scratch / "breaches.json"
    out.write_text("")
    breaches.write_text(json.dumps([_asked(f) for f in waiting]))
    plays = max(_LEAST, effort.plays * _FULL // max(broken, _FULL))
    given = {"OUT": str(out), "BREACHES": str(breaches), "SEED": str(effort.seed), "EFFORT": str(effort.effort)}
    given["PLAYS"] = str(plays)
    settings = {f"RINGHIL_CHECK_{k}": v for k, v in given.items()}
    with ThreadPoolExecutor(1) as pool:
        hand: tuple[int, ...] = ()
        if ours is not None:
            ends = [end.detach() for end in socket.socketpair()]
            own = {**settings, SOCKET: str(ends[0])}
            pool.submit(
                run_bench, ours, [_REFEREE], scratch / "ours", settings=own, patience=effort.patience, hand=(ends[0],)
            )
            settings[SOCKET], hand = str(ends[1]), (ends[1],)
        with suppress(BuildError):
            run_bench(bench, [_SHRINKING], scratch / "run", settings=settings, patience=effort.patience, hand=hand)
    return [json.loads(line) for line in out.read_text().splitlines()]


def _asked(finding: RuleFinding) -> dict[str, object]:
    breach = finding.breach
    return {
        "breach": [breach.rule, breach.cycle, breach.what],
        "played": finding.played,
        "number": finding.number,
    }
