"""Requests to a GPU's firmware that nobody would send: real ones disturbed, and made-up ones."""

import random
from collections.abc import Iterator

from ringhil.protocol import codec, crc, wire
from ringhil.protocol.fields import fixed_fields
from ringhil.protocol.frames import Election, Keepalive, Record, Statistics
from ringhil.protocol.generate.tables import parts
from ringhil.protocol.line import firmware_codec
from ringhil.protocol.line import firmware_messages as m
from ringhil.protocol.line.firmware_loop import MESSAGES, REQUESTS, LoopType
from ringhil.protocol.wire import MAX_RING, Kind, Port, Role

Talk = list[bytes]  # requests to one GPU, from a boot on
TRAILER = 8  # bytes of a frame: its CRCs
_FRAME_AT = 13  # byte of a `frame`
_HEAD, _EPOCH, _EXPECTED = 32, 8, 20  # of a statistics frame: bytes; places
_FRAMES = {
    Kind.parse(name).code: [field for field in fixed_fields(definition) if not field[0].endswith("_crc")]
    for name, definition in wire.FRAMES.items()
}
_UPLINK = {Role.ENTRY: Port.CPU.code, Role.BOUNDARY: Port.BOUNDARY.code}
_RECORD = [*fixed_fields(wire.Record)]


def is_census(request: bytes) -> bool:
    """Whether this brings one home."""
    return request[0] == LoopType.FRAME.code and request[_FRAME_AT] == Statistics.KIND


def number(dice: random.Random, size: int) -> int:
    """One that fits into so many bytes: a small one, an end, one about a power of two, or any."""
    most, edge = 256**size - 1, 1 << dice.choice((4, 8, 10, 16, 32, 48, 62))
    ends = (0, 1, most, most // 2, most // 2 + 1, edge - 1, edge, edge + 1)
    return min(most, dice.choice((*ends, dice.randrange(8), dice.randrange(2000), dice.randrange(most + 1))))


def put(dice: random.Random, data: bytearray, at: int, fields: list[tuple[str, int]]) -> None:
    """Another number in one of these fields, the first of which is there."""
    chosen = dice.randrange(len(fields))
    size = fields[chosen][1]
    at += sum(size for _, size in fields[:chosen])
    data[at : at + size] = number(dice, size).to_bytes(size)


# ------------------------------------------------------------------------------------------------- nearly as they were


def resealed(dice: random.Random, frame: bytes) -> bytes:
    """Another frame, with right check sums: those that are wrong are found before anything is read."""
    body = bytearray(frame[:-TRAILER])
    if dice.random() < 0.1:
        return bytes(body[: dice.choice((0, 8, 16, dice.randrange(len(body) + 1) & ~7))])
    if body[0] == Statistics.KIND and len(body) > _HEAD and dice.random() < 0.6:
        _other_record(dice, body)
    else:
        put(dice, body, 0, _FRAMES[body[0]])
    return codec.seal(bytes(body))


def _other_record(dice: random.Random, body: bytearray) -> None:
    """One of them, in one field; signed anew, or there is no more to see."""
    at = dice.randrange(_HEAD, len(body), Record.HEAD.size)
    if dice.random() < 0.3:  # a number that is the same one round the ring
        id_, gpus = int.from_bytes(body[at : at + 2]), int.from_bytes(body[_EXPECTED : _EXPECTED + 2])
        body[at : at + 2] = ((id_ + dice.randrange(1, 999) * gpus) % 2**16).to_bytes(2)
    else:
        put(dice, body, at, _RECORD)
    if dice.random() < 0.8:
        end = at + Record.HEAD.size
        epoch, sequence = (int.from_bytes(body[place : place + 4]) for place in (_EPOCH, _EPOCH + 4))
        body[end - 4 : end] = crc.record_tag(epoch, sequence, bytes(body[at:end])).to_bytes(4)


def other(dice: random.Random, request: bytes) -> bytes:
    """A request that is nearly this one."""
    changed, (fixed, tail) = bytearray(request), parts(MESSAGES[LoopType.of(request[0])])
    if request[0] == LoopType.FRAME.code and dice.random() < 0.8:
        bad = dice.choice((0, 0, 0, 1))
        return request[: _FRAME_AT - 1] + bytes([bad]) + resealed(dice, request[_FRAME_AT:])
    if dice.random() < 0.1:
        return request[: dice.randrange(len(request) + 1)] + dice.randbytes(dice.choice((0, 0, 1, 8)))
    if tail is not None and tail[1] is int and dice.random() < 0.2:
        return request + b"".join(number(dice, 8).to_bytes(8) for _ in range(dice.choice((1, 16, 23, 24, 60, 300))))
    put(dice, changed, 1, fixed)
    return bytes(changed)


def at_each_end(talk: Talk) -> Iterator[Talk]:
    """It, with each field of its beginning at each of its ends."""
    for n, request in enumerate(talk[: _beginning(talk)]):
        at = 1
        for _, size in parts(MESSAGES[LoopType.of(request[0])])[0]:
            most = 256**size - 1
            for value in {0, 1, 24, 25, 1024, 1025, 2**32 - 1, 2**48, most // 2, most // 2 + 1, most}:
                if value <= most:
                    changed = request[:at] + value.to_bytes(size) + request[at + size :]
                    yield [*talk[:n], changed, *talk[n + 1 :]]
            at += size


def _beginning(talk: Talk) -> int:
    """Requests before `start`."""
    return next(n for n, request in enumerate(talk) if request[0] == LoopType.START.code)


def begun_otherwise(dice: random.Random, talk: Talk) -> Iterator[bytes]:
    """It; but in one request of its beginning, who the GPU is and in which groups, one thing is another."""
    chosen = dice.randrange(_beginning(talk))
    for n, request in enumerate(talk[: dice.choice((20, 60, 200))]):
        yield other(dice, request) if n == chosen else request


def disturbed(dice: random.Random, talk: Talk) -> Iterator[bytes]:
    """It, with requests that are lost, doubled, out of order, others than they were; of censuses, which are few, more
    than of others."""
    share, waiting = dice.choice((0, 0.01, 0.05, 0.3)), list[bytes]()
    for request in talk[: dice.choice((10, 30, 30, 60, 60, 60, 300))]:
        if dice.random() >= share:
            yield other(dice, request) if is_census(request) and dice.random() < 0.3 else request
        else:
            match dice.randrange(6):
                case 0:
                    waiting.append(request)
                case 1:
                    yield from (request, request)
                case 2 | 3 | 4:
                    yield other(dice, request)
        if waiting and dice.random() < 0.2:
            yield waiting.pop(0)


# ------------------------------------------------------------------------------------------------------------ made up


def any_of(dice: random.Random, kind: LoopType) -> bytes:
    """A request of this kind with any values."""
    fixed, tail = parts(MESSAGES[kind])
    size = sum(size for _, size in fixed) if dice.random() < 0.02 else 0
    data = bytes([kind.code]) + b"".join(number(dice, each).to_bytes(each) for _, each in fixed)
    if tail is not None and tail[1] is int:
        data += b"".join(number(dice, 8).to_bytes(8) for _ in range(dice.choice((0, 1, 4, 16, 24, 25, 64, 300))))
    elif tail is not None:
        data += any_frame(dice)
    return data[: dice.randrange(size)] if size else data


def any_frame(dice: random.Random) -> bytes:
    """Of any kind that firmware reads, sealed."""
    kind = dice.choice((Kind.STATISTICS, Kind.KEEPALIVE, Kind.ELECTION, Kind.REPORT, Kind.WORK))
    longest = 5 if dice.random() < 0.95 else 2 * MAX_RING + 3  # flits behind a header
    body = bytes([kind.code]) + b"".join(number(dice, 2).to_bytes(2) for _ in range(15)) + b"\0"
    return codec.seal(body + dice.randbytes(8 * dice.randrange(longest + 1)))


def small(dice: random.Random, kind: LoopType, now: int) -> m.Message:
    """A request of this kind as it may be, of a ring of up to 8 GPUs; at this time."""
    gpus, role = dice.randrange(1, 9), dice.choice((Role.ENTRY, Role.BOUNDARY))
    match kind:
        case LoopType.BOOT:
            who = (dice.randrange(2), dice.randrange(gpus), gpus, dice.randrange(1, 4), dice.randrange(2), 7)
            census = (dice.randrange(1, 500), dice.randrange(1, 99), dice.randrange(1, 4), dice.randrange(4))
            return m.BootRequest(1, *who, *census, 1, 2, dice.randrange(32))
        case LoopType.GROUP:
            members = tuple(dice.sample(range(10), dice.randrange(1, 10)))
            where = (role.code, dice.randrange(len(members)), _UPLINK[role], 0, dice.randrange(2))
            times = (dice.randrange(1, 200), dice.randrange(16), *(dice.randrange(200) for _ in range(6)))
            return m.GroupRequest(1, *where, *times, members)
        case LoopType.CROSSING:
            return m.CrossingRequest(1, dice.randrange(3), dice.randrange(8), dice.randrange(2))
        case LoopType.ROUTES:
            return m.RoutesRequest(1, tuple(dice.randrange(8) for _ in range(16)))
        case LoopType.START:
            return m.StartRequest(1, now)
        case LoopType.TIMER:
            return m.TimerRequest(1, now, dice.choice((0, 2**32 - 1)), dice.randrange(6))
        case LoopType.FRAME:
            port = dice.choice((_UPLINK[role], dice.randrange(4)))
            return m.FrameRequest(1, now, port, dice.random() < 0.1, small_frame(dice, gpus, role))
        case _:
            return m.CountNowRequest(1, now)


def small_frame(dice: random.Random, gpus: int, role: Role) -> bytes:
    """A frame that one of such a ring may have sent."""
    few = [dice.randrange(4) for _ in range(12)]
    gpu, other_gpu = dice.randrange(10), dice.randrange(dice.choice((2, 10)))
    match dice.randrange(3):
        case 0:
            told = (role.code, few[3], 3, dice.randrange(256), 100, few[4], few[5], few[6])
            return codec.encode(Keepalive(0, few[0], 9, gpu, few[1], few[7], other_gpu << 16 | 1, few[8], *told))
        case 1:
            claim = few[2] << 16 | few[3]
            return codec.encode(
                Election(0, 0, 9, gpu, few[1] + few[6], claim, other_gpu, dice.randrange(5), role.code, few[5], 0)
            )
    ids = enumerate(dice.sample(range(gpus), gpus), 1)
    records = tuple(Record(i, n, 1, dice.randrange(256), 0, few[2], 1, 0, few[3], 0) for n, i in ids)
    return codec.encode(Statistics(0, few[0] & 1, 9, gpu % gpus, few[1], few[4], gpus, gpus, MAX_RING, 0, records))


def made_up(dice: random.Random) -> Iterator[bytes]:
    """Requests in any order, from a boot on; some of them of any values, or any bytes."""
    now, odd = dice.choice((0, 0, 10**6)), dice.choice((0, 0.02, 0.2, 0.7))
    begin = (LoopType.BOOT, LoopType.GROUP, LoopType.GROUP, LoopType.CROSSING, LoopType.ROUTES, LoopType.START)
    then = (LoopType.TIMER, LoopType.FRAME, LoopType.FRAME, LoopType.FRAME, LoopType.COUNT_NOW)
    for kind in (*begin, *dice.choices(then, k=dice.randrange(60))):
        now += dice.randrange(100)
        if dice.random() >= odd:
            yield firmware_codec.encode(small(dice, kind, now))
        elif dice.random() < 0.8:
            yield any_of(dice, dice.choice(REQUESTS))
        else:
            yield dice.randbytes(dice.choice((0, 1, 2, 3, dice.randrange(100))))


def any_requests(dice: random.Random, talks: list[Talk]) -> Iterator[bytes]:
    """Of one of these kinds."""
    match dice.randrange(6):
        case 0 | 1:
            return begun_otherwise(dice, dice.choice(talks))
        case 2 | 3:
            return disturbed(dice, dice.choice(talks))
    return made_up(dice)
