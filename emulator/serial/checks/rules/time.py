"""The card's time: cycles since power-up."""

from ringhil.emulator.serial.checks.bench import PAUSE, REGISTER, LineBench
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import shown
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Capability

_TIMES = 30
_TRIES = 100


@promise("time.forward", "No answer has a time before that of an earlier one.")
def forward(bench: LineBench) -> None:
    hello = bench.expect(bench.hello(), m.HelloReply)
    before = hello.now
    for n in range(_TIMES):
        request = m.ReadRequest(bench.next_id(), 0, REGISTER) if n % 2 else m.TimeRequest(bench.next_id())
        if n % 10 == 0:
            bench.tap.hear(PAUSE)
        found = bench.ask(request)
        now = getattr(found, "now", before)
        if now < before:
            raise bench.broken(f"a cycle not before {before}", shown(found), sent=shown(request))
        before = now


@promise("time.passes", "Time passes.")
def passes(bench: LineBench) -> None:
    began = bench.client.now()
    for _ in range(_TRIES):
        bench.tap.hear(PAUSE)
        if bench.client.now() > began:
            return
    raise bench.broken(f"a cycle after {began}", f"{began} each time", sent=f"time, {_TRIES} times")


@promise("time.stamps", "An answer's time is that in which it was done, of whatever type it is.", needs="time.forward")
def stamps(bench: LineBench) -> None:
    value = bench.client.read(0, REGISTER)
    requests: list[m.Message] = [bench.hello(), m.ReadRequest(bench.next_id(), 0, REGISTER)]
    requests.append(m.WriteRequest(bench.next_id(), 0, REGISTER, value))  # what is there
    if Capability.EVENTS.word in bench.info.capabilities:
        requests.append(m.SubscribeRequest(bench.next_id(), 0))
    for request in requests:
        bench.timed(request)
