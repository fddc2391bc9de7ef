"""What was the case at which time of a play, as the node's pins had it: faults, carriers, marks, settings."""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Mark, Poke, Stimulus
from ringhil.protocol import registers

NEVER = 1 << 62  # a cycle that no play reaches
_RESET = {r.name: r.reset for r in registers.REGISTERS}


@dataclass(frozen=True, slots=True)
class Span:
    """Cycles from `begin` up to but without `end`."""

    begin: int
    end: int

    def __contains__(self, cycle: int) -> bool:
        return self.begin <= cycle < self.end


def _spans(observed: Observed, delay: int, says: Callable[[Action], bool | None]) -> list[Span]:
    """Spans in which the last action that says anything said True; it reaches the pins `delay` cycles later."""
    spans, since = [], None
    for cycle, action in observed.done:
        on = says(action)
        if on and since is None:
            since = cycle + delay
        elif on is False and since is not None:
            if cycle + delay > since:
                spans.append(Span(since, cycle + delay))
            since = None
    return spans if since is None else [*spans, Span(since, NEVER)]


def faulty(observed: Observed, *names: str) -> list[Span]:
    """Cycles in which any of these faults was on, in order, without overlaps."""
    spans = [s for name in names for s in _spans(observed, 1, lambda a, n=name: _fault(a, n))]  # type: ignore[misc]
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: s.begin):
        if merged and span.begin <= merged[-1].end:
            merged[-1] = Span(merged[-1].begin, max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def _fault(action: Action, name: str) -> bool | None:
    return action.on if isinstance(action, Fault) and action.name == name else None


def can_be_lent(observed: Observed) -> bool:
    """The register `lent` was ever seen to hold what was written."""
    seen = [observed.registers.get(registers.OF_LENDING, 0), *(v for _, v in readings(observed, registers.OF_LENDING))]
    return any(seen)


def lent(observed: Observed) -> list[Span]:
    """Cycles in which the register `lent` says that the GPU is; none if the node takes nothing there."""
    return _spans(observed, 2, _lends) if can_be_lent(observed) else []


def _lends(action: Action) -> bool | None:
    return bool(action.value & 1) if isinstance(action, Poke) and action.register == registers.OF_LENDING else None


def silent(observed: Observed, link: str) -> list[Span]:
    """Cycles without carrier into a link."""
    return _spans(observed, 2, lambda a: not a.up if isinstance(a, Carrier) and a.link == link else None)


def refused(observed: Observed, link: str) -> list[Span]:
    """Cycles in which the far end marked the link as not used."""
    return _spans(observed, 2, lambda a: a.on if isinstance(a, Mark) and a.link == link else None)


def setting(stimulus: Stimulus, register: str) -> int:
    """The last value written to a register, or its reset value."""
    written = [a.value for a in stimulus.actions if isinstance(a, Poke) and a.register == register]
    return written[-1] if written else _RESET[register]


def written(observed: Observed, register: str) -> list[tuple[int, int]]:
    """(cycle, value): what a register held from which cycle on; the first is its reset value."""
    writes = ((c + 2, a.value) for c, a in observed.done if isinstance(a, Poke) and a.register == register)
    return [(-NEVER, _RESET[register]), *writes]


def shown(observed: Observed, name: str) -> list[Span]:
    """Cycles in which a bit of `status` was seen."""
    spans, since = [], None
    for cycle, value in [*observed.status, (NEVER, 0)]:
        if bit(value, name) and since is None:
            since = cycle
        elif not bit(value, name) and since is not None:
            spans.append(Span(since, cycle))
            since = None
    return spans


def readings(observed: Observed, register: str) -> list[tuple[int, int]]:
    """(cycle, value) of all reads of a register."""
    return [(cycle, value) for cycle, name, value in observed.peeks if name == register]


def bit(value: int, name: str) -> bool:
    """A bit of `status`."""
    return bool(value & registers.StatusBit.codes()[name])
