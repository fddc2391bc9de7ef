"""Frames: those that a GPU's firmware takes and gives are told of, whole; what the card is asked to send goes out."""

from ringhil.emulator.serial.checks.bench import LineBench, NotJudged, harmless
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import shown
from ringhil.emulator.serial.client import TRIES
from ringhil.protocol import codec
from ringhil.protocol.frames import Frame, Keepalive, Report, Statistics
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import EventKind, Way
from ringhil.protocol.wire import CensusVerdict, Port

_OUT = "frames.sent"
_SENT = "subscribe to frames, and census"
_HEARTBEATS = 3  # keepalives to the CPU, which answers them
_LISTENING = 1.0  # seconds for these
_LINK_CRC = 4  # bytes, written anew


def _subscribe(bench: LineBench) -> None:
    bench.need("events")
    bench.expect(m.SubscribeRequest(bench.next_id(), EventKind.FRAMES), m.SubscribeReply)
    bench.tap.forget()


def _seen(bench: LineBench) -> list[tuple[m.FrameEvent, Frame]]:
    """What was told since `forget`. Raises NotJudged when events were left out."""
    found = []
    bench.none_left_out(bench.tap.came)
    for each in bench.tap.came:
        if isinstance(each, m.FrameEvent) and not each.bad:
            try:
                found.append((each, codec.decode(each.frame, link=False)))
            except codec.FrameError as error:
                raise bench.broken("a whole frame", f"{shown(each)}: {error}", sent="subscribe to frames") from None
    return found


def _go_on(bench: LineBench, enough: int, kind: type[Frame], way: Way, seconds: float) -> None:
    """Until so many frames of a kind have gone a way, or time is over."""
    came = 0

    def is_last(heard: object) -> bool:
        nonlocal came
        if isinstance(heard, m.FrameEvent) and heard.way == way.code and heard.frame[:1] == bytes([kind.KIND]):
            came += 1
        return came >= enough or isinstance(heard, m.MissedEvent)

    bench.until(is_last, seconds)


@promise("frames.census", "Who has subscribed to frames sees a census: its messages, and its report to the CPU.")
def census(bench: LineBench) -> None:
    bench.need("census")
    _subscribe(bench)
    request = m.CensusRequest(bench.next_id())
    bench.tap.say(wrap(encode(request)))
    if not bench.until_counted(request.id):
        raise bench.broken("census_reply")
    reply = next(each for each in bench.tap.came if not isinstance(each, Damaged) and each.id == request.id)
    if not isinstance(reply, m.CensusReply):
        raise NotJudged(f"no census: {shown(reply)}")

    def is_its_report(heard: object) -> bool:
        if isinstance(heard, m.MissedEvent):
            return True
        if not isinstance(heard, m.FrameEvent) or heard.way != Way.TO_CPU.code:
            return False
        return _number(heard.frame) == (reply.epoch, reply.sequence)

    bench.until(is_its_report, bench.counting)
    seen = [(event, frame) for event, frame in _seen(bench) if _of(frame) == (reply.epoch, reply.sequence)]
    ways = {(type(frame), event.way) for event, frame in seen}
    wanted = [(Statistics, Way.FROM_FIRMWARE), (Report, Way.FROM_FIRMWARE), (Report, Way.TO_CPU)]
    if reply.verdict == CensusVerdict.RING.code:
        wanted.append((Statistics, Way.TO_FIRMWARE))
    for kind, way in wanted:
        if (kind, way.code) not in ways:
            raise bench.broken(f"{kind.__name__.lower()} of that census {way}", "none", sent=_SENT)
    for event, frame in seen:
        if isinstance(frame, Report) and (event.gpu, frame.count) != (reply.entry, reply.count):
            raise bench.broken(
                f"a report of GPU {reply.entry} with a count of {reply.count}", f"{shown(event)}: {frame}"
            )
        if not reply.sent_at <= event.cycle:
            raise bench.broken(f"a cycle from {reply.sent_at}, as census_reply says", shown(event), sent=_SENT)


def _of(frame: Frame) -> tuple[int, int] | None:
    return (frame.epoch, frame.sequence) if isinstance(frame, Statistics | Report) else None


def _number(data: bytes) -> tuple[int, int] | None:
    try:
        return _of(codec.decode(data, check=False))
    except codec.FrameError:
        return None


@promise("frames.cpu", "Who has subscribed to frames sees those from the CPU, too: it answers keepalives.")
def cpu(bench: LineBench) -> None:
    _subscribe(bench)
    _go_on(bench, _HEARTBEATS, Keepalive, Way.TO_CPU, max(_LISTENING, bench.timeout))
    seen = _seen(bench)
    beats = sum(isinstance(frame, Keepalive) and event.way == Way.TO_CPU.code for event, frame in seen)
    if beats < _HEARTBEATS:
        raise NotJudged(f"{beats} keepalives went to the CPU")
    for way in (Way.FROM_CPU, Way.TO_FIRMWARE):
        if not any(event.way == way.code and isinstance(frame, Keepalive) for event, frame in seen):
            raise bench.broken(f"an answer to one of {beats} keepalives, {way}", "none", sent="subscribe to frames")


def _sent(bench: LineBench, to: int, *requests: m.SendRequest) -> list[m.Message]:
    """What has come until the last of these frames was there: each has left and arrived, once."""
    _subscribe(bench)
    bench.tap.say(b"".join(wrap(encode(request)) for request in requests))
    what = ", ".join(map(shown, requests))
    if not bench.until_answered(requests[-1].id, bench.timeout):
        raise bench.broken("send_reply", sent=what)
    for each in bench.tap.came:
        if isinstance(each, m.RefusedReply):
            raise NotJudged(f"the card refuses: {shown(each)}")

    def arrived(heard: object) -> bool:
        return isinstance(heard, m.MissedEvent) or _is_seen(heard, requests[-1], to, Way.TO_FIRMWARE)

    bench.until(arrived, max(_LISTENING, bench.timeout))
    came = [*bench.tap.came]
    events = [event for event, _ in _seen(bench)]
    for request in requests:
        for gpu, way in ((request.gpu, Way.FROM_FIRMWARE), (to, Way.TO_FIRMWARE)):
            found = [event for event in events if _is_seen(event, request, gpu, way)]
            if len(found) != 1 or (way is Way.FROM_FIRMWARE and found[0].port != request.port):
                promised = f"one frame_event at GPU {gpu}, {way}, with that frame, which leaves by port {request.port}"
                raise bench.broken(promised, ", ".join(map(shown, found)) or "none", sent=what)
    return [each for each in came if not isinstance(each, Damaged)]


def _is_seen(heard: object, request: m.SendRequest, gpu: int, way: Way) -> bool:
    """That frame, but for what hops change, there."""
    if not isinstance(heard, m.FrameEvent) or (heard.gpu, heard.way) != (gpu, way.code):
        return False
    return _constant(heard.frame) == _constant(request.frame)


def _constant(frame: bytes) -> bytes:
    """Without TTL, which each hop counts down, and link CRC."""
    return frame[:4] + frame[6:-_LINK_CRC]


@promise(_OUT, "A frame that is sent leaves its GPU by that port, whole, and arrives at the GPU that it is for.")
def sent(bench: LineBench) -> None:
    gpu, to = _neighbours(bench)
    token = bench.next_id()
    request = m.SendRequest(token, gpu, Port.CW.code, harmless(to, token))
    began = bench.fence().now
    seen = _sent(bench, to, request)
    ended = bench.fence().now
    reply = next(each for each in seen if each.id == token)
    if not isinstance(reply, m.SendReply) or not began <= reply.now <= ended:
        raise bench.broken(f"send_reply in a cycle of {began} .. {ended}", shown(reply), sent=shown(request))


@promise("frames.once", "A frame to be sent that comes again under its id is not sent again.", needs=_OUT)
def once(bench: LineBench) -> None:
    gpu, to = _neighbours(bench)
    requests = []
    for _ in range(3):
        token = bench.next_id()
        requests.append(m.SendRequest(token, gpu, Port.CW.code, harmless(to, token)))
    first, other, last = requests
    _sent(bench, to, first, other, first, last)


def _neighbours(bench: LineBench) -> tuple[int, int]:
    """Two GPUs that are there, one behind the other; neither counts, if that can be."""
    bench.need("send")
    bench.need("census")
    with bench.possible():
        census = bench.client.census(timeout=bench.counting / TRIES)
    here = set(census.members or ())
    pairs = [(gpu, (gpu + 1) % census.size) for gpu in here if (gpu + 1) % census.size in here - {gpu}]
    cut = [(census.break_after, census.break_before)]
    pairs = [pair for pair in pairs if pair not in cut]
    if not pairs:
        raise NotJudged("no two GPUs that work are neighbours")
    return next((pair for pair in pairs if census.entry not in pair), pairs[0])
