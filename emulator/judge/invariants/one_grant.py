"""No role is held by two GPUs at a time, no epoch comes twice or too late, and each election has raised it."""

from collections.abc import Iterator

from ringhil.emulator.judge.invariants.invariant import Broken, Invariant


class OneGrant(Invariant):
    """Noticed while the run was played; and the epochs as they are at its end."""

    name = "one_grant"

    def broken(self) -> Iterator[Broken]:
        """Entry roles by card, then boundary roles by link."""
        watch, now = self.evidence.watch, self.evidence.now
        for role in (*(card.role for card in watch.cards), *watch.links):
            role.look(now)
            yield from role.wrong
        for card in watch.settled_cards(now):
            text = watch.differences.of_epoch(card, now)
            if text is not None:
                yield f"at the end: card {watch.cards[card].name}: {text}", None
        for group in watch.settled_links(now):
            role = watch.links[group]
            text = watch.differences.of_link_epoch(group, role, now)
            if text is not None:
                yield f"at the end: {role.name}: {text}", None
