"""A person at a terminal on a card's management port: lines are read, answers are words.

Whoever sends a zero byte speaks the protocol. Until then, and again after the last zero byte, what is printable and
ends with Enter is a line of a person's; from the first one on the port has a prompt, and echoes. Enter alone may be the
first byte of a message: after a zero byte the key behind it decides. A key behind a write waits until that holds.
"""

from collections import deque
from collections.abc import Callable
from textwrap import fill

from ringhil.emulator.scenario.file.topology import Card
from ringhil.emulator.serial.port.managed_card import NotDone
from ringhil.emulator.serial.words import (
    EVENTS,
    RingCensus,
    address_of,
    bytes_of,
    census_text,
    event_document,
    event_kinds,
    fault_of,
    gpu_of,
    number_of,
    place_of,
    port_of,
    register_of,
    register_text,
)
from ringhil.protocol import registers
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Injection, LineFault
from ringhil.protocol.wire import Port

_LONGEST = 200  # bytes of a line
_ENTER, _ERASE, _CANCEL = b"\r\n", b"\b\x7f", b"\x03\x15"
_PRINTED = bytes(range(0x20, 0x7F))
_TYPED = _PRINTED + b"\t" + _ENTER + _ERASE + _CANCEL
_PROMPT = "> "
_FAULTS = fill(", ".join(LineFault), 79, initial_indent=" " * 28, subsequent_indent=" " * 28).lstrip()
HELP = f"""\
info                        what this card is
census, last                have the ring counted; the last accepted count
time                        cycles since power-up
read GPU [REGISTER]         registers by name or address; without one all. GPU: 3 or a.3
write GPU REGISTER VALUE    numbers are decimal or 0x...
send GPU PORT HEX           a frame, by {", ".join(Port)}
fault FAULT GPU [VALUE]     {_FAULTS}
                            of a link: the link from GPU on, or by its name, a.3-a.4
clear FAULT GPU             end a fault
watch KINDS | off           events, a line each: {", ".join(EVENTS)}
help                        this
"""

Ask = Callable[[m.Message, Callable[[m.Message], None]], None]


class Terminal:
    """`ask` carries a request out, and raises NotDone; `say` sends bytes to the terminal. `keys`: what is typed, and
    waits for `press`."""

    def __init__(self, card: Card, ask: Ask, say: Callable[[bytes], None]) -> None:
        self._card, self._ask, self._say = card, ask, say
        self._line = bytearray()
        self._held = b""  # what may be a person's first line
        self._fresh = True  # no zero byte has come
        self._between = True  # no message of the protocol has begun
        self._after_return = False
        self.keys = deque[int]()
        self.present = False
        self.watched = 0  # kinds of events

    def sift(self, data: bytes) -> bytes:
        """Returns what has come without what a person has typed. No earlier keys may wait."""
        if b"\0" in data:
            self._fresh = False
            return self._leave(between=data.endswith(b"\0")) + data
        if not self._between:
            return data
        if self.present:
            if data.strip(_TYPED):
                return self._leave(between=False) + data
        else:
            data = self._held + data
            person = self._is_a_person(data)
            if person is False:
                self._held = b""
                return self._leave(between=False) + data
            self._held = b"" if person else data
            if person is None:
                return b""
        self.keys.extend(data)
        return b""

    def press(self) -> None:
        """Handles the next key."""
        self._key(self.keys.popleft())

    def _is_a_person(self, data: bytes) -> bool | None:
        """Tells a person by the first line; None means that it is not decided yet.

        The first byte of a message, how far its first zero is, may be Enter, or any character; the second one, its
        type, is none that is printed. Types that are Enter belong to requests so short that the first byte is neither.
        """
        end = next((at for at, byte in enumerate(data) if byte in _ENTER), None)
        line = data[:end]
        if line.strip(_TYPED if self._fresh else _PRINTED) or len(line) > _LONGEST:
            return False
        if end is None:
            return None
        if self._fresh or end:
            return True
        return data[1] in _PRINTED + _ENTER if len(data) > 1 else None

    def follow(self, kinds: int, event: m.Message) -> None:
        """Prints an event if the person watches its kind."""
        if self.present and self.watched & kinds:
            self._print(" ".join(f"{key}={value}" for key, value in event_document(event).items()))

    def _leave(self, *, between: bool) -> bytes:
        """Ends typing, and returns what was held back."""
        held, self._held = self._held, b""
        self._line.clear()
        self._between, self.present, self.watched = between, False, 0
        return held

    # ---------------------------------------------------------------------------------------------------- keys

    def _key(self, byte: int) -> None:
        after_return, self._after_return = self._after_return, byte == _ENTER[0]
        if byte == _ENTER[1] and after_return:
            return  # the second byte of an Enter
        if byte in _ENTER:
            self._enter()
        elif byte in _CANCEL:
            self._line.clear()
            self._echo(f"^C\r\n{_PROMPT}")
        elif byte in _ERASE:
            if self._line:
                self._line.pop()
                self._echo("\b \b")
        elif byte in _TYPED and len(self._line) < _LONGEST:
            self._line.append(byte)
            self._echo(chr(byte))

    def _echo(self, text: str) -> None:
        if self.present:
            self._say(text.encode())

    def _enter(self) -> None:
        words = self._line.decode().split()
        self._line.clear()
        if not self.present:
            self.present = True
            self._say(
                f"\r\ncard {self._card.name}, emulated: a management port of ringhil's. Type `help`.\r\n".encode()
            )
        else:
            self._say(b"\r\n")
        if words:
            try:
                self._do(words[0], words[1:])
            except (NotDone, ValueError) as error:
                self._write(str(error))
        self._say(_PROMPT.encode())

    def _write(self, text: str) -> None:
        self._say("".join(f"{line}\r\n" for line in text.splitlines()).encode())

    def _print(self, text: str) -> None:
        """Prints a line and then repeats what is being typed."""
        self._say(b"\r")
        self._write(text)
        self._say(_PROMPT.encode() + bytes(self._line))

    # ------------------------------------------------------------------------------------------------ commands

    def _do(self, command: str, words: list[str]) -> None:
        match command, words:
            case "help", []:
                self._write(HELP)
            case "info", []:
                self._request(m.HelloRequest(0, 1, 0))
            case "census", []:
                self._write("counting")
                self._ask(m.CensusRequest(0), self._later)
            case "last", []:
                self._request(m.LastCensusRequest(0))
            case "time", []:
                self._request(m.TimeRequest(0))
            case "read", [gpu, *names] if len(names) < 2:
                for name in names or [register.name for register in registers.REGISTERS]:
                    self._read(self._gpu(gpu), name)
            case "write", [gpu, register, value]:
                self._ask(m.WriteRequest(0, self._gpu(gpu), address_of(register), number_of(value)), self._later)
            case "send", [gpu, port, frame]:
                self._request(m.SendRequest(0, self._gpu(gpu), port_of(port).code, bytes_of(frame)))
            case "fault", [fault, gpu, *value] if len(value) < 2:
                self._inject(Injection.SET, fault, gpu, number_of(value[0]) if value else 0)
            case "clear", [fault, gpu]:
                self._inject(Injection.CLEAR, fault, gpu, 0)
            case "watch", [kinds]:
                self.watched = 0 if kinds == "off" else event_kinds(kinds)
            case _:
                self._write(f"{' '.join([command, *words])}: no such command; `help` lists them")

    def _request(self, request: m.Message) -> None:
        self._ask(request, lambda reply: self._write(_words(reply)))

    def _later(self, reply: m.Message) -> None:
        if self.present:
            self._print(_words(reply))

    def _read(self, gpu: int, name: str) -> None:
        def show(reply: m.Message) -> None:
            assert isinstance(reply, m.ReadReply)
            self._write(register_text(register_of(name), reply.value))

        self._ask(m.ReadRequest(0, gpu, address_of(name)), show)

    def _inject(self, injection: Injection, fault: str, gpu: str, value: int) -> None:
        found = fault_of(fault)
        place = place_of(found, gpu, self._card.name, self._card.gpus)
        self._request(m.InjectRequest(0, injection.code, found.code, place, value))

    def _gpu(self, text: str) -> int:
        return gpu_of(text, self._card.name)


def _words(reply: m.Message) -> str:
    match reply:
        case m.HelloReply():
            return f"card {reply.name.decode(errors='replace')}, {reply.gpus} GPUs, cycle {reply.now}"
        case m.CensusReply() | m.LastCensusReply():
            return census_text(RingCensus.of(reply))
        case m.RefusedReply():
            return reply.text.decode(errors="replace")
        case m.TimeReply():
            return f"cycle {reply.now}"
        case m.WriteReply() | m.SendReply() | m.InjectReply():
            return f"done at cycle {reply.now}"
    raise AssertionError(f"no words for {reply}")
