"""One rule of the management protocol: what a card promises, and the trial of it.

A trial returns when the promise was kept, raises BrokenPromise when it was not, and NotJudged when this card, or this
line, gives no occasion to see.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.serial.checks.bench import LineBench

Trial = Callable[[LineBench], None]


@dataclass(frozen=True)
class Promise:
    """`name` is theme.short, `says` a sentence of docs/reference/management.md. `needs`: a rule without which this
    one says nothing."""

    name: str
    says: str
    needs: str
    trial: Trial


_PROMISES: dict[str, Promise] = {}


def promise(name: str, says: str, *, needs: str = "requests.answered") -> Callable[[Trial], Trial]:
    """Registers the decorated trial as a rule."""

    def register(trial: Trial) -> Trial:
        assert name not in _PROMISES, name
        _PROMISES[name] = Promise(name, says, "" if needs == name else needs, trial)
        return trial

    return register


def all_promises() -> dict[str, Promise]:
    """Every rule by name, in the order in which they are checked."""
    from ringhil.emulator.serial.checks import rules

    rules.load()
    return dict(_PROMISES)
