"""What is watched of the GPU's own results in every case: each says what the segments of its unit ask for."""

from collections.abc import Iterator
from dataclasses import replace

from ringhil.emulator.conformance.end_to_end import right_end_to_end
from ringhil.emulator.conformance.standing import name_of
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import digest, own_answer
from ringhil.emulator.testbench.reference.view import COMMANDS, NodeView
from ringhil.emulator.testbench.stimulus import Fault, Stimulus
from ringhil.emulator.trace.naming import differing
from ringhil.protocol import wire
from ringhil.protocol.frames import Work

WHOLE = "compute.whole"
DEMANDS = {
    WHOLE: "each result says what the segments of its unit ask for, whatever happens beside: digest, length, status"
}
_HEAD = Work.HEAD.size
_Unit = tuple[bytes, ...]


def whole(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """The GPU's own results beside the good segments that came for their units. Of a unit whose segments came in more
    than one shape nothing is said."""
    results = [(link, f) for link, frames in observed.left.items() for f in frames if f.kind == "result" and f.good]
    if not results:
        return
    faults = frozenset(a.name for a in stimulus.actions if isinstance(a, Fault))
    view = NodeView(card=stimulus.card, node=stimulus.node, size=stimulus.size)
    views = view, replace(view, faults=faults)
    came = [f for frames in observed.arrived.values() for f in frames]
    foreign = {name_of(f) for f in came if f.kind == "result"}
    units: dict[_Unit, list[bytes]] = {}
    for frame in came:
        if frame.kind == "work" and frame.good and len(frame.data) > _HEAD and right_end_to_end(frame):
            units.setdefault(_asked(frame.data), []).append(frame.data)
    commands = COMMANDS if observed.registers.get("contexts", 0) else ()  # their answers follow from more than a unit
    for link, frame in results:
        if any(segment[28] in commands for segment in units.get(_answered(frame.data), [])):
            continue
        if name_of(frame) in foreign or not any(own_answer(frame, v) for v in views):
            continue
        why = _complaint(frame.data, units.get(_answered(frame.data), []), "corrupt" in faults)
        if why is not None:
            unit = int.from_bytes(frame.data[12:16], "big")
            yield Breach(WHOLE, frame.ended, f"{link}: the result of unit 0x{unit:X}: {why}")


def _asked(data: bytes) -> _Unit:
    """Whom a segment is from, and of which unit it is."""
    return data[29:30], data[16:18], data[8:16], data[18:20]


def _answered(data: bytes) -> _Unit:
    """Whom a result is for, and of which unit it is."""
    return data[1:2], data[6:8], data[8:16], data[18:20]


def _complaint(data: bytes, segments: list[bytes], corrupt: bool) -> str | None:
    """What is wrong with a result; `segments`: all that came of its unit."""
    shapes: dict[int, set[bytes]] = {}
    for segment in segments:
        shapes.setdefault(_number(segment[20:22]), set()).add(segment[3:4] + segment[20:29] + segment[_HEAD:-8])
    if any(len(shape) > 1 for shape in shapes.values()):
        return None
    whole = {_number(s[20:22]): s for s in segments}
    wanted = [_result(data, one) for number in whole if (one := _unit(whole, number)) is not None]
    if not wanted:
        return "it must be refused: no whole unit has come"
    if any(data == one or (corrupt and _one_bit(data, one)) for one in wanted):
        return None
    return differing(data, wanted[-1])


def _unit(segments: dict[int, bytes], last: int) -> list[bytes] | None:
    """The segments of a unit that ends with segment `last`; None if they are no whole unit that can be computed."""
    end = segments[last]
    if not end[3] & wire.Flag.LAST or any(number not in segments for number in range(last + 1)):
        return None
    parts = [segments[number] for number in range(last + 1)]
    fits = sum(_number(part[22:24]) for part in parts) == _number(end[24:28]) and not end[28]
    return parts if fits else None


def _result(data: bytes, parts: list[bytes]) -> bytes:
    """The result as it must be; what depends on the moment, and the check sums, are as they are."""
    code = digest(b"".join(part[_HEAD:-8] for part in parts)).to_bytes(8, "big")
    status = wire.ResultStatus.DONE.code.to_bytes(2, "big")
    return data[:20] + status + data[22:24] + code + parts[-1][24:28] + data[36:]


def _one_bit(data: bytes, wanted: bytes) -> bool:
    return (_number(data) ^ _number(wanted)).bit_count() == 1


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
