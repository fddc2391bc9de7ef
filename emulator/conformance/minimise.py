"""Makes a failing stimulus small: fewer actions, fewer cycles, lower times and numbers, while the breach stays the
same.

What is tried must break the node in the same way, and our own node must pass it: so a stimulus is never made small
into one that the contract forbids, or in which no node could do what is asked.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from ringhil.emulator.conformance import relabel
from ringhil.emulator.conformance.causes import symptom
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Action, Poke, Stimulus
from ringhil.protocol.registers import ControlBit

Play = Callable[[Stimulus], Awaitable[Sequence[Breach]]]
Passes = Callable[[Stimulus], bool]
AFTER = 10  # cycles played after the breach
MARGIN = 20  # cycles beyond those within which our node has done what this one never does
_EARLIEST = 2  # cycle of the first action
_ROUNDS = 3
# Settings that may be anything. Others have a meaning that a low value changes: times, allowances.
_FREE = ("gpu_type", "weight", "boundary_peer", "crossings", "exits", "memory")


@dataclass
class Budget:
    """What may still be spent: plays, and cycles that they take."""

    plays: int
    cycles: int

    def take(self, stimulus: Stimulus) -> bool:
        """One more play of this stimulus; False if that is too much."""
        if self.plays < 1 or self.cycles < stimulus.cycles:
            return False
        self.plays -= 1
        self.cycles -= stimulus.cycles
        return True


class Minimiser:
    """`best` is the smallest stimulus found so far, `breach` what it breaks.

    `play` plays a stimulus to the node; `passes` says whether our node keeps all rules with it. Without that, actions
    are left out, and what comes after the breach, but nothing is changed.
    """

    def __init__(
        self, stimulus: Stimulus, breach: Breach, play: Play, budget: Budget, passes: Passes | None = None
    ) -> None:
        self.best, self.breach = stimulus, breach
        self._play, self._passes, self._budget = play, passes, budget
        self._symptom = symptom(breach)

    async def run(self) -> None:
        """As small as the budget allows."""
        change = self._passes is not None
        for _ in range(_ROUNDS):
            before = self.best
            await self._end()
            if change and self.best.start:
                await self._try(replace(self.best, start=0))
            await self._leave_out()
            if change:
                await self._times()
                await self._numbers()
                await self._place()
                await self._settings()
            await self._end()
            if self.best == before or self._budget.plays < 1:
                break

    async def _try(self, candidate: Stimulus) -> bool:
        """The candidate is the best one if it breaks the node in the same way."""
        if candidate == self.best:
            return True
        if not self._budget.take(candidate):
            return False
        seen = [b for b in await self._play(candidate) if b.cycle <= candidate.cycles]
        found = next((b for b in seen if symptom(b) == self._symptom), None)
        if found is None or (self._passes is not None and not self._passes(candidate)):
            return False
        self.best, self.breach = candidate, found
        return True

    # --------------------------------------------------------------------------------------------------- actions

    async def _leave_out(self) -> None:
        """By halves, quarters and so on, then one by one (delta debugging)."""
        size = max(1, len(self.best.actions) // 2)
        while self.best.actions and self._budget.plays > 0:
            start, changed = 0, False
            while start < len(self.best.actions):
                kept = self.best.actions[:start] + self.best.actions[start + size :]
                if await self._try(self.best.with_actions(kept)):
                    changed = True
                else:
                    start += size
            if size == 1 and not changed:
                break
            size = max(1, size // 2)

    # ---------------------------------------------------------------------------------------------------- cycles

    async def _end(self) -> None:
        """Nothing after the breach; where something never comes, or comes too late, not much longer than it takes."""
        best, at = self.best, self.breach.cycle
        if at < best.cycles:
            kept = [a for a in best.actions if a.at <= at]
            last = max([at, *(a.at for a in kept)])
            if last + AFTER >= best.cycles or await self._try(replace(best.with_actions(kept), cycles=last + AFTER)):
                return
        if self._passes is None:  # a node may need all of it
            return
        last = max([0, *(a.at for a in self.best.actions)])
        low, high, most = last, self.best.cycles, self.best.cycles
        while high - low > MARGIN // 2:
            middle = (low + high) // 2
            if await self._try(replace(self.best, cycles=middle)):
                high = middle
            else:
                low = middle
        if high < most:
            await self._try(replace(self.best, cycles=min(high + MARGIN, most)))

    async def _times(self) -> None:
        """Shorter pauses between actions, and before the first one."""
        gaps = _gaps(self.best.actions)
        lowest = [min(gap, 1 if place else _EARLIEST) for place, gap in enumerate(gaps)]
        tail = self.best.cycles - sum(gaps)

        async def shorter(values: list[int]) -> bool:
            at, actions = 0, []
            for action, gap in zip(self.best.actions, values, strict=True):
                at += gap
                actions.append(replace(action, at=at))
            return await self._try(replace(self.best.with_actions(actions), cycles=at + tail))

        await _lower(gaps, lowest, shorter)

    # --------------------------------------------------------------------------------------------------- numbers

    async def _numbers(self) -> None:
        """Fields of frames."""
        found = relabel.numbers(self.best)

        async def some(chosen: list[relabel.Number]) -> None:
            if not chosen or await self._try(relabel.with_numbers(self.best, chosen)) or len(chosen) == 1:
                return
            half = len(chosen) // 2
            await some(chosen[:half])
            # What the first half changed may have changed the other numbers.
            rest = {(n.name, n.key) for n in chosen[half:]}
            await some([n for n in relabel.numbers(self.best) if (n.name, n.key) in rest])

        await some(found)

    async def _place(self) -> None:
        """Card and GPU 0, short ways, a small ring."""
        if self.best.card:
            await self._try(relabel.with_card(self.best, 0))
        for gpu in range(min(self.best.node, 2)):
            if await self._try(relabel.with_gpu(self.best, gpu)):
                break
        await self._try(relabel.with_ttl(self.best, 2))
        for size in sorted({max(2, relabel.highest_gpu(self.best) + 1), 4, 8}):
            if relabel.highest_gpu(self.best) < size < self.best.size:
                smaller = relabel.with_size(self.best, size)
                if await self._try(relabel.with_ttl(smaller, size)) or await self._try(smaller):
                    break

    async def _settings(self) -> None:
        """Lower values of registers that are written."""
        for place in range(len(self.best.actions)):
            action = self.best.actions[place]
            if not isinstance(action, Poke) or not action.value:
                continue
            if action.register in _FREE:
                await self._poke(place, action, 0)
            elif action.register == "control":
                for bit in ControlBit:
                    now = self.best.actions[place]
                    if isinstance(now, Poke) and now.value & bit:
                        await self._poke(place, now, now.value & ~bit)

    async def _poke(self, place: int, action: Poke, value: int) -> None:
        actions = list(self.best.actions)
        actions[place] = replace(action, value=value)
        await self._try(self.best.with_actions(actions))


def _gaps(actions: Sequence[Action]) -> list[int]:
    """Cycles before each action, from the one before it on."""
    return [action.at - before for action, before in zip(actions, [0, *(a.at for a in actions)], strict=False)]


async def _lower(values: list[int], lowest: list[int], holds: Callable[[list[int]], Awaitable[bool]]) -> None:
    """Values as low as `holds` allows, all at once where it does, else by halves, then each by itself."""

    async def part(places: list[int]) -> None:
        places = [p for p in places if values[p] > lowest[p]]
        if not places:
            return
        trial = [lowest[p] if p in places else value for p, value in enumerate(values)]
        if await holds(trial):
            values[:] = trial
        elif len(places) > 1:
            half = len(places) // 2
            await part(places[:half])
            await part(places[half:])
        else:
            place = places[0]
            low = lowest[place]  # doesn't hold
            while values[place] - low > 1:
                middle = (low + values[place]) // 2
                trial = [*values[:place], middle, *values[place + 1 :]]
                if await holds(trial):
                    values[place] = middle
                else:
                    low = middle

    await part(list(range(len(values))))
