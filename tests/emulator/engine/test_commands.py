"""Commands to contexts, frame by frame: a driver of another make may cut them as it likes."""

from collections.abc import Sequence

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.protocol import codec, frames, wire
from ringhil.protocol.wire import Compute

from .stimulus import run_for

GPUS = 3
ENTRY = 0b0111


def command(compute: Compute, context: int, number: int, payload: bytes, cut: Sequence[int] = ()) -> list[bytes]:
    """A command to GPU 1, cut into segments at these bytes of `payload`."""
    ends = [*cut, len(payload)]
    parts = [payload[begin:end] for begin, end in zip([0, *cut], ends, strict=True)]
    answer = []
    for segment, part in enumerate(parts):
        flags = wire.Flag.LAST * (segment == len(parts) - 1)
        head = (0, flags, GPUS + 1, 1, 1, number, 0, 0, segment, len(part), len(payload), compute.code, 0, context)
        answer.append(codec.encode(frames.Work(*head, part)))
    return answer


def head(key: int, amount: int) -> bytes:
    """The first 16 bytes of a command's payload: its slice, priority and state are 0."""
    return key.to_bytes(4, "big") + amount.to_bytes(4, "big") + bytes(8)


def answers(engine: Engine, parts: list[bytes]) -> list[frames.Frame]:
    """What comes back to the CPU within 3,000 cycles."""
    engine.send_from_cpu(0, parts, at=engine.now)
    return [codec.decode(told[-1], link=False) for told in run_for(engine, 3000)]


def started(library: Library | None = None) -> Engine:
    """A card whose GPU 0 is the entry."""
    engine = Engine(library or cells_library(), Topology((GPUS,)))
    engine.poke(0, "control", ENTRY)
    run_for(engine, 10)
    return engine


@pytest.mark.parametrize("cut", [(8,), (16,), (8, 16), (8, 16, 24)])
def test_a_command_may_be_cut_anywhere(cut: tuple[int, ...]) -> None:
    engine = started()
    payload = head(7, 0x12345678) + bytes(range(16))
    (created,) = answers(engine, command(Compute.CREATE, 3, 1, payload, cut))
    assert isinstance(created, frames.Result)
    assert (created.status, created.digest) == (wire.ResultStatus.DONE.code, 0x12345678)
    (told,) = answers(engine, command(Compute.QUERY, 3, 2, head(7, wire.Query.MEMORY.code)))
    assert isinstance(told, frames.Result)
    assert told.digest == 0x12345678
