"""A lent card behind QEMU's device `x-pci-proxy-dev`: the protocol of that, and PCI's configuration space.

QEMU asks for each access of its guest, and waits for the answer. All that comes is bounded and checked; on what is no
message of the protocol the line is closed, and the guest reads ones from then on, as of a card that was pulled out.
"""

import array
import os
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.lending.lent_card import BAR_BYTES

VENDOR, DEVICE = 0x1234, 0x5247  # of QEMU's own vendor a number that nobody has
CLASS = 0x120000  # a processing accelerator

_HEAD = struct.Struct("=i4xQ")
_CONFIG = struct.Struct("=IIi")
_ACCESS = struct.Struct("=QQI4x")
_ANSWER = struct.Struct("=i4xQQ")
_MEMORY = 3 * 8 * 8  # bytes: addresses, sizes and offsets of eight areas
_FILES = 8
_ONES = 2**64 - 1
_COMMAND, _BAR, _BARS_END, _ROM = 0x04, 0x10, 0x28, 0x30


class ProxyCommand(IntEnum):
    """Numbers of QEMU's messages (hw/remote, since 6.0)."""

    MEMORY = 0
    ANSWER = 1
    CONFIG_WRITE = 2
    CONFIG_READ = 3
    WRITE = 4
    READ = 5
    INTERRUPT = 6
    RESET = 7


# Bytes behind the head.
_SIZES = {
    ProxyCommand.MEMORY: _MEMORY,
    ProxyCommand.CONFIG_WRITE: _CONFIG.size,
    ProxyCommand.CONFIG_READ: _CONFIG.size,
    ProxyCommand.WRITE: _ACCESS.size,
    ProxyCommand.READ: _ACCESS.size,
    ProxyCommand.INTERRUPT: 0,
    ProxyCommand.RESET: 0,
}
_UNANSWERED = (ProxyCommand.MEMORY, ProxyCommand.INTERRUPT)


class ProxyError(RinghilError, ValueError):
    """Bytes that are no message."""


@dataclass(frozen=True)
class ProxyMessage:
    """`at`: an address on the bus, or an offset in the configuration space; `size` in bytes."""

    command: ProxyCommand
    at: int = 0
    value: int = 0
    size: int = 0


def head_of(data: bytes) -> tuple[ProxyCommand, int]:
    """What a message is, and how many bytes follow, from its first 16 bytes. Raises ProxyError."""
    command, size = _HEAD.unpack(data)
    wanted = _SIZES.get(command)
    if wanted is None:
        raise ProxyError(f"found command {command}; allowed are {', '.join(str(int(each)) for each in _SIZES)}")
    if size != wanted:
        raise ProxyError(f"command {command} has {size} bytes; allowed are {wanted}")
    return ProxyCommand(command), size


def message_of(command: ProxyCommand, body: bytes) -> ProxyMessage:
    """The whole message, from as many bytes as `head_of` said. Raises ProxyError."""
    if command in (ProxyCommand.CONFIG_READ, ProxyCommand.CONFIG_WRITE):
        at, value, size = _CONFIG.unpack(body)
        if size not in (1, 2, 4):
            raise ProxyError(f"command {command} of {size} bytes; allowed are 1, 2 and 4")
        return ProxyMessage(command, at, value, size)
    if command in (ProxyCommand.READ, ProxyCommand.WRITE):
        at, value, size = _ACCESS.unpack(body)
        if size not in (1, 2, 4, 8):
            raise ProxyError(f"command {command} of {size} bytes; allowed are 1, 2, 4 and 8")
        return ProxyMessage(command, at, value, size)
    return ProxyMessage(command)


class BarRegisters(Protocol):
    """What is behind BAR 0."""

    def read(self, offset: int, size: int) -> int:
        """Of so many bytes."""
        ...

    def write(self, offset: int, size: int, value: int) -> None:
        """The same."""
        ...

    def reset(self) -> None:
        """The bus is reset."""
        ...


class ConfigSpace:
    """256 bytes, of which a guest changes the command register and BAR 0."""

    def __init__(self) -> None:
        self._bytes = bytearray(256)
        struct.pack_into("<HH", self._bytes, 0x00, VENDOR, DEVICE)
        self._bytes[0x08:0x0C] = (CLASS << 8).to_bytes(4, "little")
        self._bytes[0x0E] = 0x80  # more functions than this one
        struct.pack_into("<HH", self._bytes, 0x2C, VENDOR, DEVICE)
        # An area in memory, of 32 bits; where it is not writable it reads its size.
        self._writable = bytearray(256)
        struct.pack_into("<H", self._writable, _COMMAND, 0x0006)  # memory accesses, and accesses of its own
        struct.pack_into("<I", self._writable, _BAR, ~(BAR_BYTES - 1) & 0xFFFFFFFF)

    def reset(self) -> None:
        """Nothing is mapped any more."""
        self._bytes[_COMMAND : _COMMAND + 2] = bytes(2)
        self._bytes[_BAR : _BAR + 4] = bytes(4)

    @property
    def base(self) -> int:
        """Address of BAR 0 on the bus."""
        return int.from_bytes(self._bytes[_BAR : _BAR + 4], "little") & ~(BAR_BYTES - 1)

    def read(self, at: int, size: int) -> int:
        """Ones behind the end."""
        if at + size > len(self._bytes):
            return (1 << 8 * size) - 1
        return int.from_bytes(self._bytes[at : at + size], "little")

    def write(self, at: int, size: int, value: int) -> None:
        """Only what may be written changes."""
        if at + size > len(self._bytes):
            return
        for place, byte in enumerate(value.to_bytes(8, "little")[:size], at):
            may = self._writable[place]
            self._bytes[place] = self._bytes[place] & ~may | byte & may


class CardServer:
    """Answers for a card on a line, in a thread of its own, until the line is closed."""

    def __init__(self, card: BarRegisters, line: socket.socket) -> None:
        self._card, self._line, self._config = card, line, ConfigSpace()
        self.ended = ""
        """Why it has ended: nothing where the guest's side was closed."""
        self._thread = threading.Thread(target=self._serve, name="card", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the guest's side is there."""
        return self._thread.is_alive()

    @property
    def mapped(self) -> bool:
        """Whether the guest has given BAR 0 an address, and reads and writes there."""
        return bool(self._config.base and self._config.read(_COMMAND, 2) & 2)

    def attend(self) -> None:
        """The thread does."""

    def close(self) -> None:
        """The guest reads ones from now on."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _serve(self) -> None:
        with self._line:
            try:
                while message := self._next():
                    value = self._answer(message)
                    if message.command not in _UNANSWERED:
                        self._line.sendall(_ANSWER.pack(ProxyCommand.ANSWER, 8, value))
            except ProxyError as error:
                self.ended = str(error)
            except OSError:  # it has gone
                pass

    def _next(self) -> ProxyMessage | None:
        head = self._received(_HEAD.size)
        if not head:
            return None
        command, size = head_of(head)
        return message_of(command, self._received(size))

    def _received(self, size: int) -> bytes:
        """So many bytes; none at the end. Files that come with them (the guest's memory, its interrupts) are closed
        unread: a card that reads no memory of its guest can't be made to."""
        data = b""
        while len(data) < size:
            part, more, *_ = self._line.recvmsg(size - len(data), socket.CMSG_SPACE(_FILES * array.array("i").itemsize))
            for level, kind, files in more:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    _close_all(files)
            if not part:
                if data:
                    raise ProxyError(f"the line ends behind {len(data)} bytes of {size}")
                return b""
            data += part
        return data

    def _answer(self, message: ProxyMessage) -> int:
        match message.command:
            case ProxyCommand.CONFIG_READ:
                return self._config.read(message.at, message.size)
            case ProxyCommand.CONFIG_WRITE:
                self._config.write(message.at, message.size, message.value)
            case ProxyCommand.READ:
                return self._card.read(message.at - self._config.base, message.size)
            case ProxyCommand.WRITE:
                self._card.write(message.at - self._config.base, message.size, message.value)
            case ProxyCommand.RESET:
                self._config.reset()
                self._card.reset()
        return 0


def _close_all(files: bytes) -> None:
    numbers = array.array("i")
    numbers.frombytes(files[: len(files) // numbers.itemsize * numbers.itemsize])
    for number in numbers:
        os.close(number)
