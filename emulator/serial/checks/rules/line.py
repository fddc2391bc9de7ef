"""What the card says of the line agrees with what went over it."""

from ringhil.emulator.serial.checks.bench import REGISTER, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import EventKind

_BYTES = "line.bytes"


def _line(bench: LineBench) -> m.LineReply:
    """Without a fence behind it: nothing is on the line when it is answered."""
    request = m.LineRequest(bench.next_id())
    bench.tap.forget()
    bench.tap.say(wrap(encode(request)))
    if not bench.until_answered(request.id, bench.timeout):
        raise bench.broken("line_reply")
    found = next(each for each in bench.tap.came if not isinstance(each, Damaged) and each.id == request.id)
    if isinstance(found, m.RefusedReply):
        raise NotJudged(f"the card keeps no statistics: {shown(found)}")
    if not isinstance(found, m.LineReply):
        raise bench.broken("line_reply")
    return found


def _must_grow(bench: LineBench, what: str, grown: int, by: int, sent: str) -> None:
    if grown != by:
        raise bench.broken(f"{what} grows by {by}", f"it has grown by {grown}", sent=sent)


@promise(_BYTES, "line_reply counts the bytes of this client, received and sent.")
def line_bytes(bench: LineBench) -> None:
    first = _line(bench)
    said, heard = bench.tap.bytes_sent, bench.tap.bytes_came
    for _ in range(3):
        bench.ask(m.ReadRequest(bench.next_id(), 0, REGISTER))
    second = _line(bench)
    sent = "read and time three times, then line"
    _must_grow(bench, "received", second.received - first.received, bench.tap.bytes_sent - said, sent)
    _must_grow(bench, "sent", second.sent - first.sent, bench.tap.bytes_came - heard, sent)


@promise("line.requests", "line_reply counts requests, those that were refused too.")
def requests(bench: LineBench) -> None:
    first = _line(bench)
    for gpu in (0, 0xFFFF, 0):
        bench.ask(m.ReadRequest(bench.next_id(), gpu, REGISTER))
    second = _line(bench)
    sent = "read three times, of GPUs 0, 65535 and 0"
    _must_grow(bench, "requests", second.requests - first.requests, 3 + 3 + 1, f"{sent}, a time behind each, line")
    _must_grow(bench, "refused", second.refused - first.refused, 1, sent)


@promise("line.damaged", "line_reply counts what came and was no message.")
def damaged(bench: LineBench) -> None:
    first = _line(bench)
    wrong = bytearray(wrap(encode(m.TimeRequest(bench.next_id()))))
    wrong[-2] ^= 0x80
    for _ in range(3):
        bench.exchange(bytes(wrong))
    second = _line(bench)
    sent = "three messages with a wrong CRC"
    _must_grow(bench, "damaged", second.damaged - first.damaged, 3, sent)
    bench.exchange(bytes(20))
    third = _line(bench)
    _must_grow(bench, "damaged", third.damaged - second.damaged, 0, "20 zero bytes")


@promise("line.events", "line_reply counts the events that were sent.", needs="events.counts")
def events(bench: LineBench) -> None:
    bench.need("events")
    first = _line(bench)
    bench.expect(m.SubscribeRequest(bench.next_id(), EventKind.COUNTS), m.SubscribeReply)
    told, request = _events(bench), m.CensusRequest(bench.next_id())
    bench.tap.forget()
    bench.tap.say(wrap(encode(request)))
    bench.until_counted(request.id)
    told += _events(bench)
    bench.ask(m.SubscribeRequest(bench.next_id(), 0))
    told += _events(bench)
    second = _line(bench)
    _must_grow(bench, "events", second.events - first.events, told, "subscribe to counts, census, subscribe to nothing")


def _events(bench: LineBench) -> int:
    return sum(isinstance(each, m.CountEvent) for each in bench.tap.came)
