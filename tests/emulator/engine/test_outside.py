"""A GPU whose hardware is at the other end of a line does what it would do in the engine: every wire, every cycle.

The hardware is rtl/hil_bridge.sv in Verilator, behind a pty.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import pytest
from tests.emulator.loop.bridge_line import HELLO, BridgeLine, Noise

from ringhil.emulator.engine.engine import Engine, OutsideError, OutsideNode, Topology
from ringhil.emulator.engine.layout import REGISTER
from ringhil.emulator.engine.library import Library, card_library, cells_library
from ringhil.protocol import registers
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.node_loop import NodeMessage

from .stimulus import Action, Seen, Told, Trouble, differing, differing_registers, statistics, told

RING = Topology((8,))
OUT = 3  # the GPU that is outside
TWO = Topology((3, 3), ((1, 5), (2, 4)))  # two cards


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@contextmanager
def outside(cells: Library, line: BridgeLine, topology: Topology = RING, cell: int = OUT) -> Iterator[Engine]:
    with line, Engine(cells, topology) as engine:
        engine.attach(cell, line.fd, sequence=HELLO, patience=100)
        yield engine


def node(engine: Engine) -> OutsideNode:
    (found,) = engine.outside()
    return found


def test_every_wire_in_every_cycle_is_the_same(cells: Library) -> None:
    """Random traffic, registers and faults, on the GPU outside too."""
    cycles, seen = 3000, Seen()
    with outside(cells, BridgeLine()) as engine, Engine(cells, RING) as here:
        actions = Trouble(1, 8)(cycles, 25)
        for _ in range(3):
            assert differing([here, engine], actions, cycles // 3, seen) == ""
            assert differing_registers([here, engine]) == ""
        found = node(engine)
        assert seen.flits > cycles // 20
        assert found.lost == ""
        assert found.differing == 0
        assert cycles // 4 < found.steps < cycles  # the others were leapt over
        assert (found.sent + found.received) / found.steps < 60


def test_a_boundary_port_is_one_of_its_wires(cells: Library) -> None:
    cycles = 4000
    with outside(cells, BridgeLine(), TWO, cell=4) as engine, Engine(cells, TWO) as here:
        assert differing([here, engine], Trouble(3, 3, 2, TWO.crossings)(cycles, 20), cycles) == ""
        assert differing_registers([here, engine]) == ""
        assert engine.peek(4, "crossed") == here.peek(4, "crossed")


def seen_in(engine: Engine, cycles: int) -> tuple[bytes, bytes, list[Told]]:
    """What is on the wires, and what arrives."""
    data, ctl = engine.trace(cycles)
    return data.tobytes(), ctl.tobytes(), told(engine.events())


def bit_errors(engine: Engine, port: int, on: bool) -> None:
    engine.set_bit_errors(4, port, 40_000 * on)


def delay(engine: Engine, port: int, on: bool) -> None:
    engine.set_delay(4, port, 9 * on)


def cut(engine: Engine, port: int, on: bool) -> None:
    engine.set_link_fault(4, ("cut_port1", "cut_port2", "cut_host", "cut_boundary")[port], on)


@pytest.mark.parametrize("port", range(4))
@pytest.mark.parametrize("medium", [bit_errors, delay, cut])
def test_what_is_the_matter_with_a_port_reaches_that_port(
    cells: Library, medium: Callable[[Engine, int, bool], None], port: int
) -> None:
    """Censuses both ways round the ring, frames of the CPU's and of the other card's; with it, and again without.
    A GPU whose port is well does something else."""
    frames = [statistics(3, 1, sequence, ttl=9, card=1) for sequence in range(1, 5)]
    told_apart = []
    with outside(cells, BridgeLine(), TWO, cell=4) as engine, Engine(cells, TWO) as here, Engine(cells, TWO) as well:
        for each in (engine, here, well):
            each.poke(4, "control", 0b1000)
            each.poke(2, "control", 0b1000)
        for on in (True, False):
            for each in (engine, here, well):
                if each is not well:
                    medium(each, port, on)
                for frame in frames:
                    for cell, way in ((3, 0), (3, 1), (5, 0), (5, 1), (2, 3)):
                        each.send_mail(cell, way, frame, at=each.now + 5)
                    each.send_from_cpu(4, [frame], at=each.now + 5)
            found = seen_in(engine, 600)
            assert found == seen_in(here, 600)
            told_apart.append(found != seen_in(well, 600))
            assert differing_registers([here, engine]) == ""
    assert told_apart[0]


def test_a_register_that_is_watched_costs_no_message_of_its_own(cells: Library) -> None:
    line = BridgeLine()
    with outside(cells, line) as engine:
        engine.watch_register(OUT, "status")
        before, done = line.reads, node(engine).steps
        assert differing([engine], Trouble(4, 8)(1000, 25), 1000) == ""
        asked = line.reads - before
        assert asked < 1.1 * (node(engine).steps - done)  # a message may take two reads


def test_time_that_leaps_costs_nothing_on_the_line(cells: Library) -> None:
    with outside(cells, BridgeLine()) as engine, Engine(cells, RING) as here:
        for each in (engine, here):
            each.run(10_000_000)
        assert engine.evaluations == here.evaluations
        assert node(engine).steps < 3000
        assert differing_registers([here, engine]) == ""


@pytest.mark.slow(part="engine")
def test_every_wire_of_the_whole_card_is_the_same_for_long(cells: Library) -> None:
    cycles = 100_000
    for seed, pause in ((11, 25), (12, 250)):
        with outside(cells, BridgeLine()) as engine, Engine(card_library(8, optimise="-O0"), RING) as whole:
            assert differing([whole, engine], Trouble(seed, 8)(cycles, pause), cycles) == ""
            assert differing_registers([whole, engine]) == ""
            assert node(engine).differing == 0


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_bad_line_changes_nothing(cells: Library, seed: int) -> None:
    """Bytes are lost, doubled, changed, and zeros come between them, both ways."""
    cycles = 600
    to, back = Noise(seed, 0.005), Noise(seed + 10, 0.005)
    with outside(cells, BridgeLine(to, back)) as engine, Engine(cells, RING) as here:
        assert differing([here, engine], Trouble(seed, 8)(cycles, 25), cycles) == ""
        assert differing_registers([here, engine]) == ""
        assert node(engine).lost == ""
        assert node(engine).differing == 0
        assert min(to.struck, back.struck) > 10


def test_noise_between_answers_breeds_no_requests(cells: Library) -> None:
    """Each piece of it is taken for a damaged answer, and asked for again; those answers come with noise, too."""
    cycles = 1500
    with outside(cells, BridgeLine(back=noisy)) as engine, Engine(cells, RING) as here:
        assert differing([here, engine], Trouble(5, 8)(cycles, 25), cycles) == ""
        assert node(engine).lost == ""
        assert node(engine).sent < 100 * node(engine).steps


def noisy(data: bytes) -> bytes:
    return b"".join(
        b"\0noise\0and more\0" + wrap(message) for message in Unwrapper().feed(data) if isinstance(message, bytes)
    )


def test_an_answer_that_comes_twice_is_taken_once(cells: Library) -> None:
    """As when a request was asked again although its answer was only late."""
    cycles = 1500
    with outside(cells, BridgeLine(back=lambda data: data + data)) as engine, Engine(cells, RING) as here:
        assert differing([here, engine], Trouble(5, 8)(cycles, 25), cycles) == ""


def test_a_request_that_comes_twice_is_done_once(cells: Library) -> None:
    cycles = 1500
    with outside(cells, BridgeLine(lambda data: data + data)) as engine, Engine(cells, RING) as here:
        assert differing([here, engine], Trouble(6, 8)(cycles, 25), cycles) == ""


LOST = {
    "is gone": None,
    "is silent": lambda data: b"",
    "says nothing that can be understood": lambda data: b"\0nonsense\0",
}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("why", LOST)
def test_a_board_that_is_lost_is_a_gpu_that_has_failed_in_that_cycle(cells: Library, why: str) -> None:
    cycles = 3000
    actions = [a for a in Trouble(7, 8)(cycles, 25) if not a.what.startswith(f"dead of GPU {OUT} ")]
    with outside(cells, BridgeLine(requests=500, instead=LOST[why])) as engine, Engine(cells, RING) as here:
        found = played(engine, actions, cycles)
        board = node(engine)
        assert (board.lost, engine.lost) == (why, 1)
        assert board.steps <= 500 < board.lost_at
        dies = Action(board.lost_at + 1, "the board is lost", lambda e: e.set_fault(OUT, "dead", True))
        assert played(here, sorted([*actions, dies], key=lambda a: a.cycle), cycles) == found
        assert differing_registers([here, engine]) == ""


def played(engine: Engine, actions: Sequence[Action], cycles: int) -> tuple[list[bytes], list[Told]]:
    """What was on all wires, and every event."""
    wires, events = list[bytes](), list[Told]()
    for action, following in pairwise([*actions, None]):
        assert action is not None
        action.do(engine)
        data, ctl = engine.trace(max(0, (following.cycle if following else cycles) - engine.now))
        wires += [d.tobytes() + c.tobytes() for d, c in zip(data, ctl, strict=True)]
        events += told(engine.events())
    return wires, events


def test_a_run_ends_where_a_board_is_lost(cells: Library) -> None:
    with outside(cells, BridgeLine(requests=50)) as engine:
        engine.run(1_000_000, lookahead=1_000_000)
        assert engine.lost == 1
        assert engine.now == node(engine).lost_at + 1
        engine.run(1_000_000, lookahead=1_000_000)
        assert engine.now == 1_000_000


def test_a_board_that_was_without_power_has_lost_its_state(cells: Library) -> None:
    """Another bridge comes in its place: it hasn't been reset."""
    with BridgeLine() as line, BridgeLine() as other, Engine(cells, RING) as engine:
        engine.attach(OUT, line.fd, sequence=HELLO, patience=100)
        engine.run(100)
        os.dup2(other.fd, line.fd)
        engine.poke(OUT, "memory", 1)
        engine.run(200)
        assert node(engine).lost == "has lost its state: it was reset, or without power"


def test_what_never_answers_is_refused(cells: Library) -> None:
    with BridgeLine(requests=0, instead=lambda data: b"") as line, Engine(cells, RING) as engine:
        with pytest.raises(OutsideError, match=r"^is silent$"):
            engine.attach(OUT, line.fd, sequence=HELLO, patience=1)
        engine.poke(OUT, "memory", 9)
        engine.run(10)
        assert engine.peek(OUT, "memory") == 9


def test_a_board_that_is_lost_while_a_register_is_read_is_lost_in_that_cycle(cells: Library) -> None:
    """What is asked and done before the cycle is as it is here."""
    trouble = Trouble(8, 8)(1500, 25)
    before, after = [a for a in trouble if a.cycle < 700], [a for a in trouble if a.cycle >= 700]
    line, nothing = BridgeLine(), os.open(os.devnull, os.O_RDONLY)
    with outside(cells, line) as engine, Engine(cells, RING) as here:
        assert differing([here, engine], before, 700) == ""
        os.dup2(nothing, line.fd)
        os.close(nothing)
        for register in ("memory", "memory", "status", "status"):
            assert engine.peek(OUT, register) == here.peek(OUT, register)
        for each in (engine, here):
            each.poke(OUT, "memory", 7)
            each.trace(1)
        assert (node(engine).lost, node(engine).lost_at) == ("is gone", 700)
        here.set_fault(OUT, "dead", True)
        assert engine.peek(OUT, "memory") == here.peek(OUT, "memory") == 7
        after = [a for a in after if a.cycle > 700 and not a.what.startswith(f"dead of GPU {OUT} ")]
        assert played(engine, after, 1500) == played(here, after, 1500)
        assert differing_registers([here, engine]) == ""


class Liar:
    """Turns a bit of the board's answers around, once in so many of them. `groups`: of the row of outputs."""

    def __init__(
        self, seed: int, once_in: int, kind: NodeMessage = NodeMessage.STEP_REPLY, groups: Sequence[int] = range(16)
    ) -> None:
        self._random, self._once_in, self._kind, self._groups = random.Random(seed), once_in, kind, groups
        self._unwrapper = Unwrapper()

    def __call__(self, data: bytes) -> bytes:
        return b"".join(wrap(self._said(bytes(m))) for m in self._unwrapper.feed(data) if not isinstance(m, Damaged))

    def _said(self, message: bytes) -> bytes:
        places, at = list[int](), 4  # after type, number and the names of the groups
        for group in range(16):
            if int.from_bytes(message[2:4], "big") >> group & 1:
                size = message[at].bit_count()
                places += range(at + 1, at + 1 + size) if group in self._groups else ()
                at += 1 + size
        if message[0] != self._kind.code or not places or self._random.randrange(self._once_in):
            return message
        said = bytearray(message)
        said[self._random.choice(places)] ^= 1 << self._random.randrange(8)
        return bytes(said)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", range(4))
def test_what_a_board_does_otherwise_can_be_done_again_without_it(cells: Library, seed: int) -> None:
    """Any bit of any output may be another one, and the registers that are read; only differences are told."""
    cycles = 1500
    actions = Trouble(seed, 8)(cycles, 25)
    with outside(cells, BridgeLine(back=Liar(seed, 40))) as engine, Engine(cells, RING) as again:
        found = played(engine, actions, cycles)
        read = [engine.peek(OUT, register) for register in registers.ADDRESS]
        told = engine.differences()
        assert 3 < len({each.cycle for each in told}) == node(engine).differing < cycles // 2
        assert {each.cell for each in told} == {OUT}
        assert engine.differences() == []
        for each in told:
            again.recall(OUT, each.cycle, each.place, each.value)
        assert played(again, actions, cycles) == found
        assert [again.peek(OUT, register) for register in registers.ADDRESS] == read
    with Engine(cells, RING) as here:
        assert played(here, actions, cycles) != found


def test_a_register_that_reads_otherwise_is_told_of(cells: Library) -> None:
    with outside(cells, BridgeLine(back=Liar(1, 1, NodeMessage.LOOK_REPLY))) as engine, Engine(cells, RING) as again:
        for each in (engine, again):
            each.run(200)
        value = engine.peek(OUT, "weight")
        (told,) = engine.differences()
        assert (told.cycle, told.place, told.value) == (200, REGISTER + registers.ADDRESS["weight"], value)
        assert value != again.peek(OUT, "weight")
        again.recall(OUT, told.cycle, told.place, told.value)
        assert value == again.peek(OUT, "weight")
        assert node(engine).differing == 1
