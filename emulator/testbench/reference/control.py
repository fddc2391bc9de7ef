"""The control channel of a node: where a frame goes, and what it looks like then (R2, R3, R6, R8).

A lane is 0 (clockwise, in by port 1, out by port 2) or 1 (the other way). On the way out of a link that isn't used the
frame is turned round: it leaves (unheard) and comes in by the same port, on the other lane.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ringhil.emulator.testbench.frame import Channel, RingFrame
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.protocol import crc, wire

IN, OUT = wire.LINKS[:2], wire.BY_PORT[:2]  # by lane
AHEAD: dict[str, str] = dict(
    zip(IN, OUT, strict=True)
)  # by which ring link a frame goes on, by the one that it came by
# The ports of the mailbox that lead off the ring, and their links.
OUTWARD = tuple((port.code, wire.BY_PORT[port.code]) for port in (wire.Port.CPU, wire.Port.BOUNDARY))
# Faults that change what a working node says, frame by frame; rules of the conformance check play each.
LIES = {
    "skip_count": "the GPU adds its record but no count",
    "double_count": "the GPU adds two to the count",
    "duplicate_id": "the GPU uses its predecessor's number wherever it uses its own",
    "corrupt": "a bit of the third flit of control frames passed on flips behind the CRC's back",
    "slow": "the GPU's records and its status say degraded; control frames are as fast as ever",
}
_STATISTICS = wire.Kind.STATISTICS.code
_FLAG = wire.Flag
_WITH_TRAILER = 40  # bytes of a statistics frame without records


@dataclass(frozen=True, slots=True)
class Leaving:
    """A frame that must leave by `link`, in order with the others of its `stream`.

    Where `record_at` isn't None, a record of 16 bytes lies there whose time stamp is the node's to choose: any cycle
    (its low byte) from the frame's arrival (`since`) to its departure. So is the cycle in which it looks at the number
    of errors: `bad_ends` are those in which bad frames ended at the port of arrival.
    """

    link: str
    data: bytes
    bad: bool
    stream: str
    record_at: int | None = None
    since: int = 0  # cycle of arrival
    flip: bool = False  # the transmitter of a corrupting GPU damages it behind the CRC's back
    cut: bool = False  # it has lost its end: whatever is left of it must be marked
    known: int = 1 << 20  # bytes of a cut one that had come
    bad_ends: Sequence[int] = ()
    more_bad: int = 0  # bad frames that may have come before it, or been lost
    optional: bool = False  # it cut another on its way in, and may have been lost with it
    channel: Channel = "control"


@dataclass(frozen=True, slots=True)
class Delivered:
    """A frame for the firmware, by mailbox port. Of a cut one `data` is what came of it."""

    port: int
    data: bytes
    bad: bool
    optional: bool = False
    cut: bool = False


@dataclass
class ControlOutcome:
    """All that follows from frames that came in; `counters` by register name."""

    leaving: list[Leaving] = field(default_factory=list)
    mail: list[Delivered] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    bad_ends: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))  # by lane
    more_bad: list[int] = field(default_factory=lambda: [0, 0])  # by lane: bad frames that may have been lost
    uncertain: bool = False  # a frame that may have been lost would have changed the counters


def arrive_all(frames: Iterable[RingFrame], lane: int, view: NodeView, outcome: ControlOutcome) -> None:
    """All frames that came in by the port of `lane`, in order. The beginning that cuts another frame may be spent on
    ending that one, so a frame with such a beginning may be lost."""
    cut = False
    for frame in frames:
        if not cut:
            arrive(frame, lane, view, outcome)
        else:
            perhaps = ControlOutcome(counters=outcome.counters.copy(), bad_ends=outcome.bad_ends)
            arrive(frame, lane, view, perhaps)
            outcome.leaving += [replace(leaving, optional=True) for leaving in perhaps.leaving]
            outcome.mail += [replace(mail, optional=True) for mail in perhaps.mail]
            outcome.uncertain |= perhaps.counters != outcome.counters
            outcome.more_bad[lane] += not frame.good
        cut = frame.sof and not frame.eof


def arrive(frame: RingFrame, lane: int, view: NodeView, outcome: ControlOutcome) -> None:
    """A frame has come in by the port of `lane`. What has no beginning is ignored; a frame that was cut by the next
    one's beginning must be sent on marked, or not at all where its whole would not be."""
    port = lane + 1
    if not frame.sof:
        return
    if not frame.eof:
        _cut(frame, lane, view, outcome)
        return
    if len(frame.data) == wire.FLIT_BYTES:  # no frame: no room for its TTL beside the CRC. How it is counted is open
        outcome.uncertain = True
        return
    if frame.err:
        outcome.counters[f"marked_port{port}"] += 1
    elif not frame.link_ok:
        outcome.counters[f"rx_bad_port{port}"] += 1
        outcome.bad_ends[lane].append(frame.ended)
    bad = frame.err or not frame.link_ok
    _hop(frame.data, bad, frame.err, lane, frame.began, f"lane {lane}", view, outcome)


def _cut(frame: RingFrame, lane: int, view: NodeView, outcome: ControlOutcome) -> None:
    outcome.counters[f"rx_bad_port{lane + 1}"] += 1
    outcome.bad_ends[lane].append(frame.ended + 1)
    whole = ControlOutcome()
    _hop(frame.data + bytes(40), True, False, lane, frame.began, f"lane {lane}", view, whole)
    outcome.leaving += [replace(leaving, cut=True, known=len(frame.data)) for leaving in whole.leaving]
    outcome.mail += [replace(mail, data=frame.data, cut=True) for mail in whole.mail]
    outcome.counters["ttl_dropped"] += whole.counters["ttl_dropped"]
    outcome.counters["purged"] += whole.counters["purged"]


def originate(data: bytes, lane: int, began: int, view: NodeView, outcome: ControlOutcome) -> None:
    """A frame of the GPU's own leaves by the port of `lane`."""
    if not view.bypassed:
        _leave(data, False, lane, began, f"own {lane}", view, outcome)


def _hop(
    data: bytes, bad: bool, marked: bool, lane: int, began: int, stream: str, view: NodeView, outcome: ControlOutcome
) -> None:
    ttl = int.from_bytes(data[4:6], "big")
    if ttl == 0:
        outcome.counters["ttl_dropped"] += 1
        return
    data = data[:4] + (ttl - 1).to_bytes(2, "big") + data[6:]
    if view.bypassed:
        _leave(data, bad, lane, began, stream, view, outcome)
        return
    if data[1] == view.card and int.from_bytes(data[6:8], "big") == view.number:
        outcome.mail.append(Delivered(lane, data, bad))
        return
    record_at, came = None, len(data)
    if data[0] == _STATISTICS:
        flags = int.from_bytes(data[2:4], "big")
        if view.control("monitor"):
            if flags & _FLAG.CIRCULATING:
                outcome.counters["purged"] += 1
                return
            data = data[:2] + (flags | _FLAG.CIRCULATING).to_bytes(2, "big") + data[4:]
        if not flags & _FLAG.WRAPPED:
            if not bad and len(data) >= _WITH_TRAILER:
                outcome.counters["forwarded"] += 1
            data, record_at = _counted(data, bad, marked, lane, flags, view, outcome)
    before = len(outcome.leaving)
    _leave(data, bad, lane, began, stream, view, outcome, record_at)
    if bad and data[0] == _STATISTICS and came < _WITH_TRAILER:
        # Damaged and too short for a statistics frame: what is done to the rest of it is open.
        outcome.leaving[before] = replace(outcome.leaving[before], cut=True)
    if "corrupt" in view.faults and len(data) > 24:
        outcome.leaving[-1] = replace(outcome.leaving[-1], flip=True)


def _counted(
    data: bytes, bad: bool, marked: bool, lane: int, flags: int, view: NodeView, outcome: ControlOutcome
) -> tuple[bytes, int | None]:
    """The frame with this GPU counted in, and its record appended where there is room for it."""
    count, records, limit = (int.from_bytes(data[i : i + 2], "big") for i in (16, 18, 22))
    added = 0 if "skip_count" in view.faults else 2 if "double_count" in view.faults else 1
    count = count + added & 0xFFFF
    record = b""
    if flags & _FLAG.WITH_RECORDS:
        if records < limit & ~wire.OVERFLOW:
            records += 1
            record = _record(count, data, bad, marked, lane, view, outcome)
        else:
            limit |= wire.OVERFLOW
    head = b"".join(n.to_bytes(2, "big") for n in (count, records)) + data[20:22] + limit.to_bytes(2, "big")
    place = len(data) - 8
    return data[:16] + head + data[24:place] + record + data[place:], place if record else None


def _record(
    count: int, data: bytes, bad: bool, marked: bool, lane: int, view: NodeView, outcome: ControlOutcome
) -> bytes:
    """This GPU's record, time stamp 0 and tag to match."""
    bits, flag = 0, wire.RecordFlag
    bits |= flag.ENTRY_CAPABLE * view.control("entry_capable") | flag.BOUNDARY * view.control("boundary")
    bits |= flag.PORT2 * lane | flag.ARRIVED_BAD * (bad and not marked) | flag.ARRIVED_MARKED * marked
    state = (wire.GpuState.DEGRADED if "slow" in view.faults else wire.GpuState.WORKING).code
    errors = outcome.counters[f"rx_bad_port{lane + 1}"]  # this one included
    peer = view.register("boundary_peer") if view.control("boundary") else wire.NO_CARD
    fields: tuple[tuple[int, int], ...] = (
        (view.number, 2),
        (count, 2),
        (state, 1),
        (bits, 1),
        (view.register("gpu_type"), 1),
        (0, 1),
    )
    fields += ((view.register("weight"), 2), (errors & 0xFF, 1), (peer, 1))
    head = b"".join(value.to_bytes(size, "big") for value, size in fields)
    return head + bytes(4)


def stamped(frame: Leaving, stamp: int, more_errors: int = 0) -> bytes:
    """The frame with this time stamp in its record and `errors` more errors, tag and link CRC to match."""
    data = frame.data
    if frame.record_at is not None:
        at = frame.record_at
        errors = data[at + 10] + more_errors & 0xFF
        record = data[at : at + 7] + bytes([stamp]) + data[at + 8 : at + 10] + bytes([errors]) + data[at + 11 : at + 16]
        tag = crc.record_tag(int.from_bytes(data[8:12], "big"), int.from_bytes(data[12:16], "big"), record)
        data = data[:at] + record[:12] + tag.to_bytes(4, "big") + data[at + 16 :]
    link = crc.link_crc(data) ^ (0xFFFFFFFF if frame.bad else 0)
    data = data[:-4] + link.to_bytes(4, "big")
    return data[:17] + bytes([data[17] ^ 1]) + data[18:] if frame.flip else data


def _leave(
    data: bytes,
    bad: bool,
    lane: int,
    began: int,
    stream: str,
    view: NodeView,
    outcome: ControlOutcome,
    record_at: int | None = None,
) -> None:
    link = OUT[lane]
    flags, ttl = int.from_bytes(data[2:4], "big"), int.from_bytes(data[4:6], "big")
    turned = link in view.down
    if ttl > view.longest or (turned and not flags & _FLAG.WRAPPED):
        ttl = view.longest
    if turned:
        flags |= _FLAG.WRAPPED
    data = data[:2] + flags.to_bytes(2, "big") + ttl.to_bytes(2, "big") + data[6:]
    # Nobody listens at a link that isn't used: whether the frame shows on its wire is the node's own business.
    ends, more = outcome.bad_ends[lane], outcome.more_bad[lane]
    leaving = Leaving(link, data, bad, stream, record_at, began, optional=turned, bad_ends=ends, more_bad=more)
    outcome.leaving.append(leaving)
    if not turned:
        return
    if bad:
        outcome.counters[f"marked_port{2 - lane}"] += 1
    # It comes back as it left; a record in it no longer changes, but for the stamp that the node chose.
    other = 1 - lane
    before = len(outcome.leaving)
    _hop(data, bad, bad, other, began, f"{stream}, turned", view, outcome)
    for i in range(before, len(outcome.leaving)):
        again = outcome.leaving[i]
        if record_at is not None and again.record_at is None:
            outcome.leaving[i] = replace(again, record_at=record_at)
