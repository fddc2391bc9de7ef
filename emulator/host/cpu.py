"""The CPU: grants the entry role of each card, shares work out by count, takes results in, sends again what was lost.

Of each card only the GPU that holds a running lease is heard and gets work (R10, fencing): reports and results of
any other, or of an earlier epoch, are refused.

Every unit is accepted exactly once, by the first result that is right; results are compared with the CPU's
own computation. A unit goes out again (attempt + 1) when its GPU is no longer counted, when the entry GPU that it
went through is replaced, when its GPU refused it, when its result was wrong, or when its time is up; the new attempt
takes the other way round the ring, and another GPU where it can.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ringhil.emulator.host import segments
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.shares import shares
from ringhil.emulator.host.workload import Workload, digest
from ringhil.emulator.kernel import Kernel
from ringhil.firmware.actions import Action
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Election, Keepalive, Report, Result

_STRIKES = 3  # wrong results in a row before a GPU is left out for a while
_BARRED = 20_000  # cycles


@dataclass(frozen=True)
class CpuConfig:
    """`silence`: a card that has not reported for so long is unreachable. `patience`: what a unit may take beyond
    its way there and its computation. `window`: units outstanding per GPU. `across`: percent of the units that
    enter by another card. `ways`: for (card, target card) the GPUs of `card` whose links lead there. Times in
    cycles."""

    silence: int
    patience: int
    window: int
    compute_setup: int
    compute_per_flit: int
    across: int = 0
    ways: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)


@dataclass
class WorkCount:
    """What became of the work."""

    units: int = 0
    completed: int = 0
    duplicated: int = 0  # results accepted for a unit that was already done: must stay 0
    resent: int = 0  # attempts beyond the first
    refused: int = 0
    wrong: int = 0  # results that were not what the CPU computed
    late: int = 0  # right results of units that were done by then
    fenced: int = 0  # frames refused: not from the entry GPU of the present epoch
    crossed: int = 0  # units that were sent by way of another card
    digest: int = 0  # exclusive-or over all units of their digest, turned by their number


@dataclass(slots=True)
class _Outstanding:
    card: CardView
    gpu: int
    attempt: int
    via: CardView  # whose entry GPU it went through


@dataclass
class Cpu:
    """`workload` may be None: then the cards are only counted."""

    kernel: Kernel
    cards: list[CardView]
    config: CpuConfig
    workload: Workload | None = None
    on_done: Callable[[], None] = lambda: None
    on_progress: Callable[[int, int], None] = lambda done, total: None
    on_grant: Callable[[CardView, Action], None] = lambda card, action: None  # Granted or Lapsed
    work: WorkCount = field(default_factory=WorkCount)
    _outstanding: dict[int, _Outstanding] = field(default_factory=dict)
    _again: deque[int] = field(default_factory=deque)
    _attempts: dict[int, int] = field(default_factory=dict)  # only of units that went out more than once
    _tried: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    _done: bytearray = field(default_factory=bytearray)
    _expected: dict[int, int] = field(default_factory=dict)
    _handed_out: bool = False
    _lease_alarms: dict[int, int] = field(default_factory=dict)  # by card number: when to look at its lease
    _links: dict[int, tuple[CardView, int]] = field(init=False)  # by cell: card and rank

    def __post_init__(self) -> None:
        self._links = {cell: (card, rank) for card in self.cards for rank, cell in enumerate(card.cells)}

    def power_up(self) -> None:
        """Begin to watch the cards; work is handed out when all have reported, or those that will."""
        if self.workload is not None:
            self.work.units = self.workload.units
            self._done = bytearray(-(-self.workload.units // 8))
        for card in self.cards:
            self._watch(card)
        self.kernel.after(self.config.silence, self._hand_out)

    @property
    def finished(self) -> bool:
        """All work is done."""
        return self.work.completed == self.work.units

    def mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        """A frame has come from a card."""
        if bad:
            return
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            return
        card, rank = self._links.get(cell, (None, 0))
        if card is None:
            return
        if isinstance(message, Keepalive):
            self._answer(card, rank, *card.grantor.on_keepalive(rank, message, self.kernel.now))
        elif isinstance(message, Election):
            self._answer(card, rank, *card.grantor.on_election(rank, message, self.kernel.now))
        elif isinstance(message, Report | Result | Acknowledgement):
            if card.rank != rank or message.epoch != card.epoch:
                self.work.fenced += 1
            elif isinstance(message, Report):
                self._report(card, message)
            elif isinstance(message, Result):
                self._result(message)
            else:
                self._refusal(message)

    # ------------------------------------------------------------------------------------------- the entry role

    def _answer(self, card: CardView, rank: int, answer: Keepalive | Election | None, actions: list[Action]) -> None:
        """The card's grantor has decided; its answer goes to the GPU of that rank."""
        self._carry_out(card, actions)
        if answer is not None:
            self.kernel.send_from_cpu(card.cells[rank], [codec.encode(answer)])

    def _carry_out(self, card: CardView, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Granted):
                self._give_up_on(card, card.lost())
                card.granted(action.rank, action.epoch)
                self._give_up_on_entry(card)
                self.on_grant(card, action)
            elif isinstance(action, Lapsed):
                card.rank = None
                self._lose(card)
                self.on_grant(card, action)
        self._watch_lease(card)

    def _watch_lease(self, card: CardView) -> None:
        expiry = card.grantor.next_expiry
        if expiry is None or expiry == self._lease_alarms.get(card.number):
            return
        self._lease_alarms[card.number] = expiry

        def look() -> None:
            if self._lease_alarms.get(card.number) == expiry:
                del self._lease_alarms[card.number]
                self._carry_out(card, card.grantor.on_expire(self.kernel.now))

        self.kernel.at(expiry, look)

    def _lose(self, card: CardView) -> None:
        """The card can't be reached any more."""
        self._give_up_on(card, card.lost())
        self._give_up_on_entry(card)
        self._share_out_again()
        self._dispatch()

    def _give_up_on_entry(self, card: CardView) -> None:
        """What went through its entry GPU will not come back."""
        for unit in [u for u, o in self._outstanding.items() if o.via is card]:
            self._retry(unit)

    # ------------------------------------------------------------------------------------------------ counting

    def _report(self, card: CardView, report: Report) -> None:
        before = card.weight
        gone = card.update(report, self.kernel.now)
        self._give_up_on(card, gone)
        if not self._handed_out:
            if all(c.known for c in self.cards):
                self._hand_out()
        elif card.weight != before:
            self._share_out_again()
        self._dispatch()

    def _watch(self, card: CardView) -> None:
        def look() -> None:
            if card.reachable and self.kernel.now - card.reported_at >= self.config.silence:
                self._lose(card)
            self.kernel.after(self.config.silence // 2, look)

        self.kernel.after(self.config.silence // 2, look)

    def _give_up_on(self, card: CardView, gone: tuple[int, ...]) -> None:
        if not gone:
            return
        lost = [u for u, o in self._outstanding.items() if o.card is card and o.gpu in gone]
        for unit in lost:
            self._retry(unit)

    # ---------------------------------------------------------------------------------------------- handing out

    def _hand_out(self) -> None:
        if self._handed_out or self.workload is None:
            return
        self._handed_out = True
        start = 0
        for name, share in shares(self.workload.units, {c.name: c.weight for c in self.cards}).items():
            card = self._card(name)
            card.share = share
            card.backlog.add(start, start + share)
            start += share
        if start < self.workload.units:  # nobody is there yet: kept for whoever comes
            self.cards[0].backlog.add(start, self.workload.units)
        if not self.workload.units:
            self.on_done()
        self._dispatch()

    def _share_out_again(self) -> None:
        """The counts have changed: what nobody has begun is split anew."""
        if not self._handed_out:
            return
        weights = {c.name: c.weight for c in self.cards}
        if not any(weights.values()):
            return
        left = sum(len(c.backlog) for c in self.cards)
        ranges = [r for c in self.cards for r in c.backlog.take(left)]
        pieces = iter(ranges)
        piece = next(pieces, None)
        for name, share in shares(left, weights).items():
            backlog = self._card(name).backlog
            while share and piece is not None:
                start, end = piece
                cut = min(end, start + share)
                backlog.add(start, cut)
                share -= cut - start
                piece = (cut, end) if cut < end else next(pieces, None)

    def _card(self, name: str) -> CardView:
        return next(c for c in self.cards if c.name == name)

    def _dispatch(self) -> None:
        """Give every GPU that has room its next units."""
        if not self._handed_out:
            return
        for card in self.cards:
            window = self.config.window
            for level in range(window):
                # Level by level, so that nobody gets a second unit while another waits for its first.
                for gpu in [g for g in card.members if card.load.get(g, 0) <= level < card.window(g, window)]:
                    if card.barred.get(gpu, 0) > self.kernel.now:
                        continue
                    unit = self._next_unit(card, gpu)
                    if unit is not None:
                        self._send(card, gpu, unit)

    def _next_unit(self, card: CardView, gpu: int) -> int | None:
        for _ in range(len(self._again)):
            unit = self._again.popleft()
            if self._is_done(unit):
                continue
            # Not where it has failed before, as long as somebody else is there.
            tried = self._tried.get(unit, set())
            others = any((c.name, g) not in tried for c in self.cards for g in c.members)
            if (card.name, gpu) in tried and others:
                self._again.append(unit)
                continue
            return unit
        return card.backlog.pop()

    def _send(self, card: CardView, gpu: int, unit: int) -> None:
        assert self.workload is not None
        attempt = self._attempts.get(unit, 1)
        via = self._by_way_of(card, unit, attempt)
        entry, cell = via.entry, via.cell
        # A card with members has an entry GPU.
        assert entry is not None
        assert cell is not None
        data = self.workload.read(unit)
        if unit not in self._expected:
            self._expected[unit] = digest(data)
        distance = (gpu - entry) % card.size
        ccw = via is card and (distance > card.size // 2) != (attempt % 2 == 0)
        route = segments.Route(card.number, via.number, entry, gpu, ccw, max(card.size, via.size) + 1, via.epoch)
        now = self.kernel.now
        self.kernel.send_from_cpu(cell, segments.segments(unit, attempt, data, route))
        via.link_free_at = max(via.link_free_at, now) + segments.flits(len(data))
        card.load[gpu] = card.load.get(gpu, 0) + 1
        self.work.crossed += via is not card
        self._outstanding[unit] = _Outstanding(card, gpu, attempt, via)
        compute = self.config.compute_setup + -(-len(data) // 8) * self.config.compute_per_flit
        # The GPU may have a full queue before it, and the ring is shared: allow for all of it, and for more at
        # every attempt. A slow GPU takes four times as long.
        ahead = via.link_free_at - now
        slow = 4 if gpu in card.degraded else 1
        allowed = self.config.patience + 4 * ahead + slow * compute * (self.config.window + 1)
        self.kernel.after(allowed * min(attempt, 8), _Deadline(self, unit, attempt))

    def _by_way_of(self, card: CardView, unit: int, attempt: int) -> CardView:
        """The card by whose entry GPU a unit for `card` enters: for some another one that has a way there (R8)."""
        # Multiplying by an odd constant spreads neighbouring units over all percentages.
        if attempt > 1 or unit * 0x9E3779B1 % 2**32 * 100 >> 32 >= self.config.across:
            return card
        others = [c for c in self.cards if c is not card and c.reachable and c.entry is not None]
        able = [c for c in others if self.config.ways.get((c.number, card.number), frozenset()) & set(c.boundaries)]
        return able[unit % len(able)] if able else card

    # ---------------------------------------------------------------------------------------------- coming back

    def _deadline(self, unit: int, attempt: int) -> None:
        out = self._outstanding.get(unit)
        if out is not None and out.attempt == attempt:
            self._retry(unit)
            self._dispatch()

    def _retry(self, unit: int) -> None:
        out = self._release(unit)
        if out is None or self._is_done(unit):
            return
        self._attempts[unit] = (out.attempt + 1) % 2**16
        self._tried.setdefault(unit, set()).add((out.card.name, out.gpu))
        self._again.append(unit)
        self.work.resent += 1

    def _release(self, unit: int) -> _Outstanding | None:
        out = self._outstanding.pop(unit, None)
        if out is not None:
            out.card.load[out.gpu] -= 1
        return out

    def _refusal(self, message: Acknowledgement) -> None:
        out = self._outstanding.get(message.unit)
        source = (message.source_card, message.source, message.attempt)
        if out is not None and (out.card.number, out.gpu, out.attempt) == source:
            self.work.refused += 1
            self._retry(message.unit)
            self._dispatch()

    def _result(self, result: Result) -> None:
        unit = result.unit
        if unit >= self.work.units:
            return
        card = next((c for c in self.cards if c.number == result.source_card), None)
        if card is None:
            return
        if self._is_done(unit):
            self.work.late += 1
            return
        out = self._outstanding.get(unit)
        if result.digest != self._expected.get(unit):
            self._wrong(card, result, out)
        else:
            card.strikes.pop(result.source, None)
            self._release(unit)
            self._accept(unit, card, result)
        self._dispatch()

    def _wrong(self, card: CardView, result: Result, out: _Outstanding | None) -> None:
        self.work.wrong += 1
        strikes = card.strikes[result.source] = card.strikes.get(result.source, 0) + 1
        if strikes >= _STRIKES:
            card.barred[result.source] = self.kernel.now + _BARRED
            self.kernel.after(_BARRED + 1, self._dispatch)
        source = (result.source_card, result.source, result.attempt)
        if out is not None and (out.card.number, out.gpu, out.attempt) == source:
            self._retry(result.unit)

    def _accept(self, unit: int, card: CardView, result: Result) -> None:
        if self._is_done(unit):
            self.work.duplicated += 1
        self._done[unit >> 3] |= 1 << (unit & 7)
        self.work.completed += 1
        turn = unit % 64
        self.work.digest ^= (result.digest << turn | result.digest >> (64 - turn)) & (2**64 - 1)
        card.completed += 1
        self._expected.pop(unit, None)
        self._attempts.pop(unit, None)
        self._tried.pop(unit, None)
        self.on_progress(self.work.completed, self.work.units)
        if self.finished:
            self.on_done()

    def _is_done(self, unit: int) -> bool:
        return bool(self._done[unit >> 3] >> (unit & 7) & 1)


class _Deadline:
    __slots__ = ("_attempt", "_cpu", "_unit")

    def __init__(self, cpu: Cpu, unit: int, attempt: int) -> None:
        self._cpu, self._unit, self._attempt = cpu, unit, attempt

    def __call__(self) -> None:
        self._cpu._deadline(self._unit, self._attempt)
