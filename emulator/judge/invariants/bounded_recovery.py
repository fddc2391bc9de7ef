"""Every fault is dealt with within its bound, and long after the last one all is as it must be."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant


class BoundedRecovery(Invariant):
    """Judges by the watch's account of each event, and by what the CPU knows at the end beside what the oracle says."""

    name = "bounded_recovery"

    def broken(self) -> Iterator[Broken]:
        """The end first, by card and by link; then events."""
        watch, now = self.evidence.watch, self.evidence.now
        for card in watch.settled_cards(now):
            differs = watch.differences
            text = differs.of_card(card) or differs.of_weight(card) or differs.of_entry(card)
            if text is not None:
                yield f"at the end: card {watch.cards[card].name}: {text}", None
        for group in watch.settled_links(now):
            text = self._link(group)
            if text is not None:
                yield f"at the end: {watch.links[group].name}: {text}", None
        for recovery in watch.recoveries(now):
            if not recovery.ok:
                yield recovery.violation.text, recovery.violation.at

    def _link(self, group: int) -> str | None:
        """What is wrong with who holds a link between cards, and with what both cards know of it."""
        watch = self.evidence.watch
        role = watch.links[group]
        text = watch.differences.of_link(group, role)
        if text is None and watch.known(role, group, self.evidence.now):
            text = watch.differences.of_pair(group, role.holder, self._known_boundaries(group))
        return text

    def _known_boundaries(self, group: int) -> dict[int, frozenset[int]]:
        """The boundary GPUs of a link that the CPU knows of, by card."""
        wiring, known = self.evidence.wiring, dict[int, frozenset[int]]()
        for view in self.evidence.cpu.cards:
            for gpu in view.boundaries:
                crossing = wiring.crossings.get(wiring.cell(view.number, gpu))
                if crossing is not None and crossing.group == group:
                    known[view.number] = known.get(view.number, frozenset()) | {gpu}
        return known
