"""Whatever a line brings to the driver in C, it reads and writes nothing beyond its buffers, and comes to an end."""

import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import EventKind, Refusal, Way
from ringhil.protocol.wire import AckStatus, ResultStatus

from . import library as c

GPU, CONTEXT, NOW = 2, 3, 5000
# Segments of each command, and what it is answered; then the end of the launch.
COMMANDS = ((1, ResultStatus.DONE), (1, ResultStatus.DONE), (3, ResultStatus.DONE), (1, ResultStatus.STARTED))
COMMANDS += ((1, ResultStatus.DONE),)


def answer(number: int, status: ResultStatus) -> m.FrameEvent:
    """To command `number`, from 0, as it is told."""
    unit = 0x80000000 | (NOW // 16 + 1 + number) << 4 | CONTEXT
    result = Result(0, 5, 3, 0, 1, unit, GPU, 1, status.code, 0, 0, 10 << 32 | 60, 16, 0)
    return m.FrameEvent(0, 0, 1, Way.TO_CPU.code, 0, NOW, codec.encode(result))


def right() -> list[m.Message]:
    """What a card says to all of it."""
    said: list[m.Message] = [m.HelloReply(1, 1, 0, 0, 4, 7, 16488, 0, 0, NOW, b"a")]
    said.append(m.SubscribeReply(2, EventKind.ANSWERS, NOW))
    for number, (segments, status) in enumerate((*COMMANDS, (1, ResultStatus.DONE))):
        said.append(m.LastCensusReply(len_of(said), 1, 9, 0, 4, 4, 1, 0, 0, 1, 2, 3, 0, (0b1111,)))
        said += [m.SendReply(len_of(said) + n, NOW) for n in range(segments)]
        said.append(answer(number, status))
        if number == len(COMMANDS) - 1:
            said.append(answer(3, ResultStatus.DONE))  # the launch is over
    return said


def len_of(said: list[m.Message]) -> int:
    """The next id of a request."""
    return 1 + sum(message.id != 0 for message in said)


def changed(message: m.Message, dice: random.Random) -> m.Message:
    """Something else that a card may say in its place."""
    match message:
        case m.FrameEvent():
            result = codec.decode(message.frame)
            assert isinstance(result, Result)
            refusal = Acknowledgement(
                0, 5, 3, 0, 1, result.unit, GPU, 1, dice.choice([*AckStatus.codes().values()]), 0, 0
            )
            other = replace(result, status=dice.randrange(9), unit=result.unit + dice.choice([0, 0, 16, -16, 1]))
            cut = message.frame[: dice.randrange(len(message.frame))]
            return replace(message, frame=dice.choice([codec.encode(refusal), codec.encode(other), cut]))
        case m.LastCensusReply():
            size, entry = dice.choice([0, 1, 4, 1024, 1025, 65535]), dice.choice([0, 3, 1023, 65535])
            return replace(message, size=size, entry=entry, members=tuple(dice.randbytes(dice.randrange(30))))
    return m.RefusedReply(message.id, dice.choice([*Refusal.codes().values()]), b"no")


def inputs(count: int, seed: int) -> Iterator[bytes]:
    """All that is right first; then with messages left out, doubled and changed, and bytes of them."""
    dice, said = random.Random(seed), right()
    yield b"".join(wrap(encode(message)) for message in said)
    for _ in range(count - 1):
        line = bytearray()
        for message in said:
            draw = dice.random()
            message = changed(message, dice) if draw < 0.1 else message
            data = bytearray(encode(message))
            if draw > 0.95:  # damaged where no CRC shows it
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            for _ in range(dice.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2])):
                line += wrap(bytes(data))
        if dice.random() < 0.2 and line:
            line[dice.randrange(len(line))] ^= 0x55
        yield bytes(line)


def fuzz(program: Path, count: int, seed: int) -> list[int]:
    lines = b"".join(len(line).to_bytes(4) + line for line in inputs(count, seed))
    done = subprocess.run([program], input=lines, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return [int(word) for word in done.stdout.split()]


@pytest.mark.rest
def test_no_line_makes_it_read_or_write_beyond_what_is_there(tmp_path: Path) -> None:
    program = c.program("fuzz_driver", tmp_path, *c.SANITIZED)
    assert fuzz(program, 1, 1) == [1, 7, 0, 0, 0, 0]
    seen, *ends = fuzz(program, 4000, 1)
    assert seen == 4000
    assert all(end > 100 for end in ends), ends


@pytest.mark.slow(part="benches")
def test_nor_do_many_lines(tmp_path: Path) -> None:
    assert fuzz(c.program("fuzz_driver", tmp_path, *c.SANITIZED), 50_000, 10)[0] == 50_000
