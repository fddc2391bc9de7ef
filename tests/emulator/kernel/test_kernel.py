"""One clock, one order of events: what happens at the same cycle happens as it was scheduled."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.emulator.engine.engine import FOREVER, Engine, Topology
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.events.hardware import Advanced, ToCpu
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel import kernel as kernels
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.emulator.kernel.kernel import EndlessCycleError
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.commands import CancelTimer, Send, SetTimer
from ringhil.protocol import codec
from ringhil.protocol.frames import Report
from ringhil.protocol.wire import Port


@pytest.fixture
def kernel(library: Library) -> Kernel:
    return Kernel(Engine(library, Topology((2,))), 32, 64)


def noting(log: list[object], what: object) -> Callable[[], None]:
    return lambda: log.append(what)


# ------------------------------------------------------------------------------------------------------- agenda


def test_what_is_due_at_one_cycle_happens_in_the_order_of_asking(kernel: Kernel) -> None:
    log: list[object] = []
    for what in "cab":
        kernel.at(50, noting(log, what))
    kernel.at(10, noting(log, "first"))
    kernel.at(50, noting(log, "last"))
    kernel.run(100)
    assert log == ["first", "c", "a", "b", "last"]
    assert kernel.now == 100


def test_a_cycle_that_never_ends_is_told(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """As firmware would make it that sets a timer of no time whenever one runs out."""
    monkeypatch.setattr(kernels, "MOST_IN_A_CYCLE", 500)

    def again() -> None:
        kernel.after(0, again)

    kernel.at(70, again)
    with pytest.raises(EndlessCycleError, match=r"^cycle 70 never ends: 500 things were done in it"):
        kernel.run(100)
    assert kernel.now == 70


def test_a_cycle_may_be_as_busy_as_a_server_makes_it(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done in other cycles doesn't count."""
    monkeypatch.setattr(kernels, "MOST_IN_A_CYCLE", 500)
    log: list[object] = []
    for cycle in (10, 11, 12):
        for number in range(500):
            kernel.at(cycle, noting(log, number))
    kernel.run(100)
    assert len(log) == 1500


def test_a_run_to_a_cycle_that_is_past_does_nothing(kernel: Kernel) -> None:
    log: list[object] = []
    kernel.run(100)
    kernel.at(100, noting(log, "due"))
    kernel.run(99)
    assert (kernel.now, log) == (100, [])
    kernel.run(100)
    assert log == ["due"]


def test_at_one_cycle_reminders_come_first_and_then_what_is_early(kernel: Kernel) -> None:
    log: list[object] = []
    for plan in (kernel.at, kernel.early, kernel.remind) * 2:
        plan(50, noting(log, plan.__name__))
    kernel.run(100)
    assert log == ["remind", "remind", "early", "early", "at", "at"]


def test_what_is_asked_for_now_happens_in_the_same_cycle_after_what_was_there(kernel: Kernel) -> None:
    log: list[object] = []

    def first() -> None:
        log.append(("first", kernel.now))
        kernel.after(0, lambda: log.append(("added", kernel.now)))

    kernel.at(7, first)
    kernel.at(7, lambda: log.append(("second", kernel.now)))
    kernel.run(8)
    assert log == [("first", 7), ("second", 7), ("added", 7)]


def test_the_past_is_now(kernel: Kernel) -> None:
    kernel.run(100)
    log: list[object] = []
    kernel.at(3, lambda: log.append(kernel.now))
    kernel.run(101)
    assert log == [100]


def test_run_ends_at_its_cycle_and_goes_on_from_there(kernel: Kernel) -> None:
    log: list[object] = []
    kernel.at(20, noting(log, 20))
    kernel.at(21, noting(log, 21))
    kernel.run(20)
    assert (kernel.now, log) == (20, [20])
    kernel.run(20)
    assert log == [20]
    kernel.run(22)
    assert log == [20, 21]


def test_stop_ends_the_run_at_once(kernel: Kernel) -> None:
    log: list[object] = []
    kernel.at(20, kernel.stop)
    kernel.at(20, noting(log, "later"))
    kernel.run(FOREVER)
    assert (kernel.now, log) == (20, [])
    kernel.run(21)
    assert log == ["later"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20))
@settings(max_examples=60)
def test_everything_happens_once_in_order_of_time_and_asking(plan: list[tuple[int, int]]) -> None:
    """Each item asks for another one `delay` later."""
    kernel, log = Kernel(Engine(cells_library(), Topology((2,))), 32, 64), list[tuple[int, int]]()

    def ask(number: int, delay: int) -> Callable[[], None]:
        def act() -> None:
            log.append((kernel.now, number))
            kernel.after(delay, lambda: log.append((kernel.now, 100 + number)))

        return act

    for number, (at, delay) in enumerate(plan):
        kernel.at(at, ask(number, delay))
    kernel.run(100)
    assert [cycle for cycle, _ in log] == sorted(cycle for cycle, _ in log)
    wanted = [(at, n) for n, (at, _) in enumerate(plan)]
    wanted += [(at + delay, 100 + n) for n, (at, delay) in enumerate(plan)]
    assert sorted(log) == sorted(wanted)
    first = [n for _, n in log if n < 100]
    assert first == sorted(first, key=lambda n: plan[n][0])


# --------------------------------------------------------------------------------------------------- deliveries


def hello(sequence: int) -> bytes:
    """A frame from a GPU to the CPU."""
    return codec.encode(Report(0, 4, 1, 0, 1, sequence, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, (3, 0, 0)))


def arrivals(library: Library, lookahead: int | None, firmware: int, cpu: int) -> list[tuple[int, int, bytes]]:
    """Frames of four GPUs to the CPU, crossing with each other's mail."""
    kernel = Kernel(Engine(library, Topology((4,))), firmware, cpu)
    if lookahead is not None:
        kernel._lookahead = lookahead
    log: list[tuple[int, int, bytes]] = []
    kernel.on_cpu_mail = lambda cell, frame, port, bad: log.append((kernel.now, cell, frame))
    config = CensusConfig(0, 0, 4, 1, 300, 150)
    ring = GpuFirmware(kernel, 0, lambda boots, memory: Census(config))

    def mailbox(cell: int, frame: bytes, port: int, bad: bool) -> None:
        log.append((kernel.now, -1 - cell, frame))
        ring.mail(frame, port, bad)

    kernel.on_firmware_mail = mailbox
    ring.power_up()
    for n in range(40):
        cell, at = n % 4, 7 * n
        kernel.engine.send_mail(cell, 2, hello(n), at=at)
    kernel.run(3000)
    return log


def test_a_frame_is_handed_over_after_its_latency(library: Library) -> None:
    at = {}
    for cpu in (5, 64, 500):
        kernel = Kernel(Engine(library, Topology((2,))), 32, cpu)
        seen: list[int] = []
        kernel.on_cpu_mail = lambda cell, frame, port, bad, k=kernel, s=seen: s.append(k.now)  # type: ignore[misc]
        kernel.engine.send_mail(1, 2, hello(1))
        kernel.run(2000)
        (at[cpu],) = seen
    assert at[64] - at[5] == 59
    assert at[500] - at[5] == 495


def test_what_is_told_has_its_cycle_and_is_told_to_listeners_in_their_order(library: Library) -> None:
    kernel = Kernel(Engine(library, Topology((2,))), 32, 64)
    log: list[tuple[str, int]] = []
    listen = kernel.observations.listen
    listen(Advanced, lambda o: log.append(("advanced", o.cycle - kernel.now)))
    listen(ToCpu, lambda o: log.append(("first", kernel.now - o.cycle)))
    listen(ToCpu, lambda o: log.append(("second", o.bad)))
    kernel.engine.send_mail(1, 2, hello(1))
    kernel.run(2000)
    told = [what for what, _ in log]
    there = told.index("first")
    assert told[there - 1 : there + 2] == ["advanced", "first", "second"]
    assert {past for what, past in log if what == "advanced"} == {0}
    assert 0 <= log[there][1] <= 32, "not told later than the engine looks ahead"
    assert log[there + 1][1] is False


@pytest.mark.parametrize(("firmware", "cpu"), [(32, 64), (64, 32), (1, 1), (7, 500)])
def test_looking_ahead_changes_nothing(library: Library, firmware: int, cpu: int) -> None:
    """As far as the shorter latency: nobody could have reacted."""
    step_by_step = arrivals(library, 1, firmware, cpu)
    assert len(step_by_step) > 45
    assert arrivals(library, None, firmware, cpu) == step_by_step


# ----------------------------------------------------------------------------------------------------- firmware


class Script:
    """Firmware that does what it is told and notes what happens to it."""

    def __init__(self, log: list[object], first: list[Action], then: dict[str, list[Action]]) -> None:
        self.log, self.first, self.then = log, first, then

    def start(self, now: int) -> list[Action]:
        self.log.append(("start", now))
        return self.first

    def on_timer(self, name: str, now: int) -> list[Action]:
        self.log.append((name, now))
        return self.then.get(name, [])

    def on_status(self, status: int) -> None:
        """It has no use for that."""

    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
        self.log.append(("frame", now))
        return []


def boot(
    kernel: Kernel, log: list[object], first: list[Action], then: dict[str, list[Action]] | None = None
) -> GpuFirmware:
    firmware = GpuFirmware(kernel, 0, lambda boots, memory: Script(log, first, then or {}))
    firmware.power_up()
    return firmware


def test_a_timer_of_the_same_name_is_replaced(kernel: Kernel) -> None:
    log: list[object] = []
    boot(kernel, log, [SetTimer("t", 10), SetTimer("u", 15), SetTimer("t", 20)])
    kernel.run(100)
    assert log == [("start", 0), ("u", 15), ("t", 20)]


def test_a_cancelled_timer_does_not_run_out(kernel: Kernel) -> None:
    log: list[object] = []
    boot(kernel, log, [SetTimer("t", 10), SetTimer("u", 5)], {"u": [CancelTimer("t"), CancelTimer("never set")]})
    kernel.run(100)
    assert log == [("start", 0), ("u", 5)]


def test_a_failed_gpu_does_nothing_any_more(kernel: Kernel) -> None:
    """Its timers, its mail to come and what it had not yet sent are gone."""
    log: list[object] = []
    told: list[object] = []
    kernel.on_cpu_mail = lambda cell, frame, port, bad: told.append(frame)
    firmware = boot(kernel, log, [SetTimer("t", 10), Send(Port.CPU, hello(1))])
    firmware.fail()
    firmware.mail(b"", 0, False)
    kernel.run(500)
    assert (log, told, firmware.running) == ([("start", 0)], [], None)


def test_when_it_boots_again_old_timers_do_not_count(kernel: Kernel) -> None:
    log: list[object] = []
    firmware = boot(kernel, log, [SetTimer("t", 10)])
    kernel.at(4, firmware.fail)
    kernel.at(5, firmware.power_up)
    kernel.run(100)
    assert log == [("start", 0), ("start", 5), ("t", 15)]


def test_each_boot_has_its_number(kernel: Kernel) -> None:
    boots: list[int] = []

    def make(number: int, memory: int) -> Script:
        boots.append(number)
        return Script([], [], {})

    firmware = GpuFirmware(kernel, 0, make)
    for _ in range(3):
        firmware.power_up()
        firmware.fail()
    assert boots == [1, 2, 3]
