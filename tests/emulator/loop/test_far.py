"""What the far end says of itself at `attach` is minded; requests are numbered round; an answer may take its time."""

from dataclasses import replace
from unittest import mock

import pytest

from ringhil.emulator.loop import board
from ringhil.emulator.loop.alone.servers import TWO, boot_of
from ringhil.emulator.loop.far import FarFirmware
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.firmware.observations import Counted
from ringhil.protocol.line import firmware_messages as m
from ringhil.protocol.line.firmware_codec import decode, encode, joined
from ringhil.protocol.line.framing import LONGEST, Unwrapper, wrap
from ringhil.protocol.wire import CensusVerdict

BOOT = boot_of(TWO, "a.3")
FRAME = bytes(64)
ASKED = 13 + len(FRAME)  # bytes of the request that carries it


class Small:
    """Takes, and gives, messages of so many bytes; answers as many as it is told to."""

    def __init__(self, longest: int, answers: bytes = b"") -> None:
        self.longest, self.answers, self.asked = longest, answers, list[bytes]()

    def __call__(self, request: bytes) -> bytes:
        self.asked.append(request)
        message = decode(request)
        if isinstance(message, m.AttachRequest):
            return encode(m.AttachReply(message.id, 1, 0, self.longest, b"small"))
        assert isinstance(message, m.BootRequest | m.GroupRequest | m.RoutesRequest | m.FrameRequest)
        return encode(m.DoneReply(message.id, self.answers if isinstance(message, m.FrameRequest) else b""))


def test_who_takes_a_message_of_that_length_is_told_it() -> None:
    far = Small(ASKED)
    FarFirmware(far, BOOT).on_frame(FRAME, 0, bad=False, now=7)
    assert len(far.asked[-1]) == ASKED


def test_who_takes_none_so_long_is_not_asked() -> None:
    far = Small(ASKED - 1)
    firmware = FarFirmware(far, BOOT)
    with pytest.raises(FirmwareError, match=r"^frame: has 77 bytes; this firmware takes messages of 76 at most$"):
        firmware.on_frame(FRAME, 0, bad=False, now=7)
    assert all(len(request) < ASKED for request in far.asked)


def test_no_answer_is_longer_than_that_either() -> None:
    action = bytes((0, 2, 0x43, 1))
    assert FarFirmware(Small(ASKED, 18 * action), BOOT).on_frame(FRAME, 0, bad=False, now=7)
    firmware = FarFirmware(Small(ASKED, 19 * action), BOOT)
    with pytest.raises(FirmwareError, match=r"^frame: found an answer of 79 bytes; .* messages of 77 at most$"):
        firmware.on_frame(FRAME, 0, bad=False, now=7)


def test_requests_are_numbered_round() -> None:
    far = Small(ASKED)
    firmware = FarFirmware(far, BOOT)
    firmware._id = 0xFFFE
    for _ in range(3):
        firmware.on_frame(FRAME, 0, bad=False, now=7)
    assert [request[1:3].hex() for request in far.asked[-3:]] == ["ffff", "0000", "0001"]


def test_an_answer_to_another_request_is_none() -> None:
    far = Small(ASKED)

    def next_one(request: bytes) -> bytes:
        """Of a frame, as if the request had been the next one."""
        answer = far(request)
        return answer if request[0] != m.FrameRequest.TYPE else answer[:2] + bytes((answer[2] + 1,)) + answer[3:]

    firmware = FarFirmware(next_one, BOOT)
    with pytest.raises(FirmwareError, match=r"^the answer has id \d+; wanted is \d+$"):
        firmware.on_frame(FRAME, 0, bad=False, now=7)
    assert far.asked[-1][0] == m.FrameRequest.TYPE


def test_a_set_of_many_gpus_has_many_words() -> None:
    """Members and degraded GPUs, bit i of word w is GPU 64 w + i; boundary GPUs follow, each with its card."""
    members, degraded = (1 << 63 | 1, 1 << 5, 2), (0, 1 << 63, 0)
    count = m.CountedAction(4, 0, 0xFFFF, 128, 3, 77, 9, 1, (*members, *degraded, 129 << 8 | 2, 63 << 8 | 1))
    firmware = FarFirmware(Small(1000, joined([count])), replace(BOOT, gpus=130))
    assert firmware.on_frame(FRAME, 0, bad=False, now=7) == [
        Counted(
            count=4,
            members=(0, 63, 69, 129),
            verdict=CensusVerdict.of(0),
            break_after=None,
            break_before=128,
            sequence=3,
            sent_at=77,
            degraded=(127,),
            boundaries=((129, 2), (63, 1)),
            weight=9,
        )
    ]


class Dripping:
    """A port whose answers come in pieces, each after most of the time for which silence is borne."""

    def __init__(self, far: Small) -> None:
        self._far, self._requests, self._coming = far, Unwrapper(), b""
        self.time, self.timeout, self.in_waiting, self.asked = 0.0, board.PATIENCE, 0, 0

    def monotonic(self) -> float:
        return self.time

    def fileno(self) -> int:
        raise OSError("there is no such thing")

    def write(self, data: bytes) -> None:
        self.asked += 1
        (request,) = self._requests.feed(data)
        assert isinstance(request, bytes)
        self._coming = wrap(self._far(request))

    def read(self, size: int) -> bytes:
        self.time += 0.8 * board.PATIENCE
        data, self._coming = self._coming[:4], self._coming[4:]
        return data


def test_an_answer_that_is_coming_is_waited_for() -> None:
    """For as long as the longest one takes on a line of that speed, and asked for once."""
    port = Dripping(Small(ASKED))
    with mock.patch.object(board, "opened_port", return_value=port):
        board.Board("in this process")
    assert (port.asked, port.time > 3 * board.PATIENCE) == (1, True)


class Port:
    """A port at which these bytes come, again and again, each time when most of what is borne has passed; b"": none."""

    def __init__(self, says: bytes) -> None:
        self._says, self.time, self.timeout, self.in_waiting, self.asked = says, 0.0, 0.0, 0, 0

    def monotonic(self) -> float:
        return self.time

    def fileno(self) -> int:
        raise OSError("there is no such thing")

    def write(self, data: bytes) -> None:
        self.asked += 1

    def read(self, size: int) -> bytes:
        self.time += min(self.timeout, 0.9) if self._says else self.timeout
        return self._says


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"", "no answer, asked 4 times"),
        (b"hello world\r\n", "no answer, asked 4 times; what came is no message: found 68 65 6c 6c 6f 20 77 6f"),
        (wrap(b"hello"), "no answer, asked 4 times; 20 messages came that are no answers"),
    ],
)
def test_who_does_not_answer_is_given_up_in_time(says: bytes, why: str) -> None:
    """A second in which nothing comes, four times; of one that talks that and what the longest messages take."""
    port = Port(says)
    with mock.patch.object(board, "opened_port", return_value=port), pytest.raises(FirmwareError) as caught:
        board.Board("in this process", baud=115_200)
    assert str(caught.value) == f"in this process: this is no firmware of a GPU: {why}"
    longest = 2 * LONGEST * 10 / 115_200
    assert port.asked == 4
    assert 4.0 - 1e-6 < port.time <= (4 * (1.0 + longest) if says else 4.0) + 1e-6
