"""Upper bounds of recovery, in cycles, from the configuration alone.

A fault that strikes between two rounds is found by the next one, at most one period later; one that spoils a
round in flight costs that round's timeout instead, which is shorter. So each bound is: what the hardware needs
to react, one period, one round, and the firmware's own latency.

| event | hardware's part |
|---|---|
| dead, switch_stuck_bypass | S |
| hang | W + S + B; and one timeout when the message is too long for the shadow copy |
| babble | two allowance periods: in the first the guardian mutes it, in the second its last frames die; + S |
| link_cut, link_one_way | S, a round that travels twice as far, and one timeout for the message that was cut |
| switch_stuck_through with a failed GPU | W to see the GPU fail, W to see the switch fail, and then a cut |
| what lies (`Trait.LIES`) | rejected and named after all attempts of a round |
| slow | one period |
| link_delay | four rounds that agree, and the first one's timeout |
| clearing | the time after which the hardware trusts the part again |

When the GPU that holds a role is hit, the role moves first: the lease runs out, members claim in turn, one is
granted. With keepalive interval I, multiplier m, slack s: lease m*I + s; then guard, skew per member, one interval
for the retry, and the way of a claim and its answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.scenario import CrossRef, EventAction, Scenario, Server, TimelineEvent, Trait, having
from ringhil.emulator.server.times import ATTEMPTS, Times, times_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware import timing
from ringhil.firmware.links import ROUNDS
from ringhil.protocol.registers import MAX_LINK_DELAY

SHADOW_FLITS = 64  # half the control buffer of rtl/lane_control.sv
_LIARS, _CUTS, _MUTED = having(Trait.LIES), having(Trait.BREAKS), having(Trait.MUTED)


@dataclass(frozen=True)
class Bounds:
    """Bounds for a ring that is configured with these times."""

    times: Times

    def recovery(self, action: EventAction, kind: str, others: int = 0) -> int:
        """The time from the event until a right count is accepted or, for a liar, until it is named.

        `others`: further faults present at the time; each may cost one watchdog.
        """
        s, t = self.times.settings, self.times.ring_time
        switch = timing.SWITCH_OVER
        trip = s.watchdog + switch + timing.BYPASS_HOP
        common = max(s.census_period, self.times.timeout) + t + s.firmware_latency + others * trip
        # A round that only counts is repeated with records when its count is new.
        common += self.times.timeout
        if action in (EventAction.CLEAR, EventAction.TAKE_BACK):
            common += s.gpu_restore
        if kind in _LIARS or kind == "slow":
            common += self.times.refreshed  # only records tell
        if kind in _LIARS:
            return common + (ATTEMPTS * (self.times.timeout + s.firmware_latency) if action == EventAction.FAULT else 0)
        if kind in _CUTS:
            extra = t + self.times.timeout + (2 * s.link_restore if action == EventAction.CLEAR else 0)
            return common + switch + extra
        if kind in _MUTED:
            # A GPU that boots again and again says so each time, until it is muted.
            return common + 2 * self.times.allowance_period + switch
        if kind == "switch_stuck_through":
            return common + 2 * trip + t + self.times.timeout + 2 * s.link_restore
        if kind == "link_delay":
            rounds = (ROUNDS + 1) * self.times.refresh * max(s.census_period, self.times.timeout)
            return common + rounds + 2 * s.link_restore + s.host_latency
        if kind == "hang":
            long = timing.MESSAGE_FLITS + timing.RECORD_FLITS * self.times.size > SHADOW_FLITS
            return common + trip + (self.times.timeout if long and self.times.records else 0)
        return common + switch

    def election_bound(self, members: int, *, across: bool = False) -> int:
        """The time from a holder's fault until another member has been granted the role; `across`: a boundary GPU's.

        A warden that refuses a claim for a lease that it has only heard of says how long that lasts from then on. If
        it ends before, the member has waited for nothing.
        """
        e = self.times.election
        if across:
            return self.election_bound(members) + e.lease
        # Two intervals: until the loss of keepalives begins, and until a claim that was refused is repeated.
        taken = e.lease + e.guard + (members + 1) * e.skew + 2 * e.interval
        return taken + self.times.claim + self.times.settings.gpu_restore

    def return_bound(self, members: int, *, across: bool = False) -> int:
        """The time until a GPU that can hold a role again, after no GPU could, has been granted it: boot, the link, the
        time that a rebooted grantor of a boundary group waits, a claim."""
        s, e = self.times.settings, self.times.election
        listen = e.lease + e.guard + 2 * e.interval
        return self.election_bound(members, across=across) + listen + 2 * s.link_restore + s.gpu_restore + s.watchdog

    def settling(self, kind: str) -> int:
        """How long after an event the ring may still rightly be found as it was before."""
        s = self.times.settings
        if kind in _CUTS:
            return 2 * s.link_restore + 2 * MAX_LINK_DELAY + 16
        if kind in _MUTED:
            return 2 * self.times.allowance_period + s.gpu_restore + 64
        if kind == "switch_stuck_through":
            return 2 * s.watchdog + 2 * s.link_restore + s.gpu_restore + 64
        return 2 * s.watchdog + s.gpu_restore + 16

    @property
    def power_up(self) -> int:
        """The time from power-up until the first count of a card of which nothing has failed."""
        e = self.times.election
        return 2 * self.times.claim + e.guard + self.times.ring_time + 2 * self.times.timeout

    @property
    def orphan(self) -> int:
        """The time after which no statistics message of a round is on the ring, whatever became of its origin.

        Its TTL lasts for a good round, and once more from the first dead link at which it turns: 2 T_ring, and what
        a round trip may cost besides, twice.
        """
        return 2 * self.times.timeout


def bounds_of(server: Server) -> list[Bounds]:
    """The bounds of every card, in their order."""
    return [Bounds(times) for times in times_of(server)]


def entry_time(wiring: Wiring, bounds: Sequence[Bounds], card: int) -> int:
    """An election of a card's entry GPU is over by then."""
    b = bounds[card]
    slowest = max(b.settling(kind) for kind in ("babble", "switch_stuck_through", "link_cut"))
    return b.return_bound(len(wiring.cards[card].host_links)) + slowest


def link_time(wiring: Wiring, bounds: Sequence[Bounds], group: int) -> int:
    """The same of a boundary GPU; an entry GPU may be elected before."""
    link = wiring.links[group]
    ends = wiring.ends(link)
    slowest = max(bounds[card].return_bound(len(link.from_), across=True) for card in ends)
    return max(entry_time(wiring, bounds, card) for card in ends) + slowest


def horizon(
    scenario: Scenario, timeline: Sequence[TimelineEvent], wiring: Wiring, bounds: Sequence[Bounds], last: int
) -> int:
    """The cycle by which all events of `timeline` have happened and have had time to be dealt with. `last`: the latest
    one that an expectation speaks of; `bounds`: by card."""
    if scenario.until is not None:
        return scenario.until
    end = max(scenario.server.settings.census_period, *(b.power_up + b.times.refreshed + 1 for b in bounds))
    across = bool(wiring.links)
    if across:
        end = max(end, *(b.return_bound(2, across=True) for b in bounds))
    settled = 0  # by then what came before has settled, on any card
    for event in timeline:
        # The whole way: the role moves, then the new entry GPU counts.
        target = event.target
        ends = [target.from_.card, target.to.card] if isinstance(target, CrossRef) else [target.card]
        for b in (bounds[wiring.number(name)] for name in ends):
            bound = b.recovery(event.action, event.kind, len(timeline)) + b.return_bound(8, across=across)
            end = max(end, max(event.at, settled) + bound + 1)
            settled = max(settled, event.at + b.settling(event.kind))
    return max(end, last + 1)
