"""Every bit of every field that a node compares or reckons with: numbers of GPUs and cards, TTLs, counts, lengths."""

import random
from collections.abc import Iterable, Iterator, Sequence

from ringhil.emulator.conformance.data_frames import TO_HOST, Place, roles
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, RECORDS, follows, spread
from ringhil.emulator.conformance.rules.data import in_turn, length, played, settings
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Send, Stimulus
from ringhil.protocol import codec, wire

# A place with many bits set in all that it is compared with, and one with few.
_PLACES = ((254, 1023, 1024), (1, 256, 700), (85, 682, 1001))
_SPACE = 12  # cycles between frames that may follow each other closely


def _straps(place: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("card", "node", "size"), place, strict=True))


def _bits(width: int) -> Iterator[int]:
    return (1 << i for i in range(width))


def _patched(data: bytes, **fields: int) -> RingFrame:
    """A control or data frame with other values in 16-bit fields, named by `_b` and their first byte."""
    body = data[:-8]
    for name, value in fields.items():
        at = int(name.removeprefix("_b"))
        body = body[:at] + value.to_bytes(2, "big") + body[at + 2 :]
    return RingFrame.of(codec.seal(body))


# --------------------------------------------------------------------------------------------------------- control


@rule("fields.control", "numbers, TTLs, counts and settings of the control channel count with all their bits", "R3, R4")
def control(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (card, node, size) in enumerate(_PLACES * effort):
        own = {"card": card, "home": node, "ttl": size}
        frames = [RingFrame.of(other_control(rng, **own))]
        # One bit away from home.
        frames += [RingFrame.of(other_control(rng, **own | {"home": node ^ bit})) for bit in _bits(16)]
        frames += [RingFrame.of(other_control(rng, **own | {"card": card ^ bit})) for bit in _bits(8)]
        frames += [RingFrame.of(other_control(rng, **own | {"home": node ^ 1, "ttl": ttl})) for ttl in _bits(16)]
        near = (size, size + 1, size + 2, size + 3, 0x7FFF, 0x8000, 0xFFFF)
        frames += [RingFrame.of(other_control(rng, **own | {"home": node ^ 1, "ttl": ttl})) for ttl in near]
        rng.shuffle(frames)
        lanes = (index % 2, 1 - index % 2, 1 - index % 2, index % 2) * len(frames)
        stimulus = Stimulus.of([*QUIET, *spread(frames, lanes, gap=_SPACE)], card=card, node=node, size=size)
        yield RuleCase(f"home and TTL {index}", stimulus, follows("fields.control"))
    for index, place in enumerate(_PLACES[:2] * effort):
        straps = _straps(place)
        given = {"card": straps["card"], "origin": place[1] ^ 2, "ttl": straps["size"], "size": straps["size"]}
        actions: list[Action] = [*QUIET, Poke(6, "control", roles("boundary", *["entry_capable"] * (index % 2)))]
        values = {"weight": 16, "gpu_type": 8, "boundary_peer": 8}
        actions += [Poke(10 + i, name, rng.getrandbits(width)) for i, (name, width) in enumerate(values.items())]
        frames = []
        for count in (*((1 << i) - 1 for i in range(1, 17)), 0xFFFE, 0x7FFF):
            data = statistics(rng, flags=rng.choice([0, RECORDS]), records=0, **given)
            frames.append(_patched(data, _b16=count))
        for records in ((1 << i) - 1 for i in range(1, 15)):
            limit = rng.choice([records, records + 1, records ^ 1 << rng.randrange(15), 0x7FFF])
            frames.append(_patched(statistics(rng, flags=RECORDS, **given), _b18=records, _b22=limit))
        for bit in _bits(15):
            # Over its limit, or not, by one bit.
            frames.append(_patched(statistics(rng, flags=RECORDS, **given), _b18=0, _b22=bit))
            frames.append(_patched(statistics(rng, flags=RECORDS, **given), _b18=bit, _b22=bit))
        sends = spread(frames, [rng.randrange(2) for _ in frames], gap=_SPACE)
        stimulus = Stimulus.of([*actions, *sends], **straps)
        yield RuleCase(f"counts {index}", stimulus, follows("fields.control"))
        frames = []
        for number in range(24):
            # Below the limit, at it and beyond, with records and without; it may have been met before.
            limit = rng.randrange(1, 0x7FFF)
            records = (limit, rng.randrange(limit), rng.randrange(limit, 0x7FFF))[number % 3]
            data = statistics(rng, flags=rng.choice([0, RECORDS, RECORDS]), **given)
            met = rng.choice([0, 0, wire.OVERFLOW])
            frame = _patched(data, _b16=rng.getrandbits(16), _b18=records, _b20=rng.getrandbits(16), _b22=limit | met)
            frames += [frame] * 2
        stimulus = Stimulus.of([*actions, *spread(frames, (0, 1) * 24, gap=_SPACE)], **straps)
        yield RuleCase(f"limits {index}", stimulus, follows("fields.control"))


# ------------------------------------------------------------------------------------------------------------ data


@rule("fields.data", "numbers and TTLs of the data channel count with all their bits, crossings by card", "R5")
def data(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (card, node, size) in enumerate(_PLACES[:2] * effort):
        cards = rng.getrandbits(16)
        place = Place(rng, card, node, size, {"control": roles("entry", "boundary"), "crossings": cards})
        place.settings = {**place.settings, "exits": rng.getrandbits(16)}
        frames, ways = [], []
        for way in range(len(WAYS)):
            targets = [(card, node), *((card, node ^ bit) for bit in _bits(16))]
            targets += [(card ^ bit, node) for bit in _bits(8)]
            if way < 3:
                targets = rng.sample(targets, 12) + [(other, rng.getrandbits(16)) for other in range(16)][way::3]
            for to in targets:
                frames.append(place.answer(*to, flags=rng.choice([0, TO_HOST]), ttl=size))
                ways.append(way)
        for way in (0, 1):
            for ttl in _bits(16):
                frames.append(place.answer(card, node ^ 1, ttl=ttl))
                ways.append(way)
        order = rng.sample(range(len(frames)), len(frames))
        actions: list[Action] = [*settings(place)]
        if index % 4 == 3:
            actions.append(Fault(1, "duplicate_id", True))
        actions += in_turn([frames[i] for i in order], [ways[i] for i in order], gap=_SPACE)
        yield played("fields.data", f"targets {index}", actions, place, 600)


# ------------------------------------------------------------------------------------------------------------ work


@rule("fields.work", "units of many segments; whom they come from, which they are and how long, with all bits", "R5")
def work(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (card, node, size) in enumerate(_PLACES[:2] * effort):
        place = Place(rng, card, node, size, {"control": roles("entry")})
        units: list[list[RingFrame]] = []
        # From any GPU of this card: the result goes there.
        units += [place.unit(rng.randrange(1, 20), source=(card, bit)) for bit in _bits(16)]
        for width, at in ((4, 24), (1, 28), (2, 20), (2, 22)):
            for bit in _bits(8 * width):
                units.append([_flipped(place.unit(64 if at == 22 else 8)[0], at, width, bit)])
        for bit in _bits(16):
            one = place.unit(16, segment=8)
            units.append([one[0], _flipped(one[1], 20, 2, bit)])
        for at, width in ((8, 4), (12, 4), (18, 2)):
            for bit in rng.sample(list(_bits(8 * width)), 2 * width):
                one = place.unit(24, segment=16)
                units.append([one[0], _flipped(one[1], at, width, bit)])
        rng.shuffle(units)
        # Nothing has come from these cards yet that could be gone on with.
        fresh = [place.unit(8, source=(there, node))[0] for there in range(16)]
        units = [*([_flipped(frame, 20, 2, 1 << there)] for there, frame in enumerate(fresh)), *units]
        way = index % 3
        # A unit that says it is of 2 GB costs nothing either.
        actions = settings(place, compute_per_flit=0)
        now = 20
        for frames in units:
            actions += [Send(now, WAYS[way], frame) for frame in frames]
            now += length(frames) + 8
        yield played("fields.work", f"by {WAYS[way]} {index}", actions, place, 900)
    for index in range(effort):
        # Only a GPU that speaks to other cards sends across; all that `crossings` says is nothing to this one.
        place = Place(rng, 85, 682, 1001, {"control": roles("entry"), "crossings": 0xFFFF})
        units = [place.unit(8, source=(there, rng.getrandbits(10)), compute=rng.randrange(2)) for there in range(32)]
        actions = settings(place, compute_per_flit=0)
        actions += in_turn([frame for (frame,) in units], [rng.randrange(3) for _ in units], gap=30)
        yield played("fields.work", f"to cards {index}", actions, place, 600)
    for index in range(effort):
        place = Place(rng, 3, 300, 1024, {"control": roles("entry")})
        for size_bytes, segment in ((8 * 520, 8), (3000 + rng.randrange(2000), wire.SEGMENT_BYTES)):
            frames = place.unit(size_bytes, segment=segment)
            actions = [*settings(place, compute_per_flit=1), *(Send(20, WAYS[index % 3], frame) for frame in frames)]
            name = f"{len(frames)} segments {index}"
            yield played("fields.work", name, actions, place, length(frames) + size_bytes // 4 + 800)
    # What the segments say of their bytes adds up to more than any unit has, and in too few bits to its length.
    for index in range(effort):
        place = Place(rng, 3, 300, 1024, {"control": roles("entry")})
        units = []
        for width in range(5, 21):
            size = rng.randrange(1, wire.FLIT_BYTES)  # less than there is, too
            # The wrong sum wraps before the last segment, or with it.
            for last in (size, size + 8):
                units.append(_saying(place, size, [*_shares((1 << width) + size - last), last]))
        actions, now = settings(place, compute_per_flit=0), 20
        for frames in units:
            actions += [Send(now, WAYS[index % 3], frame) for frame in frames]
            now += length(frames) + 8
        yield played("fields.work", f"sums {index}", actions, place, 900)


def _shares(total: int) -> list[int]:
    """Bytes of segments, as many as can be said of each."""
    full, rest = divmod(total, 0xFFFF)
    return [0xFFFF] * full + [rest] * (rest > 0)


def _saying(place: Place, size: int, shares: Sequence[int]) -> list[RingFrame]:
    """A unit said to have `size` bytes, whose segments of one flit say that they have these."""
    frames = place.unit(wire.FLIT_BYTES * len(shares), segment=wire.FLIT_BYTES)
    bodies = (
        f.data[:22] + said.to_bytes(2, "big") + size.to_bytes(4, "big") + f.data[28:-8]
        for f, said in zip(frames, shares, strict=True)
    )
    return [RingFrame.of(codec.seal(body)) for body in bodies]


def _flipped(frame: RingFrame, at: int, width: int, bit: int) -> RingFrame:
    """The same segment with one bit of a field of `width` bytes the other way round."""
    value = int.from_bytes(frame.data[at : at + width], "big") ^ bit
    return RingFrame.of(codec.seal(frame.data[:at] + value.to_bytes(width, "big") + frame.data[at + width : -8]))
