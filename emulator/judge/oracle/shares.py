"""How the CPU must share work out (R5): in proportion to the weights, whole units, by the largest remainder."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

FULL, DEGRADED = 4, 1  # quarters: a slow GPU weighs a quarter of its weight


def weight(members: Iterable[int], weights: Sequence[int], degraded: frozenset[int]) -> int:
    """Weight of a card in quarters: of its working GPUs, by the weight of each."""
    return sum(weights[gpu] * (DEGRADED if gpu in degraded else FULL) for gpu in members)


def shares(units: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Units for each card: at least its exact quota rounded down, at most one more, all of them together `units`.

    The further units go one each to those that lost most by rounding; of equals to the one listed first. Nobody
    weighs anything: nobody gets any.
    """
    whole = sum(weights)
    if not whole:
        return (0,) * len(weights)
    quotas = [Fraction(units * w, whole) for w in weights]
    given = [quota.numerator // quota.denominator for quota in quotas]
    while sum(given) < units:
        lost = [quota - got for quota, got in zip(quotas, given, strict=True)]
        given[lost.index(max(lost))] += 1
    return tuple(given)
