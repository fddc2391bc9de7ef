"""A recording as a packet capture: each message and event is a packet, each link and direction an interface.

The file is pcapng (draft-ietf-opsawg-pcapng), as Wireshark and tshark read it. A cycle is a nanosecond. What the
dissector needs and the bytes don't say comes first in each packet (`protocol/capture.py`). Faults, rejections and the
verdict are comments, too.
"""

import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ringhil.emulator.files import AtomicFile, drop, is_stream, open_stream, reason_of, shown
from ringhil.emulator.trace.recorder import RecordingError
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol import codec
from ringhil.protocol.capture import LINK_TYPE, NOWHERE, VERSION, CaptureFlag, SeenAs
from ringhil.protocol.wire import Port

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_COMMENT, _APPLICATION, _NAME, _DESCRIPTION, _RESOLUTION = 1, 4, 2, 3, 9
_NANOSECONDS = b"\x09"
_LONGEST = 60_000  # bytes of an option

_TO_CPU = WAYS.index("to_cpu")
_PORTS = {port.code: str(port) for port in Port}
_CHANNELS = ("control", "data")


def end_of(way: int, port: int) -> str:
    """Where at a GPU a message was seen: a port of the mailbox; of what came to the CPU, the channel."""
    return _CHANNELS[port] if way == _TO_CPU and port < len(_CHANNELS) else _PORTS.get(port, str(port))


class PcapngWriter:
    """To a file that is written from its beginning. Raises OSError."""

    def __init__(self, file: BinaryIO, *, application: str, comment: str, link_type: int) -> None:
        self._file, self._link_type, self._interfaces = file, link_type, 0
        options = _option(_COMMENT, comment.encode()) + _option(_APPLICATION, application.encode())
        self._block(_SECTION, struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1) + _end(options))

    def interface(self, name: str, description: str) -> int:
        """Its number, for the packets that were seen there."""
        options = _option(_NAME, name.encode()) + _option(_DESCRIPTION, description.encode())
        options += _option(_RESOLUTION, _NANOSECONDS)
        self._block(_INTERFACE, struct.pack("<HHI", self._link_type, 0, 0) + _end(options))
        self._interfaces += 1
        return self._interfaces - 1

    def packet(self, interface: int, nanoseconds: int, data: bytes, comment: str = "") -> None:
        """A packet of an interface; `comment`: of people who look at it."""
        head = struct.pack("<IIIII", interface, nanoseconds >> 32, nanoseconds & 0xFFFFFFFF, len(data), len(data))
        options = _end(_option(_COMMENT, comment.encode())) if comment else b""
        self._block(_PACKET, head + _padded(data) + options)

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value[:_LONGEST])) + _padded(value[:_LONGEST])


def _end(options: bytes) -> bytes:
    return options + struct.pack("<HH", 0, 0)


HEADER = struct.Struct(">BBBBHHQQH")  # the names of the cards follow
DISSECTOR = Path(__file__).with_name("ringhil.lua")
_COMMENTED = frozenset(
    {"Struck", "Rejected", "Suspected", "FirmwareStopped", "FirmwareLost", "NodeLost", "NotLent", "LossOver"}
)
Progress = Callable[[int], None]  # messages and events that are written


def write_capture(recording: Recording, path: Path, on_progress: Progress = lambda done: None) -> int:
    """All messages and events; their number. The file appears when it is whole. Raises RecordingError."""
    with written(path) as file:
        return _Capture(recording, file).write(recording.all(), on_progress)


def follow_capture(recording: Recording, file: BinaryIO, wait: Callable[[], bool]) -> None:
    """The same into a file that somebody reads, as the recording is written; see `Recording.follow`. Raises OSError and
    RecordingError."""

    def waited() -> bool:
        file.flush()
        return wait()

    _Capture(recording, file).write(recording.follow(waited))
    file.flush()


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file of bytes, which appears when it is whole; what is no file is written to as it comes. Raises
    RecordingError."""
    try:
        if is_stream(path):
            out = os.fdopen(open_stream(path), "wb")
            try:
                yield out
                out.flush()
            finally:
                drop(out)
        else:
            with AtomicFile(path, binary=True) as file:
                with file.partial.open("xb") as out:
                    yield out
                file.commit()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RecordingError(f"{shown(path)}: cannot be written: {reason_of(error)}") from None


class _Capture:
    def __init__(self, recording: Recording, file: BinaryIO) -> None:
        about = recording.about
        verdict = "not at its end" if recording.outcome is None else f"verdict {recording.outcome.get('verdict')}"
        self._recording = recording
        self._writer = PcapngWriter(
            file,
            application=f"ringhil {about.ringhil}",
            comment=f"{about.name}: {verdict}; RTL {about.rtl}",
            link_type=LINK_TYPE,
        )
        cards = list(dict.fromkeys(gpu.split(".")[0] for gpu in recording.gpus))
        self._places = [
            (cards.index(card), int(gpu)) for card, _, gpu in (name.partition(".") for name in recording.gpus)
        ]
        self._names = ",".join(cards).encode()
        self._interfaces: dict[tuple[int | None, int, int], int] = {}

    def write(self, every: Iterable[RecordedMessage | RecordedEvent], on_progress: Progress = lambda done: None) -> int:
        number = 0
        for number, told in enumerate(every, 1):
            if isinstance(told, RecordedMessage):
                self._message(told)
            else:
                self._event(told)
            on_progress(number)
        return number

    def _message(self, told: RecordedMessage) -> None:
        found = CaptureFlag.BAD if told.bad else 0
        try:
            codec.decode(told.frame, link=False)
        except codec.FrameError:
            found |= CaptureFlag.WRONG_CRC
        card, gpu = self._places[told.cell]
        seen = (told.way, told.port, found, card, gpu, told.number, told.cycle)
        self._writer.packet(self._interface(told.cell, told.way, told.port), told.cycle, self._head(*seen) + told.frame)

    def _event(self, told: RecordedEvent) -> None:
        card, gpu = (NOWHERE, NOWHERE) if told.cell is None else self._places[told.cell]
        found = CaptureFlag.REJECTED if told.kind == "Rejected" else 0
        head = self._head(SeenAs.EVENT.code, 0, found, card, gpu, told.number, told.cycle)
        text = json.dumps({"kind": told.kind, **self._recording.said(told)}, separators=(",", ":"))
        comment = f"{told.kind}: {told.fields}" if told.kind in _COMMENTED else ""
        self._writer.packet(self._interface(told.cell, SeenAs.EVENT.code, 0), told.cycle, head + text.encode(), comment)

    def _head(self, *seen: int) -> bytes:
        return HEADER.pack(VERSION, *seen, len(self._names)) + self._names

    def _interface(self, cell: int | None, way: int, port: int) -> int:
        key = (cell, way, port)
        number = self._interfaces.get(key)
        if number is None:
            gpu = "server" if cell is None else self._recording.gpus[cell]
            if way == SeenAs.EVENT.code:
                name, text = f"{gpu} events", "what firmware, CPU and timeline said or did"
            else:
                end = end_of(way, port)
                name = f"{gpu} {WAYS[way]} {end}"
                text = f"messages {WAYS[way].replace('_', ' ')} at GPU {gpu}, by {end}"
            number = self._interfaces[key] = self._writer.interface(name, text)
        return number
