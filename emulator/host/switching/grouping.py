"""Layers into groups that are copied and computed in a pipeline, so that the last one is done as early as can be.

A group is computed when it is there as a whole. Few groups: the first computation begins late, and copying isn't hidden
behind computing; many: each costs a command. What a command and a byte cost is measured by whoever asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringhil.emulator.host.switching.plan import Subtask

_MOST_GROUPS = 48


@dataclass(frozen=True)
class Costs:
    """Cycles: of a copy, beside those of each of its bytes; of a launch, beside what it computes."""

    copy: float
    byte: float
    launch: float


def groups(layers: Sequence[Subtask], costs: Costs) -> tuple[tuple[int, int], ...]:
    """First layer and the one behind the last of each group.

    `ends[i]`: the earliest end of computing the first i layers in so many groups. When the copies of i layers in k
    groups end doesn't depend on where the cuts are, so the best way to i is the best way to some j < i, and the rest.
    """
    data = np.cumsum([0, *(layer.data for layer in layers)])
    work = np.cumsum([0, *(layer.cycles for layer in layers)])
    number = len(layers)
    computed = work[None, :] - work[:, None] + costs.launch  # [j, i]: layers j up to i
    computed = np.where(np.arange(number + 1)[None, :] > np.arange(number + 1)[:, None], computed, np.inf)
    ends = np.full(number + 1, np.inf)
    ends[0] = 0.0
    best, ways, chosen = np.inf, [], 0
    for count in range(1, min(number, _MOST_GROUPS) + 1):
        copied = data * costs.byte + count * costs.copy
        candidates = np.maximum(ends[:, None], copied[None, :]) + computed
        ways.append(candidates.argmin(axis=0))
        ends = candidates.min(axis=0)
        if ends[number] < best:
            best, chosen = ends[number], count
    cuts = [number]
    for way in reversed(ways[:chosen]):
        cuts.append(int(way[cuts[-1]]))
    return tuple(pairwise(reversed(cuts)))
