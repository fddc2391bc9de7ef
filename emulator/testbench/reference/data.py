"""The data channel of a node: which way a frame goes, what it looks like then, what is counted (R5, R8).

Ways in have the numbers of `wire.Link`: port 1 (clockwise), port 2 (counter-clockwise), CPU, other card. A frame ends
in the compute engine, leaves by a link, or is dropped; which one is settled by its first flit, damaged or not.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.control import OUT, Leaving
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.protocol import wire
from ringhil.protocol.wire import LINKS, Link

WAYS = LINKS
CPU, CARD = Link.HOST.code, Link.BOUNDARY.code
LONGEST = wire.DATA_FRAME_FLITS * wire.FLIT_BYTES  # bytes
_FLAG = wire.Flag
_CROSSINGS = wire.MAX_CROSSINGS << wire.CROSSINGS_SHIFT

Fate = Link | Literal["engine", "ttl_dropped", "data_dropped", "either"]


@dataclass(frozen=True, slots=True)
class Taken:
    """A frame for the compute engine, by way in; `began` and `ended` are the cycles of its first and last flit."""

    way: int
    data: bytes
    damaged: bool
    began: int
    ended: int
    optional: bool = False


@dataclass
class DataOutcome:
    """All that follows from frames that came in.

    Frames that leave name the way that they came in by as their stream. `either` were dropped for two reasons, and
    may be counted as `ttl_dropped` or as `data_dropped`; `uncertain` ones may have been lost, and were counted if not.
    """

    leaving: list[Leaving] = field(default_factory=list)
    engine: list[Taken] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    either: int = 0
    uncertain: int = 0


def arrive_all(frames: Iterable[RingFrame], way: int, view: NodeView, outcome: DataOutcome) -> None:
    """All data frames that came in by one way, in order. One whose beginning cuts another frame may be lost."""
    cut = False
    for frame in frames:
        arrive(frame, way, view, outcome, optional=cut)
        cut = frame.sof and not frame.eof


def arrive(frame: RingFrame, way: int, view: NodeView, outcome: DataOutcome, *, optional: bool = False) -> None:
    """A frame has come in. What has no beginning is ignored."""
    if not frame.sof:
        return
    cut = not frame.eof or len(frame.data) > LONGEST
    bad = cut or not frame.good
    _hop(frame.data, way, view, outcome, _Way(bad, cut, WAYS[way], frame.began, frame.ended, optional))


@dataclass(frozen=True, slots=True)
class _Way:
    """What stays the same of a frame that is turned round."""

    bad: bool
    cut: bool
    stream: str
    began: int
    ended: int
    optional: bool


def fate(data: bytes, way: int, view: NodeView) -> Fate:
    """The way of a frame whose first flit is in `data`: by a link, into the engine, or nowhere (and how it is
    counted then; "either" where two reasons hold)."""
    flags, ttl, home = (int.from_bytes(data[i : i + 2], "big") for i in (2, 4, 6))
    own = data[1] == view.card
    mine = own and home == view.number
    open_way = view.control("boundary") and not view.bypassed
    across = not own and open_way and _bit(view.register("crossings"), data[1])
    if way == CPU:
        exists = own or _bit(view.register("exits"), data[1])
        if view.bypassed or not view.control("entry"):
            return "either" if ttl == 0 and not mine else "data_dropped"
        if mine:
            return "engine"
        if across:
            return Link.BOUNDARY
        if ttl == 0:
            return "ttl_dropped" if exists else "either"
        if not exists:
            return "data_dropped"
        return Link.P1 if own and flags & _FLAG.CCW else Link.P2
    if way == CARD:
        if not open_way or flags & _CROSSINGS == _CROSSINGS or across:
            return "data_dropped"
        if mine:
            return _at_home(flags, view)
        return Link.P1 if own or view.control("from_above") else Link.P2
    if mine:
        return "data_dropped" if view.bypassed else _at_home(flags, view)
    # Lanes wait for each other in one order only: down the tree nothing leaves by the link up, but where a wrap has
    # brought it onto this lane.
    against = way == 1 and view.control("from_above") and not flags & _FLAG.WRAPPED
    if across and not against:
        return Link.BOUNDARY
    return "ttl_dropped" if ttl == 0 else OUT[way]


def _at_home(flags: int, view: NodeView) -> Fate:
    if not flags & _FLAG.TO_HOST:
        return "engine"
    return Link.HOST if view.control("entry") else "data_dropped"


def _bit(cards: int, card: int) -> bool:
    return card < wire.MAX_CARDS and bool(cards >> card & 1)


def _hop(data: bytes, way: int, view: NodeView, outcome: DataOutcome, frame: _Way) -> None:
    where = fate(data, way, view)
    if where == "engine":
        outcome.engine.append(Taken(way, data, frame.bad, frame.began, frame.ended, frame.optional))
    elif isinstance(where, Link):
        _leave(data, way, where, view, outcome, frame)
    elif frame.optional:
        outcome.uncertain += 1
    elif where == "either":
        outcome.either += 1
    else:
        outcome.counters[where] += 1


def _leave(data: bytes, way: int, link: Link, view: NodeView, outcome: DataOutcome, frame: _Way) -> None:
    flags, ttl = int.from_bytes(data[2:4], "big"), int.from_bytes(data[4:6], "big")
    if link is not Link.HOST:
        ttl -= 1
    if way == CARD and link is not Link.HOST:
        # A ring of its own: time to live and wraps start afresh, and one more link lies behind it.
        ttl = view.longest
        flags = (flags & ~_FLAG.WRAPPED) + (1 << wire.CROSSINGS_SHIFT)
    turned = link in view.down and link in OUT
    if turned and not flags & _FLAG.WRAPPED:
        ttl = view.longest
        flags |= _FLAG.WRAPPED
    data = data[:2] + flags.to_bytes(2, "big") + min(ttl, view.longest).to_bytes(2, "big") + data[6:]
    # Nobody hears what is sent by a link that isn't used; whether anything is sent there doesn't matter.
    optional = frame.optional or link in view.down
    outcome.leaving.append(
        Leaving(
            *(link, data, frame.bad, frame.stream),
            since=frame.began,
            cut=frame.cut,
            optional=optional,
            channel="data",
        )
    )
    if turned:
        again = _Way(frame.bad, frame.cut, f"{frame.stream}, turned", frame.began, frame.ended, frame.optional)
        _hop(data, WAYS.index(link), view, outcome, again)
