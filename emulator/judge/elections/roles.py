"""Who holds a role, by what the members' own firmware does; and whether two ever did at the same time.

This looks at the members alone (`Elected`, `Deposed`, and GPUs that fail), not at who grants: so it would see a
split brain that a grantor was fooled into.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ringhil.emulator.judge.findings import FindingList, Value, say


@dataclass
class RoleWatch:
    """Watches the role of one group: the entry GPUs of a card, or the members of one link between cards that elect."""

    name: str
    holders: dict[int, int] = field(default_factory=dict)  # GPU -> epoch
    epochs: set[int] = field(default_factory=set)
    epoch: int = 0  # the last one
    last: int | None = None  # the GPU that was elected with it
    changes: int = 0  # elections
    changed_at: int = 0  # taken up or laid down
    wrong: FindingList = field(default_factory=FindingList)  # what, and in which cycle
    # Whether two members have no way to hear of each other: then each part of a card may rightly have its own holder.
    apart: Callable[[int, int], bool] = lambda first, second: False
    # Whether two members don't hear each other say that they are about to ask, while those that grant do: both may be
    # granted the role at once, and one is told within `news` cycles.
    unheard: Callable[[int, int], bool] = lambda first, second: False
    news: int = 0
    _doubled: dict[int, tuple[int, set[int]]] = field(default_factory=dict)  # GPU -> since when, beside whom

    @property
    def holder(self) -> int | None:
        """The GPU that holds the role; where the members are apart, the one elected last."""
        return next(reversed(self.holders), None)

    def elected(self, gpu: int, epoch: int, now: int) -> None:
        """A member has taken the role up."""
        near = {g: e for g, e in self.holders.items() if not self.apart(g, gpu)}
        beside = {g: e for g, e in near.items() if g == gpu or not self.unheard(g, gpu)}
        if near.keys() - beside.keys():
            self._doubled[gpu] = now, near.keys() - beside.keys()
        if beside:
            others = Value(", ".join(f"{g} (epoch {e})" for g, e in beside.items()))
            self._split(now, say("GPU {} (epoch {}) beside {}", gpu, epoch, others))
        if epoch in self.epochs:
            self._split(now, say("epoch {} is granted twice", epoch))
        if epoch < self.epoch and (beside or not self.holders):
            self._split(now, say("epoch {} after {}", epoch, self.epoch))
        self.epochs.add(epoch)
        self.holders[gpu] = self.epoch = epoch
        self.last = gpu
        self.changes += 1
        self.changed_at = now

    def gone(self, gpu: int, now: int) -> None:
        """It has laid the role down, or failed."""
        self.look(now)
        if self.holders.pop(gpu, None) is not None:
            self.changed_at = now
        self._doubled.pop(gpu, None)
        for _, others in self._doubled.values():
            others.discard(gpu)

    def look(self, now: int) -> None:
        """Two that were granted the role at once, and have not been told in time."""
        for gpu, (since, others) in self._doubled.items():
            if others and now - since > self.news:
                beside = Value(", ".join(f"{g} (epoch {self.holders[g]})" for g in sorted(others)))
                self._split(
                    now, say("GPU {} (epoch {}) beside {}, since cycle {}", gpu, self.holders[gpu], beside, since)
                )
                others.clear()

    def _split(self, now: int, what: str) -> None:
        self.wrong.tell(now, "split brain: {} at cycle {}: {}", self.name, now, what)
