"""Shares by largest remainder (R5): whole units, in proportion to the weights, none left over."""

from collections.abc import Mapping


def shares(units: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Split `units` in proportion to `weights`; what rounding leaves goes to the largest remainders.

    Equal remainders: the one named first. All weights zero: everybody gets nothing.
    """
    total = sum(weights.values())
    if total == 0:
        return dict.fromkeys(weights, 0)
    result = {name: units * weight // total for name, weight in weights.items()}
    order = sorted(weights, key=lambda name: -(units * weights[name] % total))
    for name in order[: units - sum(result.values())]:
        result[name] += 1
    return result
