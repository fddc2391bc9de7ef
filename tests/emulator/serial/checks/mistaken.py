"""Cards that break one promise each: a real emulated card behind a line that lies.

What a mistake changes are messages on their way: those of the client (`asked`), those of the card (`told`), or bytes
of the client. `MISTAKES` has each by its name, with the rule that has to find it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cobs import cobs

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode, encode
from ringhil.protocol.line.framing import CRC_BYTES, Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import Capability, EventKind, Refusal
from ringhil.protocol.registers import REGISTERS

READ_ONLY = {register.address for register in REGISTERS if register.access == "ro"}


class Honest:
    """A line that hides nothing. `reply` sends the client a message of one's own."""

    timeout: float | None = None

    def __init__(self, line: Any) -> None:
        self.card = line
        self.monotonic = line.monotonic
        self._from_card, self._from_client = Unwrapper(), Unwrapper()
        self._ready = bytearray()
        self.memory: dict[Any, Any] = {}

    def asked(self, request: bytes) -> list[bytes]:
        """What reaches the card of a message of the client's."""
        return [request]

    def told(self, message: Any) -> list[Any]:
        """What reaches the client of a message of the card's: messages, or bytes as they are."""
        return [message]

    def reply(self, message: Any) -> None:
        self._ready += message if isinstance(message, bytes) else wrap(encode(message))

    # ---------------------------------------------------------------------------------- a port of pyserial's

    @property
    def in_waiting(self) -> int:
        return len(self._ready) or self.card.in_waiting

    def read(self, size: int = 1) -> bytes:
        end = self.monotonic() + (self.timeout or 0)
        while True:
            self._hear(self.card.read(self.card.in_waiting))
            if self._ready or self.monotonic() >= end:
                break
            self.card.timeout = max(0.0, end - self.monotonic())
            self._hear(self.card.read(1))
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _hear(self, data: bytes) -> None:
        for found in self._from_card.feed(data):
            assert isinstance(found, bytes)
            for message in self.told(decode(found)):
                self.reply(message)

    def write(self, data: bytes) -> int:
        for found in self._from_client.feed(data):
            if isinstance(found, Damaged):
                self.card.write(b"\0" + found.data + b"\0")
                continue
            for message in self.asked(found):
                self.card.write(wrap(message))
        return len(data)


class Talkative(Honest):
    """Without a mistake: it counts of its own accord, and tells so behind everything that it says."""

    def __init__(self, line: Any) -> None:
        super().__init__(line)
        self._listened, self._extra = False, 0
        self._answers: set[m.SubscribeReply] = set()
        self._count = m.CountEvent(0, 1, 1, 0, 4, 4, 0, 0xFFFF, 0xFFFF, 1, 2, 1 << 31, 0, (0, 1, 2, 3))

    def told(self, message: Any) -> list[Any]:
        if isinstance(message, m.HelloReply):
            self._listened = False
            self._answers.clear()
        elif isinstance(message, m.SubscribeReply) and message not in self._answers:  # a repeated one changes nothing
            self._answers.add(message)
            self._listened = bool(message.events & EventKind.COUNTS)
        elif isinstance(message, m.LineReply):
            message = replace(message, events=message.events + self._extra)
        if not self._listened:
            return [message]
        self._extra += 1
        return [message, self._count]


class Bytewise(Honest):
    """`heard` is told each write of the client's as it comes."""

    def heard(self, data: bytes) -> bytes:
        return data

    def write(self, data: bytes) -> int:
        self.card.write(self.heard(data))
        return len(data)


@dataclass(frozen=True)
class Mistake:
    """`rule` has to find it in what `card` does."""

    rule: str
    card: type[Honest]


MISTAKES: dict[str, Mistake] = {}


def finds(rule: str) -> Callable[[type[Honest]], type[Honest]]:
    """Registers a card, whose docstring says what is wrong with it."""

    def register(card: type[Honest]) -> type[Honest]:
        MISTAKES[card.__name__] = Mistake(rule, card)
        return card

    return register


def changes(rule: str, name: str, kind: Any, change: Callable[[Any], Any]) -> None:
    """A card of which messages of one kind are changed: to another message, bytes, a list of these, or None."""

    class Changed(Honest):
        def told(self, message: Any) -> list[Any]:
            if not isinstance(message, kind):
                return [message]
            changed = change(message)
            return changed if isinstance(changed, list) else [] if changed is None else [changed]

    MISTAKES[name] = Mistake(rule, Changed)


def request_of(data: bytes) -> Any:
    """A request of the client's; None when it is none."""
    try:
        return decode(data)
    except MessageError:
        return None


def bad_sum(message: Any) -> bytes:
    data = encode(message)
    return b"\0" + bytes(cobs.encode(data + bytes(CRC_BYTES))) + b"\0"


# --------------------------------------------------------------------------------------------------- answers

READ = "requests.answered"
changes(READ, "wrong_id", m.ReadReply, lambda r: replace(r, id=r.id ^ 1))
changes(READ, "answers_twice", m.ReadReply, lambda r: [r, r])
changes(READ, "answers_not", m.ReadReply, lambda r: None)
changes(READ, "wrong_reply", m.ReadReply, lambda r: m.TimeReply(r.id, r.now))
changes(READ, "wrong_crc", m.ReadReply, bad_sum)
changes(READ, "truncated_reply", m.ReadReply, lambda r: wrap(encode(r)[:-1]))
changes(READ, "reply_too_long", m.ReadReply, lambda r: wrap(encode(r) + b"\0"))
changes(READ, "big_ids_cut", m.TimeReply, lambda r: replace(r, id=r.id & 0xFFF) if r.id == 0xFFFF else r)
changes("framing.delimited", "no_zero_before", m.Message, lambda r: wrap(encode(r))[1:])
changes("framing.delimited", "no_zero_behind", m.ReadReply, lambda r: wrap(encode(r))[:-1])
changes(READ, "noise_before", m.ReadReply, lambda r: b"\x05\x81" + wrap(encode(r)))
changes("framing.delimited", "too_many_zeros", m.ReadReply, lambda r: b"\0\0" + wrap(encode(r)))


@finds("requests.order")
class OtherOrder(Honest):
    """A read is answered after what came behind it."""

    def _hear(self, data: bytes) -> None:
        found = self._from_card.feed(data)
        for n, each in enumerate(found):
            assert isinstance(each, bytes)
            message = decode(each)
            if isinstance(message, m.ReadReply) and n + 3 < len(found) and "held" not in self.memory:
                self.memory["held"] = message
                continue
            self.reply(message)
            if "held" in self.memory:
                self.reply(self.memory.pop("held"))


@finds("requests.order")
class OneOfAWrite(Bytewise):
    """Of several messages in one write the first is heard."""

    def heard(self, data: bytes) -> bytes:
        whole = [each for each in Unwrapper().feed(data) if isinstance(each, bytes)]
        return wrap(whole[0]) if len(whole) > 4 else data


@finds("requests.again")
class DoneAgain(Honest):
    """A request that comes again is done again."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] != 2 or self.memory.get("last") != request:
            self.memory["last"] = request
            return [request]
        other = 0x7F00 + self.memory.get("n", 0) % 0xFF
        self.memory["n"] = self.memory.get("n", 0) + 1
        self.memory[other] = int.from_bytes(request[1:3], "big")
        return [request[:1] + other.to_bytes(2, "big")]

    def told(self, message: Any) -> list[Any]:
        return [replace(message, id=self.memory.get(message.id, message.id))]


@finds("requests.again")
class DeafToRepeats(Honest):
    """A request that comes again is not answered again."""

    def asked(self, request: bytes) -> list[bytes]:
        again = self.memory.get("last") == request
        self.memory["last"] = request
        return [] if again and request[0] == 2 else [request]


@finds("requests.reused")
class IdsOnce(Honest):
    """Another request under an id that was used gets the answer of the earlier one."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == 1:
            self.memory.clear()
        if request[1:3] in self.memory and request[0] != 1:
            return [self.memory[request[1:3]]]
        self.memory[request[1:3]] = request
        return [request]


# --------------------------------------------------------------------------------------------------- framing


@finds("framing.split")
class WholeWrites(Bytewise):
    """A message that comes in pieces is lost."""

    def heard(self, data: bytes) -> bytes:
        return data if (data[-1:] == b"\0" and data[:1] == b"\0") or len(data) > 40 else b""


@finds("framing.garbage")
class LostBehindGarbage(Honest):
    """The message behind nonsense is lost."""

    def write(self, data: bytes) -> int:
        for found in self._from_client.feed(data):
            if isinstance(found, Damaged):
                self.memory["lost"] = len(found.data) < 15 or found.data[0] == 0xFF
            elif not self.memory.pop("lost", False):
                self.card.write(wrap(found))
        return len(data)


@finds("framing.damaged")
class NoSum(Honest):
    """Nobody looks at a CRC."""

    def write(self, data: bytes) -> int:
        for found in self._from_client.feed(data):
            if isinstance(found, Damaged) and len(found.data) > 7 and "CRC" in found.why:
                self.card.write(wrap(bytes(cobs.decode(found.data))[:-CRC_BYTES]))
            elif isinstance(found, bytes):
                self.card.write(wrap(found))
        return len(data)


@finds("framing.truncated")
class LostBehindACut(Bytewise):
    """A message that was cut off takes the next one with it: its first zero byte is overlooked."""

    def heard(self, data: bytes) -> bytes:
        cut, self.memory["cut"] = self.memory.get("cut", False), not data.endswith(b"\0") and len(data) > 1
        return data.lstrip(b"\0") if cut else data


@finds("framing.zeros")
class OwnZeroBefore(Bytewise):
    """Two messages need two zero bytes between them."""

    def heard(self, data: bytes) -> bytes:
        whole = data.split(b"\0")
        alone = [n for n in range(1, len(whole) - 1) if whole[n] and whole[n - 1]]
        return b"\0".join(each for n, each in enumerate(whole) if n not in alone or len(each) != 8)


@finds("framing.any_bytes")
class ShortBlocks(Honest):
    """254 bytes without a zero are too much."""

    def asked(self, request: bytes) -> list[bytes]:
        return [] if any(len(part) > 253 for part in request.split(b"\0")) and len(request) < 300 else [request]


@finds("framing.longest")
class LittleRoom(Honest):
    """It takes less than it says."""

    def asked(self, request: bytes) -> list[bytes]:
        return [] if len(request) > 16_000 else [request]


@finds("framing.too_long")
class Overrun(Honest):
    """What is too long takes the next message with it."""

    def write(self, data: bytes) -> int:
        for found in self._from_client.feed(data):
            if isinstance(found, Damaged):
                self.memory["lost"] = len(found.data) > 5000
            elif not self.memory.pop("lost", False):
                self.card.write(wrap(found))
        return len(data)


# -------------------------------------------------------------------------------------------------- refusals


def refused_as(rule: str, name: str, was: Refusal, becomes: Refusal) -> None:
    changes(rule, name, m.RefusedReply, lambda r: replace(r, why=becomes.code) if r.why == was.code else r)


refused_as("refusals.type", "unknown_type_is_cannot", Refusal.UNKNOWN_TYPE, Refusal.CANNOT)
refused_as("refusals.length", "bad_length_is_bad_value", Refusal.BAD_LENGTH, Refusal.BAD_VALUE)
refused_as("refusals.gpu", "no_gpu_is_bad_value", Refusal.NO_SUCH_GPU, Refusal.BAD_VALUE)
refused_as("refusals.register", "no_register_is_no_gpu", Refusal.NO_SUCH_REGISTER, Refusal.NO_SUCH_GPU)
refused_as("refusals.read_only", "read_only_is_bad_value", Refusal.READ_ONLY, Refusal.BAD_VALUE)
refused_as("refusals.port", "bad_value_is_cannot", Refusal.BAD_VALUE, Refusal.CANNOT)
changes("refusals.text", "no_sentence", m.RefusedReply, lambda r: replace(r, text=b""))
changes("refusals.text", "no_text", m.RefusedReply, lambda r: replace(r, text=b"\xff\xfe"))


class Answered(Honest):
    """Requests that it likes are answered by `answers`, and don't reach the card."""

    def answers(self, request: Any) -> Any:
        return None

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        answer = self.answers(found) if found is not None else None
        if answer is None:
            return [request]
        self.reply(answer)
        return []


def answers(rule: str, name: str, kind: Any, answer: Callable[[Any], Any]) -> None:
    """A card that answers requests of one kind by itself; None: the real one does."""

    class Own(Answered):
        def answers(self, request: Any) -> Any:
            return answer(request) if isinstance(request, kind) else None

    MISTAKES[name] = Mistake(rule, Own)


def instead(rule: str, name: str, kind: Any, change: Callable[[Any], Any]) -> None:
    """A card that does another request instead of one of a kind; None: nothing."""

    class Instead(Honest):
        def asked(self, request: bytes) -> list[bytes]:
            found = request_of(request)
            if not isinstance(found, kind):
                return [request]
            other = change(found)
            return [] if other is None else [encode(each) for each in (other if isinstance(other, list) else [other])]

    MISTAKES[name] = Mistake(rule, Instead)


NOW = 1 << 40
answers(
    "refusals.gpu", "gpu_out_of_range_is_0", m.ReadRequest, lambda r: m.ReadReply(r.id, 0, NOW) if r.gpu > 3 else None
)
answers(
    "refusals.register",
    "any_register_is_0",
    m.ReadRequest,
    lambda r: m.ReadReply(r.id, 0, NOW) if r.address in (0x1F, 0xFF) else None,
)
answers(
    "refusals.read_only",
    "read_only_is_accepted",
    m.WriteRequest,
    lambda r: m.WriteReply(r.id, NOW) if r.address in READ_ONLY else None,
)
answers("refusals.port", "any_frame_is_sent", m.SendRequest, lambda r: m.SendReply(r.id, NOW))


@finds("refusals.length")
class LongIsRight(Honest):
    """What is too long is cut to its length."""

    def asked(self, request: bytes) -> list[bytes]:
        return [request[: {2: 3, 3: 6, 4: 10}.get(request[0], len(request))]]


@finds("refusals.type")
class AnyType(Answered):
    """A request of a type that nobody knows is answered like a time request."""

    def asked(self, request: bytes) -> list[bytes]:
        return [b"\x02" + request[1:3]] if request[0] == 0x3F else [request]


changes(
    "refusals.cannot",
    "can_what_it_does_not_say",
    m.HelloReply,
    lambda r: replace(r, capabilities=r.capabilities & ~Capability.SEND),
)

# ----------------------------------------------------------------------------------------------------- hello

changes("hello.card", "no_name", m.HelloReply, lambda r: replace(r, name=b""))
changes("hello.card", "paced_without_a_clock", m.HelloReply, lambda r: replace(r, clock=0))
changes("hello.card", "no_room_for_a_message", m.HelloReply, lambda r: replace(r, longest=20))
answers(
    "hello.version",
    "later_clients_are_refused",
    m.HelloRequest,
    lambda r: m.RefusedReply(r.id, Refusal.BAD_VALUE.code, b"too new") if r.major > 1 else None,
)
instead("hello.name", "any_name", m.HelloRequest, lambda r: replace(r, name=r.name[:64]))
instead("hello.name", "short_names_only", m.HelloRequest, lambda r: replace(r, name=r.name + bytes(30)))


@finds("hello.version")
class Echo(Honest):
    """It speaks whatever minor version the client does."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == 1:
            self.memory["minor"] = request[4]
        return [request]

    def told(self, message: Any) -> list[Any]:
        return [replace(message, minor=self.memory["minor"]) if isinstance(message, m.HelloReply) else message]


@finds("hello.again")
class HelloOnce(Honest):
    """hello under the same id is not done again."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] != 1 or self.memory.get("hello") != request:
            self.memory["hello"] = request if request[0] == 1 else self.memory.get("hello")
            return [request]
        self.reply(self.memory["reply"])
        return []

    def told(self, message: Any) -> list[Any]:
        if isinstance(message, m.HelloReply):
            self.memory["reply"] = message
        return [message]


@finds("hello.again")
class HelloForgetsNothing(Honest):
    """A request from before hello is not done again."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == 2 and request in self.memory:
            if self.memory[request]:
                self.reply(self.memory[request])
                return []
        elif request[0] == 2:
            self.memory[request] = None
        return [request]

    def told(self, message: Any) -> list[Any]:
        if isinstance(message, m.TimeReply):
            self.memory[encode(m.TimeRequest(message.id))] = message
        return [message]


# ------------------------------------------------------------------------------------------ time and registers


@finds("time.forward")
class TimeGoesBack(Honest):
    """Now and then it is earlier."""

    def told(self, message: Any) -> list[Any]:
        if isinstance(message, m.TimeReply):
            self.memory["n"] = self.memory.get("n", 0) + 1
            if self.memory["n"] % 7 == 0:
                return [replace(message, now=message.now - 1)]
        return [message]


@finds("time.passes")
class TimeStands(Honest):
    """It is always the same."""

    def told(self, message: Any) -> list[Any]:
        return [
            replace(message, now=self.memory.setdefault("now", message.now)) if hasattr(message, "now") else message
        ]


answers(
    "registers.read",
    "last_gpu_has_no_registers",
    m.ReadRequest,
    lambda r: m.RefusedReply(r.id, Refusal.NO_SUCH_GPU.code, b"no") if r.gpu == 3 else None,
)


@finds("registers.behind")
class StaleReads(Bytewise):
    """A read in the same burst as a write is carried out before it."""

    def heard(self, data: bytes) -> bytes:
        whole = [each for each in Unwrapper().feed(data) if isinstance(each, bytes)]
        kinds = [type(request_of(each)) for each in whole]
        if kinds[:2] == [m.WriteRequest, m.ReadRequest]:
            return wrap(whole[1]) + wrap(whole[0]) + b"".join(map(wrap, whole[2:]))
        return data


answers("registers.write", "write_is_ignored", m.WriteRequest, lambda r: m.WriteReply(r.id, NOW) if r.gpu < 4 else None)
instead("registers.write", "write_of_16_bits", m.WriteRequest, lambda r: replace(r, value=r.value & 0xFFFF))
instead(
    "registers.apart",
    "write_hits_the_next_register_too",
    m.WriteRequest,
    lambda r: [r, replace(r, id=0x7FFF, address=9)] if r.address == 8 and r.gpu == 0 else r,
)
instead(
    "registers.apart",
    "write_hits_another_node_too",
    m.WriteRequest,
    lambda r: [r, replace(r, id=0x7FFF, gpu=3)] if r.address == 8 and r.gpu == 0 else r,
)

# ---------------------------------------------------------------------------------------------------- census

COUNTED = (m.CensusReply, m.LastCensusReply, m.CountEvent)
changes("census.counts", "size_of_another_card", COUNTED, lambda c: replace(c, size=c.size + 1))
changes("census.counts", "counts_more_than_there_are", COUNTED, lambda c: replace(c, count=c.count + 1))
changes("census.counts", "counted_by_nobody", COUNTED, lambda c: replace(c, entry=99))
changes("census.counts", "verdict_of_no_census", COUNTED, lambda c: replace(c, verdict=0))
changes("census.counts", "verdict_of_nobody", COUNTED, lambda c: replace(c, verdict=77))
changes("census.members", "count_off_by_one", COUNTED, lambda c: replace(c, count=c.count - 1))
changes("census.members", "one_member_too_few", COUNTED, lambda c: replace(c, members=(c.members[0] & ~2,)))
changes(
    "census.members",
    "member_just_beyond_the_card",
    COUNTED,
    lambda c: replace(c, members=(c.members[0] & ~2 | 1 << 4,)),
)
changes(
    "census.members", "member_of_another_card", COUNTED, lambda c: replace(c, members=(c.members[0] & ~2 | 1 << 9,))
)
changes(
    "census.members", "counted_without_itself", COUNTED, lambda c: replace(c, count=3, members=(c.members[0] & ~1,))
)
changes("census.now", "accepted_in_the_future", COUNTED, lambda c: replace(c, counted_at=NOW))
changes("census.now", "accepted_before_it_was_sent", COUNTED, lambda c: replace(c, sent_at=c.counted_at + 1))
changes("census.now", "never_another", COUNTED, lambda c: replace(c, accepted=5))
changes("census.now", "never_another_sequence", COUNTED, lambda c: replace(c, sequence=5))
changes("census.last", "last_has_another_count", m.LastCensusReply, lambda c: replace(c, count=c.count - 1))
changes("census.last", "last_is_old", m.LastCensusReply, lambda c: replace(c, accepted=c.accepted - 1))


@finds("census.now")
class OldCensus(Honest):
    """Every census is the first one."""

    def told(self, message: Any) -> list[Any]:
        if not isinstance(message, m.CensusReply):
            return [message]
        return [replace(self.memory.setdefault("first", message), id=message.id)]


@finds("census.several")
class OneCensusAtATime(Honest):
    """Of several requests for a census the last is answered."""

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == 5:
            self.memory["asked"] = int.from_bytes(request[1:3], "big")
        return [request]

    def told(self, message: Any) -> list[Any]:
        return [] if isinstance(message, m.CensusReply) and message.id != self.memory["asked"] else [message]


# ---------------------------------------------------------------------------------------------------- events

changes("events.counts", "no_event", m.CountEvent, lambda e: None)
changes("events.counts", "event_of_another_count", m.CountEvent, lambda e: replace(e, count=e.count - 1))
changes("events.counts", "subscribes_to_something_else", m.SubscribeReply, lambda r: replace(r, events=r.events ^ 2))
changes("events.kinds", "events_under_an_id", m.CountEvent, lambda e: replace(e, id=77))
changes("events.frames", "frame_at_another_card", m.FrameEvent, lambda e: replace(e, gpu=40))
changes("events.frames", "frame_in_no_way", m.FrameEvent, lambda e: replace(e, way=9))
changes("events.frames", "frame_in_the_future", m.FrameEvent, lambda e: replace(e, cycle=NOW))
answers(
    "events.unknown",
    "any_kind_of_event",
    m.SubscribeRequest,
    lambda r: m.SubscribeReply(r.id, r.events, NOW) if r.events > 15 else None,
)


class Subscribing(Honest):
    """What is subscribed to is not what was asked for: `instead`."""

    def instead(self, events: int) -> int:
        return events

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if isinstance(found, m.SubscribeRequest) and found.events <= sum(EventKind):
            self.memory[found.id] = found.events
            return [encode(replace(found, events=self.instead(found.events)))]
        return [request]

    def told(self, message: Any) -> list[Any]:
        known = isinstance(message, m.SubscribeReply) and message.id in self.memory
        return [replace(message, events=self.memory[message.id]) if known else message]


@finds("events.ended")
class NeverEnds(Subscribing):
    """Who subscribes to nothing goes on to be told."""

    def instead(self, events: int) -> int:
        self.memory["last"] = events or self.memory.get("last", 0)
        return int(self.memory["last"])


@finds("events.kinds")
class AddsUp(Subscribing):
    """A subscription comes on top of the earlier one."""

    def instead(self, events: int) -> int:
        self.memory["sum"] = events and events | self.memory.get("sum", 0)
        return int(self.memory["sum"])


class Telling(Honest):
    """Every hello is followed by a subscription."""

    events = int(EventKind.COUNTS)

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if isinstance(found, m.SubscribeRequest):
            self.events = found.events
        return [request, encode(m.SubscribeRequest(0x7FF0, self.events))] if request[0] == 1 else [request]

    def told(self, message: Any) -> list[Any]:
        return [] if message.id == 0x7FF0 else [message]


@finds("events.unasked")
class TellsUnasked(Telling):
    """Everybody is told of each count."""


@finds("events.forgotten")
class HelloKeepsSubscriptions(Telling):
    """hello ends no subscription."""

    events = 0


class Unread(Honest):
    """While nothing is read its time goes on, until no more events are held for the client."""

    def idle(self, seconds: float) -> None:
        server = self.card.line
        while not server.wire.full:
            server.pass_time(20_000)
        server.pass_time(20_000)


@finds("events.missed")
class TellsOfNoneMissed(Unread):
    """Nobody is told of missed events."""

    def told(self, message: Any) -> list[Any]:
        return [] if isinstance(message, m.MissedEvent) else [message]


@finds("events.missed")
class TellsOfFewerMissed(Unread):
    """More were missed than are told."""

    def told(self, message: Any) -> list[Any]:
        return [replace(message, events=message.events - 1) if isinstance(message, m.MissedEvent) else message]


# ------------------------------------------------------------------------------------------------------ line

for field, rule in {
    "received": "line.bytes",
    "sent": "line.bytes",
    "requests": "line.requests",
    "refused": "line.requests",
    "damaged": "line.damaged",
    "events": "line.events",
}.items():
    changes(rule, f"{field}_is_not_counted", m.LineReply, lambda r, field=field: replace(r, **{field: 0}))


@finds("line.damaged")
class ZerosAreDamage(Bytewise):
    """Zero bytes count as damage."""

    def heard(self, data: bytes) -> bytes:
        self.memory["zeros"] = self.memory.get("zeros", 0) + (data == bytes(20))
        return data

    def told(self, message: Any) -> list[Any]:
        wrong = isinstance(message, m.LineReply)
        return [replace(message, damaged=message.damaged + self.memory.get("zeros", 0)) if wrong else message]


# ---------------------------------------------------------------------------------------------------- faults

answers(
    "faults.values",
    "any_fault_is_set",
    m.InjectRequest,
    lambda r: m.InjectReply(r.id, NOW) if r.fault == 0xEE else None,
)
answers(
    "faults.values",
    "ends_what_is_not_set",
    m.InjectRequest,
    lambda r: m.InjectReply(r.id, NOW) if not r.injection and r.fault != 1 else None,
)
answers("faults.done", "does_no_fault", m.InjectRequest, lambda r: m.InjectReply(r.id, NOW) if r.fault == 1 else None)
answers(
    "faults.done",
    "ends_no_fault",
    m.InjectRequest,
    lambda r: m.InjectReply(r.id, NOW) if r.fault == 1 and not r.injection else None,
)
changes("faults.told", "tells_no_fault", m.FaultEvent, lambda e: None)
changes("faults.told", "tells_another_gpu", m.FaultEvent, lambda e: replace(e, gpu=e.gpu ^ 1))


@finds("faults.done")
class SetTwice(Honest):
    """A fault that is set is set again."""

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if isinstance(found, m.InjectRequest) and found.fault == 1 and found.gpu < 4:
            if found.injection and self.memory.get("set"):
                self.reply(m.InjectReply(found.id, NOW))
                return []
            self.memory["set"] = found.injection
        return [request]
