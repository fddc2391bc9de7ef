"""Faults: an emulated card does them when it is told to, and ends them; a real card refuses."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ringhil.emulator.serial.checks.bench import PAUSE, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import Heard, all_shown, shown
from ringhil.emulator.serial.client import TRIES, RefusedError
from ringhil.emulator.serial.words import RingCensus, census_text
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Refusal

_DONE = "faults.done"
_NO_FAULT = 0xEE
_TRIES = 200  # censuses until a fault is seen, or seen no more
_MANY, _QUICKEST = 20, 8
_DELAY = 30  # cycles
_MANY_ERRORS = 20_000  # of 65,536 flits
_ON_OFF_OFF = (Injection.SET, Injection.CLEAR, Injection.CLEAR)


def _inject(bench: LineBench, injection: int, fault: int, gpu: int, value: int = 0) -> m.InjectRequest:
    return m.InjectRequest(bench.next_id(), injection, fault, gpu, value)


@promise("faults.values", "A fault, a GPU or a value that there is not is refused; so is the end of what is not set.")
def values(bench: LineBench) -> None:
    bench.need("faults")
    beyond = sorted({bench.info.gpus, 0x100, 0xFFFF} - {*range(bench.info.gpus)})
    wrong = (
        (_inject(bench, Injection.SET.code, _NO_FAULT, 0), Refusal.BAD_VALUE),
        (_inject(bench, 7, LineFault.DEAD.code, 0), Refusal.BAD_VALUE),
        *(
            (_inject(bench, Injection.SET.code, LineFault.DEAD.code, gpu), Refusal.NO_SUCH_GPU)
            for gpu in sorted(beyond)
        ),
        (_inject(bench, Injection.CLEAR.code, LineFault.SLOW.code, bench.info.gpus - 1), Refusal.BAD_VALUE),
        (_inject(bench, Injection.SET.code, LineFault.DEAD.code, 0, 1), Refusal.BAD_VALUE),
        (_inject(bench, Injection.SET.code, LineFault.LINK_DELAY.code, 0, 1 << 31), Refusal.BAD_VALUE),
    )
    for request, why in wrong:
        bench.expect_refusal(wrap(encode(request)), request.id, why, sent=shown(request))


@promise(_DONE, "A GPU that was made dead is left out of the next censuses, and counted again when that is ended.")
def done(bench: LineBench) -> None:
    before, gpu = victim(bench)
    card = bench.client
    card.fault(LineFault.DEAD, gpu)
    try:
        left = set(before.members or ()) - {gpu}
        seen(
            bench, f"GPUs {sorted(left)} are counted", lambda now: set(now.members or ()) == left, f"dead of GPU {gpu}"
        )
        with bench.refused(Refusal.BAD_VALUE):
            card.fault(LineFault.DEAD, gpu)
    finally:
        card.clear(LineFault.DEAD, gpu)
    whole(bench, before, f"dead of GPU {gpu}")


@promise("faults.told", "Who has subscribed to faults is told when one is set and when it is ended.", needs=_DONE)
def told(bench: LineBench) -> None:
    before, gpu = victim(bench)
    card = bench.client
    card.subscribe(EventKind.FAULTS)
    wanted = []
    for injection, act in ((Injection.SET, card.fault), (Injection.CLEAR, card.clear)):
        act(LineFault.DEAD, gpu)
        wanted.append((injection.code, LineFault.DEAD.code, gpu))
    heard: list[m.FaultEvent] = []
    for each in card.events(bench.timeout):
        if isinstance(each, m.FaultEvent):
            heard.append(each)
        if len(heard) == len(wanted):
            break
    card.subscribe(0)
    found = [(each.injection, each.fault, each.gpu) for each in heard]
    if found != wanted:
        raise bench.broken(f"dead of GPU {gpu} set, and ended", ", ".join(map(shown, heard)) or "nothing")
    whole(bench, before, f"dead of GPU {gpu}")


@promise("faults.event", "A fault_event says of which value the fault is, and when it was set.", needs=_DONE)
def event(bench: LineBench) -> None:
    before, gpu = victim(bench)
    request = _inject(bench, Injection.SET.code, LineFault.LINK_DELAY.code, gpu, _DELAY)
    bench.expect(m.SubscribeRequest(bench.next_id(), EventKind.FAULTS), m.SubscribeReply)
    began = bench.fence().now
    bench.tap.forget()
    bench.tap.say(wrap(encode(request)))
    bench.until(lambda heard: isinstance(heard, m.FaultEvent), bench.timeout)
    bench.until_answered(request.id, bench.timeout)
    came = [*bench.tap.came]
    ended = bench.fence().now
    ask_to_clear = _inject(bench, Injection.CLEAR.code, LineFault.LINK_DELAY.code, gpu)
    bench.expect(ask_to_clear, m.InjectReply)
    events = [each for each in came if isinstance(each, m.FaultEvent)]
    replies = [each.now for each in came if isinstance(each, m.InjectReply)]
    right = [each for each in events if each.value == _DELAY and began <= each.cycle <= ended]
    if len(events) != 1 or not right:
        raise bench.broken(
            f"one fault_event, value {_DELAY}, cycle {began} .. {ended}", all_shown(came), sent=shown(request)
        )
    if not all(began <= now <= ended for now in replies):
        raise bench.broken(f"inject_reply in a cycle of {began} .. {ended}", all_shown(came), sent=shown(request))
    whole(bench, before, shown(request))


@promise(
    "faults.unasked", "Who has subscribed to all but faults, or has said hello since, is told of none.", needs=_DONE
)
def unasked(bench: LineBench) -> None:
    _, gpu = victim(bench)
    bench.need("events")
    for events, anew in ((EventKind.COUNTS, False), (EventKind.ROLES, False), (EventKind.FAULTS, True)):
        bench.expect(m.SubscribeRequest(bench.next_id(), events), m.SubscribeReply)
        if anew:
            bench.expect(bench.hello(), m.HelloReply)
        heard = list[Heard]()
        for injection in (Injection.SET, Injection.CLEAR):
            bench.expect(_inject(bench, injection.code, LineFault.SLOW.code, gpu), m.InjectReply)
            heard += bench.tap.came
            _census_passes(bench)
            heard += bench.tap.came
        told: list[Heard] = [each for each in heard if isinstance(each, m.FaultEvent)]
        if told:
            what = f"subscribe to {events.word}{', hello' if anew else ''}, a fault of GPU {gpu}"
            raise bench.broken("no fault_event", all_shown(told), sent=what)


def _census_passes(bench: LineBench) -> None:
    """What happened before it is told before its answer."""
    request = m.CensusRequest(bench.next_id())
    bench.tap.forget()
    bench.tap.say(wrap(encode(request)))
    if not bench.until_counted(request.id):
        raise bench.broken("census_reply", sent=shown(request))


@promise("faults.once", "A fault to be set that comes again under its id is not set again.", needs=_DONE)
def once(bench: LineBench) -> None:
    _, gpu = victim(bench)
    setting, *clearing = (_inject(bench, injection.code, LineFault.SLOW.code, gpu) for injection in _ON_OFF_OFF)
    first = bench.expect(setting, m.InjectReply)
    bench.expect(clearing[0], m.InjectReply)
    again = bench.ask(setting)
    what = f"{shown(setting)}, its end, the first again"
    if again != first:
        raise bench.broken(f"{shown(first)} again", shown(again), sent=what)
    found = bench.ask(clearing[1])
    if not isinstance(found, m.RefusedReply):
        raise bench.broken("that its end is refused, as it is not set", shown(found), sent=what)


@promise("faults.kinds", "A fault of whatever kind does what it is about, and is over when it is ended.", needs=_DONE)
def kinds(bench: LineBench) -> None:
    lacking = []
    for fault, effect in _EFFECTS.items():
        before, gpu = victim(bench)
        if effect.quickest:  # a message may have to wait for another one, and the fault would not be seen beside that
            counts = [before, *(bench.client.census(timeout=bench.counting / TRIES) for _ in range(_QUICKEST))]
            before = min(counts, key=_took)
        request = _inject(bench, Injection.SET.code, fault.code, gpu, effect.value)
        found = bench.ask(request)
        if isinstance(found, m.RefusedReply) and found.why == Refusal.CANNOT.code:
            lacking.append(str(fault))
            continue
        if not isinstance(found, m.InjectReply):
            raise bench.broken("inject_reply", shown(found), sent=shown(request))
        shows = partial(effect.shows, gpu, before)
        try:
            seen(bench, effect.says, shows, f"{fault} of GPU {gpu}", effect.spoils)
        finally:
            bench.client.clear(fault, gpu)
        whole(bench, before, f"{fault} of GPU {gpu}", effect.times, None if effect.spoils else shows)
    if lacking:
        raise NotJudged(f"the card has no {', '.join(lacking)}")


@dataclass(frozen=True)
class _Effect:
    """`shows`: of a GPU, a census before and one now. `spoils`: a census that is not accepted shows it, too. `times`:
    censuses that show that it is over; many of what comes and goes. `quickest`: the census before is the quickest of
    some."""

    says: str
    shows: Callable[[int, RingCensus, RingCensus], bool]
    spoils: bool = False
    value: int = 0
    times: int = 1
    quickest: bool = False


def _took(census: RingCensus) -> int:
    return census.cycle - census.sent_at


def _is_out(gpu: int, _: RingCensus, now: RingCensus) -> bool:
    return gpu not in (now.members or ())


def _is_cut(gpu: int, _: RingCensus, now: RingCensus) -> bool:
    return (now.break_after, now.break_before) == (gpu, (gpu + 1) % now.size)


def _is_rejected(_: int, before: RingCensus, now: RingCensus) -> bool:
    return now.rejected > before.rejected


def _is_longer(_: int, before: RingCensus, now: RingCensus) -> bool:
    return _took(now) >= _took(before) + _DELAY


_OUT = _Effect("that GPU is not counted", _is_out)
_CUT = _Effect("the ring is cut behind that GPU", _is_cut)
_SPOILT = _Effect("messages of the census are rejected", _is_rejected, spoils=True)
# Those that a census shows, and after which the ring is as it was. What babbles may stay muted.
_EFFECTS = {
    LineFault.HANG: _OUT,
    LineFault.SWITCH_STUCK_BYPASS: _OUT,
    LineFault.FLAP: replace(_OUT, times=_MANY),
    LineFault.CORRUPT: _SPOILT,
    LineFault.SKIP_COUNT: _SPOILT,
    LineFault.DOUBLE_COUNT: _SPOILT,
    LineFault.DUPLICATE_ID: _SPOILT,
    LineFault.LINK_CUT: _CUT,
    LineFault.LINK_ONE_WAY: _CUT,
    LineFault.LINK_BIT_ERRORS: replace(_SPOILT, value=_MANY_ERRORS, times=_MANY),
    LineFault.LINK_DELAY: _Effect(f"the census takes {_DELAY} cycles longer", _is_longer, value=_DELAY, quickest=True),
}


def victim(bench: LineBench) -> tuple[RingCensus, int]:
    """A census, and a GPU that is counted in it and has not counted."""
    bench.need("faults")
    if not bench.faults:
        raise NotJudged("faults are injected only when asked for")
    bench.need("census")
    with bench.possible():
        census = bench.client.census(timeout=bench.counting / TRIES)
    others = [gpu for gpu in census.members or () if gpu != census.entry]
    if not others:
        raise NotJudged("no GPU can be spared")
    return census, others[len(others) // 2]


def seen(
    bench: LineBench, promised: str, shows: Callable[[RingCensus], bool], sent: str, spoils: bool = False
) -> RingCensus | None:
    """Have the ring counted until a census shows it; `spoils`: so does one that is not accepted, and None is it."""
    last = "no census"
    for _ in range(_TRIES):
        try:
            census = bench.client.census(timeout=bench.counting / TRIES)
        except RefusedError as error:
            if error.why not in (Refusal.NOT_COUNTED, Refusal.NO_ENTRY_GPU):
                raise
            if spoils and error.why is Refusal.NOT_COUNTED:
                return None
            last = str(error)
        else:
            if shows(census):
                return census
            last = census_text(census)
        bench.tap.hear(PAUSE)
    raise bench.broken(f"in the end {promised}", last, sent=sent)


def whole(
    bench: LineBench, before: RingCensus, sent: str, times: int = 1, shows: Callable[[RingCensus], bool] | None = None
) -> None:
    """Wait until the ring is what it was, so many times one after the other, nothing is rejected in between and no
    fault shows."""
    found = list[RingCensus]()

    def same(now: RingCensus) -> bool:
        if found and now.rejected != found[-1].rejected:
            found.clear()
        found.append(now)
        if (now.members, now.verdict, now.break_after) != (before.members, before.verdict, before.break_after):
            found.clear()
        if shows is not None and shows(now):
            found.clear()
        return len(found) >= times

    seen(bench, f"as before {census_text(before)}", same, f"{sent}, and its end")
