"""Hello: who the card is, which version it speaks, and that a client which says it begins afresh."""

from ringhil.emulator.serial.checks.bench import LineBench
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import MAJOR, Capability, Refusal

_LONGEST_NAME = 64  # bytes
_LEAST = 64  # bytes of the longest message: every request but frames


@promise("hello.card", "hello_reply says what the card is: GPUs, longest message, a clock if it is paced, its name.")
def card(bench: LineBench) -> None:
    found = bench.expect(bench.hello(), m.HelloReply)
    paced = bool(found.capabilities & Capability.PACED)
    wrong = [
        (not found.gpus, "at least one GPU"),
        (found.longest < _LEAST, f"a longest message of {_LEAST} bytes or more"),
        (paced and not found.clock, "a clock, as it is paced"),
        (not _is_text(found.name), "a name in UTF-8"),
    ]
    for is_so, promised in wrong:
        if is_so:
            raise bench.broken(promised, shown(found))
    again = bench.expect(bench.hello(), m.HelloReply)
    same = [(each.card, each.gpus, each.capabilities, each.longest, each.serial, each.name) for each in (found, again)]
    if same[0] != same[1]:
        raise bench.broken(f"the same as before: {shown(found)}", shown(again))


@promise("hello.version", "hello is answered with the card's version, whatever that of the client is.")
def version(bench: LineBench) -> None:
    for major, minor in ((MAJOR, 0), (MAJOR, 9), (MAJOR + 1, 0), (255, 255)):
        request = bench.hello(major=major, minor=minor)
        found = bench.expect(request, m.HelloReply)
        said = f"{found.major}.{found.minor}"
        if found.major != MAJOR or said != bench.info.version:
            raise bench.broken(f"version {bench.info.version}", shown(found), sent=shown(request))


@promise("hello.name", "A client's name may have 64 bytes; a longer one is refused with bad_length.")
def name(bench: LineBench) -> None:
    for allowed in (b"", b"n" * _LONGEST_NAME):
        bench.expect(bench.hello(name=allowed), m.HelloReply)
    request = bench.hello(name=b"n" * (_LONGEST_NAME + 1))
    bench.expect_refusal(wrap(encode(request)), request.id, Refusal.BAD_LENGTH)


@promise(
    "hello.again", "hello is done anew each time, and requests from before it are forgotten.", needs="requests.again"
)
def again(bench: LineBench) -> None:
    hello, request = bench.hello(), m.TimeRequest(bench.next_id())
    greeted = bench.expect(hello, m.HelloReply)
    first = bench.expect(request, m.TimeReply)
    bench.pass_time()
    anew = bench.expect(hello, m.HelloReply)
    if anew.now <= greeted.now:
        raise bench.broken(f"a cycle after {greeted.now}", shown(anew), sent=f"{shown(hello)} once more")
    second = bench.expect(request, m.TimeReply)
    if second.now <= first.now:
        raise bench.broken(f"a cycle after {first.now}", shown(second), sent=f"{shown(request)} again after hello")


def _is_text(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False
