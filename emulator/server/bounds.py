"""Upper bounds of recovery, in cycles, from the configuration alone.

A fault that strikes between two rounds is found by the next one, at most one period later; one that spoils a
round in flight costs that round's timeout instead, which is shorter. So each bound is: what the hardware needs
to react, one period, one round, and the firmware's own latency.

| event | hardware's part |
|---|---|
| dead | S |
| hang | W + S + B; and one timeout when the message is too long for the shadow copy |
| babble | two allowance periods: in the first the guardian mutes it, in the second its last frames die; + S |
| link_cut | S, a round that travels twice as far, and one timeout for the message that was cut |
| corrupt, skip_count, double_count | rejected and named after all attempts of a round |
| clearing | the time after which the hardware trusts the part again |
"""

from dataclasses import dataclass

from ringhil.emulator.scenario import Settings
from ringhil.firmware import timing

ATTEMPTS = 3
SHADOW_FLITS = 64  # half the control buffer of rtl/lane_control.sv
LIARS = frozenset({"corrupt", "skip_count", "double_count"})  # they stay counted; the message is rejected


@dataclass(frozen=True)
class Bounds:
    """Bounds for a ring of `size` GPUs."""

    size: int
    settings: Settings
    records: bool

    @property
    def ring_time(self) -> int:
        """T_ring with all GPUs working."""
        return timing.ring_time(self.size, records=self.records)

    @property
    def timeout(self) -> int:
        """After which a round is given up and tried again."""
        s = self.settings
        return timing.round_timeout(self.size, s.watchdog, records=self.records) + s.firmware_latency

    @property
    def census_frames(self) -> int:
        """Most control frames that the census makes an entry GPU send in one allowance period."""
        s = self.settings
        periods = -(-s.allowance_period // s.census_period) + 1
        rounds = s.allowance_period // (timing.MESSAGE_FLITS + s.firmware_latency) + 2
        # Two messages a round, and a report after the last attempt.
        return min(periods * (2 * ATTEMPTS + 1), rounds * 3)

    def recovery(self, action: str, kind: str, others: int = 0) -> int:
        """From the event until a right count is accepted, or for a liar, until it is named.

        `others`: further faults present at the time; each may cost one watchdog.
        """
        s, t = self.settings, self.ring_time
        switch = timing.SWITCH_OVER
        trip = s.watchdog + switch + timing.BYPASS_HOP
        common = max(s.census_period, self.timeout) + t + s.firmware_latency + others * trip
        # A round that only counts is repeated with records when its count is new.
        common += self.timeout
        if kind in LIARS:
            return common + (ATTEMPTS * (self.timeout + s.firmware_latency) if action == "fault" else 0)
        if kind == "link_cut":
            extra = t + self.timeout + (2 * s.link_restore if action == "clear" else 0)
            return common + switch + extra
        if kind == "babble":
            return common + 2 * s.allowance_period + switch
        if kind == "hang":
            long = timing.MESSAGE_FLITS + timing.RECORD_FLITS * self.size > SHADOW_FLITS
            return common + trip + (self.timeout if long and self.records else 0)
        return common + switch

    def settling(self, kind: str) -> int:
        """How long after an event the ring may still rightly be found as it was before."""
        s = self.settings
        if kind == "link_cut":
            return 2 * s.link_restore + 16
        if kind == "babble":
            return 2 * s.allowance_period + 16
        return s.watchdog + 16
