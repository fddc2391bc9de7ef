"""A cross of circumstances: which combinations there are, and which of them can't happen.

| word | meaning |
|---|---|
| axis | one circumstance with its named bins, such as the fault of a node |
| cross | the product of some axes; every combination of bins is counted by itself |
| ignore | combinations that can't happen, as data with a reason; bins of axes that aren't named may be anything |
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.documents import shown
from ringhil.protocol import wire
from ringhil.protocol.registers import FaultBit

MAX_AXES = 8
MAX_BINS = 200_000  # combinations in one cross

Bins = tuple[str, ...]  # one bin of each axis, in the order of the axes


@dataclass(frozen=True)
class Ignore:
    """`when` maps some of the axes to bins: a combination with one of these bins on each of them is left out."""

    when: Mapping[str, tuple[str, ...]]
    reason: str

    @property
    def when_text(self) -> str:
        """The text for people: axis: bin or bin, axis: bin."""
        return ", ".join(f"{axis}: {' or '.join(bins)}" for axis, bins in self.when.items())


@dataclass(frozen=True)
class Cross:
    """`axes` maps each axis to its bins. Raises CoverageError when the definition is not sound."""

    name: str
    axes: Mapping[str, tuple[str, ...]]
    ignore: tuple[Ignore, ...] = ()

    def __post_init__(self) -> None:
        where = f"cross {self.name!r}"
        if not 1 <= len(self.axes) <= MAX_AXES:
            raise CoverageError(f"{where}: {len(self.axes)} axes; allowed are 1 to {MAX_AXES}")
        names = [self.name, *self.axes, *itertools.chain(*self.axes.values()), *(i.reason for i in self.ignore)]
        for name in names:
            if not name or not name.isprintable():  # they become cells of tables
                raise CoverageError(f"{where}: found {shown(name)} as a name; allowed are printable characters")
        for axis, bins in self.axes.items():
            if not bins or len(set(bins)) != len(bins):
                raise CoverageError(f"{where}: axis {axis!r} has {shown(bins)}; bins must be there, each once")
        if self.size > MAX_BINS:
            raise CoverageError(f"{where}: {self.size:,} combinations; allowed are {MAX_BINS:,}")
        for ignore in self.ignore:
            if not ignore.when or not ignore.reason.strip():
                raise CoverageError(f"{where}: an ignore needs at least one axis and a reason, found {shown(ignore)}")
            for axis, bins in ignore.when.items():
                self._known(axis)
                for value in bins:
                    self._known(axis, value)

    @property
    def size(self) -> int:
        """Combinations, ignored ones included."""
        return math.prod(len(bins) for bins in self.axes.values())

    def combinations(self) -> Iterator[Bins]:
        """All of them, the last axis running fastest."""
        return itertools.product(*self.axes.values())

    def bins(self, values: Mapping[str, str]) -> Bins:
        """The combination that `values` name; raises CoverageError for unknown or missing axes and bins."""
        for axis, value in values.items():
            self._known(axis, value)
        missing = [axis for axis in self.axes if axis not in values]
        if missing:
            raise CoverageError(f"cross {self.name!r}: no value for {', '.join(missing)}")
        return tuple(values[axis] for axis in self.axes)

    def ignored(self, bins: Bins) -> Ignore | None:
        """The first ignore that leaves this combination out."""
        named = dict(zip(self.axes, bins, strict=True))
        for ignore in self.ignore:
            if all(named[axis] in values for axis, values in ignore.when.items()):
                return ignore
        return None

    def _known(self, axis: str, value: str | None = None) -> None:
        if axis not in self.axes:
            raise CoverageError(f"cross {self.name!r}: no axis {axis!r}; there are {', '.join(self.axes)}")
        if value is not None and value not in self.axes[axis]:
            raise CoverageError(
                f"cross {self.name!r}: axis {axis!r} has no bin {value!r}; there are {', '.join(self.axes[axis])}"
            )


def difference(found: Cross, wanted: Cross) -> str | None:
    """The way in which a cross of the same name is defined otherwise; None: it isn't."""
    if list(found.axes) != list(wanted.axes):
        return f"the axes {', '.join(found.axes)}; allowed are {', '.join(wanted.axes)} as in the first file"
    for axis, bins in found.axes.items():
        if bins != wanted.axes[axis]:
            return f"other bins on axis {axis!r} ({shown(bins)}) than the first file ({shown(wanted.axes[axis])})"
    if found.ignore == wanted.ignore:
        return None
    return f"another list of ignored combinations ({len(found.ignore)}) than the first file ({len(wanted.ignore)})"


SWITCH = ("through", "bypass", "restoring", "stuck")
WAYS = (wire.Port.CW.value, wire.Port.CCW.value, wire.Link.HOST.value, wire.Link.BOUNDARY.value)  # by link of arrival
NO_FAULT = "none"


def forwarding(ignore: tuple[Ignore, ...] = ()) -> Cross:
    """Which kind of frame went which way, in which state of the switch, with which fault of the GPU.

    | axis | bins |
    |---|---|
    | switch | through, bypass, restoring, stuck |
    | kind | the kinds of frames |
    | way | cw, ccw, host, boundary |
    | fault | none, and the bits of a node's fault port |
    """
    return Cross(
        "forwarding",
        {
            "switch": SWITCH,
            "kind": tuple(wire.Kind.codes()),
            "way": WAYS,
            "fault": (NO_FAULT, *FaultBit.codes()),
        },
        ignore,
    )
