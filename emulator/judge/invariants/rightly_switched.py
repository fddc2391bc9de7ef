"""Tasks follow one another on a GPU as their policy says."""

import re
from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import MOST, Broken, Invariant

_CYCLE = re.compile(r"cycle (\d+): ")


class RightlySwitched(Invariant):
    """Judged at the end, from commands, answers, memory, and what the CPU says that it has done when."""

    name = "rightly_switched"

    def broken(self) -> Iterator[Broken]:
        """By what is looked at; each rule tells of the first few."""
        wrong = self.evidence.switching
        for text in wrong[:MOST]:
            at = _CYCLE.match(text)
            yield text, int(at[1]) if at else None
        if len(wrong) > MOST:
            yield f"and {len(wrong) - MOST} more things that the policy forbids", None
