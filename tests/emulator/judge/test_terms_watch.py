"""Contexts are given what the groups around them allow, also when somebody writes to a group; else it is told."""

import random
from fractions import Fraction

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.groups.live import LiveGroups
from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.groups import governor
from ringhil.emulator.host.groups import group as division
from ringhil.emulator.host.groups.governor import Context, Governor
from ringhil.emulator.host.groups.group import MemoryClaim, ProcessGroup, divided
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.judge.contexts.terms_watch import Sharer, fair_shares
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

from .playing import assert_named

FILE = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 9000, context_switch: 20, default_slice: 1000}
sharing:
  groups:
    team: {memory: 4000, slice: 320, priority: 2, groups: {first: {slice: 640, priority: 4}, second: {memory: 1500}}}
  applications:
    x: {gpu: a.2, group: team/first, steps: 6, host: 900, compute: 1700, slice: 4000, priority: 5, wants: 80}
    y: {gpu: a.2, group: team/second, steps: 6, host: 900, compute: 1700, wants: 60, start: 9000}
    z: {gpu: a.2, steps: 6, host: 900, compute: 1700, memory: 3000, start: 900}
"""


def nearest_slice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        ProcessGroup,
        "slice_there",
        property(lambda self: next((g.slice for g in self.outwards() if g.slice is not None), 0)),
    )


def highest_priority(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProcessGroup, "priority_there", property(lambda self: max(g.priority or 0 for g in self.outwards())))


def no_limit(patch: pytest.MonkeyPatch) -> None:
    def limits(self: Governor, contexts: list[Context]) -> dict[Context, int]:
        return dict.fromkeys(contexts, governor.NO_LIMIT)

    patch.setattr(Governor, "_limits", limits)


def not_what_is_held(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(division, "_share", lambda claim, even: even if claim.most is None else min(even, claim.most))


def first_come(patch: pytest.MonkeyPatch) -> None:
    """Limits fall and rise at a time."""
    patch.setattr(Context, "most", property(lambda self: 0))


def elsewhere(patch: pytest.MonkeyPatch) -> None:
    def by_context(self: Applications) -> dict[str, object]:
        return {name: (ContextRef(0, 1, p.context), self.reports[name]) for name, p in self._places.items()}

    patch.setattr(Applications, "by_context", by_context)


def test_each_wrong_term_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for mistake, invariant, says in (
        (nearest_slice, "slice_kept", "x was given slice 4000; it may have 320"),
        (highest_priority, "slice_kept", "x was given priority 5; it may have 2"),
        (no_limit, "memory_isolated", "x was given 4294967295 pages; it may have 4000"),
        (not_what_is_held, "memory_isolated", "y has a limit of 1500 pages; its part is 900"),
        (first_come, "memory_isolated", "may come to hold 4800, and may have 4000"),
        (elsewhere, "slice_kept", "x uses context 1 of GPU 1, card 0"),
    ):
        with monkeypatch.context() as patch:
            assert_named(mistake, FILE, invariant, says, patch)


def written() -> Outcome:
    """Groups are written to while applications work."""
    run = Run(loads(FILE.replace("steps: 6", "steps: 40")), cells_library())
    try:
        run.start()
        run.run_to(14_000)
        groups = LiveGroups(run)
        groups.write("team/gpu.slice", "160")
        groups.write("team/gpu.memory.max", "2000M")
        groups.mkdir("slow")
        groups.write("slow/gpu.slice", "40")
        groups.write("slow/cgroup.procs", groups.read("z/cgroup.procs"))
        groups.write("team/second/gpu.priority", "1")
        groups.write("team/gpu.memory.max", "max")
        return run.finish()
    finally:
        run.close()


def test_what_is_written_counts_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written().failures == ()
    nearest_slice(monkeypatch)
    assert any("x was given slice 4000; it may have 160" in each.text for each in written().violations)


def test_shares_are_those_of_a_second_calculation() -> None:
    rng = random.Random(3)
    for _ in range(300):
        budget = rng.randrange(3000)
        claims = [
            MemoryClaim(rng.choice([0, 0, rng.randrange(900)]), rng.choice([None, rng.randrange(2000)]))
            for _ in range(rng.randint(1, 6))
        ]
        root = Sharer(limit=budget)
        for n, claim in enumerate(claims):
            one = Sharer(limit=claim.most, inside=[Sharer(held=claim.held, name=n)])
            root.inside.append(one)
        parts = fair_shares(root)
        for n, given in enumerate(divided(budget, claims)):
            part, most = parts[n], claims[n].most
            assert part is not None
            # A limit below what is held is the group's; the context keeps what it holds.
            held = claims[n].held
            assert abs(given - max(part, Fraction(held) if most is not None and most < held else part)) < 1, (
                budget,
                claims,
            )
