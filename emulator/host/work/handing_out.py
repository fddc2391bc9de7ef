"""Units on their way: who has which, until when, and what goes out again.

A unit goes out again (attempt + 1) when its GPU is no longer counted, when the entry GPU that it went through lost
its lease, when its GPU refused it, when its result was wrong, or when its time is up; the new attempt takes the other
way round the ring, and another GPU where it can.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.card_port import CardPort
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy import Policy
from ringhil.emulator.host.work import segments
from ringhil.emulator.host.work.accepting import Accepting, WorkCount
from ringhil.emulator.host.work.workload import WorkUnits
from ringhil.protocol.frames import Acknowledgement, Result

BARRED = 20_000  # cycles that a GPU gets no work after too many wrong results
_MORE = 8  # times as long as the first attempt may one take at most


@dataclass(frozen=True)
class CpuConfig:
    """What a CPU is told when it is made. `silence`: a card that has not reported for so long is unreachable.
    `patience`: what a unit may take beyond its way there and its computation. `window`: units outstanding per GPU.
    `across`: percent of the units that enter by another card. `ways`: for (card, target card) the GPUs of `card` whose
    links lead there. `policy`: one of `policy.POLICIES`. Times in cycles."""

    silence: int
    patience: int
    window: int
    compute_setup: int
    compute_per_flit: int
    across: int = 0
    ways: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    policy: str = "proportional"


@dataclass(slots=True)
class _Outstanding:
    card: CardView
    gpu: int
    attempt: int
    via: CardView  # whose entry GPU it went through


class HandingOut:
    """Gives GPUs the units that `policy` chooses for them; nothing before `begin`."""

    def __init__(
        self,
        port: CardPort,
        cards: Sequence[CardView],
        config: CpuConfig,
        policy: Policy,
        workload: WorkUnits | None,
        accepting: Accepting,
        work: WorkCount,
    ) -> None:
        self._port, self._cards, self._config, self._policy = port, cards, config, policy
        self._workload, self._accepting, self._work = workload, accepting, work
        self._outstanding: dict[int, _Outstanding] = {}
        self._again: deque[int] = deque()
        self._attempts: dict[int, int] = {}  # only of units that went out more than once
        self._tried: dict[int, set[tuple[str, int]]] = {}
        self._longest = 0  # cycles that an attempt may have taken
        self.begun = False
        self.on_idle: Callable[[CardView, int], None] = lambda card, gpu: None  # a GPU that leaves has no unit left

    def begin(self) -> None:
        """The cards have been counted: from now on units go out."""
        self.begun = True
        self._policy.begin(self._work.units)

    @property
    def worth_waiting(self) -> int:
        """Cycles in which a unit that fails wherever it comes has been at every GPU; 0: none is out."""
        members = sum(len(card.members) for card in self._cards)
        return (members + 1) * self._longest if self._outstanding or self._again else 0

    def recount(self) -> None:
        """The weight of a card has changed, or it was lost."""
        if self.begun:
            self._policy.recount()

    def dispatch(self) -> None:
        """Give every GPU that has room its next units."""
        if not self.begun:
            return
        for card, gpu in self._policy.turns(self._config.window):
            if card.barred.get(gpu, 0) > self._port.now:
                continue
            unit = self._next_unit(card, gpu)
            if unit is not None:
                self._send(card, gpu, unit)

    # ------------------------------------------------------------------------------------------------ coming back

    def done(self, unit: int) -> None:
        """Its result has been accepted."""
        self._release(unit)
        self._attempts.pop(unit, None)
        self._tried.pop(unit, None)

    def failed(self, answer: Result | Acknowledgement) -> bool:
        """A GPU has refused a unit, or computed it wrongly: it goes out again, unless another attempt is on its way.
        Whether it does."""
        out = self._outstanding.get(answer.unit)
        source = (answer.source_card, answer.source, answer.attempt)
        if out is None or (out.card.number, out.gpu, out.attempt) != source:
            return False
        self._retry(answer.unit)
        return True

    def bar(self, card: CardView, gpu: int) -> None:
        """This GPU gets no work for a while."""
        card.barred[gpu] = self._port.now + BARRED
        self._port.after(BARRED + 1, self.dispatch)

    def give_up_on(self, card: CardView, gone: Sequence[int]) -> None:
        """These GPUs are members no more."""
        self._retry_all([u for u, o in self._outstanding.items() if o.card is card and o.gpu in gone])

    def give_up_on_entry(self, card: CardView) -> None:
        """What went through its entry GPU will not come back."""
        self._retry_all([u for u, o in self._outstanding.items() if o.via is card])

    def _deadline(self, unit: int, attempt: int) -> None:
        out = self._outstanding.get(unit)
        if out is not None and out.attempt == attempt:
            self._retry(unit)
            self.dispatch()

    def _retry_all(self, units: list[int]) -> None:
        for unit in units:
            self._retry(unit)

    def _retry(self, unit: int) -> None:
        out = self._release(unit)
        if out is None:
            return
        self._attempts[unit] = (out.attempt + 1) % 2**16
        tried, here = self._tried.setdefault(unit, set()), (out.card.name, out.gpu)
        tried.add(here)
        if tried >= {(card.name, gpu) for card in self._cards for gpu in card.workers}:
            tried.clear()  # everybody again, but not at once the one that it has just failed at
            tried.add(here)
        self._again.append(unit)
        self._work.resent += 1

    def _release(self, unit: int) -> _Outstanding | None:
        out = self._outstanding.pop(unit, None)
        if out is not None:
            out.card.load[out.gpu] -= 1
            if out.gpu in out.card.leaving and not out.card.load[out.gpu]:
                self._port.after(1, partial(self.on_idle, out.card, out.gpu))
        return out

    # -------------------------------------------------------------------------------------------------- going out

    def _next_unit(self, card: CardView, gpu: int) -> int | None:
        for _ in range(len(self._again)):
            unit = self._again.popleft()
            if self._accepting.is_done(unit):
                continue
            # Not where it has failed before, as long as somebody else is there.
            tried = self._tried.get(unit, set())
            others = any((c.name, g) not in tried for c in self._cards for g in c.workers)
            if (card.name, gpu) in tried and others:
                self._again.append(unit)
                continue
            return unit
        return self._policy.take(card, gpu)

    def _send(self, card: CardView, gpu: int, unit: int) -> None:
        attempt = self._attempts.get(unit, 1)
        via = self._by_way_of(card, unit, attempt)
        entry, cell = via.entry, via.cell
        assert self._workload is not None
        # A card with members has an entry GPU.
        assert entry is not None
        assert cell is not None
        data = self._workload.read(unit)
        self._accepting.expect(unit, data)
        distance = (gpu - entry) % card.size
        ccw = via is card and (distance > card.size // 2) != (attempt % 2 == 0)
        route = segments.Route(card.number, via.number, entry, gpu, ccw, max(card.size, via.size) + 1, via.epoch)
        now, config = self._port.now, self._config
        self._port.send(cell, segments.segments(unit, attempt, data, route))
        via.link_free_at = max(via.link_free_at, now) + segments.flits(len(data))
        card.load[gpu] = card.load.get(gpu, 0) + 1
        self._work.crossed += via is not card
        self._outstanding[unit] = _Outstanding(card, gpu, attempt, via)
        compute = config.compute_setup + -(-len(data) // 8) * config.compute_per_flit
        # The GPU may have a full queue before it, and the ring is shared: allow for all of it, and for more at
        # every attempt. A slow GPU takes four times as long.
        ahead = via.link_free_at - now
        slow = 4 if gpu in card.degraded else 1
        allowed = config.patience + 4 * ahead + slow * compute * (config.window + 1)
        self._longest = max(self._longest, allowed * _MORE)
        self._port.after(allowed * min(attempt, _MORE), partial(self._deadline, unit, attempt))

    def _by_way_of(self, card: CardView, unit: int, attempt: int) -> CardView:
        """The card by whose entry GPU a unit for `card` enters: for some another one that has a way there (R8)."""
        config = self._config
        # Multiplying by an odd constant spreads neighbouring units over all percentages.
        if attempt > 1 or unit * 0x9E3779B1 % 2**32 * 100 >> 32 >= config.across:
            return card
        others = [c for c in self._cards if c is not card and c.reachable and c.entry is not None]
        able = [c for c in others if config.ways.get((c.number, card.number), frozenset()) & set(c.boundaries)]
        return able[unit % len(able)] if able else card
