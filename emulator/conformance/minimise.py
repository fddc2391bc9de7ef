"""Makes a failing stimulus small: fewer actions, fewer cycles, while the same rule stays broken."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from ringhil.emulator.conformance.rule import RuleCase
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Stimulus

Judge = Callable[[RuleCase, Stimulus], Awaitable[list[Breach]]]
_AFTER = 10  # cycles played after the breach


async def minimise(
    case: RuleCase, breaches: Sequence[Breach], judge: Judge, budget: int
) -> tuple[Stimulus, Sequence[Breach]]:
    """The smallest stimulus found within `budget` plays that breaks the rule of the first breach, and its breaches.

    Actions are left out by halves, quarters and so on, then one by one (delta debugging); what comes after the breach
    is cut off.
    """
    rule, best, found = breaches[0].rule, case.stimulus, breaches

    async def broken(candidate: Stimulus) -> bool:
        nonlocal best, found, budget
        budget -= 1
        now = [b for b in await judge(case, candidate) if b.rule == rule]
        if now:
            best, found = candidate, now
        return bool(now)

    size = max(1, len(best.actions) // 2)
    while budget > 1 and best.actions:
        start, changed = 0, False
        while start < len(best.actions) and budget > 1:
            if await broken(best.with_actions(best.actions[:start] + best.actions[start + size :])):
                changed = True
            else:
                start += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    if budget > 0:
        last = max([found[0].cycle, *(a.at for a in best.actions)])
        if last + _AFTER < best.cycles:
            await broken(replace(best, cycles=last + _AFTER))
    return best, found
