"""Frames of a stimulus with smaller numbers in them, while all else about them stays.

A check sum that was right is right again, one that was wrong stays wrong in the same bits. Numbers that were equal in
two frames stay equal, and others stay different: so replies, segments of a unit and frames of one stream still belong
together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import Action, Poke, Post, Send, Stimulus
from ringhil.emulator.trace.naming import FrameField, fields_of
from ringhil.protocol import crc, wire

# Numbers that tell frames apart: they become 0, 1, 2 ... in the order in which they come.
IDENTITIES = ("epoch", "sequence", "unit", "attempt", "context", "my_discriminator", "your_discriminator")
# What decides the way of a frame, its length, or what a node must do with it: it stays as it is.
KEPT = {
    *("kind", "card", "flags", "ttl", "origin", "destination", "source", "source_card", "candidate", "operation"),
    *("role", "segment", "segment_bytes", "length", "compute", "records_count", "count", "expected", "record_limit"),
    *("size", "id", "hop", "state", "tag", "peer", "status", "verdict", "e2e_crc", "link_crc"),
}
CARDS = ("card", "source_card")
GPUS = ("origin", "destination", "source", "id")
_CARD_SETS = ("crossings", "exits")
_TRAILER, _CRC, _TAG = 8, 4, 4  # bytes

Change = Callable[[FrameField, int, int], int]  # field, place of its action, value -> new value


@dataclass(frozen=True, slots=True)
class Number:
    """A number of some frames: by field and value if it is an identity, else by field and place of the action."""

    name: str
    key: int
    to: int


def frames(stimulus: Stimulus) -> Iterator[tuple[int, RingFrame]]:
    """Place of the action, and the frame as it is sent or written."""
    for place, action in enumerate(stimulus.actions):
        if isinstance(action, Send):
            yield place, action.frame
        elif isinstance(action, Post):
            yield place, RingFrame(action.data, "control", sof=action.begun, eof=action.finished)


def numbers(stimulus: Stimulus) -> list[Number]:
    """All numbers that can be smaller and aren't yet."""
    found: dict[tuple[str, int], Number] = {}
    counted: dict[str, list[int]] = {}
    for place, frame in frames(stimulus):
        for field in _fields(frame):
            value = field.value(frame.data)
            if field.name in KEPT:
                continue
            if field.name in IDENTITIES:
                seen = counted.setdefault(field.name, [])
                if value not in seen:
                    seen.append(value)
                if value != seen.index(value):
                    found.setdefault((field.name, value), Number(field.name, value, seen.index(value)))
            elif value:
                found.setdefault((field.name, -1 - place), Number(field.name, -1 - place, 0))
    return list(found.values())


def with_numbers(stimulus: Stimulus, chosen: list[Number]) -> Stimulus:
    """The stimulus with these numbers made small. An identity whose small value another frame has already takes the
    other's value: they change places."""
    table = {(n.name, n.key): n.to for n in chosen}
    for name in IDENTITIES:
        old = {n.key for n in chosen if n.name == name}
        new = {n.to for n in chosen if n.name == name}
        table |= {(name, to): key for to, key in zip(sorted(new - old), sorted(old - new), strict=True)}

    def change(field: FrameField, place: int, value: int) -> int:
        key = value if field.name in IDENTITIES else -1 - place
        return table.get((field.name, key), value) if field.name not in KEPT else value

    return changed(stimulus, change)


def with_card(stimulus: Stimulus, card: int) -> Stimulus:
    """The node's card and `card` change numbers, everywhere."""
    own = stimulus.card

    def swap(value: int) -> int:
        return card if value == own else own if value == card else value

    def change(field: FrameField, place: int, value: int) -> int:
        return swap(value) if field.name in CARDS else value

    actions: list[Action] = []
    for action in changed(stimulus, change).actions:
        if isinstance(action, Poke) and action.register in _CARD_SETS:
            cards = {swap(i) for i in range(wire.MAX_CARDS) if action.value >> i & 1}
            action = replace(action, value=sum(1 << i for i in range(wire.MAX_CARDS) if i in cards))
        elif isinstance(action, Poke) and action.register == "boundary_peer":
            action = replace(action, value=swap(action.value))
        actions.append(action)
    return replace(stimulus.with_actions(actions), card=card)


def with_gpu(stimulus: Stimulus, gpu: int) -> Stimulus:
    """The node and GPU `gpu` change numbers, everywhere."""
    own = stimulus.node

    def change(field: FrameField, place: int, value: int) -> int:
        return gpu if value == own else own if value == gpu else value

    return replace(changed(stimulus, lambda f, p, v: change(f, p, v) if f.name in GPUS else v), node=gpu)


def with_ttl(stimulus: Stimulus, most: int) -> Stimulus:
    """No frame has more hops left than `most`."""
    return changed(stimulus, lambda field, place, value: min(value, most) if field.name == "ttl" else value)


def with_size(stimulus: Stimulus, size: int) -> Stimulus:
    """A ring of `size` GPUs; also where statistics frames tell how many there are."""

    def change(field: FrameField, place: int, value: int) -> int:
        return size if field.name in ("expected", "size") and value == stimulus.size else value

    return replace(changed(stimulus, change), size=size)


def highest_gpu(stimulus: Stimulus) -> int:
    """The highest number of a GPU that is spoken of."""
    named = (f.value(frame.data) for _, frame in frames(stimulus) for f in _fields(frame) if f.name in GPUS)
    return max([stimulus.node, *named])


def changed(stimulus: Stimulus, change: Change) -> Stimulus:
    """The stimulus with other values in the fields of its frames; check sums and tags follow."""
    actions = list(stimulus.actions)
    for place, frame in frames(stimulus):
        data = bytearray(frame.data)
        for field in _fields(frame):
            data[field.start : field.end] = change(field, place, field.value(frame.data)).to_bytes(
                field.end - field.start, "big"
            )
        if bytes(data) == frame.data:
            continue
        new = _sealed(frame, bytes(data))
        action = actions[place]
        if isinstance(action, Send):
            actions[place] = replace(action, frame=replace(action.frame, data=new))
        elif isinstance(action, Post):
            actions[place] = replace(action, data=new)
    return stimulus.with_actions(actions)


def _fields(frame: RingFrame) -> Iterator[FrameField]:
    """Of a frame without its beginning none are known; one without its end has no check sums."""
    if not frame.sof:
        return
    for field in fields_of(frame.data if frame.eof else frame.data + bytes(_TRAILER)):
        if field.end <= len(frame.data):
            yield field


def _sealed(old: RingFrame, data: bytes) -> bytes:
    data = _tagged(old, data)
    if not old.eof or len(data) < 2 * _TRAILER:
        return data
    body = len(data) - _TRAILER
    wrong = _number(old.data[body : body + _CRC]) ^ crc.e2e_crc(old.data)
    data = data[:body] + (crc.e2e_crc(data) ^ wrong).to_bytes(_CRC, "big") + data[body + _CRC :]
    wrong = _number(old.data[-_CRC:]) ^ crc.link_crc(old.data)
    return data[:-_CRC] + (crc.link_crc(data) ^ wrong).to_bytes(_CRC, "big")


def _tagged(old: RingFrame, data: bytes) -> bytes:
    """Records' tags that were right are right again."""
    new = bytearray(data)
    for tag in (f for f in _fields(old) if f.name == "tag"):
        start, end = tag.end - 16, tag.end
        if _tag(old.data, start) == tag.value(old.data):
            new[end - _TAG : end] = _tag(data, start).to_bytes(_TAG, "big")
    return bytes(new)


def _tag(data: bytes, start: int) -> int:
    return crc.record_tag(_number(data[8:12]), _number(data[12:16]), data[start : start + 12] + bytes(_TAG))


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
