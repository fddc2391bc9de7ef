"""Long lists of cases: `make test` plays some of them, `make soak` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], part: str, one_in: int) -> list[Any]:
    """Each `one_in`-th case as it is, from the first; those in between belong to this part of `make soak`.

    Take a number that has no divisor in common with that of a list's rows, or whole columns are left out.
    """
    return [
        case if number % one_in == 0 else pytest.param(*_values(case), marks=pytest.mark.slow(part=part))
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
