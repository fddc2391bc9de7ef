"""More cards that break one promise each: what is asked again, registers in the middle of the ring, what is refused."""

from dataclasses import replace
from typing import Any

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import KEPT, Refusal
from ringhil.protocol.registers import ADDRESS

from .mistaken import NOW, READ_ONLY, Answered, Honest, answers, finds, instead, request_of

_SETUP, _PER_FLIT = ADDRESS["compute_setup"], ADDRESS["compute_per_flit"]
_OURS = 0x7000  # ids under which a request is done again


class Redone(Honest):
    """A request of these types that comes again is done again, unless it is one of the last `kept`. `hides`: the answer
    is the first one all the same."""

    types: tuple[int, ...] = ()
    kept = 0
    hides = False

    def __init__(self, line: Any) -> None:
        super().__init__(line)
        self._past: list[bytes] = []
        self._theirs: dict[int, int] = {}
        self._told: dict[int, Any] = {}

    def asked(self, request: bytes) -> list[bytes]:
        if request[0] == m.HelloRequest.TYPE:
            self._past.clear()
        if request[0] not in self.types or request not in self._past:
            self._past.append(request)
            return [request]
        if request in self._past[len(self._past) - self.kept :]:
            return [request]
        other = _OURS + len(self._theirs) % 0xFFF
        self._theirs[other] = int.from_bytes(request[1:3], "big")
        return [request[:1] + other.to_bytes(2, "big") + request[3:]]

    def told(self, message: Any) -> list[Any]:
        number = self._theirs.get(message.id)
        if number is None:
            self._told[message.id] = message
            return [message]
        return [self._told[number] if self.hides else replace(message, id=number)]


ANY = tuple(range(2, 11))


@finds("requests.again")
class RemembersTheLast(Redone):
    """Only the last request is not done again."""

    types, kept = ANY, 1


@finds("requests.kept")
class RemembersHalf(Redone):
    """Half as many requests are remembered as are promised."""

    types, kept = ANY, KEPT // 2


@finds("requests.kept")
class RemembersOneTooFew(Redone):
    """One of them is forgotten too early."""

    types, kept = ANY, KEPT - 1


@finds("requests.same")
class ReadAgain(Redone):
    """A read that comes again is done again."""

    types = (m.ReadRequest.TYPE,)


@finds("requests.same")
class LineAgain(Redone):
    """A line request that comes again is done again."""

    types = (m.LineRequest.TYPE,)


@finds("requests.same")
class SubscribedAnew(Redone):
    """A subscription that comes again is done again, and says so."""

    types = (m.SubscribeRequest.TYPE,)


@finds("registers.once")
class WrittenTwice(Redone):
    """A write that comes again is done again, and nobody is told."""

    types, hides = (m.WriteRequest.TYPE,), True


@finds("registers.once")
class WrittenAnew(Redone):
    """A write that comes again is done again, and says so."""

    types = (m.WriteRequest.TYPE,)


@finds("registers.kept")
class ForgetsWrites(Redone):
    """A write is forgotten earlier than other requests, and nobody is told."""

    types, kept, hides = (m.WriteRequest.TYPE,), KEPT - 4, True


@finds("census.once")
class CountsAgain(Redone):
    """A census that comes again is counted again, and nobody is told."""

    types, hides = (m.CensusRequest.TYPE,), True


answers(
    "census.last",
    "no_last_census",
    m.LastCensusRequest,
    lambda r: m.RefusedReply(r.id, Refusal.NOT_COUNTED.code, b"none"),
)
instead(
    "registers.write",
    "another_register_is_written",
    m.WriteRequest,
    lambda r: replace(r, address=_SETUP) if r.address == _PER_FLIT and r.gpu else r,
)
instead(
    "registers.write",
    "another_register_has_16_bits",
    m.WriteRequest,
    lambda r: replace(r, value=r.value & 0xFFFF) if r.address == _PER_FLIT else r,
)

# ------------------------------------------------------------------------------------- in the middle of the ring


def middle(gpu: int) -> bool:
    return gpu in (1, 2)


answers(
    "registers.each",
    "write_in_the_middle_is_ignored",
    m.WriteRequest,
    lambda r: m.WriteReply(r.id, NOW) if middle(r.gpu) and r.address == _SETUP else None,
)
instead(
    "registers.each",
    "write_in_the_middle_goes_to_the_next",
    m.WriteRequest,
    lambda r: replace(r, gpu=r.gpu + 1) if middle(r.gpu) and r.address == _SETUP else r,
)
instead(
    "registers.each",
    "write_in_the_middle_hits_another_register",
    m.WriteRequest,
    lambda r: [r, replace(r, id=0x7FFF, address=_PER_FLIT)] if middle(r.gpu) and r.address == _SETUP else r,
)
instead(
    "registers.each",
    "gpus_in_the_middle_share_a_register",
    (m.WriteRequest, m.ReadRequest),
    lambda r: replace(r, gpu=1) if middle(r.gpu) and r.address == _SETUP else r,
)
instead(
    "registers.each",
    "the_middle_is_read_from_gpu_0",
    m.ReadRequest,
    lambda r: replace(r, gpu=0) if middle(r.gpu) and r.address < 0x20 else r,
)
instead(
    "registers.apart",
    "all_gpus_share_a_register",
    (m.WriteRequest, m.ReadRequest),
    lambda r: replace(r, gpu=0) if r.gpu < 4 and r.address == _SETUP else r,
)
answers(
    "registers.read",
    "the_middle_has_no_registers",
    m.ReadRequest,
    lambda r: m.RefusedReply(r.id, Refusal.CANNOT.code, b"no") if middle(r.gpu) and r.address in READ_ONLY else None,
)


@finds("census.registers")
class ReadFromACache(Honest):
    """A register is read once; later it is what was read then, or written since."""

    def asked(self, request: bytes) -> list[bytes]:
        found = request_of(request)
        if isinstance(found, m.WriteRequest):
            self.memory[found.gpu, found.address] = found.value
        if isinstance(found, m.ReadRequest):
            self.memory[found.id] = (found.gpu, found.address)
        return [request]

    def told(self, message: Any) -> list[Any]:
        if not isinstance(message, m.ReadReply):
            return [message]
        return [replace(message, value=self.memory.setdefault(self.memory[message.id], message.value))]


# ------------------------------------------------------------------------------------------------ what is refused

instead(
    "refusals.gpu",
    "gpu_of_8_bits",
    (m.ReadRequest, m.WriteRequest, m.SendRequest),
    lambda r: replace(r, gpu=r.gpu & 0xFF),
)
answers("refusals.gpu", "sends_from_no_gpu", m.SendRequest, lambda r: m.SendReply(r.id, NOW) if r.gpu > 3 else None)
answers(
    "refusals.register",
    "holes_of_the_map_are_0",
    m.ReadRequest,
    lambda r: m.ReadReply(r.id, 0, NOW) if 0x40 <= r.address < 0xFF else None,
)
answers(
    "refusals.register",
    "the_middle_has_any_register",
    m.WriteRequest,
    lambda r: m.WriteReply(r.id, NOW) if middle(r.gpu) and r.address > 0x40 else None,
)
answers(
    "refusals.read_only",
    "the_middle_takes_any_write",
    m.WriteRequest,
    lambda r: m.WriteReply(r.id, NOW) if middle(r.gpu) and r.address in READ_ONLY else None,
)


@finds("refusals.length")
class AnyCensus(Honest):
    """A request without fields may be of any length."""

    def asked(self, request: bytes) -> list[bytes]:
        return [request[:3] if request[0] in (5, 6, 10) else request]


@finds("refusals.length")
class ShortInjection(Honest):
    """What an injection lacks is 0."""

    def asked(self, request: bytes) -> list[bytes]:
        return [request.ljust(11, b"\0") if request[0] == m.InjectRequest.TYPE else request]


@finds("refusals.type")
class TypesAgain(Answered):
    """The types begin again at 16."""

    def asked(self, request: bytes) -> list[bytes]:
        return [bytes([request[0] & 0xF]) + request[1:] if 0x10 <= request[0] < 0x3F else request]
