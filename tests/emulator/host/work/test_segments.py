"""Work frames as the CPU writes them are work frames by the wire's definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.engine.engine import TO_CPU, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.work.segments import Route, flits, segments
from ringhil.emulator.host.work.workload import digest
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Result, Work


def on_the_link(frame: bytes) -> bytes:
    """With the link CRC, which the sending link writes."""
    return frame[:-4] + crc.link_crc(frame).to_bytes(4, "big")


ROUTES = st.builds(
    Route,
    card=st.integers(0, 255),
    entry=st.integers(0, 1023),
    gpu=st.integers(0, 1023),
    ccw=st.booleans(),
    ttl=st.integers(1, 1025),
    via=st.integers(0, 255),
    epoch=st.integers(0, 2**32 - 1),
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**16 - 1), st.binary(min_size=1, max_size=1500), ROUTES)
def test_they_decode_and_carry_the_unit(unit: int, attempt: int, data: bytes, route: Route) -> None:
    frames = [codec.decode(on_the_link(frame)) for frame in segments(unit, attempt, data, route)]
    arrived = b""
    for number, frame in enumerate(frames):
        assert isinstance(frame, Work)
        assert (frame.unit, frame.attempt, frame.segment) == (unit, attempt, number)
        assert (frame.card, frame.destination) == (route.card, route.gpu)
        assert (frame.source_card, frame.source, frame.epoch) == (route.via, route.entry, route.epoch)
        assert (frame.ttl, frame.length) == (route.ttl, len(data))
        last = number == len(frames) - 1
        assert frame.flags == (wire.Flag.LAST if last else 0) | (wire.Flag.CCW if route.ccw else 0)
        assert frame.segment_bytes == wire.SEGMENT_BYTES or last
        assert not any(frame.payload[frame.segment_bytes :])
        arrived += frame.payload[: frame.segment_bytes]
    assert arrived == data


@given(st.binary(min_size=1, max_size=1500), ROUTES)
def test_they_are_as_the_construct_definition_builds_them(data: bytes, route: Route) -> None:
    for frame in segments(7, 1, data, route):
        parsed = wire.Work.parse(on_the_link(frame))
        assert wire.Work.build(parsed) == on_the_link(frame)
        assert parsed.e2e_crc == crc.e2e_crc(frame)


@given(st.integers(1, 70_000))
def test_their_flits_are_counted_right(length: int) -> None:
    frames = segments(1, 1, bytes(length), Route(0, 0, 0, 1, False, 3, 1))
    assert flits(length) == sum(len(frame) for frame in frames) // wire.FLIT_BYTES
    assert max(map(len, frames)) <= wire.DATA_FRAME_FLITS * wire.FLIT_BYTES


@pytest.mark.parametrize("gpu", [0, 1])
def test_the_gpu_answers_with_the_digest_that_the_cpu_computes(gpu: int) -> None:
    """For every length of one byte to more than two segments."""
    lengths = range(1, 601)
    with Engine(cells_library(), Topology((2,))) as engine:
        engine.poke(0, "control", 1)
        for length in lengths:
            data = (length.to_bytes(3, "big") * 200)[:length]
            engine.send_from_cpu(0, segments(length, 1, data, Route(0, 0, 0, gpu, False, 3, 1)), at=engine.now)
            events = engine.run(engine.now + 5000)
            (row,) = events.table
            assert (row["kind"], row["cell"], row["bad"]) == (TO_CPU, 0, 0)
            result = codec.decode(events.frame(row))
            assert isinstance(result, Result)
            assert (result.unit, result.source, result.length) == (length, gpu, length)
            assert result.digest == digest(data), length
