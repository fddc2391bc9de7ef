"""What is wrong is refused, for the right reason, and nothing comes of it."""

from ringhil.emulator.serial.checks.bench import REGISTER, LineBench, NotJudged, harmless
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import REQUESTS, Capability, EventKind, Refusal, Type
from ringhil.protocol.registers import REGISTERS

# Types that no version yet has.
_NEW = (0x00, *range(max(kind.code for kind in REQUESTS) + 1, 0x40, 5), 0x3F, 0x40, 0x7F, 0x80, 0xFE)
_SOME = 31  # each such address that is on no map, of a GPU of which not all are tried
_BEYOND = (0, 1, 15, 254)  # from the first GPU that there is not
_MAPPED = {register.address for register in REGISTERS}
# Each kind of request, without what may be at its end, and the capability without which a card doesn't look at it. "":
# of none, and yet a card may do without.
_WHOLE: dict[m.Message, str | None] = {
    m.HelloRequest(1, 1, 0): None,
    m.TimeRequest(1): None,
    m.ReadRequest(1, 0, REGISTER): None,
    m.WriteRequest(1, 0, REGISTER, 0): None,
    m.CensusRequest(1): Capability.CENSUS.word,
    m.LastCensusRequest(1): "",
    m.SendRequest(1, 0, 0): Capability.SEND.word,
    m.SubscribeRequest(1, 0): Capability.EVENTS.word,
    m.InjectRequest(1, 0, 1, 0, 0): Capability.FAULTS.word,
    m.LineRequest(1): "",
}


def _refuses(bench: LineBench, request: m.Message, *reasons: Refusal) -> m.RefusedReply:
    return bench.expect_refusal(wrap(encode(request)), request.id, *reasons, sent=shown(request))


@promise("refusals.type", "What is no request is refused with unknown_type, under its id.")
def unknown_type(bench: LineBench) -> None:
    types = [kind.code for kind in Type if kind.code > 0x40]
    if bench.speaks_ours:
        types += _NEW
    for code in types:
        number = bench.next_id()
        message = bytes([code]) + number.to_bytes(2, "big")
        bench.expect_refusal(wrap(message), number, Refusal.UNKNOWN_TYPE, sent=f"a message of type 0x{code:02X}")


@promise("refusals.length", "A request of a wrong length is refused with bad_length.")
def bad_length(bench: LineBench) -> None:
    for request, capability in _WHOLE.items():
        allowed = [Refusal.BAD_LENGTH]
        if capability is not None and not bench.able(capability):
            allowed.append(Refusal.CANNOT)
        whole = encode(request)
        longer = () if type(request).TAIL else (whole + b"\0", whole + bytes(40))
        for message in (whole[:-1], *longer):
            if len(message) < 3:
                continue  # no id
            number = bench.next_id()
            wrong = message[:1] + number.to_bytes(2, "big") + message[3:]
            what = f"{shown(request).partition('(')[0]} of {len(wrong)} bytes, {len(whole)} are right"
            bench.expect_refusal(wrap(wrong), number, *allowed, sent=what)


@promise("refusals.gpu", "A GPU that the card doesn't have is refused with no_such_gpu.")
def no_such_gpu(bench: LineBench) -> None:
    beyond = {bench.info.gpus + more for more in _BEYOND} | {0x0100, 0x8000, 0xFFFF}
    for gpu in sorted(gpu for gpu in beyond if bench.info.gpus <= gpu <= 0xFFFF):
        _refuses(bench, m.ReadRequest(bench.next_id(), gpu, REGISTER), Refusal.NO_SUCH_GPU)
        _refuses(bench, m.WriteRequest(bench.next_id(), gpu, REGISTER, 0), Refusal.NO_SUCH_GPU)
        if Capability.SEND.word in bench.info.capabilities:
            _refuses(bench, m.SendRequest(bench.next_id(), gpu, 0, harmless(0, gpu)), Refusal.NO_SUCH_GPU)


@promise("refusals.register", "A register that a node doesn't have is refused with no_such_register.")
def no_such_register(bench: LineBench) -> None:
    for gpu in {0, bench.info.gpus // 2, bench.info.gpus - 1}:
        for address in (address for address in range(0x100) if address not in _MAPPED):
            if gpu and address % _SOME:
                continue
            _refuses(bench, m.ReadRequest(bench.next_id(), gpu, address), Refusal.NO_SUCH_REGISTER)
            _refuses(bench, m.WriteRequest(bench.next_id(), gpu, address, 0), Refusal.NO_SUCH_REGISTER)


@promise("refusals.read_only", "A write to a register that can only be read is refused with read_only.")
def read_only(bench: LineBench) -> None:
    tried = 0
    only = [(gpu, each) for gpu in {0, bench.info.gpus // 2} for each in REGISTERS if each.access == "ro"]
    for gpu, register in only:
        found = bench.ask(m.ReadRequest(bench.next_id(), gpu, register.address))
        if isinstance(found, m.ReadReply):
            same = m.WriteRequest(bench.next_id(), gpu, register.address, found.value)  # no harm where it is taken
            _refuses(bench, same, Refusal.READ_ONLY)
            tried += 1
    if not tried:
        raise NotJudged("the card has no register that can only be read")


@promise("refusals.cannot", "What the card's capabilities don't say is refused with cannot.")
def cannot(bench: LineBench) -> None:
    lacking: dict[Capability, m.Message] = {
        Capability.CENSUS: m.CensusRequest(bench.next_id()),
        Capability.SEND: m.SendRequest(bench.next_id(), 0, 0xFF),
        Capability.EVENTS: m.SubscribeRequest(bench.next_id(), EventKind.COUNTS),
        Capability.FAULTS: m.InjectRequest(bench.next_id(), 0, 1, 0, 0),  # to end what is not there
    }
    asked = [request for bit, request in lacking.items() if bit.word not in bench.info.capabilities]
    for request in asked:
        _refuses(bench, request, Refusal.CANNOT)
    if not asked:
        raise NotJudged("the card has all capabilities")


@promise("refusals.port", "A port that a mailbox doesn't have, and what is no frame, are refused with bad_value.")
def bad_value(bench: LineBench) -> None:
    bench.need("send")
    for port, frame in ((9, bytes(64)), (0xFF, b""), (0, b"12345678"), (0, b"")):
        _refuses(bench, m.SendRequest(bench.next_id(), 0, port, frame), Refusal.BAD_VALUE)


@promise("refusals.text", "A refusal ends with a sentence for people, in UTF-8.")
def text(bench: LineBench) -> None:
    for request in (m.ReadRequest(bench.next_id(), 0xFFFF, REGISTER), m.ReadRequest(bench.next_id(), 0, 0xFF)):
        found = _refuses(bench, request, *Refusal)
        try:
            said = found.text.decode()
        except UnicodeDecodeError:
            said = ""
        if not said.strip():
            raise bench.broken("a sentence in UTF-8", shown(found), sent=shown(request))
