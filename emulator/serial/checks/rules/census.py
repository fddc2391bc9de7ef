"""Censuses: what a count says agrees with itself, with the card, and with what is asked later."""

from ringhil.emulator.serial.checks.bench import PAUSES, LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import Heard, all_shown, shown
from ringhil.emulator.serial.client import TRIES
from ringhil.emulator.serial.words import RingCensus, census_text
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import COUNTING, Refusal
from ringhil.protocol.wire import CensusVerdict

_COUNT = "census.counts"
_TRIES = 5  # as the ring counts itself, too, there may be a later one
_AT_ONCE = 3
_MORE = 4  # than have to be
_FORWARDED = "forwarded"
_ROUNDS, _LONGER = 5, 4  # times as long as a census takes
_LEAST = 1e-4  # seconds


def _census(bench: LineBench) -> RingCensus:
    bench.need("census")
    with bench.possible():
        return bench.client.census(timeout=bench.counting / TRIES)


def _must(bench: LineBench, is_so: bool, promised: str, census: RingCensus) -> None:
    if not is_so:
        raise bench.broken(promised, f"{census_text(census)}: {census}")


@promise(_COUNT, "A census is answered when its round is over, with a count of no more GPUs than there are.")
def counts(bench: LineBench) -> None:
    census = _census(bench)
    _must(bench, census.size == bench.info.gpus, f"size {bench.info.gpus}, as hello_reply says", census)
    _must(bench, 0 < census.count <= census.size, f"a count of 1 .. {census.size}", census)
    _must(bench, census.entry < census.size, f"an entry GPU of 0 .. {census.size - 1}", census)
    _must(bench, census.verdict is not CensusVerdict.NONE, "a verdict, as it was accepted", census)
    ends = [end for end in (census.break_after, census.break_before) if end is not None]
    _must(bench, all(end < census.size for end in ends), "a cut between GPUs of the card", census)


@promise(
    "census.members", "The members of a census are as many as it counts, the one that counted among them.", needs=_COUNT
)
def members(bench: LineBench) -> None:
    bench.need("census")
    request = m.CensusRequest(bench.next_id())
    found = _counted(bench, [request])[0]
    if isinstance(found, m.RefusedReply):
        _census(bench)  # says why not
    assert isinstance(found, m.CensusReply)
    if not found.members:
        return  # not known
    here = [64 * word + bit for word, bits in enumerate(found.members) for bit in range(64) if bits >> bit & 1]
    wrong = [
        (len(here) != found.count, f"as many members as are counted, {found.count}"),
        (here[-1:] >= [found.size], f"members of 0 .. {found.size - 1}"),
        (found.entry not in here, f"GPU {found.entry}, which counted, among the members"),
    ]
    for is_so, promised in wrong:
        if is_so:
            raise bench.broken(promised, f"members {here} in {shown(found)}", sent=shown(request))


@promise(
    "census.now", "A census is of now: it is accepted after it was asked for, and once more than before.", needs=_COUNT
)
def now(bench: LineBench) -> None:
    first = _census(bench)
    asked = bench.client.now()
    second = _census(bench)
    answered = bench.client.now()
    _must(bench, second.accepted > first.accepted, f"more than {first.accepted} accepted", second)
    _must(bench, second.sent_at <= second.cycle, "accepted not before it was sent", second)
    _must(bench, asked <= second.cycle <= answered, f"accepted in a cycle of {asked} .. {answered}", second)
    _must(bench, first.sent_at < second.sent_at, f"sent after cycle {first.sent_at}, as the one before was", second)
    later = (second.epoch, second.sequence) > (first.epoch, first.sequence)
    _must(bench, later, f"later than epoch {first.epoch}, sequence {first.sequence}", second)


@promise("census.last", "The last census is the one that was answered last, if there is no later one.", needs=_COUNT)
def last(bench: LineBench) -> None:
    for _ in range(_TRIES):
        census = _census(bench)
        found = bench.client.last_census()
        _must(bench, found.accepted >= census.accepted, f"{census.accepted} accepted, or more", found)
        if found.accepted == census.accepted:
            _must(bench, found == census, f"the census that was answered before, {census}", found)
            return


@promise("census.several", "Several censuses may be under way; each is answered, under its id.", needs=_COUNT)
def several(bench: LineBench) -> None:
    bench.need("census")
    requests = [m.CensusRequest(bench.next_id()) for _ in range(_AT_ONCE)]
    _counted(bench, requests)
    ids = sorted(each.id for each in bench.tap.came if not isinstance(each, Damaged) and _is_theirs(each, requests))
    if ids != [request.id for request in requests]:
        raise bench.broken("an answer to each", all_shown(bench.tap.came), sent=", ".join(map(shown, requests)))


@promise(
    "census.many",
    f"{COUNTING} censuses may be under way; more are counted, too, or refused with busy.",
    needs=_COUNT,
)
def many(bench: LineBench) -> None:
    bench.need("census")
    requests = [m.CensusRequest(bench.next_id()) for _ in range(COUNTING + _MORE)]
    answers = {each.id: each for each in _counted(bench, requests)}
    for n, request in enumerate(requests):
        found = answers[request.id]
        if isinstance(found, m.CensusReply) or (n >= COUNTING and _is_busy(found)):
            continue
        if isinstance(found, m.RefusedReply) and found.why in (Refusal.NO_ENTRY_GPU.code, Refusal.NOT_COUNTED.code):
            raise NotJudged(f"no census: {shown(found)}")
        promised = f"census_reply to {COUNTING} of them, the others may be refused with busy"
        raise bench.broken(promised, shown(found), sent=f"{len(requests)} censuses, of which {shown(request)}")


def _is_busy(message: m.Message) -> bool:
    return isinstance(message, m.RefusedReply) and message.why == Refusal.BUSY.code


@promise(
    "census.again", "A census that comes again under its id is not counted again: it has one answer.", needs=_COUNT
)
def again(bench: LineBench) -> None:
    _census(bench)
    request = m.CensusRequest(bench.next_id())
    answers = _counted(bench, [request, request])
    _census(bench)  # whatever is counted now, that one is not
    answers += _counted(bench, [request])
    different: list[Heard] = [each for each in answers if each != answers[0]]
    if different:
        raise bench.broken(f"{shown(answers[0])} again", all_shown(different), sent=f"{shown(request)} again and again")


@promise("census.once", "A census that comes again when it is over starts no other one.", needs="census.again")
def once(bench: LineBench) -> None:
    """A ring that counts itself, too, is told from one that counts again by rounds without a repeat."""
    bench.need("census")
    grown = {True: 0, False: 0}
    for _ in range(_ROUNDS):
        for repeated in (True, False):
            request = m.CensusRequest(bench.next_id())
            first = _counted(bench, [request])[0]
            if not isinstance(first, m.CensusReply):
                raise NotJudged(f"no census: {shown(first)}")
            if repeated:
                bench.ask(request)
            _wait(bench, _LONGER * (first.counted_at - first.sent_at))
            later = bench.expect(m.LastCensusRequest(bench.next_id()), m.LastCensusReply).accepted > first.accepted
            if repeated and not later:
                return
            grown[repeated] += later
    if 2 * grown[False] > _ROUNDS:
        raise NotJudged("the ring counts itself as often")
    came = f"one, {_ROUNDS} times of {_ROUNDS}; without the repeat {grown[False]} times"
    raise bench.broken("no other census", came, sent="census, and the same when it was over")


def _wait(bench: LineBench, cycles: int) -> None:
    """So many cycles, and few more: the ring may count itself. Raises NotJudged when they don't pass."""
    end, pause = bench.fence().now + cycles, _LEAST
    while bench.fence().now < end:
        bench.tap.hear(pause)
        pause *= 2
        if pause > PAUSES[-1]:
            raise NotJudged("the card's time goes too slowly")


def _is_theirs(message: m.Message, requests: list[m.CensusRequest]) -> bool:
    return message.id in {request.id for request in requests}


def _counted(bench: LineBench, requests: list[m.CensusRequest]) -> list[m.Message]:
    """Their answers."""
    bench.tap.forget()
    bench.tap.say(b"".join(wrap(encode(request)) for request in requests))
    for request in requests:
        if not bench.until_counted(request.id):
            raise bench.broken("census_reply", sent=shown(request))
    return [each for each in bench.tap.came if not isinstance(each, Damaged) and _is_theirs(each, requests)]


@promise(
    "census.registers",
    "A register is read as it is now: GPUs have forwarded more when one more is counted.",
    needs=_COUNT,
)
def registers(bench: LineBench) -> None:
    census = _census(bench)
    gpus = [gpu for gpu in census.members or () if gpu != census.entry and gpu in bench.some_gpus()]
    if not gpus:
        raise NotJudged("no GPU is known that forwards messages")
    with bench.possible(Refusal.NO_SUCH_REGISTER):
        before = {gpu: bench.client.read(gpu, _FORWARDED) for gpu in gpus}
    _census(bench)
    for gpu, value in before.items():
        if bench.client.read(gpu, _FORWARDED) == value:
            raise bench.broken(f"{_FORWARDED} of GPU {gpu} has grown", f"{value}", sent="a read, census, a read")
