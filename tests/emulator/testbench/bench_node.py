"""cocotb tests of the kit itself, on one node of ours."""

import random
from itertools import cycle, repeat
from typing import Any

import cocotb

from ringhil.emulator.testbench.checked import NodeScoreboard
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.link import BIT
from ringhil.emulator.testbench.node import NodeBench
from ringhil.emulator.testbench.player import StimulusPlayer
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.sequences import Constraints, RandomSequence
from ringhil.emulator.testbench.stimulus import Fault, Peek, Poke, Stimulus
from ringhil.protocol import registers
from ringhil.protocol.frames import Acknowledgement, Election, Statistics

ENTRY = registers.ControlBit.ENTRY


def election(sequence: int, home: int = 3) -> RingFrame:
    return RingFrame.of(Election(0, 0, 4, home, 1, sequence, 1, 1, 1, 100, 0))


def answer(sequence: int, home: int = 3) -> RingFrame:
    return RingFrame.of(Acknowledgement(0, 0, 4, home, 1, sequence, 0, 0, 1, 0, 0))


@cocotb.test()
async def control_goes_before_data_and_both_arrive(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    p1, p2 = bench.ports["p1"], bench.ports["p2"]
    for i in range(3):
        p1.source.send_nowait(answer(i))
        p1.source.send_nowait(election(i))
    await p1.source.wait()
    await bench.wait(60)
    left = [p2.sink.monitor.frames.get_nowait() for _ in range(6)]
    for channel in ("control", "data"):
        assert [f.message().epoch for f in left if f.channel == channel] == [1, 1, 1]
        assert all(f.good and f.ttl == 3 for f in left)
    first_data = next(f for f in left if f.channel == "data")
    assert all(f.ended < first_data.ended for f in left if f.channel == "control")


@cocotb.test()
async def a_pause_generator_stretches_a_frame(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    p1 = bench.ports["p1"]
    p1.source.set_pause_generator(cycle([True, False, True]))
    p1.source.send_nowait(election(1))
    frame = await bench.ports["p2"].sink.recv()
    arrived = p1.arriving.frames.get_nowait()
    flits = len(arrived.data) // 8
    assert arrived.ended - arrived.began == 3 * (flits - 1)
    assert frame.good
    assert frame.message() == Election(0, 0, 3, 3, 1, 1, 1, 1, 1, 100, 0)


@cocotb.test()
async def a_held_slot_is_back_pressure(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    p1, p2 = bench.ports["p1"], bench.ports["p2"]
    p2.sink.set_hold_generator(repeat(200))
    for i in range(8):
        p1.source.send_nowait(answer(i))
    await bench.wait(150)
    # Three slots at our end and none is free; three more frames wait in the node, two at our source.
    assert (p2.sink.taken, p1.source.began, p1.source.waiting) == (3, 6, 2)
    await bench.wait(8 * 200)
    assert (p2.sink.taken, p1.source.waiting) == (8, 0)


@cocotb.test()
async def injected_errors_arrive_as_errors(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    p1, p2 = bench.ports["p1"], bench.ports["p2"]
    good = election(1)
    for frame in (good.with_bad_link_crc(), good.marked(), good.with_bit_flip(100), good.truncated(3), good, good):
        p1.source.send_nowait(frame)
    await p1.source.wait()
    await bench.wait(30)
    left = [p2.sink.monitor.frames.get_nowait() for _ in range(p2.sink.monitor.frames.qsize())]
    # The beginning that cuts a frame is spent on ending it.
    assert [f.err for f in left] == [True, True, True, True, False]
    assert await bench.registers.read("rx_bad_port1") == 3
    assert await bench.registers.read("marked_port1") == 1
    assert not p2.sink.monitor.breaches


@cocotb.test()
async def a_cut_link_is_reported_and_comes_back(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    p2 = bench.ports["p2"]
    await bench.registers.write("link_restore", 20)
    p2.cut(True)
    await bench.wait(5)
    assert p2.link.peer_fault
    # What would leave by it comes back by port 1, marked as wrapped.
    bench.ports["p1"].source.send_nowait(election(1))
    turned = await bench.ports["p1"].sink.recv()
    assert int.from_bytes(turned.data[2:4], "big") & 0x0200
    p2.cut(False)
    await bench.wait(40)
    assert not p2.link.peer_fault
    assert p2.link.credits == 3
    assert await bench.registers.read("wraps") == 1


@cocotb.test()
async def a_carrier_is_lost_for_as_many_cycles_as_asked(dut: Any) -> None:
    """So is a mark seen; a single cycle too, whatever was done in the cycle before. Cut and back at once is nothing."""
    bench = NodeBench(dut)
    await bench.start()
    await bench.registers.write("link_restore", 4)
    p1 = bench.ports["p1"]
    up, fault = BIT["up"], BIT["fault"]
    seen: list[tuple[int, int]] = []
    p1.arriving.on_bits.append(lambda bits, cycle: seen.append((cycle, bits & (up | fault))))
    changes = (
        (lambda: p1.cut(True), lambda: p1.cut(False), 0),
        (lambda: p1.mark(True), lambda: p1.mark(False), up | fault),
    )
    for change, (begin, end, levels) in ((change, which) for change in range(4) for which in changes):
        for idle in (30, 1):
            seen.clear()
            await bench.wait(idle)
            begin()
            await bench.wait(change)
            end()
            await bench.wait(30)
            gone = next((cycle for cycle, found in seen if found == levels), None)
            back = next((cycle for cycle, found in seen if found == up and gone is not None and cycle > gone), None)
            assert (gone is None and change == 0) or (back is not None and gone is not None and back - gone == change)
    assert await bench.registers.read("wraps") == 3 * 2 * 2


@cocotb.test()
async def the_status_is_seen_as_it_was_in_a_cycle(dut: Any) -> None:
    """Also around accesses to other registers, whose values it is not."""
    actions = [Poke(2, "memory", 0xFFF), Poke(30, "memory", 7), Peek(40, "memory"), Fault(50, "dead", True)]
    actions += [Peek(51 + i, "memory") for i in range(9)]
    observed = await StimulusPlayer(NodeBench(dut)).play(Stimulus.of(actions, tail=40))
    healthy, out = 0x10, 0x3
    assert {value for _, value in observed.status} <= {healthy, 0, out, out | healthy, out | 0x200}
    assert all(observed.status_at(cycle) == healthy for cycle in range(2, 51))
    assert observed.status_at(50 + 12) == observed.status_at(99) == out | 0x200


@cocotb.test()
async def a_mailbox_reads_and_writes(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start(node=1)
    for port, link in enumerate(("p2", "p1", "host", "boundary")):
        bench.mailbox.send_nowait(port, election(port, home=2).data)
        frame = await bench.ports[link].sink.recv()
        assert frame.good
    for port, link in enumerate(("p1", "p2", "host", "boundary")):
        bench.ports[link].source.send_nowait(election(7, home=1))
        mail = await bench.mailbox.recv()
        assert (mail.port, mail.bad, mail.whole) == (port, False, True)


@cocotb.test()
async def a_quiet_monitor_sleeps(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    await bench.registers.write("heartbeat", 0)
    await bench.wait(5)
    monitors = [m for p in bench.ports.values() for m in (p.arriving, p.sink.monitor)]
    before = [m.samples for m in monitors]
    await bench.wait(5000)
    assert [m.samples for m in monitors] == before


@cocotb.test()
async def leaping_reaches_the_cycle_that_it_is_asked_for(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    await bench.registers.write("heartbeat", 0)
    await bench.wait(10)
    await bench.leap(100_000)
    assert bench.leaped > 99_000
    assert bench.cycle() <= 100_000
    await bench.wait(1)
    assert int(dut.now_o.value.to_unsigned()) == bench.cycle()


@cocotb.test()
async def a_seed_gives_the_same_numbers(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start(node=2, size=8)
    drawn = random.random()
    frame = RingFrame.of(Statistics(0, 2, 8, 0, 1, int(drawn * 2**32), 1, 8, 1024, 0))
    bench.ports["p2"].source.send_nowait(frame)
    left = await bench.ports["p1"].sink.recv()
    message = left.message()
    assert isinstance(message, Statistics)
    assert (message.count, message.sequence) == (2, int(drawn * 2**32))
    dut._log.info("drawn %s", drawn)


@cocotb.test()
async def random_traffic_matches_the_reference(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start(card=0, node=1, size=4)
    for register, value in (("heartbeat", 0), ("compute_setup", 1), ("allowance", 1000)):
        await bench.registers.write(register, value)
    view = NodeView(card=0, node=1, size=4, settings={"heartbeat": 0, "compute_setup": 1, "allowance": 1000})
    board = NodeScoreboard(bench, view)
    kinds = dict.fromkeys(("statistics", "keepalive", "election", "report", "work", "result"), 1.0)
    for link in ("p1", "p2"):
        # Of the data frames none is for this GPU: its answers are another matter.
        sequence = RandomSequence(Constraints(kinds=kinds, homes=(0, 2, 3)))
        for _ in range(30):
            bench.ports[link].source.send_nowait(sequence.frame())
    for port in bench.ports.values():
        await port.source.wait()
    await bench.wait(2000)
    board.check()
    assert board.compared == 60


@cocotb.test()
async def the_scoreboard_sees_what_is_wrong(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start(card=0, node=1, size=4)
    board = NodeScoreboard(bench, NodeView(card=0, node=1, size=4))
    bench.set_fault("double_count", True)
    bench.ports["p1"].source.send_nowait(RingFrame.of(Statistics(0, 0, 5, 0, 1, 1, 1, 4, 1024, 0)))
    await bench.wait(40)
    (complaint,) = board.complaints
    assert "count is 3, must be 2" in complaint


@cocotb.test()
async def a_sequence_draws_from_the_seed_of_the_run(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    first, second = RandomSequence(), RandomSequence()
    assert first.seed == cocotb.RANDOM_SEED
    frames = [first.frame() for _ in range(20)]
    assert frames == [second.frame() for _ in range(20)]
    assert frames != [RandomSequence(seed=first.seed + 1).frame() for _ in range(20)]
    assert {frame.kind for frame in frames} > {"work", "statistics"}
