"""How long cards had no entry GPU: commands to their GPUs wait for one, and are given up after thirty attempts that
nobody has seen (docs/howto/sharing.md, S3)."""

from dataclasses import dataclass, field

_LONG = 100  # times the CPU's patience: thirty attempts take more than twice as long


@dataclass(slots=True)
class _Card:
    since: int | None = 0  # nobody has been granted it yet
    over: list[tuple[int, int]] = field(default_factory=list)


class NoEntry:
    """`patience`: cycles that an answer may take."""

    def __init__(self, patience: int) -> None:
        self._long = _LONG * patience
        self._cards: dict[int, _Card] = {}

    def lapsed(self, card: int, now: int) -> None:
        """Its entry GPU's lease has run out."""
        known = self._cards.setdefault(card, _Card())
        if known.since is None:
            known.since = now

    def granted(self, card: int, now: int) -> None:
        """It has one again."""
        known = self._cards.setdefault(card, _Card())
        if known.since is not None:
            known.over.append((known.since, now))
            known.since = None

    @property
    def anywhere(self) -> bool:
        """Whether a card has none."""
        return any(card.since is not None for card in self._cards.values())

    def time(self, card: int, since: int, by: int) -> int:
        """Cycles between these in which there was none."""
        return sum(max(0, min(end, by) - max(begin, since)) for begin, end in self._spans(card, by))

    def excuses(self, card: int, by: int, since: int = 0) -> bool:
        """Whether there was none for so long, between these cycles, that commands may have been given up."""
        return any(min(end, by) - max(begin, since) >= self._long for begin, end in self._spans(card, by))

    def lasts(self, card: int, now: int) -> bool:
        """Whether there has been none for so long, and there is none yet."""
        since = self._cards.get(card, _Card()).since
        return since is not None and now - since >= self._long

    def _spans(self, card: int, by: int) -> list[tuple[int, int]]:
        known = self._cards.get(card, _Card())
        return [*known.over, *([] if known.since is None else [(known.since, by)])]
