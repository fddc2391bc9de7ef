"""Edges: sizes and times as wide as their registers, whose answer goes to which card, what a loss leaves behind."""

import pytest
from tests.emulator.engine.stimulus import run_for, unit
from tests.emulator.engine.test_commands import command
from tests.emulator.engine.test_crossing import TWO, boundary, entry

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, frames, wire
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, Query, ResultStatus

from .programs import payload

WORD = 2**32
KEY, CONTEXT, GPU = 7, 3, 1


class Card:
    """A card of three GPUs; commands go to contexts of the second one."""

    def __init__(self) -> None:
        self.engine = Engine(cells_library(), Topology((3,)))
        self.engine.poke(0, "control", 0b0111)
        for gpu in range(3):
            self.engine.poke(gpu, "heartbeat", 0)
        run_for(self.engine, 300)
        self._number = 0

    def ask(
        self,
        compute: Compute,
        amount: int = 0,
        *,
        state: int = 0,
        slice_: int = 0,
        wait: int = 300,
        context: int = CONTEXT,
        key: int = KEY,
    ) -> list[tuple[int, Result]]:
        """What the CPU is answered in `wait` cycles, each with its cycle."""
        self._number += 1
        body = payload(key, amount, slice_, 0, state)
        self.engine.send_from_cpu(0, command(compute, context, self._number, body), at=self.engine.now)
        return self.hear(wait)

    def hear(self, wait: int) -> list[tuple[int, Result]]:
        """The same, without asking."""
        found = [(told[0], codec.decode(told[-1], link=False)) for told in run_for(self.engine, wait)]
        return [(at, result) for at, result in found if isinstance(result, Result)]

    def read(self, register: str) -> int:
        return self.engine.peek(GPU, register)


@pytest.fixture
def card() -> Card:
    return Card()


def test_run_time_has_64_bits(card: Card) -> None:
    card.ask(Compute.CREATE, 1, slice_=WORD - 4)
    for _ in range(2):
        card.ask(Compute.LAUNCH, WORD - 1, wait=WORD + 1000)
    ((_, told),) = card.ask(Compute.QUERY, Query.RUN_TIME.code)
    assert told.digest == 2 * (WORD - 1)
    assert card.read("busy_high") == 2


def test_a_slow_gpu_goes_on_with_a_launch_that_takes_more_than_a_slice(card: Card) -> None:
    """Four times as long as a slice can be."""
    card.ask(Compute.CREATE, 1)
    card.engine.set_fault(GPU, "slow", True)
    card.ask(Compute.LAUNCH, 1 << 30)
    ((_, told),) = card.ask(Compute.QUERY, Query.LAUNCH.code)
    assert told.digest >> 32 == 1


def test_what_is_saved_may_take_long(card: Card) -> None:
    card.ask(Compute.CREATE, 1, state=70_000)
    began = card.engine.now
    ended = card.ask(Compute.LAUNCH, 10, wait=100_000)
    assert ended[-1][0] - began >= 70_000


def test_a_slice_has_32_bits(card: Card) -> None:
    card.ask(Compute.CREATE, 1, slice_=WORD - 4)
    began = card.engine.now
    ended = card.ask(Compute.LAUNCH, 2**31 + 5, wait=WORD)
    assert ended[-1][0] - began >= 2**31


@pytest.mark.parametrize(
    ("asked", "slice_"), [(1, 16), (8, 16), (12, 16), (15, 16), (16, 16), (19, 16), (20, 20), (23, 20)]
)
def test_a_slice_has_16_cycles_at_least_in_whole_fours(card: Card, asked: int, slice_: int) -> None:
    """Two contexts that wait for each other have as many turns as their work takes of them."""
    contexts = (CONTEXT, CONTEXT + 1)
    for context in contexts:
        card.ask(Compute.CREATE, 1, slice_=asked, context=context)
    turns = 40
    for context in contexts:
        card.ask(Compute.LAUNCH, slice_ * turns, context=context, wait=0)
    assert len(card.hear(20_000)) == 2 * len(contexts)
    switches = [card.ask(Compute.QUERY, Query.COUNTS.code, context=each)[0][1].digest >> 32 for each in contexts]
    assert [turns - 3 <= each <= turns for each in switches] == [True, True], switches


def test_a_limit_below_what_is_held_leaves_nothing(card: Card) -> None:
    """Until as much was freed that there is room again."""
    card.ask(Compute.CREATE, 50)
    answers = [
        card.ask(compute, amount, key=0 if compute is Compute.CONFIGURE else KEY)[0][1]
        for compute, amount in (
            (Compute.ALLOCATE, 40),
            (Compute.CONFIGURE, 10),
            (Compute.ALLOCATE, 1),
            (Compute.FREE, 30),
            (Compute.ALLOCATE, 1),
            (Compute.FREE, 1),
            (Compute.ALLOCATE, 1),
            (Compute.ALLOCATE, 1),
        )
    ]
    done, over = ResultStatus.DONE.code, ResultStatus.OVER_LIMIT.code
    assert [each.status for each in answers] == [done, done, over, done, over, done, done, over]
    assert [each.digest >> 32 for each in answers] == [40, 40, 40, 10, 10, 9, 10, 10]
    assert [each.digest % WORD for each in answers] == [50, *[10] * 7]


def test_a_rest_may_be_longer_than_a_register(card: Card) -> None:
    """The state stays low, at its price; what the rest took is still there when work comes."""
    for register, value in {"low_after": 1000, "low_power": 1, "idle_power": 2}.items():
        card.engine.poke(GPU, register, value)
    run_for(card.engine, WORD)
    assert card.read("power_state") == 3
    for _ in range(2):
        energy = card.read("energy_high") << 32 | card.read("energy_low")
        assert WORD < energy < WORD + 3000
        card.ask(Compute.CREATE, 1)
        card.ask(Compute.LAUNCH, 10)


def test_what_a_rest_costs_may_be_more_than_a_register(card: Card) -> None:
    card.engine.poke(GPU, "idle_power", 0xFFFF)
    run_for(card.engine, 1 << 17)
    assert card.read("energy_high") == 1
    card.ask(Compute.CREATE, 1)
    card.ask(Compute.LAUNCH, 10)
    assert card.read("energy_high") == 2


def test_a_large_unit_takes_time_for_all_its_flits(card: Card) -> None:
    size = (1 << 19) + 8
    card.engine.poke(GPU, "compute_per_flit", 3)
    card.engine.poke(GPU, "compute_setup", 0)
    card.engine.send_from_cpu(0, unit(3, GPU, 5, size, bytes(size)), at=card.engine.now)
    assert card.hear(2_000_000)[-1][1].cycles == 3 * (size // 8)


def test_a_unit_may_end_behind_the_range_of_a_register(card: Card) -> None:
    run_for(card.engine, WORD - 1000 - card.engine.now)
    card.engine.poke(GPU, "compute_setup", 3000)
    card.engine.send_from_cpu(0, unit(3, GPU, 5, 8, bytes(8)), at=card.engine.now)
    assert card.hear(2500) == []
    assert len(card.hear(1500)) == 1


def test_commands_that_are_refused_are_counted(card: Card) -> None:
    card.ask(Compute.QUERY)
    assert card.read("units_refused") == 1


@pytest.mark.parametrize("compute", [Compute.CREATE, Compute.LAUNCH])
def test_who_asks_again_from_another_card_is_answered_there(compute: Compute) -> None:
    """A command came from the CPU by its own card's link, and is asked for again by the other card's."""
    engine = Engine(cells_library(), TWO)
    entry(engine, 0, [1])
    entry(engine, 3, [0])
    boundary(engine, 1, [1])
    boundary(engine, 5, [0], from_above=True)
    run_for(engine, 200)

    def ask(asked: Compute, number: int, card: int, wait: int = 600) -> list[int]:
        body = payload(KEY, 3000 if asked is Compute.LAUNCH else 1)
        head = (1, wire.Flag.LAST, 4, 1, 1, number, 0, 0, 0, len(body), len(body), asked.code, card, CONTEXT)
        engine.send_from_cpu(3 * card, [codec.encode(frames.Work(*head, body))], at=engine.now)
        return [told[1] for told in run_for(engine, wait)]

    assert ask(Compute.CREATE, 1, 1) == [3]
    if compute is Compute.CREATE:
        assert ask(Compute.CREATE, 1, 0) == [0]
    else:
        assert ask(Compute.LAUNCH, 2, 1) == [3]
        assert ask(Compute.LAUNCH, 2, 0, 6000) == [0, 0]


def test_a_long_switch_before_plain_work(card: Card) -> None:
    card.engine.poke(GPU, "context_switch", 70_000)
    card.ask(Compute.CREATE, 1)
    card.ask(Compute.LAUNCH, 10, wait=100_000)
    began = card.engine.now
    card.engine.send_from_cpu(0, unit(3, GPU, 500, 8, bytes(8)), at=began)
    assert card.hear(30_000) == []
    assert len(card.ask(Compute.QUERY, Query.MEMORY.code)) == 1  # it has something else to do meanwhile
    ((at, _),) = card.hear(100_000)
    assert at - began >= 70_000


def test_a_hung_gpu_counts_no_damaged_segments(card: Card) -> None:
    """A frame was coming when it hung."""
    for at in range(120):
        card.engine.send_from_cpu(0, unit(3, GPU, 900 + at, 300, bytes(300)), at=card.engine.now)
        run_for(card.engine, at)
        card.engine.set_fault(GPU, "hang", True)
        run_for(card.engine, 300)
        assert card.read("data_bad") == 0, at
        card.engine.set_fault(GPU, "hang", False)
        run_for(card.engine, 500)


def test_a_gpu_that_was_lost_begins_anew_with_the_first(card: Card) -> None:
    """Of two that wait the one with the lower number is first, also when it had a turn before the loss."""
    card.ask(Compute.CREATE, 1)
    card.ask(Compute.LAUNCH, 10)
    card.engine.poke(GPU, "heartbeat", 200)
    card.engine.poke(GPU, "gpu_restore", 500)
    card.engine.set_fault(GPU, "hang", True)
    run_for(card.engine, 2000)
    card.engine.set_fault(GPU, "hang", False)
    run_for(card.engine, 2000)
    assert card.read("status") & 3 == 0
    assert card.ask(Compute.QUERY, Query.MEMORY.code) == [], "it is gone: the answer is no result"
    card.ask(Compute.CREATE, 1)
    card.ask(Compute.CREATE, 1, context=CONTEXT + 1)
    card.engine.send_from_cpu(0, unit(3, GPU, 900, 8000, bytes(8000)), at=card.engine.now)
    run_for(card.engine, 8000 // 8 + 600)  # what plain work takes: both wait for its end
    for context in (CONTEXT, CONTEXT + 1):
        card.ask(Compute.LAUNCH, 1000, context=context, wait=40)
    turns = [0]
    for _ in range(20_000):
        if (turn := card.read("turn") & 0xF) != turns[-1]:
            turns.append(turn)
        run_for(card.engine, 1)
    assert turns == [0, CONTEXT, CONTEXT + 1, 0]
