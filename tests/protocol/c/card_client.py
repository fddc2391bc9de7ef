"""The C client with the calls of CardClient: the library does all but move bytes."""

import ctypes
from collections import deque
from collections.abc import Iterator
from typing import Any

from ringhil.emulator.serial.client import LINE_GONE, CardError, Info, RefusedError, arrived, line_gone
from ringhil.emulator.serial.words import RingCensus, address_of
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode
from ringhil.protocol.line.framing import CRC_BYTES, LONGEST
from ringhil.protocol.line.management import Capability, Injection, LineFault, Refusal, Type

from . import library as c
from .ends import EVENT, GONE, OK, READ, REFUSED, WRITE, Client, Stream

_ROOM = 400  # bytes of a request
_SLICE = 0.05  # seconds of listening
_WHY = {2: "no answer: nothing came", GONE: LINE_GONE, 4: "no room", 5: "an answer to another request, or version"}


class CClient:
    """A card at the other end of `line`, an open port of pyserial's. `timeout`: seconds for an answer. Says hello at
    once. Raises CardError."""

    def __init__(self, built: ctypes.CDLL, line: Any, timeout: float) -> None:
        self._built, self._line, self._timeout = built, line, timeout
        self._patience, self._end = timeout, 0.0
        self._coming, self._events = bytearray(), deque[m.Message]()
        self._in, self._out = ctypes.create_string_buffer(LONGEST + CRC_BYTES), ctypes.create_string_buffer(_ROOM)
        self._client = Client()
        self._calls = WRITE(self._write), READ(self._read), EVENT(self._event)  # kept, as C holds them
        sizes = ctypes.c_size_t(LONGEST + CRC_BYTES), ctypes.c_size_t(_ROOM)
        stream = Stream(None, self._calls[0], self._calls[1])
        built.rh_client_init(ctypes.byref(self._client), stream, self._in, sizes[0], self._out, sizes[1])
        self._client.on_event = self._calls[2]
        hello = self._reply(Type.HELLO_REPLY, built.rh_hello, b"ringhil in C")
        able = tuple(bit.word for bit in Capability if hello.capabilities & bit)
        about = (hello.card, hello.gpus, able, hello.clock, hello.serial, hello.now)
        self.info = Info(_tail(hello, "name").decode(), f"{hello.major}.{hello.minor}", *about)

    def now(self) -> int:
        found = ctypes.c_uint64()
        self._do(self._built.rh_time, ctypes.byref(found))
        return found.value

    def read(self, gpu: int, register: str | int) -> int:
        found = ctypes.c_uint32()
        self._do(self._built.rh_read, ctypes.c_uint16(gpu), ctypes.c_uint8(address_of(register)), ctypes.byref(found))
        return found.value

    def write(self, gpu: int, register: str | int, value: int) -> None:
        where = ctypes.c_uint16(gpu), ctypes.c_uint8(address_of(register))
        self._do(self._built.rh_write, *where, ctypes.c_uint32(value))

    def census(self, *, timeout: float | None = None) -> RingCensus:
        self._patience = timeout or 10 * self._timeout
        try:
            return self._counted(self._reply(Type.CENSUS_REPLY, self._built.rh_census), m.CensusReply)
        finally:
            self._patience = self._timeout

    def last_census(self) -> RingCensus:
        return self._counted(self._reply(Type.LAST_CENSUS_REPLY, self._built.rh_last_census), m.LastCensusReply)

    def fault(self, fault: LineFault, gpu: int) -> None:
        self._inject(Injection.SET, fault, gpu)

    def clear(self, fault: LineFault, gpu: int) -> None:
        self._inject(Injection.CLEAR, fault, gpu)

    def subscribe(self, events: int) -> None:
        self._do(self._built.rh_subscribe, ctypes.c_uint16(events))

    def line(self) -> m.LineReply:
        """By `rh_ask`: the library has no call of its own for it."""
        request = c.structure(Type.LINE)(self._built.rh_next_id(ctypes.byref(self._client)) & 0xFFFF)
        packed, reply = ctypes.create_string_buffer(32), ctypes.POINTER(ctypes.c_uint8)()
        length = self._built.rh_pack_line(ctypes.byref(request), packed, ctypes.c_size_t(32))
        came = ctypes.c_size_t()
        self._do(self._built.rh_ask, packed, ctypes.c_size_t(length), ctypes.byref(reply), ctypes.byref(came))
        found = decode(bytes(reply[: came.value]))
        assert isinstance(found, m.LineReply)
        return found

    def events(self, seconds: float) -> Iterator[m.Message]:
        end = self._line.monotonic() + seconds
        while True:
            while self._events:
                yield self._events.popleft()
            left = end - self._line.monotonic()
            if left <= 0:
                return
            self._patience = min(left, _SLICE)
            try:
                self._do(self._built.rh_listen)
            finally:
                self._patience = self._timeout

    # ------------------------------------------------------------------------------------------- how it is done

    def _inject(self, injection: Injection, fault: LineFault, gpu: int) -> None:
        what = ctypes.c_uint8(injection.code), ctypes.c_uint8(fault.code)
        self._do(self._built.rh_inject, *what, ctypes.c_uint16(gpu), ctypes.c_uint32(0))

    def _reply(self, kind: Type, call: Any, *arguments: Any) -> Any:
        reply = c.structure(kind)()
        self._do(call, *arguments, ctypes.byref(reply))
        return reply

    def _do(self, call: Any, *arguments: Any) -> None:
        status = call(ctypes.byref(self._client), *arguments)
        if status == REFUSED:
            refusal = self._client.refusal
            text = _tail(refusal, "text").decode(errors="replace")
            raise RefusedError(Refusal.of(refusal.why), f"the card refuses: {text} ({Refusal.of(refusal.why)})")
        if status != OK:
            raise CardError(_WHY[status])

    def _counted(self, reply: Any, kind: type[m.CensusReply] | type[m.LastCensusReply]) -> RingCensus:
        words = _tail(reply, "members", 8)
        members = tuple(int.from_bytes(words[at : at + 8], "big") for at in range(0, len(words), 8))
        values = [getattr(reply, name) for name in kind.__slots__ if name != "members"]
        try:
            return RingCensus.of(kind(*values, members))
        except ValueError as error:
            raise CardError(str(error)) from None

    def _write(self, context: object, data: "ctypes._Pointer[ctypes.c_uint8]", length: int) -> int:
        try:
            with line_gone():
                self._line.write(bytes(data[:length]))
        except CardError:
            return 0
        return 1

    def _read(self, context: object, byte: "ctypes._Pointer[ctypes.c_uint8]", restart: int) -> int:
        if restart:
            self._end = self._line.monotonic() + self._patience
        if not self._coming:
            left = self._end - self._line.monotonic()
            try:
                self._coming += arrived(self._line, left) if left > 0 else b""
            except CardError:
                return -1
        if not self._coming:
            return 0
        byte[0] = self._coming.pop(0)
        return 1

    def _event(self, context: object, data: "ctypes._Pointer[ctypes.c_uint8]", length: int) -> None:
        self._events.append(decode(bytes(data[:length])))


def _tail(structure: Any, name: str, size: int = 1) -> bytes:
    """A field that points into the client's buffer. As a string it would end at a zero byte."""
    pointer = ctypes.c_void_p.from_buffer(structure, getattr(type(structure), name).offset).value
    return ctypes.string_at(pointer, size * structure.tail_size) if pointer else b""
