"""Whom a card's censuses blame: suspects, slow and noisy links, held against the faults that are there.

Judged is what can be said for sure: on a card without any fault nobody may be blamed; where one GPU lies, and nothing
else has happened for a bound, it must be blamed, and it alone (`corrupt` and `duplicate_id` may also blame the GPU
before or after it, which can't be told from it); a link that is late, and nothing else, must be the slow one; a link
may be called noisy only on a card to which something has happened. A link that is called slow while work is on the
rings, or rounds follow one another without a pause, or keepalives have no jitter, may have made messages wait for other
frames.
"""

from collections.abc import Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.scenario import PartKind
from ringhil.firmware.links import ROUNDS

_EXACT = frozenset({"skip_count", "double_count"})


class Names:
    """`views` are the CPU's, by card; `bounds` too."""

    def __init__(self, watch: Watch, views: Sequence[CardView], bounds: Sequence[Bounds]) -> None:
        self._watch, self._views = watch, views
        self._named = [b.times.records for b in bounds]
        # Rounds that follow one another without a pause meet the same other frames again and again, and wait for them;
        # so may any rounds where keepalives have no jitter.
        self._paced = [
            b.times.settings.census_period >= b.times.timeout and b.times.settings.keepalive_jitter > 0 for b in bounds
        ]
        self._rounds = [(ROUNDS + 1) * b.times.refresh * b.times.settings.census_period for b in bounds]
        self._told: set[tuple[int, str]] = set()
        self.wrong = FindingList()

    def suspected(self, card: int, gpus: Sequence[int], now: int) -> None:
        """The census of a card has named these GPUs."""
        if not self._named[card]:
            return
        if not gpus:
            self._tell(card, say("nobody is suspected"), now)
            return
        if self._watch.blameless(card, now):
            self._tell(card, say("GPUs {} are suspected, and nothing is wrong", list(gpus)), now)
        allowed = self._guilty(card, now)
        if allowed is not None and not set(gpus) <= allowed:
            self._tell(
                card, say("GPUs {found} are suspected, not {expected}", found=list(gpus), expected=sorted(allowed)), now
            )

    def reported(self, card: int, now: int) -> None:
        """The CPU has taken in a report of a card."""
        if self._watch.blameless(card, now):
            text = self._blamed(card, now)
            if text is not None:
                self._tell(card, say("{}, and nothing is wrong", text), now)

    def at_the_end(self, card: int, now: int) -> str | None:
        """What is wrong with whom the CPU knows to be blamed."""
        view = self._views[card]
        if not self._named[card] or not view.reachable:
            return None
        if self._watch.blameless(card, now):
            return self._blamed(card, now)
        allowed = self._guilty(card, now)
        if allowed is not None and not (view.suspects and set(view.suspects) <= allowed):
            return say("suspected are {found}, not {expected}", found=list(view.suspects), expected=sorted(allowed))
        late = self._watch.late_link(card, now)
        if late is not None and self._paced[card] and view.slow_link != late:
            return say("the slow link is {found}, not {expected}", found=view.slow_link, expected=late)
        return None

    def _blamed(self, card: int, now: int) -> str | None:
        view = self._views[card]
        if view.suspects:
            return say("GPUs {} are suspected", list(view.suspects))
        if view.slow_link is not None and self._paced[card] and now > self._watch.busy_until + self._rounds[card]:
            return say("link {} is called slow", view.slow_link)
        # Frames that any fault has cut or damaged count as noise, and it is told for a while after it has ended.
        if view.noisy_link is not None and self._watch.untouched(card):
            return say("link {} is called noisy", view.noisy_link)
        return None

    def _guilty(self, card: int, now: int) -> set[int] | None:
        """Who may be suspected when one GPU lies and all else is well; None: that is not so, or not for long enough."""
        alone = self._watch.alone(card, now)
        if alone is None or alone.part is None or alone.part[0] != PartKind.GPU or not alone.event.begins:
            return None
        gpu, size = alone.part[1], self._watch.cards[card].truth.size
        entry = self._views[card].entry
        if (gpu, alone.event.kind) not in self._watch.cards[card].truth.liars or gpu == entry:
            return None
        if alone.event.kind == "duplicate_id" and (gpu - 1) % size == entry:
            return None  # its messages pass for the entry GPU's: none comes home that says anything
        return {gpu} if alone.event.kind in _EXACT else {(gpu - 1) % size, gpu, (gpu + 1) % size}

    def _tell(self, card: int, what: str, now: int) -> None:
        if (card, what) not in self._told:
            self._told.add((card, what))
            self.wrong.tell(now, "card {} at cycle {}: {}", self._watch.cards[card].name, now, what)
