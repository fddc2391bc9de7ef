"""Registers of a GPU's node: docs/reference/protocol.md has the map. What is written here is written back."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ringhil.emulator.serial.checks.bench import LineBench, NotJudged
from ringhil.emulator.serial.checks.promise import promise
from ringhil.emulator.serial.checks.tap import all_shown, shown
from ringhil.emulator.serial.client import RefusedError
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import KEPT, Refusal
from ringhil.protocol.registers import ADDRESS, REGISTERS

_WRITE = "registers.write"
# The cost of work: written for a moment, they change no count, no election and no frame.
_SETUP, _PER_FLIT = "compute_setup", "compute_per_flit"


@contextmanager
def _kept(bench: LineBench, gpu: int, *names: str) -> Iterator[list[int]]:
    """The values of registers, which are written back in the end."""
    try:
        before = [bench.client.read(gpu, name) for name in names]
    except RefusedError as error:
        raise NotJudged(str(error)) from None
    try:
        yield before
    finally:
        for name, value in zip(names, before, strict=True):
            bench.client.write(gpu, name, value)


def _must_be(bench: LineBench, gpu: int, name: str, value: int, after: str) -> None:
    found = bench.client.read(gpu, name)
    if found != value:
        raise bench.broken(f"{name} of GPU {gpu} is {value}", f"{found}", sent=after)


@promise("registers.read", "Every register of the map can be read, of every node.")
def read(bench: LineBench) -> None:
    lacking = []
    for gpu in bench.some_gpus():
        for register in REGISTERS:
            try:
                bench.client.read(gpu, register.name)
            except RefusedError as error:
                if error.why is not Refusal.NO_SUCH_REGISTER:
                    raise bench.broken("read_reply", str(error)) from None
                lacking.append(register.name)
    if lacking:
        raise NotJudged(f"the card has no {', '.join(dict.fromkeys(lacking))}")


@promise(_WRITE, "What is written to a register can be read back.")
def write(bench: LineBench) -> None:
    gpu = bench.info.gpus - 1
    for name in (_SETUP, _PER_FLIT):
        with _kept(bench, gpu, name) as (before,):
            for value in (before ^ 1, 0xA5C3_0FF1, 0, before + 1 & 0xFFFF_FFFF):
                with bench.possible():
                    bench.client.write(gpu, name, value)
                _must_be(bench, gpu, name, value, f"write(gpu={gpu}, {name}, value={value})")
        _must_be(bench, gpu, name, before, f"write(gpu={gpu}, {name}, value={before})")


@promise("registers.behind", "A read behind a write shows what was written.", needs=_WRITE)
def behind(bench: LineBench) -> None:
    with _kept(bench, 0, _SETUP) as (before,):
        for value in (before ^ 1, before ^ 2):
            requests: list[m.Message] = [m.WriteRequest(bench.next_id(), 0, ADDRESS[_SETUP], value)]
            requests.append(m.ReadRequest(bench.next_id(), 0, ADDRESS[_SETUP]))
            heard = bench.exchange(b"".join(wrap(encode(request)) for request in requests))
            found = [(type(each), each.id) for each in heard if not isinstance(each, Damaged)]
            wanted = [(m.WriteReply, requests[0].id), (m.ReadReply, requests[1].id)]
            if found != wanted or not isinstance(heard[1], m.ReadReply) or heard[1].value != value:
                raise bench.broken(f"write_reply, then {_SETUP} is {value}", all_shown(heard))


@promise("registers.apart", "A write changes no other register, and no other node.", needs=_WRITE)
def apart(bench: LineBench) -> None:
    gpu, other = 0, bench.info.gpus - 1
    with _kept(bench, gpu, _SETUP, _PER_FLIT) as (setup, per_flit):
        neighbour = bench.client.read(other, _SETUP)
        value = setup ^ 3
        bench.client.write(gpu, _SETUP, value)
        after = f"write(gpu={gpu}, {_SETUP}, value={value})"
        _must_be(bench, gpu, _SETUP, value, after)
        _must_be(bench, gpu, _PER_FLIT, per_flit, after)
        if other != gpu:
            _must_be(bench, other, _SETUP, neighbour, after)


@promise("registers.each", "Each GPU has registers of its own, those in the middle of the ring too.", needs=_WRITE)
def each(bench: LineBench) -> None:
    gpus = range(bench.info.gpus)
    with ExitStack() as keeping:
        before = [keeping.enter_context(_kept(bench, gpu, _SETUP, _PER_FLIT)) for gpu in gpus]
        values = [setup ^ 0x5EED_0000 ^ gpu + 1 for gpu, (setup, _) in enumerate(before)]
        for gpu, value in enumerate(values):
            bench.client.write(gpu, _SETUP, value)
        for gpu, value in enumerate(values):
            after = f"write(gpu={gpu}, {_SETUP}, value={value}), and another value to each GPU"
            _must_be(bench, gpu, _SETUP, value, after)
            _must_be(bench, gpu, _PER_FLIT, before[gpu][1], after)


@promise("registers.once", "A write that comes again under its id is not done again.", needs=_WRITE)
def once(bench: LineBench) -> None:
    with _kept(bench, 0, _SETUP) as (before,):
        one, other = (m.WriteRequest(bench.next_id(), 0, ADDRESS[_SETUP], before ^ bit) for bit in (1, 2))
        first = bench.expect(one, m.WriteReply)
        bench.expect(other, m.WriteReply)
        what = f"{shown(one)}, {shown(other)}, the first again"
        again = bench.ask(one)
        if again != first:
            raise bench.broken(f"{shown(first)} again", shown(again), sent=what)
        _must_be(bench, 0, _SETUP, other.value, what)


@promise(
    "registers.kept",
    f"A write that is one of the last {KEPT} requests is not done again either.",
    needs="registers.once",
)
def kept(bench: LineBench) -> None:
    with _kept(bench, 0, _SETUP) as (before,):
        one, other = (m.WriteRequest(bench.next_id(), 0, ADDRESS[_SETUP], before ^ bit) for bit in (1, 2))
        for request in (one, other):  # and a fence behind each
            bench.expect(request, m.WriteReply)
        bench.ask_others(KEPT - 4)
        bench.ask(one)
        _must_be(bench, 0, _SETUP, other.value, f"{shown(one)}, {KEPT - 1} others, the first again")
