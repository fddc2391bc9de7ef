"""A run that goes on from a moment with its chance drawn anew, and whether it fails as the recorded one did."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Expectation, When

_LASTS = re.compile(r" \[(lasts|passes)\]$")


class WayToFail(NamedTuple):
    """A way to fail. `at`: the cycle in which it was found, None: at the end. `sort`: without whether it lasts, "" for
    any. Of an item of `expect` its number `item`, from 0: there the `sort` isn't all, see `fails`."""

    text: str
    at: int | None
    sort: str
    item: int | None = None


def failures(outcome: Mapping[str, Any]) -> list[WayToFail]:
    """Of a recorded run: invariants that it has broken, as recorded, then items of `expect`."""
    broken = [each for each in outcome.get("violations") or () if isinstance(each, dict)]
    failed = [each for each in outcome.get("expect") or () if isinstance(each, dict) and not each.get("ok")]
    found = [WayToFail(f"{each.get('invariant')}: {each.get('text')}", _cycle(each), _kind(each)) for each in broken]
    for each in failed:
        if isinstance(item := each.get("index"), int):
            text = f"expected {each.get('expected')}; found {each.get('found')}"
            found.append(WayToFail(text, _cycle(each), _kind(each), item))
    return found


def at_all(ways: Sequence[WayToFail]) -> WayToFail | None:
    """Not to fail is not to break an invariant, whichever; where none was broken, it is the first of `expect`."""
    broken = [way for way in ways if way.item is None]
    first = min(broken, key=lambda way: sys.maxsize if way.at is None else way.at, default=None)
    return next(iter(ways), None) if first is None else first._replace(sort="")


def _cycle(found: Mapping[str, Any]) -> int | None:
    at = found.get("at")
    return at if isinstance(at, int) and at >= 0 else None


def _kind(found: Mapping[str, Any]) -> str:
    return _LASTS.sub("", str(found.get("sort")))


def fails(run: Run, play_to: Callable[[int | None], None], failure: WayToFail, rng: Random | None, way: str) -> str:
    """Play on to the end, with chance drawn from `rng` (None: as it was recorded): how it fails in this way, "" when it
    doesn't. `way`: of an expectation, "" for any: where the CPU is wrong the design has failed; where it is right the
    file has, which isn't the same failure. `play_to` brings what came from outside."""
    if rng is not None:
        run.server.draw_again(rng)
    if failure.item is None:
        play_to(None)
        sorts = {_LASTS.sub("", each.sort) for each in run.finish().violations}
        return "broken" if failure.sort in sorts or (sorts and not failure.sort) else ""
    if not 0 <= failure.item < len(run.scenario.expect):
        return ""
    expectation = run.scenario.expect[failure.item]
    cycle = expectation.cycle
    if cycle is not None and cycle >= run.kernel.now:
        play_to(cycle)
        found = _known(run, expectation)
        run.end_at(cycle + 1)  # what comes then doesn't matter
        outcome = run.finish()
    else:
        play_to(None)
        outcome = run.finish()
        found = "" if expectation.kind == When.ALWAYS else _known(run, expectation)
    failed = any(each.index == failure.item and not each.ok for each in outcome.expect)
    return f"not so {found}" if failed and way in ("", f"not so {found}") else ""


def _known(run: Run, expectation: Expectation) -> str:
    """Whether what the CPU knows now of the cards that are spoken of is true."""
    named = {check.about for check in expectation.checks}
    views = [view for view in run.cpu.cards if view.name in named]
    if any(not view.known for view in views):
        return "known"
    return "found" if any(run.watch.differs(view.number) is not None for view in views) else "true"
