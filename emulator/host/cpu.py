"""The CPU's scheduler: shares by count, work out, results in, and again what was lost.

Every unit is accepted exactly once, by the first result that is right; results are compared with the CPU's
own computation. A unit goes out again (attempt + 1) when its GPU is no longer counted, when its GPU refused it,
when its result was wrong, or when its time is up; the new attempt takes the other way round the ring, and
another GPU where it can.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ringhil.emulator.host import segments
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.shares import shares
from ringhil.emulator.host.workload import Workload, digest
from ringhil.emulator.kernel import Kernel
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Report, Result

_STRIKES = 3  # wrong results in a row before a GPU is left out for a while
_BARRED = 20_000  # cycles


@dataclass(frozen=True)
class CpuConfig:
    """`silence`: a card that has not reported for so long is unreachable. `patience`: what a unit may take beyond
    its way there and its computation. `window`: units outstanding per GPU. All but the last in cycles."""

    silence: int
    patience: int
    window: int
    compute_setup: int
    compute_per_flit: int


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
    digest: int = 0  # exclusive-or over all units of their digest, turned by their number


@dataclass(slots=True)
class _Outstanding:
    card: CardView
    gpu: int
    attempt: int


@dataclass
class Cpu:
    """`workload` may be None: then the cards are only counted."""

    kernel: Kernel
    cards: list[CardView]
    config: CpuConfig
    workload: Workload | None = None
    on_done: Callable[[], None] = lambda: None
    on_progress: Callable[[int, int], None] = lambda done, total: None
    work: WorkCount = field(default_factory=WorkCount)
    _outstanding: dict[int, _Outstanding] = field(default_factory=dict)
    _again: deque[int] = field(default_factory=deque)
    _attempts: dict[int, int] = field(default_factory=dict)  # only of units that went out more than once
    _tried: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    _done: bytearray = field(default_factory=bytearray)
    _expected: dict[int, int] = field(default_factory=dict)
    _handed_out: bool = False

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
        card = next((c for c in self.cards if c.cell == cell), None)
        if card is None:
            return
        if isinstance(message, Report):
            self._report(card, message)
        elif isinstance(message, Result):
            self._result(message)
        elif isinstance(message, Acknowledgement):
            self._refusal(message)

    # ------------------------------------------------------------------------------------------------ counting

    def _report(self, card: CardView, report: Report) -> None:
        before = card.count
        gone = card.update(report, self.kernel.now)
        self._give_up_on(card, gone)
        if not self._handed_out:
            if all(c.known for c in self.cards):
                self._hand_out()
        elif card.count != before:
            self._share_out_again()
        self._dispatch()

    def _watch(self, card: CardView) -> None:
        def look() -> None:
            if card.reachable and self.kernel.now - card.reported_at >= self.config.silence:
                self._give_up_on(card, card.lost())
                self._share_out_again()
                self._dispatch()
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
        for name, share in shares(self.workload.units, {c.name: c.count for c in self.cards}).items():
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
        counts = {c.name: c.count for c in self.cards}
        if not any(counts.values()):
            return
        left = sum(len(c.backlog) for c in self.cards)
        ranges = [r for c in self.cards for r in c.backlog.take(left)]
        pieces = iter(ranges)
        piece = next(pieces, None)
        for name, share in shares(left, counts).items():
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
            for level in range(self.config.window):
                # Level by level, so that nobody gets a second unit while another waits for its first.
                for gpu in [g for g in card.members if card.load.get(g, 0) <= level]:
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
        data = self.workload.read(unit)
        if unit not in self._expected:
            self._expected[unit] = digest(data)
        distance = (gpu - card.entry) % card.size
        ccw = (distance > card.size // 2) != (attempt % 2 == 0)
        route = segments.Route(card.number, card.entry, gpu, ccw, card.size + 1)
        now = self.kernel.now
        self.kernel.send_from_cpu(card.cell, segments.segments(unit, attempt, data, route))
        card.link_free_at = max(card.link_free_at, now) + segments.flits(len(data))
        card.load[gpu] = card.load.get(gpu, 0) + 1
        self._outstanding[unit] = _Outstanding(card, gpu, attempt)
        compute = self.config.compute_setup + -(-len(data) // 8) * self.config.compute_per_flit
        # The GPU may have a full queue before it, and the ring is shared: allow for all of it, and for more at
        # every attempt.
        ahead = card.link_free_at - now
        patience = (self.config.patience + 2 * ahead + compute * (self.config.window + 1)) * min(attempt, 8)
        self.kernel.after(patience, _Deadline(self, unit, attempt))

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
        if out is not None and (out.gpu, out.attempt) == (message.source, message.attempt):
            self.work.refused += 1
            self._retry(message.unit)
            self._dispatch()

    def _result(self, result: Result) -> None:
        unit = result.unit
        if unit >= self.work.units:
            return
        card = next((c for c in self.cards if c.number == result.card), None)
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
        if out is not None and (out.gpu, out.attempt) == (result.source, result.attempt):
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
