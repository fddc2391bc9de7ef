"""Messages among bytes: where they begin and end, and what nonsense costs."""

from ringhil.emulator.serial.checks.bench import PAUSE, REGISTER, LineBench
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import Heard, all_shown, shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import CRC_BYTES, DELIMITER, Damaged, wrap
from ringhil.protocol.line.management import Refusal

# No text that a person may type: a port may have a prompt for that.
_NOISE = bytes([0x81, 0x13, 0xFF, 0x02, 0xC0, 0x11, 0x9E, 0x7F, 0x05, 0x04])
_UNKNOWN = 0x83  # a reply: no card of any version takes it as a request
_HEAD = 3  # bytes of type and id


def _time(bench: LineBench) -> m.TimeRequest:
    return m.TimeRequest(bench.next_id())


def _must_answer(bench: LineBench, wanted: list[m.Message], heard: list[Heard], what: str) -> None:
    ids = [each.id for each in heard if not isinstance(each, Damaged) and each.id]
    if ids != [each.id for each in wanted]:
        promised = f"answers to {', '.join(map(shown, wanted))}, and to nothing else" if wanted else "no answer"
        raise bench.broken(promised, all_shown(heard), sent=what)


@promise("framing.delimited", "A message and its CRC stand between two zero bytes; none of them is zero.")
def delimited(bench: LineBench) -> None:
    for request in (
        _time(bench),
        m.ReadRequest(bench.next_id(), 0, REGISTER),
        m.ReadRequest(bench.next_id(), 0xFFFF, REGISTER),
    ):
        heard = bench.exchange(wrap(encode(request)))
        _must_answer(bench, [request], heard, shown(request))
        raw = bytes(bench.tap.raw)
        began, *between, ended = raw.split(DELIMITER)
        if began or ended or any(bool(each) != bool(n % 2) for n, each in enumerate(between, 1)):
            raise bench.broken("00 message 00 00 message 00", raw.hex(" "), sent=f"{shown(request)} and time")
        if any(isinstance(each, Damaged) for each in heard):
            raise bench.broken("messages with a CRC that is right", all_shown(heard), sent=shown(request))


@promise("framing.split", "A message may come in pieces, cut at any byte.")
def split(bench: LineBench) -> None:
    for at in range(1, len(wrap(encode(m.ReadRequest(1, 0, REGISTER))))):
        request = m.ReadRequest(bench.next_id(), 0, REGISTER)
        data = wrap(encode(request))
        heard = bench.exchange(data[:at], data[at:], pause=PAUSE)
        _must_answer(bench, [request], heard, f"{shown(request)} in two pieces, cut before byte {at}")
    request = m.ReadRequest(bench.next_id(), 0, REGISTER)
    heard = bench.exchange(*(bytes([byte]) for byte in wrap(encode(request))), pause=PAUSE)
    _must_answer(bench, [request], heard, f"{shown(request)} byte by byte")


@promise("framing.zeros", "Any number of zero bytes, and no more than one, may stand between messages.")
def zeros(bench: LineBench) -> None:
    one, two, three = _time(bench), _time(bench), _time(bench)
    first, second, third = (wrap(encode(request)) for request in (one, two, three))
    heard = bench.exchange(bytes(100) + first + second[1:] + bytes(3) + third)
    what = f"100 zero bytes, {shown(one)}, {shown(two)} behind the same zero byte, 3 more, {shown(three)}"
    _must_answer(bench, [one, two, three], heard, what)


@promise("framing.garbage", "Nonsense before, between and behind messages costs no message between zero bytes.")
def garbage(bench: LineBench) -> None:
    one, two = _time(bench), _time(bench)
    for noise in (_NOISE, bytes([0xFF]) * 300, bytes([1]) * 20):
        one, two = _time(bench), _time(bench)
        heard = bench.exchange(noise + wrap(encode(one)) + noise + wrap(encode(two)) + noise + DELIMITER)
        what = f"{len(noise)} bytes of nonsense before, between and behind {shown(one)} and {shown(two)}"
        _must_answer(bench, [one, two], heard, what)


@promise("framing.damaged", "A message that was damaged is not answered, and costs no other message.")
def damaged(bench: LineBench) -> None:
    whole = wrap(encode(m.ReadRequest(1, 0, REGISTER)))
    for at in range(1, len(whole) - 1):
        request, other = m.ReadRequest(bench.next_id(), 0, REGISTER), _time(bench)
        data = bytearray(wrap(encode(request)))
        data[at] ^= 0x80
        heard = bench.exchange(bytes(data) + wrap(encode(other)))
        what = f"{shown(request)} with a wrong byte {at}, then {shown(other)}"
        _must_answer(bench, [other], heard, what)


@promise("framing.truncated", "A message whose end is lost is not answered, and costs no other message.")
def truncated(bench: LineBench) -> None:
    for kept in range(2, len(wrap(encode(m.ReadRequest(1, 0, REGISTER)))) - 1):
        request, other = m.ReadRequest(bench.next_id(), 0, REGISTER), _time(bench)
        heard = bench.exchange(wrap(encode(request))[:kept], wrap(encode(other)))
        _must_answer(bench, [other], heard, f"the first {kept} bytes of {shown(request)}, then {shown(other)}")


@promise("framing.any_bytes", "A message may be of any bytes: COBS leaves no zero byte in it.")
def any_bytes(bench: LineBench) -> None:
    most = bench.expect(bench.hello(), m.HelloReply).longest - _HEAD
    for body in (bytes(50), bytes([0xFF]) * 50, bytes(range(256)), *(bytes([1]) * n for n in range(244, 262))):
        _unknown(bench, body[:most])


@promise("framing.longest", "A message of as many bytes as hello_reply says is taken.")
def longest(bench: LineBench) -> None:
    most = bench.expect(bench.hello(), m.HelloReply).longest
    _unknown(bench, bytes([1, 0, 0xFE]) * (most // 3 + 1), length=most)


@promise("framing.too_long", "What is longer than the longest message costs no message behind it.")
def too_long(bench: LineBench) -> None:
    most = bench.expect(bench.hello(), m.HelloReply).longest
    for length in (most + 1, most + CRC_BYTES + 1, most + 400):
        other = _time(bench)
        heard = bench.exchange(bytes([1, 1]) + bytes([0xA5]) * length + wrap(encode(other)))
        _must_answer(bench, [other], heard, f"{length} bytes without a zero, then {shown(other)}")


def _unknown(bench: LineBench, body: bytes, length: int | None = None) -> None:
    """A message of these bytes arrives: it is no request, and refused as such, under its id."""
    number = bench.next_id()
    message = (bytes([_UNKNOWN]) + number.to_bytes(2, "big") + body)[:length]
    what = f"a message of type 0x{_UNKNOWN:02X}, {len(message)} bytes long"
    bench.expect_refusal(wrap(message), number, Refusal.UNKNOWN_TYPE, sent=what)
