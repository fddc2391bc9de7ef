"""Frames to play to a node, drawn from a seeded source of chance."""

import random

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Election, Keepalive, Record, Report, Statistics


def statistics(
    rng: random.Random,
    *,
    card: int = 0,
    origin: int = 0,
    ttl: int = 5,
    flags: int = 0,
    records: int = 0,
    limit: int = wire.MAX_RING,
    count: int | None = None,
    size: int = 4,
) -> bytes:
    """A statistics message of GPU `origin` that `records` GPUs have put their record into."""
    epoch, sequence = rng.getrandbits(32), rng.getrandbits(32)
    entries = []
    for i in range(records):
        head = (rng.randrange(1024), i + 1, 1, 0, 0, rng.getrandbits(8), rng.randrange(1, 9), 0, wire.NO_CARD)
        tag = crc.record_tag(epoch, sequence, Record.HEAD.pack(*head, 0))
        entries.append(Record(*head, tag))
    counted = records + 1 if count is None else count
    fields = (card, flags, ttl, origin, epoch, sequence, counted, size, limit, rng.getrandbits(40))
    return codec.encode(Statistics(*fields, tuple(entries)))


def other_control(rng: random.Random, *, card: int = 0, home: int = 0, ttl: int = 5, flags: int = 0) -> bytes:
    """A keepalive, election or report for GPU `home`."""
    head = (card, flags, ttl, home, rng.getrandbits(32), rng.getrandbits(32))
    match rng.randrange(3):
        case 0:
            body = (rng.getrandbits(32), rng.getrandbits(32), 1, rng.randrange(4), 3, 0, 1000, rng.getrandbits(64))
            return codec.encode(Keepalive(*head, *body, 0, wire.NO_HOLDER))
        case 1:
            return codec.encode(Election(*head, rng.randrange(4), 1, 1, 1000, rng.getrandbits(64)))
        case _:
            sets = tuple(rng.getrandbits(64) for _ in range(3))
            return codec.encode(Report(*head, 0, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, sets))


def control_frame(rng: random.Random, *, card: int, node: int, size: int, damage: float = 0.0) -> RingFrame:
    """Any control frame that may turn up on a ring: of any kind, for anybody, perhaps damaged."""
    home = rng.choice([node, *(g for g in range(min(size, 8)) if g != node)])
    at = card if rng.random() < 0.9 else (card + 1) % 4
    ttl = rng.choice([0, 1, 2, size, size + 1, size + 2, 0xFFFF])
    if rng.random() < 0.6:
        flags = rng.choice([0, wire.Flag.WITH_RECORDS, wire.Flag.WITH_RECORDS])
        flags |= rng.choice([0, 0, 0, wire.Flag.WRAPPED]) | rng.choice([0, 0, 0, wire.Flag.CIRCULATING])
        flags |= rng.choice([0, wire.Flag.CCW])
        records = rng.randrange(4) if flags & wire.Flag.WITH_RECORDS else 0
        limit = rng.choice([wire.MAX_RING, records, records + 1])
        data = statistics(rng, card=at, origin=home, ttl=ttl, flags=flags, records=records, limit=limit, size=size)
    else:
        data = other_control(rng, card=at, home=home, ttl=ttl)
    frame = RingFrame.of(data)
    return frame.damaged(rng) if rng.random() < damage else frame
