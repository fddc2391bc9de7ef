"""Is a peer alive? It is down when it has been silent for too long, and must earn its way back.

A peer that flaps would drag elections along with it. So it is taken back only after it has been heard without
a gap for `wait_to_restore`, and twice as long after each further failure; long good behaviour wipes that out.
"""

from dataclasses import dataclass
from enum import Enum, auto

MOST_DOUBLINGS = 6
FORGIVEN_AFTER = 8  # times the current wait


class Went(Enum):
    """What has become of a peer just now."""

    UP = auto()
    DOWN = auto()


@dataclass
class Liveness:
    """One peer. `detection` and `wait_to_restore` in cycles; times are of the clock that `now` is read from."""

    detection: int
    wait_to_restore: int
    up: bool = False
    wait: int = 0  # what it had to be heard for, the last time it was down
    doublings: int = 0
    heard_at: int | None = None
    since_at: int = 0  # heard without a gap since
    up_at: int = 0

    def heard(self, now: int) -> Went | None:
        """A message of the peer came in; UP when this brings it up, DOWN when it had been lost unnoticed."""
        if self.heard_at is None:
            self.heard_at = self.since_at = self.up_at = now
            self.up = True  # it has not failed yet: nothing to make good
            return Went.UP
        went = self.check(now)
        if not self.fresh(now):
            self.since_at = now
        self.heard_at = now
        if went is None and not self.up and now - self.since_at >= self.wait:
            self.up = True
            self.up_at = now
            return Went.UP
        return went

    def check(self, now: int) -> Went | None:
        """DOWN when the peer has just been silent for too long."""
        if not self.up or self.heard_at is None or self.fresh(now):
            return None
        self.up = False
        if self.heard_at - self.up_at >= FORGIVEN_AFTER * max(self.wait, self.wait_to_restore):
            self.doublings = 0
        self.wait = self.wait_to_restore << self.doublings
        self.doublings = min(self.doublings + 1, MOST_DOUBLINGS)
        return Went.DOWN

    def fresh(self, now: int) -> bool:
        """Heard within the detection time, whether it counts as up or not."""
        return self.heard_at is not None and now - self.heard_at <= self.detection

    @property
    def deadline(self) -> int | None:
        """First cycle in which the peer counts as silent, if it is not heard before."""
        return None if self.heard_at is None else self.heard_at + self.detection + 1
