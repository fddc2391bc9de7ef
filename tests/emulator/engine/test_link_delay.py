"""A link that delays: everything arrives exactly that much later, nothing is lost, and it can come and go."""

import random
from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.engine import FROM_RING, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.firmware.links import ROUNDS, LinkHealth
from ringhil.protocol import codec, frames, registers, wire
from ringhil.protocol.wire import Port

from .stimulus import Told, digest, reset_value, results, run_for, statistics, status, unit

GPUS = 4
DELAYS = [1, 16, registers.MAX_LINK_DELAY]
RESTORE = reset_value("link_restore")
# The link that delays is the one from GPU 1 to GPU 2: (cell, port) at which it arrives clockwise, and back.
CW, CCW = (2, 0), (1, 1)


def make(*delays: tuple[tuple[int, int], int]) -> Engine:
    engine = Engine(cells_library(), Topology((GPUS,)))
    engine.poke(0, "control", registers.ControlBit.ENTRY)
    engine.run(100)
    for where, late in delays:
        engine.set_delay(*where, late)
    engine.run(200)
    return engine


def delay(engine: Engine, late: int) -> None:
    """Both directions."""
    for where in (CW, CCW):
        engine.set_delay(*where, late)


@pytest.fixture
def plain() -> Iterator[Engine]:
    with make() as engine:
        yield engine


def later(events: list[Told], late: int) -> list[Told]:
    return [(cycle + late, *rest) for cycle, *rest in events]  # type: ignore[misc]


def keepalive(home: int, number: int) -> bytes:
    """A frame of the control channel that one GPU's firmware sends to another one's."""
    return codec.encode(frames.Keepalive(0, 0, GPUS, home, 1, number, 1, 1, 0, 0, 3, 1, 100, 0, 0, wire.NO_HOLDER))


def censuses(events: list[Told]) -> list[tuple[int, list[int]]]:
    """Cycle of each census that came home, and who is in it."""
    home = [(e[0], codec.decode(e[-1], link=False)) for e in events if e[2] == FROM_RING]
    return [(cycle, [r.id for r in f.records]) for cycle, f in home if isinstance(f, frames.Statistics)]


# ------------------------------------------------------------------------------------------------ exactly later


@pytest.mark.parametrize("late", DELAYS)
@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize(("port", "where"), [("cw", CW), ("ccw", CCW)])
def test_a_census_comes_home_exactly_so_much_later(late: int, records: bool, port: str, where: tuple[int, int]) -> None:
    """In the direction that is delayed; the other one isn't concerned."""
    for ccw in (False, True):
        with make() as straight, make((where, late)) as slow:
            for engine in (straight, slow):
                frame = statistics(GPUS, 0, 7, ccw=ccw, records=records)
                engine.send_mail(0, (Port.CCW if ccw else Port.CW).code, frame, at=engine.now)
            expected, found = (censuses(run_for(engine, 300)) for engine in (straight, slow))
            concerned = ccw == (port == "ccw")
            assert [ids for _, ids in expected] == [ids for _, ids in found]
            assert [cycle + late * concerned for cycle, _ in expected] == [cycle for cycle, _ in found]
            assert [len(ids) for _, ids in found] == [GPUS * records]


@pytest.mark.parametrize("late", DELAYS)
def test_the_frames_that_come_home_are_the_same_but_for_the_stamps(plain: Engine, late: int) -> None:
    """Stamps of the GPUs behind the link are as much larger; without records every bit is the same."""
    with make((CW, late)) as slow:
        for engine in (plain, slow):
            engine.send_mail(0, Port.CW.code, statistics(GPUS, 0, 7, records=False), at=engine.now)
            engine.send_mail(0, Port.CW.code, statistics(GPUS, 0, 8), at=engine.now + 150)
        expected, found = (run_for(engine, 400) for engine in (plain, slow))
        assert found[0] == later(expected, late)[0]
        stamps = [[r.stamp for r in codec.decode(e[1][-1], link=False).records] for e in (expected, found)]  # type: ignore[union-attr]
        assert [(b - a) % 256 for a, b in zip(*stamps, strict=True)] == [0, 0, late, late]


@pytest.mark.parametrize("late", DELAYS)
def test_a_work_units_result_is_later_by_the_way_there_and_back(plain: Engine, late: int) -> None:
    """Fewer segments than the buffer has room for: nothing has to wait for a credit."""
    content = random.Random(late).randbytes(500)
    for delays, times in (([(CW, late)], 1), ([(CCW, late)], 1), ([(CW, late), (CCW, late)], 2)):
        with make() as straight, make(*delays) as slow:
            for engine in (straight, slow):
                engine.send_from_cpu(0, unit(GPUS, 2, 5, 500, content), at=engine.now)
            expected, found = (results(run_for(engine, 800)) for engine in (straight, slow))
            assert found == [(cycle + times * late, frame) for cycle, frame in expected]
            assert found[0][1].digest == digest(content)


@pytest.mark.parametrize("late", DELAYS)
def test_the_link_to_the_cpu_delays_too(late: int) -> None:
    with make() as straight, make(((0, Port.CPU.code), late)) as slow:
        for engine in (straight, slow):
            engine.send_from_cpu(0, unit(GPUS, 2, 5, 300, bytes(300)), at=engine.now)
        expected, found = (results(run_for(engine, 800)) for engine in (straight, slow))
        assert len(expected) == 1
        assert found == [(cycle + late, frame) for cycle, frame in expected]


@pytest.mark.parametrize("late", DELAYS)
def test_frames_one_after_the_other_keep_their_distance_and_order(late: int) -> None:
    with make() as straight, make((CW, late)) as slow:
        for engine in (straight, slow):
            for number in range(12):
                engine.send_mail(1, Port.CW.code, keepalive(2, number), at=engine.now + number * (number % 5))
        expected, found = (run_for(engine, 600) for engine in (straight, slow))
        assert len(expected) == 12
        assert found == later(expected, late)


# ------------------------------------------------------------------------------------------------ nothing is lost


def saturate(engine: Engine, units: int, size: int = 700) -> dict[int, bytes]:
    """Work for the GPUs behind the link, as fast as it goes in; each unit's content, by number."""
    contents = {}
    for number in range(units):
        contents[number] = random.Random(number).randbytes(size)
        home = 2 + number % 2
        engine.send_from_cpu(0, unit(GPUS, home, number, size, contents[number]), at=engine.now)
    return contents


def quick_compute(engine: Engine) -> None:
    """So that the links are what limits, and no unit is refused."""
    for gpu in range(GPUS):
        engine.poke(gpu, "compute_setup", 0)
        engine.poke(gpu, "compute_per_flit", 0)
    run_for(engine, 10)


def check_all_done(engine: Engine, events: list[Told], contents: dict[int, bytes]) -> None:
    """Each unit once, computed on the right bytes; each GPU's in the order in which they were sent."""
    found = [frame for _, frame in results(events)]
    assert sorted(f.unit for f in found) == sorted(contents)
    assert all(f.digest == digest(contents[f.unit]) for f in found)
    for home in (2, 3):
        numbers = [f.unit for f in found if f.source == home]
        assert numbers == sorted(numbers)
    for gpu in range(GPUS):
        for counter in ("data_bad", "data_dropped", "ttl_dropped", "wraps", "units_refused", "overflowed"):
            assert engine.peek(gpu, counter) == 0, (gpu, counter)


@pytest.mark.parametrize("late", DELAYS)
def test_saturating_work_over_a_delayed_link_all_arrives(late: int) -> None:
    with make((CW, late), (CCW, late)) as engine:
        quick_compute(engine)
        contents = saturate(engine, 60)
        check_all_done(engine, run_for(engine, 60_000), contents)


@pytest.mark.parametrize("late", DELAYS)
@pytest.mark.parametrize("before", [*range(60, 76), 131, 200, 333, 501])
def test_a_delay_that_begins_amid_saturating_work_loses_nothing(late: int, before: int) -> None:
    with make() as engine:
        quick_compute(engine)
        contents = saturate(engine, 30)
        events = run_for(engine, before)
        delay(engine, late)
        check_all_done(engine, events + run_for(engine, 30_000), contents)


def test_nor_does_one_that_begins_amid_census_rounds() -> None:
    for before in range(40):
        with make() as engine:
            for number in range(8):
                engine.send_mail(0, number % 2, statistics(GPUS, 0, number, ccw=bool(number % 2)), at=engine.now)
            events = run_for(engine, before)
            delay(engine, 16)
            events += run_for(engine, 400)
            assert len(censuses(events)) == 8
            assert all(len(ids) == GPUS for _, ids in censuses(events))
            assert not any(e[4] for e in events)


@pytest.mark.parametrize("late", DELAYS)
def test_a_whole_and_a_leaping_simulation_agree_on_it(late: int) -> None:
    library, topology = cells_library(), Topology((GPUS,))
    stories = []
    for skipping in (True, False):
        with Engine(library, topology, skipping=skipping) as engine:
            engine.poke(0, "control", 1)
            engine.run(100)
            delay(engine, late)
            saturate(engine, 6)
            story = run_for(engine, 3000)
            delay(engine, 0)
            saturate(engine, 6)
            stories.append((story, run_for(engine, 5000), [engine.peek(gpu, "wraps") for gpu in range(GPUS)]))
    assert stories[0] == stories[1]


# ------------------------------------------------------------------------------------------------- when it ends


@pytest.mark.parametrize("late", DELAYS)
def test_a_delay_that_ends_makes_the_link_start_afresh(late: int) -> None:
    """What was under way is gone, so both ends must know: down, and active again after link_restore cycles."""
    with make((CW, late), (CCW, late)) as engine:
        assert not (status(engine, 1) | status(engine, 2)) & {"wrap_port1", "wrap_port2"}
        delay(engine, 0)
        run_for(engine, 3)
        assert "wrap_port2" in status(engine, 1)
        assert "wrap_port1" in status(engine, 2)
        run_for(engine, RESTORE - 4)
        assert "wrap_port2" in status(engine, 1)
        assert "wrap_port1" in status(engine, 2)
        run_for(engine, 10)
        assert not (status(engine, 1) | status(engine, 2)) & {"wrap_port1", "wrap_port2"}
        assert [engine.peek(gpu, "wraps") for gpu in range(GPUS)] == [0, 1, 1, 0]
        assert [engine.peek(gpu, "status") for gpu in (0, 3)] == [engine.peek(0, "status")] * 2
        quick_compute(engine)
        contents = saturate(engine, 20)
        found = [frame for _, frame in results(run_for(engine, 20_000))]
        assert sorted(f.unit for f in found) == sorted(contents)
        assert all(f.digest == digest(contents[f.unit]) for f in found)
        engine.send_mail(0, 0, statistics(GPUS, 0, 7), at=engine.now)
        ((_, ids),) = censuses(run_for(engine, 200))
        assert ids == [0, 1, 2, 3]


@pytest.mark.parametrize("late", DELAYS)
@pytest.mark.parametrize("before", [1, 50, 90, 200, 333])
def test_it_does_so_in_the_middle_of_traffic_too(late: int, before: int) -> None:
    """Units may be lost then, but what is sent afterwards arrives: no credit is missing, nobody waits for ever."""
    with make((CW, late), (CCW, late)) as engine:
        quick_compute(engine)
        saturate(engine, 20)
        run_for(engine, before)
        delay(engine, 0)
        run_for(engine, 20_000)
        assert not (status(engine, 1) | status(engine, 2)) & {"wrap_port1", "wrap_port2"}
        contents = saturate(engine, 40)
        found = [frame for _, frame in results(run_for(engine, 40_000))]
        assert sorted(f.unit for f in found) == sorted(contents)


def test_a_delay_that_changes_does_the_same(plain: Engine) -> None:
    delay(plain, 5)
    run_for(plain, 100)
    delay(plain, 9)
    run_for(plain, 3)
    assert "wrap_port2" in status(plain, 1)
    run_for(plain, RESTORE + 30)
    assert "wrap_port2" not in status(plain, 1)
    plain.send_mail(0, 0, statistics(GPUS, 0, 7), at=plain.now)
    ((_, ids),) = censuses(run_for(plain, 200))
    assert ids == [0, 1, 2, 3]


def test_two_changes_in_a_row_are_seen_by_a_leaping_simulation_as_by_any_other() -> None:
    """While the link is down anyway the node is at rest after the first; the carrier's return must wake it."""
    stories = []
    for skipping in (True, False):
        with Engine(cells_library(), Topology((GPUS,)), skipping=skipping) as engine:
            for gpu in range(GPUS):
                engine.poke(gpu, "link_restore", 500)
            engine.run(100)
            delay(engine, 5)
            run_for(engine, 50)
            delay(engine, 9)  # down from here on
            run_for(engine, 200)
            delay(engine, 7)
            run_for(engine, 1)
            delay(engine, 0)
            run_for(engine, 400)
            assert "wrap_port2" in status(engine, 1)
            run_for(engine, 130)
            assert "wrap_port2" not in status(engine, 1)
            stories.append([engine.peek(gpu, "wraps") for gpu in range(GPUS)])
    assert stories[0] == stories[1]


def test_a_ring_whose_link_delays_comes_to_rest(plain: Engine) -> None:
    """The delay line is no clock: nothing is evaluated while nothing is on the wire."""
    for gpu in range(GPUS):
        plain.poke(gpu, "heartbeat", 0)
    delay(plain, 63)
    plain.send_mail(0, 0, statistics(GPUS, 0, 7), at=plain.now)
    run_for(plain, 20_000)
    before = plain.evaluations
    run_for(plain, 100_000)
    assert plain.evaluations == before


# ---------------------------------------------------------------------------------------------- and it is noticed


@pytest.mark.parametrize("late", DELAYS)
@pytest.mark.parametrize("link", range(GPUS))
def test_the_records_name_the_link_that_delays(plain: Engine, late: int, link: int) -> None:
    """The firmware's idea of a healthy hop is that of the RTL."""
    health = LinkHealth(0, GPUS)

    def rounds(count: int, first: int) -> None:
        for number in range(first, first + count):
            began = plain.now
            for ccw in (False, True):
                plain.send_mail(0, int(ccw), statistics(GPUS, 0, number, ccw=ccw), at=began)
            for event in run_for(plain, 300):
                frame = codec.decode(event[-1], link=False)
                assert isinstance(frame, frames.Statistics)
                health.look(frame.records, began)
            health.round_over()

    rounds(5, 1)
    assert health.slow is None
    plain.set_delay((link + 1) % GPUS, 0, late)
    plain.set_delay(link, 1, late)
    rounds(ROUNDS, 10)
    assert health.slow == link
    assert health.noisy is None
