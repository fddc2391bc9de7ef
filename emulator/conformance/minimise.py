"""Makes a failing stimulus small: fewer actions, while the same rule stays broken."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ringhil.emulator.conformance.rule import Case
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Player
from ringhil.emulator.testbench.stimulus import Stimulus

Judged = Callable[[Player, Case, Stimulus], Awaitable[list[Breach]]]


async def minimise(case: Case, rule: str, player: Player, judged: Judged, budget: int) -> Stimulus:
    """The smallest stimulus found within `budget` plays that still breaks `rule`: actions are left out by halves,
    quarters and so on, then one by one (delta debugging); what comes after the breach is cut off."""
    best = case.stimulus

    async def broken(candidate: Stimulus) -> list[Breach]:
        return [b for b in await judged(player, case, candidate) if b.rule == rule]

    size = max(1, len(best.actions) // 2)
    while budget > 0 and best.actions:
        start, changed = 0, False
        while start < len(best.actions) and budget > 0:
            kept = best.actions[:start] + best.actions[start + size :]
            budget -= 1
            candidate = best.with_actions(kept)
            if await broken(candidate):
                best, changed = candidate, True
            else:
                start += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    if budget > 0:
        found = await broken(best)
        ends = max((b.cycle for b in found), default=best.cycles)
        shorter = replace(best, cycles=min(best.cycles, max(ends + 10, *(a.at + 1 for a in best.actions), 1)))
        if await broken(shorter):
            best = shorter
    return best
