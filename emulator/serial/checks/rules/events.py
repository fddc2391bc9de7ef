"""Events: from when they are subscribed to until they are not, of the kinds that were asked for, none lost untold."""

from ringhil.emulator.serial.checks.bench import PAUSE, BrokenPromise, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import Heard, all_shown, shown
from ringhil.emulator.serial.words import RingCensus
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import EventKind, Refusal, Way

_COUNTS = "events.counts"
_KIND = {
    m.FrameEvent: EventKind.FRAMES,
    m.RoleEvent: EventKind.ROLES,
    m.CountEvent: EventKind.COUNTS,
    m.FaultEvent: EventKind.FAULTS,
}
_EVENTS = (*_KIND, m.MissedEvent)
_LISTENING = 1.0  # seconds for a frame
_UNREAD, _READING = 1.0, 10.0  # seconds for which nothing is read, then all
_UNKNOWN = 0x8000


def _is_event(heard: Heard) -> bool:
    return isinstance(heard, _EVENTS)


def _subscribe(bench: LineBench, events: int) -> None:
    bench.need("events")
    request = m.SubscribeRequest(bench.next_id(), events)
    found = bench.expect(request, m.SubscribeReply)
    if found.events != events:
        raise bench.broken(f"events={events}, as asked", shown(found), sent=shown(request))


def _counted(bench: LineBench) -> list[Heard]:
    """Have the ring counted, twice; what came until that was over."""
    bench.need("census")
    found: list[Heard] = []
    for _ in range(2):
        request = m.CensusRequest(bench.next_id())
        bench.tap.forget()
        bench.tap.say(wrap(encode(request)))
        if not bench.until_counted(request.id):
            raise bench.broken("census_reply")
        refusal = next((each for each in bench.tap.came if isinstance(each, m.RefusedReply)), None)
        if refusal is not None:
            raise NotJudged(f"no census: {shown(refusal)}")
        found += bench.tap.came
        found += bench.exchange()
    return found


def _lacking(bench: LineBench, heard: list[Heard], promised: str, came: str) -> BrokenPromise:
    """To be raised. Raises NotJudged when events were left out, which may be told behind the subscription's end."""
    error = bench.broken(promised, came)
    _subscribe(bench, 0)
    bench.none_left_out([*heard, *bench.tap.came, *bench.exchange()])
    return error


@promise(_COUNTS, "Who has subscribed to counts is told of each census what census_reply says of it.")
def counts(bench: LineBench) -> None:
    _subscribe(bench, EventKind.COUNTS)
    heard = _counted(bench)
    told = {each.accepted: RingCensus.of(each) for each in heard if isinstance(each, m.CountEvent)}
    for reply in (each for each in heard if isinstance(each, m.CensusReply)):
        if told.get(reply.accepted) != RingCensus.of(reply):
            came = all_shown([each for each in heard if _is_event(each)])
            raise _lacking(bench, heard, f"a count_event like {shown(reply)}", came)
    replies = [each.accepted for each in heard if isinstance(each, m.CensusReply)]
    between = [each.accepted for each in heard if isinstance(each, m.CountEvent)]
    between = [number for number in between if replies[0] <= number <= replies[-1]]
    if between != list(range(replies[0], replies[-1] + 1)):
        promised = f"a count_event of each census from number {replies[0]} to {replies[-1]}"
        raise _lacking(bench, heard, promised, f"numbers {', '.join(map(str, between))}")


@promise("events.unasked", "Who has not subscribed is told nothing.", needs=_COUNTS)
def unasked(bench: LineBench) -> None:
    bench.need("events")
    told = [each for each in _counted(bench) if _is_event(each)]
    if told:
        raise bench.broken("no event", all_shown(told))


@promise("events.kinds", "Only events of the kinds that were subscribed to last come, under id 0.", needs=_COUNTS)
def kinds(bench: LineBench) -> None:
    _subscribe(bench, EventKind.FRAMES | EventKind.COUNTS)
    for kind in (EventKind.COUNTS, EventKind.ROLES, EventKind.FAULTS, EventKind.FRAMES):
        _subscribe(bench, kind)
        for each in filter(_is_event, _counted(bench)):
            assert not isinstance(each, Damaged)
            sent = f"subscribe to {kind.word}, and census"
            if _KIND.get(type(each), kind) != kind:
                raise bench.broken(f"events of {kind.word} alone", shown(each), sent=sent)
            if each.id:
                raise bench.broken("events under id 0", shown(each), sent=sent)


@promise("events.ended", "No event comes after a subscription to nothing.", needs=_COUNTS)
def ended(bench: LineBench) -> None:
    _subscribe(bench, sum(EventKind))
    _subscribe(bench, 0)
    told = [each for each in _counted(bench) if isinstance(each, tuple(_KIND))]
    if told:
        raise bench.broken("no event", all_shown(told), sent="subscribe to nothing, and census")


@promise("events.forgotten", "hello ends the subscriptions of whoever was on the line before.", needs=_COUNTS)
def forgotten(bench: LineBench) -> None:
    _subscribe(bench, sum(EventKind))
    bench.ask(bench.hello())
    told = [each for each in _counted(bench) if _is_event(each)]
    if told:
        raise bench.broken("no event", all_shown(told), sent="hello, and census")


@promise("events.unknown", "Events of a kind that the card doesn't know are refused with bad_value.")
def unknown(bench: LineBench) -> None:
    bench.need("events")
    known = sum(EventKind)
    _subscribe(bench, EventKind.COUNTS)
    for bit in (1 << n for n in range(16)):
        if bit & known or (bit != _UNKNOWN and not bench.speaks_ours):
            continue
        for events in (bit, bit | EventKind.COUNTS):
            request = m.SubscribeRequest(bench.next_id(), events)
            bench.expect_refusal(wrap(encode(request)), request.id, Refusal.BAD_VALUE)
    told = [each for each in _counted(bench) if isinstance(each, m.CountEvent)]
    if not told:
        sent = "subscribe to counts, then to what there is not, and census"
        raise bench.broken("count_event, as before the refusal", "nothing", sent=sent)


@promise("events.once", "A subscription that comes again under its id is not done again.", needs=_COUNTS)
def once(bench: LineBench) -> None:
    bench.need("events")
    request = m.SubscribeRequest(bench.next_id(), EventKind.COUNTS)
    bench.expect(request, m.SubscribeReply)
    _subscribe(bench, 0)
    bench.expect(request, m.SubscribeReply)
    told = [each for each in _counted(bench) if isinstance(each, tuple(_KIND))]
    if told:
        raise bench.broken("no event", all_shown(told), sent="subscribe, subscribe to nothing, the first again, census")


@promise("events.frames", "A frame_event says where, which way and when a frame went, not before the one before it.")
def frames(bench: LineBench) -> None:
    _subscribe(bench, EventKind.FRAMES)
    bench.tap.forget()
    bench.until(lambda heard: isinstance(heard, m.FrameEvent), max(_LISTENING, bench.timeout))
    seen = [each for each in [*bench.tap.came, *bench.exchange()] if isinstance(each, m.FrameEvent)]
    _subscribe(bench, 0)
    if not seen:
        raise NotJudged("no frame went by")
    ways, before = {way.code for way in Way}, 0
    for event in seen:
        right = event.gpu < bench.info.gpus and event.way in ways and event.bad < 2
        if not right or event.cycle < before:
            raise bench.broken(
                f"a GPU of the card, a way, a cycle from {before}", shown(event), sent="subscribe to frames"
            )
        before = event.cycle
    now = bench.client.now()
    if before > now:
        raise bench.broken(f"a cycle up to {now}", shown(seen[-1]), sent="subscribe to frames")


@promise(
    "events.missed", "Events that were not sent, as the client didn't read, are counted, and told by missed_event."
)
def missed(bench: LineBench) -> None:
    bench.need("events")
    before = bench.expect(m.LineRequest(bench.next_id()), m.LineReply)
    _subscribe(bench, EventKind.FRAMES)
    bench.tap.forget()
    bench.idle(_UNREAD)
    told, end = 0, bench.tap.monotonic() + _READING
    while not told and bench.tap.monotonic() < end and bench.tap.hear(PAUSE):
        told += _missed(bench)
        bench.tap.forget()
    bench.tap.forget()
    request = m.SubscribeRequest(bench.next_id(), 0)
    bench.tap.say(wrap(encode(request)))
    bench.until(lambda heard: isinstance(heard, m.SubscribeReply), bench.timeout)
    told += _missed(bench)
    after = bench.expect(m.LineRequest(bench.next_id()), m.LineReply)
    told += _missed(bench)
    if after.missed - before.missed != told:
        raise bench.broken(
            f"missed_event of {after.missed - before.missed} events, as line_reply says",
            f"of {told}",
            sent="subscribe to frames, and read nothing",
        )
    if not told:
        raise NotJudged("the line has taken all events: none was missed")


def _missed(bench: LineBench) -> int:
    return sum(each.events for each in bench.tap.came if isinstance(each, m.MissedEvent))
