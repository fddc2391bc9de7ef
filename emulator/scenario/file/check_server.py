"""The server of a file: cards, host links (R10) and boundary links (R7, R9) that can be wired like that."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.settings import GpuPower, Settings
from ringhil.emulator.scenario.file.topology import BoundaryLink, Card, GpuRef, Server
from ringhil.emulator.scenario.yaml.errors import unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source
from ringhil.protocol.wire import GpuType

T = TypeVar("T")


def check_server(source: Source, written: model.Server) -> Server:
    """Raises ScenarioError."""
    cards = {name: _card(source, name, card) for name, card in written.cards.items()}
    return Server(
        cards=tuple(cards.values()),
        boundary_links=_boundary_links(source, Resolver(source, cards), written.boundary_links),
        settings=_settings(source, written.settings),
        power=_power(written.power),
    )


def _power(written: model.WrittenPowers) -> tuple[tuple[str, GpuPower], ...]:
    given = written.model_dump(exclude_unset=True)
    return tuple((kind, GpuPower(**power)) for kind, power in given.items())


def _settings(source: Source, written: model.WrittenSettings) -> Settings:
    """Losing `multiplier` keepalives must always be noticed, and losing one less never.

    The silence lasts `multiplier + 1` intervals or more, each as short as jitter makes it, or `multiplier` full
    ones or less: these must be told apart, with a quarter of an interval to spare.
    """
    settings = Settings(**written.model_dump())
    multiplier, jitter = settings.keepalive_multiplier, settings.keepalive_jitter
    limit = max(j for j in range(100) if (multiplier + 1) * (100 - j) > 100 * multiplier + 25)
    if jitter > limit:
        loc: Loc = ("server", "settings")
        given = (*loc, "keepalive_jitter") in source.keys
        problem = (
            f"a keepalive_multiplier of {multiplier} allows a keepalive_jitter of at most {limit} percent; "
            f"found {jitter}{'' if given else ', the default'}"
        )
        raise source.error((*loc, "keepalive_jitter" if given else "keepalive_multiplier"), problem)
    return settings


def _card(source: Source, name: str, written: model.Card) -> Card:
    loc: Loc = ("server", "cards", name)
    bare = Card(name, written.gpus, tuple(written.host_links), (), ())
    resolver = Resolver(source, {name: bare})
    for i, index in enumerate(bare.host_links):
        resolver.index((*loc, "host_links", i), bare, index)
    _in_a_row(source, (*loc, "host_links"), bare, bare.host_links)
    for key, kind in written.types.items():
        if kind not in GpuType.codes():
            raise source.error((*loc, "types", key), unknown("GPU type", kind, GpuType))
    types = _each(resolver, (*loc, "types"), bare, written.types, "generic")
    weights = _each(resolver, (*loc, "weights"), bare, written.weights, 1)
    return Card(name, bare.gpus, bare.host_links, types, weights)


def _each(resolver: Resolver, loc: Loc, card: Card, by_index: Mapping[str, T], default: T) -> tuple[T, ...]:
    values = [by_index.get("default", default)] * card.gpus
    for key, value in by_index.items():
        if key != "default":
            values[resolver.index((*loc, key), card, int(key), key=True)] = value
    return tuple(values)


def _in_a_row(source: Source, loc: Loc, card: Card, indices: Sequence[int]) -> None:
    """Links are aggregated from adjacent GPUs; the ring wraps around."""
    for i, index in enumerate(indices):
        if index in indices[:i]:
            raise source.error((*loc, i), f"GPU {index} of card {card.name} stands here twice; each may once")
        if i and (index - indices[i - 1]) % card.gpus not in (1, card.gpus - 1):
            problem = (
                f"GPU {index} is no neighbour of GPU {indices[i - 1]} on card {card.name}, "
                f"a ring of {card.gpus}; members follow one another along it"
            )
            raise source.error((*loc, i), problem)


def _boundary_links(
    source: Source, resolver: Resolver, written: Sequence[model.BoundaryLink]
) -> tuple[BoundaryLink, ...]:
    links: list[BoundaryLink] = []
    taken: dict[GpuRef, int] = {}
    joined: dict[frozenset[str], int] = {}
    for n, link in enumerate(written):
        loc: Loc = ("server", "boundary_links", n)
        from_ = _side(resolver, (*loc, "from"), link.from_, taken)
        to = _side(resolver, (*loc, "to"), link.to, taken)
        if len(from_) != len(to):
            raise source.error((*loc, "to"), f"{len(to)} for {len(from_)} GPUs in 'from'; they are wired one to one")
        cards = frozenset({from_[0].card, to[0].card})
        if len(cards) == 1:
            raise source.error((*loc, "to"), f"both sides are on card {to[0].card}; allowed are two cards")
        if cards in joined:
            problem = (
                f"cards {' and '.join(sorted(cards))} are joined already; "
                f"add these GPUs to boundary_links[{joined[cards]}], one logical link joins two cards"
            )
            raise source.error(loc, problem)
        joined[cards] = n
        taken |= dict.fromkeys((*from_, *to), n)
        links.append(BoundaryLink(from_, to))
    return tuple(links)


def _side(resolver: Resolver, loc: Loc, written: Sequence[str], taken: Mapping[GpuRef, int]) -> tuple[GpuRef, ...]:
    gpus: list[GpuRef] = []
    for i, text in enumerate(written):
        gpu = resolver.gpu((*loc, i), text, on=resolver.cards[gpus[0].card] if gpus else None)
        if gpu == resolver.cards[gpu.card].entry_at_power_up:
            problem = f"{gpu} is the entry GPU at power-up (first host link); allowed are others"
            raise resolver.source.error((*loc, i), problem)
        if gpu in taken:
            problem = f"{gpu} is in boundary_links[{taken[gpu]}] already; a GPU is in one link at most"
            raise resolver.source.error((*loc, i), problem)
        gpus.append(gpu)
    _in_a_row(resolver.source, loc, resolver.cards[gpus[0].card], [gpu.index for gpu in gpus])
    return tuple(gpus)
