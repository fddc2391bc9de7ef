"""Requests and their answers: one for each, under its id, in order, and done once however often it is asked."""

from ringhil.emulator.serial.checks.bench import PAUSE, PAUSES, REGISTER, BrokenPromise, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import all_shown, shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import KEPT, Type

_ANSWER = "requests.answered"


@promise(_ANSWER, "A request is answered once, by the reply of its type, under the id of the request.")
def answered(bench: LineBench) -> None:
    for number in (2, 0x0100, 0x0A0D, 0x7FFF, 0xFFFF):
        for request in (m.TimeRequest(number), m.ReadRequest(number - 1, 0, REGISTER)):
            heard = bench.exchange(wrap(encode(request)))
            wanted = m.TimeReply if isinstance(request, m.TimeRequest) else m.ReadReply
            if len(heard) != 1 or not isinstance(heard[0], wanted) or heard[0].id != request.id:
                raise bench.broken(f"one {_word(wanted)} under id {request.id}", all_shown(heard), sent=shown(request))


@promise("requests.order", "A client may have several requests under way; they are answered in the order they came in.")
def order(bench: LineBench) -> None:
    asked: list[m.Message] = [m.TimeRequest(bench.next_id()), m.ReadRequest(bench.next_id(), 0, REGISTER)]
    asked += [m.ReadRequest(bench.next_id(), 0xFFFF, REGISTER), m.TimeRequest(bench.next_id())]
    asked += [m.ReadRequest(bench.next_id(), 0, REGISTER) for _ in range(8)]
    # A write to a register that there is not is refused in its turn, and changes nothing.
    asked += [m.WriteRequest(bench.next_id(), 0, 0xFF, 0), m.TimeRequest(bench.next_id())]
    heard = bench.exchange(b"".join(wrap(encode(request)) for request in asked))
    ids = [each.id for each in heard if not isinstance(each, Damaged)]
    if ids != [request.id for request in asked]:
        raise bench.broken(
            f"answers under {[request.id for request in asked]}", f"answers under {ids}", sent=f"{len(asked)} requests"
        )


@promise("requests.again", "A request that comes again under its id is not done again: it gets the same answer.")
def again(bench: LineBench) -> None:
    for pause in PAUSES:
        request = m.TimeRequest(bench.next_id())
        first = _twice(bench, request)
        bench.tap.hear(pause)
        _must_be(first, _twice(bench, request), f"{shown(request)} twice")
        if bench.fence().now > first.now:
            _must_be(first, _twice(bench, request), f"{shown(request)}, another, it again")
            return
    raise NotJudged(f"the card's time stands at {first.now}")


def _must_be(first: m.Message, again: m.Message, sent: str) -> None:
    if again != first:
        raise BrokenPromise(f"sent {sent}; promised: {shown(first)} again; came: {shown(again)}")


def _twice(bench: LineBench, request: m.TimeRequest) -> m.TimeReply:
    """The answer to a request, without a fence, which would be another request in between."""
    bench.tap.forget()
    bench.tap.say(wrap(encode(request)))
    if not bench.until(lambda heard: isinstance(heard, m.TimeReply) and heard.id == request.id, bench.timeout):
        raise bench.broken("time_reply")
    bench.tap.hear(PAUSE)
    found = [each for each in bench.tap.came if isinstance(each, m.TimeReply) and each.id == request.id]
    if len(found) > 1:
        raise bench.broken("one answer")
    return found[0]


@promise("requests.same", "Whatever a request was, it gets the same answer when it comes again, byte for byte.")
def same(bench: LineBench) -> None:
    requests: tuple[m.Message, ...] = (
        m.ReadRequest(bench.next_id(), 0, REGISTER),
        m.ReadRequest(bench.next_id(), 0xFFFF, REGISTER),
        m.LastCensusRequest(bench.next_id()),
        m.SubscribeRequest(bench.next_id(), 0),
        m.LineRequest(bench.next_id()),
    )
    for request in requests:
        first = bench.ask(request)
        bench.pass_time()
        _must_be(first, bench.ask(request), f"{shown(request)} twice")


@promise("requests.kept", f"A request may come again as long as it is one of the last {KEPT}.", needs="requests.again")
def kept(bench: LineBench) -> None:
    request = m.TimeRequest(bench.next_id())
    first = _twice(bench, request)
    bench.ask_others(KEPT - 1)
    _must_be(first, _twice(bench, request), f"{shown(request)}, {KEPT - 1} others, it again")
    if bench.fence().now == first.now:
        raise NotJudged(f"the card's time stands at {first.now}")


@promise("requests.reused", "Another request under an id that was used before is carried out.")
def reused(bench: LineBench) -> None:
    number = bench.next_id()
    for request, kind in (
        (m.TimeRequest(number), m.TimeReply),
        (m.ReadRequest(number, 0, REGISTER), m.ReadReply),
        (m.ReadRequest(number, 0xFFFF, REGISTER), m.RefusedReply),
        (m.TimeRequest(number), m.TimeReply),
    ):
        found = bench.ask(request)
        if not isinstance(found, kind):
            raise bench.broken(_word(kind), shown(found), sent=shown(request))


def _word(kind: type[m.Message]) -> str:
    return str(next(word for word in Type if word.code == kind.TYPE))
