"""A run that goes on from a moment with its chance drawn anew, and whether it fails as the recorded one did."""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import INVARIANTS, Expectation, When

_LASTS = re.compile(r" \[(lasts|passes)\]$")


class Failure(NamedTuple):
    """A way to fail. `at`: the cycle in which it was found, None: at the end. `sort`: without whether it lasts. Of an
    item of `expect` its number `item`, from 0: there the `sort` isn't all, see `fails`."""

    text: str
    at: int | None
    sort: str
    item: int | None = None


def failures(outcome: Mapping[str, Any]) -> list[Failure]:
    """Of a recorded run, the main one first: what lasts before what passes, promises in their order, then `expect`."""
    broken = [each for each in outcome.get("violations") or () if isinstance(each, dict)]
    failed = [each for each in outcome.get("expect") or () if isinstance(each, dict) and not each.get("ok")]
    failed = [each for each in failed if isinstance(each.get("index"), int)]
    order = {name: number for number, name in enumerate(INVARIANTS)}
    broken.sort(key=lambda each: (not each.get("lasts"), order.get(str(each.get("invariant")), len(order))))
    found = [
        Failure(f"{each.get('invariant')}: {each.get('text')}", _cycle(each), _kind(each.get("sort")))
        for each in broken
    ]
    return found + [
        Failure(
            f"expected {each.get('expected')}; found {each.get('found')}",
            _cycle(each),
            _kind(each.get("sort")),
            each["index"],
        )
        for each in failed
    ]


def _cycle(found: Mapping[str, Any]) -> int | None:
    at = found.get("at")
    return at if isinstance(at, int) and at >= 0 else None


def _kind(sort: object) -> str:
    return _LASTS.sub("", str(sort))


def fails(run: Run, play_to: Callable[[int | None], None], failure: Failure, rng: Random | None, way: str) -> str:
    """Play on to the end, with chance drawn from `rng` (None: as it was recorded): how it fails in this way, "" when it
    doesn't. `way`: of an expectation, "" for any: what it says of a file that is wrong is another failure than what it
    says of a design that is. `play_to` brings what came from outside."""
    if rng is not None:
        run.server.draw_again(rng)
    if failure.item is None:
        play_to(None)
        return failure.sort if any(_kind(each.sort) == failure.sort for each in run.finish().violations) else ""
    if not 0 <= failure.item < len(run.scenario.expect):
        return ""
    expectation = run.scenario.expect[failure.item]
    true = None
    if expectation.cycle is not None and expectation.cycle >= run.kernel.now:
        play_to(expectation.cycle)
        true = _true(run, expectation)
        run.end_at(expectation.cycle + 1)  # what comes then doesn't matter
    play_to(None)
    outcome = run.finish()
    found = next((each for each in outcome.expect if each.index == failure.item), None)
    if found is None or found.ok:
        return ""
    at = run.kernel.now if expectation.cycle is None else expectation.cycle
    why = _why(expectation, outcome, at, _true(run, expectation) if true is None else true)
    return why if way in ("", why) else ""


def _true(run: Run, expectation: Expectation) -> bool | None:
    """Whether what the CPU knows now of the cards that are spoken of is so; None: it knows nothing yet."""
    named = {check.about for check in expectation.checks}
    views = [view for view in run.cpu.cards if view.name in named]
    if any(not view.known for view in views):
        return None
    return bool(views) and all(run.watch.differs(view.number) is None for view in views)


def _why(expectation: Expectation, outcome: Outcome, at: int, true: bool | None) -> str:
    """As `campaign.minimise` tells them apart."""
    if expectation.kind == When.ALWAYS:
        return "not always"
    if true is None or any(each.at <= at <= each.at + each.bound for each in outcome.recoveries):
        return "not due"
    return "not true" if true else "not found"
