"""A server as a scenario describes it: cards, their rings, the links between them, settings; and its work."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ringhil.emulator.scenario.file.names import split_gpu, split_link
from ringhil.emulator.scenario.file.settings import GpuPower, Settings, power_of


@dataclass(frozen=True, order=True)
class GpuRef:
    """One GPU: `a.3`."""

    card: str
    index: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The GPU that prints as `text`. Raises ValueError; whether there is such a GPU is not asked."""
        return cls(*split_gpu(text))

    def __str__(self) -> str:
        return f"{self.card}.{self.index}"


@dataclass(frozen=True, order=True)
class LinkRef:
    """The ring link from GPU `index` clockwise to the next one: `a.5-a.6`.

    `gpus` is the size of the ring, where the last GPU's next one is GPU 0. In a ring of two, `a.0-a.1` and
    `a.1-a.0` are two links.
    """

    card: str
    index: int
    gpus: int

    @classmethod
    def parse(cls, text: str, gpus: int) -> Self:
        """The link that prints as `text` on a ring of `gpus` GPUs. Raises ValueError."""
        before, after = (GpuRef.parse(half) for half in split_link(text))
        link = cls(before.card, before.index, gpus)
        if before.index >= gpus or after != link.after:
            raise ValueError(f"{text!r} is no link of a ring of {gpus} GPUs, clockwise")
        return link

    @property
    def before(self) -> GpuRef:
        """The GPU whose second port it is."""
        return GpuRef(self.card, self.index)

    @property
    def after(self) -> GpuRef:
        """The GPU whose first port it is."""
        return GpuRef(self.card, (self.index + 1) % self.gpus)

    def __str__(self) -> str:
        return f"{self.before}-{self.after}"


@dataclass(frozen=True, order=True)
class CrossRef:
    """The boundary link between two GPUs of two cards, in the order of the file's `boundary_links`: `a.4-b.3`."""

    from_: GpuRef
    to: GpuRef

    @classmethod
    def parse(cls, text: str) -> Self:
        """The link that prints as `text`. Raises ValueError."""
        from_, to = (GpuRef.parse(half) for half in split_link(text))
        if from_.card == to.card:
            raise ValueError(f"{text!r} is no link between two cards")
        return cls(from_, to)

    @property
    def card(self) -> str:
        """The card of `from_`."""
        return self.from_.card

    def __str__(self) -> str:
        return f"{self.from_}-{self.to}"


@dataclass(frozen=True)
class Card:
    """R1: `gpus` GPUs in a ring. `types` and `weights` hold one value for each GPU.

    `host_links`: indices of the GPUs that reach the CPU (R10); the first is elected at power-up.
    """

    name: str
    gpus: int
    host_links: tuple[int, ...]
    types: tuple[str, ...]
    weights: tuple[int, ...]

    @property
    def entry_at_power_up(self) -> GpuRef:
        return GpuRef(self.name, self.host_links[0])


@dataclass(frozen=True)
class BoundaryLink:
    """R9: first logical link between two cards; GPU i of `from_` is wired to GPU i of `to`."""

    from_: tuple[GpuRef, ...]
    to: tuple[GpuRef, ...]

    @property
    def pairs(self) -> tuple[tuple[GpuRef, GpuRef], ...]:
        return tuple(zip(self.from_, self.to, strict=True))

    @property
    def refs(self) -> tuple[CrossRef, ...]:
        """The physical links that it is made of."""
        return tuple(CrossRef(from_, to) for from_, to in self.pairs)


@dataclass(frozen=True)
class Server:
    """R1: one CPU and its cards, in the order of the file. `power`: by GPU type."""

    cards: tuple[Card, ...]
    boundary_links: tuple[BoundaryLink, ...] = ()
    settings: Settings = field(default_factory=Settings)
    power: tuple[tuple[str, GpuPower], ...] = ()

    @property
    def longest_wake(self) -> int:
        """Cycles that work takes longer at most, for a GPU had to wake up."""
        return max(power_of(self.power, kind).wake for card in self.cards for kind in card.types)

    def card(self, name: str) -> Card:
        """Raises KeyError when there is no such card."""
        for card in self.cards:
            if card.name == name:
                return card
        raise KeyError(name)


@dataclass(frozen=True)
class Workload:
    """`units` work units of `size` bytes each, or the file `data` cut into units of at most `size` bytes.

    Exactly one of `units` and `data` is set. `across`: percent of the units that enter the server by another
    card's entry GPU and so cross boundary links.
    """

    units: int | None
    data: Path | None
    size: int
    across: int = 0
