"""Work that crosses from one card to another: by which links it goes, that it comes home, and where it ends if not."""

from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.engine import FROM_RING, TO_CPU, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import codec, frames, registers, wire
from ringhil.protocol.wire import Port

from .stimulus import Told, digest, reset_value, results, run_for, statistics, status, told, unit

GPUS = 3  # of each card
TWO = Topology((3, 3), ((1, 5), (2, 4)))
THREE = Topology((3, 3, 3), ((1, 5), (4, 8)))
BITS = registers.ControlBit.codes()
LINK_RESTORE = reset_value("link_restore")
CONTENT = bytes(range(256)) * 2


def entry(engine: Engine, cell: int, exits: list[int]) -> None:
    """This GPU takes frames from the CPU, those for the cards `exits` too."""
    engine.poke(cell, "control", BITS["entry"])
    engine.poke(cell, "exits", sum(1 << card for card in exits))


def boundary(engine: Engine, cell: int, cards: list[int], *, from_above: bool = False) -> None:
    """This GPU's boundary port is open; the cards behind it."""
    engine.poke(cell, "control", BITS["boundary"] | BITS["from_above"] * from_above)
    engine.poke(cell, "crossings", sum(1 << card for card in cards))


@pytest.fixture
def two() -> Iterator[Engine]:
    """Card 0 is the root: GPU 0 speaks to the CPU, GPU 1 to card 1, whose GPU 2 is the other end."""
    with Engine(cells_library(), TWO) as engine:
        entry(engine, 0, [1])
        boundary(engine, 1, [1])
        boundary(engine, 5, [0], from_above=True)
        run_for(engine, 100)
        yield engine


@pytest.fixture
def three() -> Iterator[Engine]:
    """Card 0 above card 1 above card 2."""
    with Engine(cells_library(), THREE) as engine:
        entry(engine, 0, [1, 2])
        boundary(engine, 1, [1, 2])
        boundary(engine, 5, [0], from_above=True)
        boundary(engine, 4, [2])
        boundary(engine, 8, [0, 1], from_above=True)
        run_for(engine, 100)
        yield engine


def work(
    engine: Engine, card: int, home: int, number: int, size: int = 500, *, via: int = 0, kind: int = 0
) -> list[bytes]:
    """Send a unit for GPU `home` of `card` into the entry GPU of card `via`; its frames."""
    parts = unit(GPUS, home, number, size, CONTENT, card=card, source_card=via, kind=kind)
    engine.send_from_cpu(GPUS * via, parts, at=engine.now)
    return parts


def total(engine: Engine, counter: str) -> int:
    return sum(engine.peek(cell, counter) for cell in range(engine.topology.cells))


LOSSES = ("data_bad", "data_dropped", "ttl_dropped", "stalled", "units_refused", "overflowed")


def lossless(engine: Engine) -> bool:
    return not any(total(engine, counter) for counter in LOSSES)


def at_rest(engine: Engine) -> bool:
    """Whether nothing is under way any more."""
    for cell in range(engine.topology.cells):
        engine.poke(cell, "heartbeat", 0)
    run_for(engine, 20_000)
    before = engine.evaluations
    run_for(engine, 20_000)
    return engine.evaluations == before


# ---------------------------------------------------------------------------------------------------- two cards


@pytest.mark.parametrize("home", range(GPUS))
def test_work_for_another_card_crosses_and_its_result_comes_home(two: Engine, home: int) -> None:
    """For each of its GPUs; GPU 2 is the boundary GPU itself."""
    parts = work(two, 1, home, 77)
    ((_, result),) = results(run_for(two, 2000))
    assert (result.card, result.destination, result.unit) == (0, 0, 77)
    assert (result.source_card, result.source) == (1, home)
    assert (result.digest, result.length) == (digest(CONTENT[:500]), 500)
    assert two.peek(1, "crossed") == len(parts) == 2
    assert two.peek(5, "crossed") == 1
    assert [two.peek(cell, "units_done") for cell in range(6)] == [int(cell == 3 + home) for cell in range(6)]
    assert lossless(two)


def test_a_refusal_comes_home_too(two: Engine) -> None:
    work(two, 1, 1, 77, 100, kind=9)
    ((*_, image),) = run_for(two, 1000)
    answer = codec.decode(image, link=False)
    assert isinstance(answer, frames.Acknowledgement)
    assert answer.status == wire.AckStatus.UNKNOWN_KIND.code
    assert (answer.unit, answer.card, answer.source_card, answer.source) == (77, 0, 1, 1)


def test_much_work_for_all_gpus_of_both_cards(two: Engine) -> None:
    """Nothing is lost on the way, either way, and each unit is computed by the GPU that it is for."""
    for cell in range(6):
        two.poke(cell, "compute_setup", 0)
        two.poke(cell, "compute_per_flit", 0)
    run_for(two, 10)
    homes = {}
    for number in range(120):
        homes[number] = divmod(number * 5 % 6, GPUS)
        work(two, *homes[number], number)
    found = [frame for _, frame in results(run_for(two, 60_000))]
    assert {f.unit: (f.source_card, f.source) for f in found} == homes
    assert len(found) == len(homes)
    assert {f.digest for f in found} == {digest(CONTENT[:500])}
    assert lossless(two)


def test_both_cards_may_have_an_entry_of_their_own(two: Engine) -> None:
    """Each sends work to the other one; results come home to the card that they set out from."""
    entry(two, 3, [0])
    run_for(two, 10)
    for number in range(12):
        via = number % 2
        work(two, 1 - via, number // 2 % GPUS, number, via=via)
    events = run_for(two, 20_000)
    assert all((e[1] == 0) == (codec.decode(e[-1], link=False).card == 0) for e in events)
    found = [frame for _, frame in results(events)]
    assert sorted(f.unit for f in found) == list(range(12))
    assert all((f.card, f.source_card) == (f.unit % 2, 1 - f.unit % 2) for f in found)
    assert lossless(two)


def test_the_entry_may_itself_be_the_boundary_gpu() -> None:
    """R7's last resort: frames go straight from the CPU's port to the other card's."""
    with Engine(cells_library(), Topology((3, 3), ((0, 3),))) as engine:
        engine.poke(0, "control", BITS["entry"] | BITS["boundary"])
        engine.poke(0, "crossings", 0b10)
        engine.poke(0, "exits", 0b10)
        boundary(engine, 3, [0], from_above=True)
        run_for(engine, 100)
        for home in range(GPUS):
            work(engine, 1, home, home)
        found = [frame for _, frame in results(run_for(engine, 4000))]
        assert sorted((f.unit, f.source_card, f.source) for f in found) == [(g, 1, g) for g in range(GPUS)]
        assert lossless(engine)


def test_the_second_link_takes_over(two: Engine) -> None:
    """R9: only the control bits and masks of the boundary GPUs decide."""
    work(two, 1, 0, 1)
    assert len(results(run_for(two, 2000))) == 1
    for cell in (1, 5):
        two.poke(cell, "control", 0)
    boundary(two, 2, [1])
    boundary(two, 4, [0], from_above=True)
    run_for(two, 10)
    before = two.peek(1, "crossed")
    work(two, 1, 0, 2)
    assert len(results(run_for(two, 2000))) == 1
    assert (two.peek(1, "crossed"), two.peek(2, "crossed"), two.peek(4, "crossed")) == (before, 2, 1)
    assert lossless(two)


# ------------------------------------------------------------------------------------------------- where it ends


def test_without_an_exit_it_goes_nowhere(two: Engine) -> None:
    """Dropped where it came in, and counted there."""
    two.poke(0, "exits", 0)
    run_for(two, 5)
    parts = work(two, 1, 0, 7)
    assert run_for(two, 2000) == []
    assert two.peek(0, "data_dropped") == total(two, "data_dropped") == len(parts)
    assert total(two, "crossed") == 0
    assert at_rest(two)


@pytest.mark.parametrize("home", [0, 2])
def test_at_a_boundary_port_that_is_closed_it_is_dropped(two: Engine, home: int) -> None:
    """The far end has no boundary bit: nobody has made it responsible for this link."""
    two.poke(5, "control", BITS["from_above"])
    run_for(two, 5)
    parts = work(two, 1, home, 7)
    assert run_for(two, 2000) == []
    assert two.peek(1, "crossed") == len(parts)
    assert two.peek(5, "data_dropped") == total(two, "data_dropped") == len(parts)
    assert total(two, "units_done") == 0
    assert at_rest(two)


def test_with_nobody_to_take_it_across_it_goes_round_and_its_time_to_live_ends(two: Engine) -> None:
    two.poke(1, "control", 0)
    run_for(two, 5)
    parts = work(two, 1, 0, 7)
    assert run_for(two, 2000) == []
    assert total(two, "ttl_dropped") == len(parts)
    assert total(two, "crossed") == 0
    assert at_rest(two)


@pytest.mark.parametrize("cell", [1, 5])
@pytest.mark.parametrize("fault", ["dead", "switch_stuck_bypass"])
def test_a_boundary_gpu_that_is_bypassed_takes_nothing_across(two: Engine, cell: int, fault: str) -> None:
    two.set_fault(cell, fault, True)
    run_for(two, 5)
    parts = work(two, 1, 0, 7)
    assert run_for(two, 2000) == []
    assert total(two, "ttl_dropped" if cell == 1 else "data_dropped") == len(parts)
    assert at_rest(two)
    two.set_fault(cell, fault, False)
    run_for(two, 200)
    work(two, 1, 0, 8)
    assert [f.unit for _, f in results(run_for(two, 2000))] == [8]


def test_a_frame_does_not_go_back_whence_it_came(two: Engine) -> None:
    """Each end takes the other for the way to card 2."""
    entry(two, 0, [1, 2])
    boundary(two, 1, [1, 2])
    boundary(two, 5, [0, 2], from_above=True)
    run_for(two, 5)
    parts = work(two, 2, 0, 7)
    assert run_for(two, 2000) == []
    assert two.peek(1, "crossed") == total(two, "crossed") == len(parts)
    assert two.peek(5, "data_dropped") == total(two, "data_dropped") == len(parts)
    assert at_rest(two)


@pytest.mark.parametrize("card", [16, 200, 255])
def test_a_card_that_has_no_bit_is_reached_by_nobody(two: Engine, card: int) -> None:
    two.poke(0, "exits", 0xFFFF)
    boundary(two, 1, list(range(1, 16)))
    run_for(two, 5)
    parts = work(two, card, 0, 7)
    assert run_for(two, 2000) == []
    assert two.peek(0, "data_dropped") == len(parts)
    assert total(two, "crossed") == 0


def circle(engine: Engine) -> None:
    """Both links lead to card 2, which isn't there: 1 -> 5, on the ring to 4, 4 -> 2, on the ring to 1."""
    entry(engine, 0, [1, 2])
    boundary(engine, 1, [1, 2])
    boundary(engine, 5, [0], from_above=True)
    boundary(engine, 4, [2])
    boundary(engine, 2, [])
    run_for(engine, 10)


def test_a_frame_in_a_circle_of_crossings_ends(two: Engine) -> None:
    """A time to live would not do: every card gives it a new one. The flags count how many links it has crossed."""
    circle(two)
    two.send_from_cpu(0, unit(GPUS, 0, 7, 40, CONTENT, card=2), at=two.now)
    assert run_for(two, 5000) == []
    assert total(two, "crossed") == wire.MAX_CROSSINGS + 1
    assert total(two, "data_dropped") == 1
    assert total(two, "ttl_dropped") == total(two, "stalled") == 0
    assert at_rest(two)


def test_a_flood_of_them_ends_too_and_the_cards_work_on(two: Engine) -> None:
    circle(two)
    sent = [image for number in range(60) for image in work(two, 2, 0, number)]
    run_for(two, 200_000)
    assert total(two, "data_dropped") + total(two, "stalled") == len(sent)
    assert at_rest(two)
    for home in range(GPUS):
        work(two, 1, home, 100 + home)
    assert {f.unit for _, f in results(run_for(two, 5000))} == {100, 101, 102}


# -------------------------------------------------------------------------------------------------- three cards


@pytest.mark.parametrize("card", range(3))
@pytest.mark.parametrize("home", range(GPUS))
def test_work_reaches_every_gpu_of_a_chain_of_cards(three: Engine, card: int, home: int) -> None:
    parts = work(three, card, home, 9)
    ((_, result),) = results(run_for(three, 3000))
    assert (result.source_card, result.source, result.card) == (card, home, 0)
    assert result.digest == digest(CONTENT[:500])
    there, back = [three.peek(cell, "crossed") for cell in (1, 4)], [three.peek(cell, "crossed") for cell in (8, 5)]
    assert there == [len(parts) * (card >= 1), len(parts) * (card >= 2)]
    assert back == [int(card >= 2), int(card >= 1)]
    assert lossless(three)


def test_much_work_for_the_whole_chain(three: Engine) -> None:
    for cell in range(9):
        three.poke(cell, "compute_setup", 0)
        three.poke(cell, "compute_per_flit", 0)
    run_for(three, 10)
    homes = {}
    for number in range(180):
        homes[number] = divmod(number * 5 % 9, GPUS)
        work(three, *homes[number], number)
    found = [frame for _, frame in results(run_for(three, 120_000))]
    assert {f.unit: (f.source_card, f.source) for f in found} == homes
    assert len(found) == len(homes)
    assert lossless(three)


def test_every_card_of_the_chain_may_send_to_every_other(three: Engine) -> None:
    """Up, down, and through the middle both ways at once."""
    entry(three, 3, [0, 2])
    entry(three, 6, [0, 1])
    run_for(three, 10)
    expected = {}
    for number in range(90):
        via, card, home = number % 3, number // 3 % 3, number // 9 % GPUS
        expected[number] = (via, card, home)
        work(three, card, home, number, via=via)
    events = run_for(three, 120_000)
    found = [frame for _, frame in results(events)]
    # Units that all come at once may be refused, but nothing is lost.
    arrived = [codec.decode(e[-1], link=False) for e in events]
    busy = [f for f in arrived if isinstance(f, frames.Acknowledgement)]
    answers = {f.unit: (f.card, f.source_card, f.source) for f in found}
    answers |= {f.unit: (f.card, f.source_card, f.source) for f in busy}
    assert answers == expected
    assert len(found) + len(busy) == len(expected)
    assert not any(total(three, counter) for counter in LOSSES if counter != "units_refused")


@pytest.mark.parametrize("from_above", [True, False])
def test_no_frame_leaves_the_counter_clockwise_lane_by_a_link_from_above(two: Engine, from_above: bool) -> None:
    """The rule that keeps cards from waiting for each other: such a frame goes round, and ends."""
    entry(two, 0, [7])
    boundary(two, 1, [])
    boundary(two, 2, [7])
    boundary(two, 4, [], from_above=True)  # so what comes in here goes counter-clockwise, past GPU 2
    boundary(two, 5, [7], from_above=from_above)
    run_for(two, 10)
    two.send_from_cpu(0, unit(GPUS, 0, 8, 40, CONTENT, card=7), at=two.now)
    assert run_for(two, 2000) == []
    assert two.peek(2, "crossed") >= 1
    assert bool(two.peek(5, "crossed")) == (not from_above)
    if from_above:
        assert (two.peek(2, "crossed"), total(two, "ttl_dropped")) == (1, 1)
    assert at_rest(two)


# ------------------------------------------------------------------------------------------- the link by itself


def keepalive(number: int) -> bytes:
    return codec.encode(frames.Keepalive(0, 0, 1, 0, 1, number, 1, 1, 2, 0, 3, 1, 100, 0, 0, wire.NO_HOLDER))


@pytest.mark.parametrize(("from_cell", "to_cell"), [(1, 5), (5, 1), (2, 4), (4, 2)])
def test_the_firmware_of_both_ends_can_speak_to_each_other(two: Engine, from_cell: int, to_cell: int) -> None:
    """Whether or not one of them has been elected: this is how they find out."""
    for number in range(3):
        two.send_mail(from_cell, Port.BOUNDARY.code, keepalive(number), at=two.now)
    events = run_for(two, 200)
    assert [e[1:5] for e in events] == [(to_cell, FROM_RING, Port.BOUNDARY.code, 0)] * 3
    assert [codec.decode(e[-1], link=False) for e in events] == [codec.decode(keepalive(n)) for n in range(3)]


def test_a_boundary_port_that_is_not_wired_is_down(two: Engine) -> None:
    down = [cell for cell in range(6) if "boundary_down" in status(two, cell)]
    assert down == [0, 3]


def test_a_boundary_link_that_is_cut_is_down_at_both_ends_and_comes_back(two: Engine) -> None:
    for cell in (1, 5):
        two.set_link_fault(cell, "cut_boundary", True)
    work(two, 1, 0, 1)
    two.send_mail(1, Port.BOUNDARY.code, keepalive(1), at=two.now)
    assert run_for(two, 1000) == []
    assert "boundary_down" in status(two, 1) & status(two, 5)
    assert not any(status(two, cell) & {"wrap_port1", "wrap_port2"} for cell in range(6))
    for cell in (1, 5):
        two.set_link_fault(cell, "cut_boundary", False)
    run_for(two, LINK_RESTORE + 10)
    assert "boundary_down" not in status(two, 1) | status(two, 5)
    for home in range(GPUS):
        work(two, 1, home, 10 + home)
    assert {f.unit for _, f in results(run_for(two, 5000))} == {10, 11, 12}
    assert at_rest(two)


@pytest.mark.parametrize("before", [1, 40, 77, 120, 200, 333])
def test_one_that_is_cut_amid_traffic_loses_no_credit(two: Engine, before: int) -> None:
    for attempt in range(4):
        for number in range(12):
            work(two, 1, number % GPUS, 100 * attempt + number)
        run_for(two, before)
        for cell in (1, 5):
            two.set_link_fault(cell, "cut_boundary", True)
        run_for(two, 300)
        for cell in (1, 5):
            two.set_link_fault(cell, "cut_boundary", False)
        run_for(two, 20_000)
    for home in range(GPUS):
        work(two, 1, home, 1000 + home)
    assert {f.unit for _, f in results(run_for(two, 5000))} == {1000, 1001, 1002}


@pytest.mark.parametrize("late", [1, 16, 63])
def test_a_boundary_link_that_delays(two: Engine, late: int) -> None:
    stories = []
    for delays in ((0, 0), (late, 0), (0, late), (late, late)):
        for cell in (1, 5):
            two.set_delay(cell, Port.BOUNDARY.code, 0)
        run_for(two, 300)
        two.set_delay(5, Port.BOUNDARY.code, delays[0])
        two.set_delay(1, Port.BOUNDARY.code, delays[1])
        run_for(two, 300)
        began = two.now
        work(two, 1, 0, 5)
        ((cycle, _),) = results(run_for(two, 3000))
        stories.append((cycle - began, sum(delays)))
    plain = stories[0][0]
    assert [took for took, _ in stories] == [plain + late for _, late in stories]


def test_noise_on_a_boundary_link_damages_no_result(two: Engine) -> None:
    two.set_bit_errors(5, Port.BOUNDARY.code, 2000)
    for number in range(60):
        work(two, 1, number % GPUS, number)
    found = [frame for _, frame in results(run_for(two, 60_000))]
    assert 0 < len(found) < 60
    assert {f.digest for f in found} == {digest(CONTENT[:500])}
    assert total(two, "data_bad") > 0


def test_a_boundary_gpus_records_say_so_and_name_the_card(two: Engine) -> None:
    two.poke(1, "boundary_peer", 1)
    two.poke(2, "boundary_peer", 1)  # wired, but not open
    two.send_mail(0, 0, statistics(GPUS, 0, 7), at=two.now)
    ((*_, image),) = told(two.run(two.now + 200))
    frame = codec.decode(image, link=False)
    assert isinstance(frame, frames.Statistics)
    flag = wire.RecordFlag.BOUNDARY
    assert [(r.id, bool(r.flags & flag), r.peer) for r in frame.records] == [
        (0, False, wire.NO_CARD),
        (1, True, 1),
        (2, False, wire.NO_CARD),
    ]


def test_a_census_stays_on_its_card(two: Engine) -> None:
    for card in range(2):
        two.send_mail(3 * card, 0, statistics(GPUS, 0, 7, card=card), at=two.now)
    events: list[Told] = run_for(two, 300)
    assert sorted(e[1] for e in events) == [0, 3]
    assert not [e for e in events if e[2] == TO_CPU]
    assert total(two, "crossed") == 0


def test_units_of_several_segments_from_two_cards_at_once_do_not_mix(three: Engine) -> None:
    """Card 1's own work and card 0's reach the same GPU over the same lane, frame by frame in turn."""
    entry(three, 3, [0])
    run_for(three, 10)
    sent = 0
    for number in range(6):
        for via in (0, 1):
            size = 1500 + 100 * number
            ccw = {"ccw": True} if via == 1 else {}
            content = bytes((number * 7 + via + i) % 256 for i in range(size))
            frames_ = unit(GPUS, 1, 2 * number + via, size, content, card=1, source_card=via, **ccw)
            three.send_from_cpu(3 * via, frames_, at=three.now)
            sent += 1
        run_for(three, 3_000)
    assert three.peek(4, "units_done") == sent
    assert three.peek(4, "units_refused") == 0


@pytest.mark.parametrize("slow", [False, True])
def test_a_slow_gpu_takes_four_times_as_long(two: Engine, slow: bool) -> None:
    two.set_fault(2, "slow", slow)
    work(two, 0, 2, 1, 512)
    ((_, result),) = results(run_for(two, 3_000))
    plain = reset_value("compute_setup") + 64 * reset_value("compute_per_flit")
    assert result.cycles == (4 if slow else 1) * plain
