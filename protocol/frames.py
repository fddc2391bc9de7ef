"""Typed frames and their struct formats.

Generated from wire.py: do not edit; `make generate` rewrites it.
"""

import struct
from typing import ClassVar

from ringhil.protocol.values import value


@value(frozen=True, slots=True)
class Record:
    """What a GPU says of itself in a statistics frame.

    Fixed fields, bits: id 16, hop 16, state 8, flags 8, gpu_type 8, stamp 8, weight 16, errors 8, peer 8,
    tag 32.
    """

    HEAD: ClassVar[struct.Struct] = struct.Struct(">HHBBBBHBBI")
    VARIABLE: ClassVar[str] = ""

    id: int
    hop: int
    state: int
    flags: int
    gpu_type: int
    stamp: int
    weight: int
    errors: int
    peer: int
    tag: int


@value(frozen=True, slots=True)
class Statistics:
    """Frame `statistics`: goes round, and counts the GPUs that work.

    Fixed fields, bits: card 8, flags 16, ttl 16, origin 16, epoch 32, sequence 32, count 16,
    records_count 16, expected 16, record_limit 16, sent_at 64.
    """

    KIND: ClassVar[int] = 0x11
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHHHHQ")
    VARIABLE: ClassVar[str] = "records"

    card: int
    flags: int
    ttl: int
    origin: int
    epoch: int
    sequence: int
    count: int
    expected: int
    record_limit: int
    sent_at: int
    records: tuple[Record, ...] = ()


@value(frozen=True, slots=True)
class Keepalive:
    """Frame `keepalive`: a GPU of a group is alive, and how it is.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, sequence 32,
    my_discriminator 32, your_discriminator 32, role 8, priority 8, multiplier 8, state 8, interval 32,
    members 64, echo 32, holder 32.
    """

    KIND: ClassVar[int] = 0x12
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIIIBBBBIQII")
    VARIABLE: ClassVar[str] = ""

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    sequence: int
    my_discriminator: int
    your_discriminator: int
    role: int
    priority: int
    multiplier: int
    state: int
    interval: int
    members: int
    echo: int
    holder: int


@value(frozen=True, slots=True)
class Election:
    """Frame `election`: a lease is claimed, granted, refused or given back.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, sequence 32, candidate 16,
    operation 8, role 8, lease 32, members 64.
    """

    KIND: ClassVar[int] = 0x13
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHBBIQ")
    VARIABLE: ClassVar[str] = ""

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    sequence: int
    candidate: int
    operation: int
    role: int
    lease: int
    members: int


@value(frozen=True, slots=True)
class Work:
    """Frame `work`: a segment of a work unit, or a command to a context.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, unit 32, source 16,
    attempt 16, segment 16, segment_bytes 16, length 32, compute 8, source_card 8, context 16.
    """

    KIND: ClassVar[int] = 0x14
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHHHHIBBH")
    VARIABLE: ClassVar[str] = "payload"

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    unit: int
    source: int
    attempt: int
    segment: int
    segment_bytes: int
    length: int
    compute: int
    source_card: int
    context: int
    payload: bytes = b""


@value(frozen=True, slots=True)
class Result:
    """Frame `result`: what came of a work unit.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, unit 32, source 16,
    attempt 16, status 16, source_card 8, queued 8, digest 64, length 32, cycles 32.
    """

    KIND: ClassVar[int] = 0x15
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHHHBBQII")
    VARIABLE: ClassVar[str] = ""

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    unit: int
    source: int
    attempt: int
    status: int
    source_card: int
    queued: int
    digest: int
    length: int
    cycles: int


@value(frozen=True, slots=True)
class Acknowledgement:
    """Frame `acknowledgement`: a work unit is refused.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, unit 32, source 16,
    attempt 16, status 16, source_card 8, queued 8.
    """

    KIND: ClassVar[int] = 0x16
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHHHBB")
    VARIABLE: ClassVar[str] = ""

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    unit: int
    source: int
    attempt: int
    status: int
    source_card: int
    queued: int


@value(frozen=True, slots=True)
class Report:
    """Frame `report`: the entry GPU tells the CPU what a round has counted.

    Fixed fields, bits: card 8, flags 16, ttl 16, destination 16, epoch 32, sequence 32, source 16,
    count 16, size 16, verdict 16, break_after 16, break_before 16, rejected 32, sent_at 64, suspects 16,
    first_suspect 16, slow_link 16, noisy_link 16, weight 32, reserved 32.
    """

    KIND: ClassVar[int] = 0x17
    HEAD: ClassVar[struct.Struct] = struct.Struct(">BBHHHIIHHHHHHIQHHHHII")
    VARIABLE: ClassVar[str] = "sets"

    card: int
    flags: int
    ttl: int
    destination: int
    epoch: int
    sequence: int
    source: int
    count: int
    size: int
    verdict: int
    break_after: int
    break_before: int
    rejected: int
    sent_at: int
    suspects: int
    first_suspect: int
    slow_link: int
    noisy_link: int
    weight: int
    reserved: int
    sets: tuple[int, ...] = ()


Frame = Statistics | Keepalive | Election | Work | Result | Acknowledgement | Report


BY_KIND: dict[int, type[Frame]] = {
    Statistics.KIND: Statistics,
    Keepalive.KIND: Keepalive,
    Election.KIND: Election,
    Work.KIND: Work,
    Result.KIND: Result,
    Acknowledgement.KIND: Acknowledgement,
    Report.KIND: Report,
}
