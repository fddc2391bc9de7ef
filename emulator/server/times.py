"""Times by which a ring is configured, in cycles: timeouts, keepalives, leases. They follow from its size and settings.

With keepalive interval I, multiplier m, slack s a lease lasts m*I + s.
"""

from dataclasses import dataclass
from functools import cached_property

from ringhil.emulator.scenario import BABBLED, Server, Settings
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

    @cached_property
    def lease(self) -> int:
        """The time that a lease lasts; also that after which a member that isn't heard is down."""
        return self.multiplier * self.interval + self.slack


@dataclass(frozen=True)
class Times:
    """Times of a ring of `size` GPUs; `records`: its statistics messages carry them. `hosts`, `width`: GPUs with a link
    to the CPU, and those of its widest link to another card."""

    size: int
    settings: Settings
    records: bool
    hosts: int = 1
    width: int = 0

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
    def allowance_period(self) -> int:
        """The guardian's period: that of the settings, doubled until a babbling GPU sends more in it than any GPU of
        this card is allowed to; that of the settings where it can't be stretched so far."""
        for period in self.settings.allowance_periods:
            allowed = max(self._frames(period, self.hosts, self.width), self.settings.allowance)
            if allowed * BABBLED < period:
                return period
        return self.settings.allowance_period

    def allowance(self, hosts: int, width: int) -> int:
        """Most control frames that a GPU sends in one allowance period; `hosts`, `width`: members of its groups, 0:
        it is in none."""
        return self._frames(self.allowance_period, hosts, width)

    def _frames(self, period: int, hosts: int, width: int) -> int:
        frames = self._census_frames(period) + self._keepalive_frames(period, hosts) if hosts else 0
        # A warden also answers its member's keepalives.
        return frames + (2 * self._keepalive_frames(period, width) if width else 0)

    def _census_frames(self, period: int) -> int:
        """Of an entry GPU."""
        s = self.settings
        periods = -(-period // s.census_period) + 1
        rounds = period // (timing.MESSAGE_FLITS + s.firmware_latency) + 2
        # Two messages a round, and a report after the last attempt.
        return min(periods * (2 * ATTEMPTS + 1), rounds * 3)

    def _keepalive_frames(self, period: int, members: int) -> int:
        """Of a member of a group."""
        times = self.election
        rounds = period // (times.interval - times.jitter) + 2
        # To each other member both ways round, one up, a claim, a release; and once more out of turn.
        return (rounds + 2) * (2 * (members - 1) + 3)


def times_of(server: Server) -> list[Times]:
    """The times of every card, in their order."""
    widest: dict[str, int] = {}
    for link in server.boundary_links:
        for end in (link.from_[0].card, link.to[0].card):
            widest[end] = max(widest.get(end, 0), len(link.from_))
    records = server.settings.records != "never"
    return [
        Times(card.gpus, server.settings, records, len(card.host_links), widest.get(card.name, 0))
        for card in server.cards
    ]
