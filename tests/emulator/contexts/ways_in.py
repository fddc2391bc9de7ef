"""When the segments of work reach a GPU's compute engine, of those that its three ports hear.

One flit a cycle reaches it. A frame that has begun goes on to its end; then the next port has its turn, in the order of
the ports. While the GPU is out of the ring frames are thrown away.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringhil.protocol import crc, wire
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import Port

from .ring import Flits

DELAY = 2  # cycles from the wire to the engine
_HEAD = wire.WORK_HEADER_FLITS * wire.FLIT_BYTES


@dataclass(frozen=True)
class Segment:
    """A segment that the engine has read, with its last flit in `cycle`."""

    cycle: int
    port: int
    work: Work


def segments(
    into: Mapping[Port, Sequence[Flits]], lost: Callable[[int], bool], out: Callable[[int], bool]
) -> Iterator[Segment]:
    """Those that arrive whole and right. `lost`: in this cycle the engine reads nothing; `out`: it gets nothing."""
    waiting = {port.code: [*frames] for port, frames in into.items()}
    drained = dict.fromkeys(waiting, 0)  # by port: when the frame before is gone
    free, last = 0, Port.BOUNDARY.code
    while any(waiting.values()):
        heads = {p: max(w[0].cycles[0] + DELAY, drained[p]) for p, w in waiting.items() if w}
        starts = {p: max(head, free) for p, head in heads.items()}
        at = min(starts.values())
        port = min((p for p, start in starts.items() if start == at), key=lambda p: (p - last - 1) % 4)
        thrown = next((cycle for cycle in range(heads[port], at + 1) if out(cycle)), None)
        frame = waiting[port].pop(0)
        cycles = _pops(frame, at if thrown is None else thrown)
        drained[port] = cycles[-1] + 1
        if thrown is None:
            free, last = drained[port], port
            if not any(lost(c) for c in cycles) and (work := _work(frame.data)):
                yield Segment(cycles[-1], port, work)


def _pops(frame: Flits, at: int) -> list[int]:
    """When each flit goes on, the first one not before cycle `at`."""
    cycles: list[int] = []
    for cycle in frame.cycles:
        at = max(at, cycle + DELAY)
        cycles.append(at)
        at += 1
    return cycles


def _work(data: bytes) -> Work | None:
    if data[0] != wire.Kind.WORK.code or crc.e2e_crc(data) != int.from_bytes(data[-8:-4], "big"):
        return None
    _, *fields = Work.HEAD.unpack(data[:_HEAD])
    return Work(*fields, payload=data[_HEAD:-8])
