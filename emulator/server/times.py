"""Times by which a ring is configured, in cycles: timeouts, keepalives, leases. They follow from its size and settings.

With keepalive interval I, multiplier m, slack s a lease lasts m*I + s.
"""

from dataclasses import dataclass

from ringhil.emulator.scenario import Server, Settings
from ringhil.firmware import timing

ATTEMPTS = 3  # at a round of the census
RECORDS_EVERY = 16  # rounds; `records: sometimes`
_GUARD = 64


@dataclass(frozen=True)
class ElectionTimes:
    """Times of an election in cycles; the multiplier in keepalives."""

    interval: int
    multiplier: int
    jitter: int
    slack: int
    skew: int
    guard: int
    wait_to_restore: int

    @property
    def lease(self) -> int:
        """The time that a lease lasts; also that after which a member that isn't heard is down."""
        return self.multiplier * self.interval + self.slack


@dataclass(frozen=True)
class Times:
    """Times of a ring of `size` GPUs; `records`: its statistics messages carry them."""

    size: int
    settings: Settings
    records: bool

    @property
    def ring_time(self) -> int:
        """T_ring with all GPUs working."""
        return timing.ring_time(self.size, records=self.records)

    @property
    def timeout(self) -> int:
        """The time after which a round is given up and tried again."""
        s = self.settings
        return timing.round_timeout(self.size, s.watchdog, records=self.records) + s.firmware_latency

    @property
    def refresh(self) -> int:
        """In every so many-th round the messages carry records, if they do at all."""
        return RECORDS_EVERY if self.settings.records == "sometimes" else 1

    @property
    def refreshed(self) -> int:
        """The time until the next round with records, beyond that until the next round."""
        return (self.refresh - 1) * max(self.settings.census_period, self.timeout)

    @property
    def claim(self) -> int:
        """A claim, or a keepalive, and its answer: both latencies and the way there and back."""
        s = self.settings
        return 2 * (s.firmware_latency + s.host_latency) + 4 * timing.KEEPALIVE_FLITS + self.ring_time

    @property
    def election(self) -> ElectionTimes:
        """Keepalives must be rare enough for a long ring, on which one may wait behind a statistics message."""
        s = self.settings
        interval = max(s.keepalive_interval, 4 * self.claim)
        return ElectionTimes(
            interval=interval,
            multiplier=s.keepalive_multiplier,
            jitter=interval * s.keepalive_jitter // 100,
            slack=interval // 4,
            skew=self.claim,
            guard=_GUARD,
            wait_to_restore=s.wait_to_restore,
        )

    @property
    def census_frames(self) -> int:
        """Most control frames that the census makes an entry GPU send in one allowance period."""
        s = self.settings
        periods = -(-s.allowance_period // s.census_period) + 1
        rounds = s.allowance_period // (timing.MESSAGE_FLITS + s.firmware_latency) + 2
        # Two messages a round, and a report after the last attempt.
        return min(periods * (2 * ATTEMPTS + 1), rounds * 3)

    def keepalive_frames(self, members: int) -> int:
        """Most control frames that a member of a group sends in one allowance period."""
        times = self.election
        rounds = self.settings.allowance_period // (times.interval - times.jitter) + 2
        # To each other member both ways round, one up, a claim, a release; and once more out of turn.
        return (rounds + 2) * (2 * (members - 1) + 3)


def times_of(server: Server) -> list[Times]:
    """The times of every card, in their order."""
    return [Times(card.gpus, server.settings, server.settings.records != "never") for card in server.cards]
