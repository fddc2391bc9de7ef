"""What is told is what the hardware has: against what the applications know of their own work."""

import math
import random
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import ContextRef
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.nvml.answers import NvmlAnswers
from ringhil.emulator.nvml.messages import Meter, NvmlAnswer, NvmlTopic, Question, Status
from ringhil.emulator.nvml.meters import PowerMeters, busy, millijoules, units_of
from ringhil.emulator.nvml.peer import PeerProcess, began
from ringhil.emulator.nvml.usage import UsageSampler, _Ran
from ringhil.emulator.nvml.views import ContextUser, GpuView, Views, views_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

PERIOD = 50_000
ME = PeerProcess(1, 0, began(1) or 0)
SETTINGS = "settings: {device_memory: 1000, host_latency: 16, firmware_latency: 16, default_slice: 500}"
SHARED = f"""
server: {{cards: {{a: {{gpus: 4}}}}, {SETTINGS}}}
sharing:
  page: 4
  applications:
    one: {{gpu: a.1, memory: 300, steps: 4000000, host: 500, compute: 700}}
    two: {{gpu: a.1, steps: 4000000, host: 500, compute: 1500, wants: 10}}
    short: {{gpu: a.2, steps: 3, host: 500, compute: 1500}}
"""


class Asked:
    """A server at work, and answers about it. `pace`: microseconds of whoever asks in a cycle, now."""

    def __init__(self, text: str) -> None:
        self.pace, self._seconds, self._cycle = 1.0, 0.0, 0
        self.server = LiveServer(loads(text), cells_library())
        views = views_of(self.server)
        self.usage = UsageSampler(self.server, views, PERIOD, self.seconds)
        self.answers = NvmlAnswers(self.server, views, self.usage)
        self.usage.on_sample = self.answers.sampled
        self.server.start()

    def seconds(self) -> float:
        now = self.server.kernel.now
        self._seconds += (now - self._cycle) * self.pace / 1e6
        self._cycle = now
        return self._seconds

    def told(self, what: NvmlTopic, gpu: int = 0, number: int = 0) -> NvmlAnswer:
        return self.answers.answer(ME, Question(what, gpu, number))

    def values(self, what: NvmlTopic, gpu: int, meter: int = Meter.POWER) -> tuple[int, ...]:
        told = self.told(what, gpu, meter)
        assert told.status is Status.SUCCESS
        return struct.unpack(f"={told.number}Q", told.data)

    def until_sampled(self) -> None:
        """Until just after the next one."""
        samples = self.usage.samples
        while self.usage.samples == samples:
            self.server.run_to(self.server.kernel.now + 50)


@contextmanager
def asked(text: str) -> Iterator[Asked]:
    found = Asked(text)
    yield found
    found.server.close_work()
    found.server.engine.close()


def test_shares_are_those_of_the_work_that_was_done() -> None:
    with asked(SHARED) as it:
        while it.usage.samples < 3:
            it.until_sampled()
        reports: dict[str, TaskReport] = it.server.applications.reports
        at, before = it.server.kernel.now, {name: report.steps for name, report in reports.items()}
        it.until_sampled()
        took = it.server.kernel.now - at
        want = {
            name: 100 * (reports[name].steps - before[name]) * work / took
            for name, work in (("one", 700), ("two", 1500))
        }
        found = {user.name: it.usage.share(user) for user in it.answers._views.users()}
        step = 100 * 1500 / took  # one more or less in the period
        assert {name: share for name, share in found.items() if name in want} == {
            name: pytest.approx(share, abs=step + 1) for name, share in want.items()
        }
        assert want["one"] > 25
        assert found["short"] == 0
        (busy,) = it.values(NvmlTopic.UTILISATION, 1)
        assert sum(want.values()) < busy <= 100  # switches are nobody's
        # Memory: 90 percent of 300 pages, 10 percent of what there is; who has ended holds nothing.
        assert it.values(NvmlTopic.MEMORY, 1) == (4_096_000, 4096 * (1000 - 270 - 100), 4096 * 370, 0)
        assert it.told(NvmlTopic.PROCESSES, 1).number == 2
        assert it.values(NvmlTopic.MEMORY, 2) == (4_096_000, 4_096_000, 0, 0)
        assert it.told(NvmlTopic.PROCESSES, 2).number == 0


def test_a_run_is_the_same_whether_it_is_asked_about_or_not() -> None:
    def end(often: bool) -> list[tuple[int, int | None]]:
        with asked(SHARED) as it:
            for cycle in range(0, 300_000, 10_000):
                it.server.run_to(cycle)
                if often and it.usage.begun:
                    for gpu in range(4):
                        it.told(NvmlTopic.MEMORY, gpu)
                        it.told(NvmlTopic.PROCESSES, gpu)
            return [(report.steps, report.ended) for report in it.server.applications.reports.values()]

    assert end(True) == end(False)


def test_a_lent_gpu_is_not_shown() -> None:
    wired = SHARED.replace("gpus: 4", "gpus: 4, host_links: [3, 0]")
    text = f"{wired}timeline: [{{at: 20000, lend: a.0}}, {{at: 120000, take_back: a.0}}]\n"
    with asked(text) as it:
        it.until_sampled()
        for cycle, gpus in ((119_999, ["a.1", "a.2", "a.3"]), (300_000, ["a.0", "a.1", "a.2", "a.3"])):
            it.server.run_to(cycle)
            assert it.values(NvmlTopic.COUNT, 0) == (len(gpus),)
            found = [it.told(NvmlTopic.BY_INDEX, number=index).number for index in range(len(gpus))]
            assert [str(it.server.wiring.gpu_of(cell)) for cell in found] == gpus
            assert it.told(NvmlTopic.BY_INDEX, number=len(gpus)).status is Status.INVALID_ARGUMENT
            assert (it.told(NvmlTopic.GPU, 0).status is Status.SUCCESS) == ("a.0" in gpus)


def test_a_gpu_that_the_cpu_has_not_counted_is_lost() -> None:
    text = f"{SHARED}timeline:\n  - at: 20000\n    fault: dead\n    gpu: a.1\n"
    with asked(text) as it:
        it.until_sampled()
        assert it.told(NvmlTopic.BY_INDEX, number=1).number == 1
        it.server.run_to(120_000)
        assert it.told(NvmlTopic.BY_INDEX, number=1).status is Status.GPU_IS_LOST
        assert it.told(NvmlTopic.MEMORY, 1).status is Status.GPU_IS_LOST
        assert it.values(NvmlTopic.COUNT, 0) == (4,)
        assert it.told(NvmlTopic.BY_INDEX, number=2).number == 2
        assert it.values(NvmlTopic.MEMORY, 2)[0] == 4_096_000
        samples = it.usage.samples
        it.server.run_to(300_000)
        assert it.usage.samples >= samples + 3  # of the others they go on


METERED = """
server:
  cards: {a: {gpus: 3, types: {2: H200}}}
  settings: {compute_setup: 2000, host_latency: 16, firmware_latency: 16}
  power: {H200: {run_power: 7000, idle_power: 900, low_power: 200, off_power: 11, low_after: 100000, off_after: 200000}}
workload: {units: 600, size: 1024}
until: 4000000
"""


def test_a_gpu_that_does_plain_work_is_as_busy_as_its_engine() -> None:
    with asked(METERED) as it:
        assert not it.answers._views.users()
        while not it.usage.measured:
            it.until_sampled()
        done, busy = -it.server.engine.peek(1, "units_done"), 0.0
        while not it.server.cpu.finished:
            it.until_sampled()
            busy += it.values(NvmlTopic.UTILISATION, 1)[0] / 100 * PERIOD
        it.until_sampled()
        busy += it.values(NvmlTopic.UTILISATION, 1)[0] / 100 * PERIOD
        done += it.server.engine.peek(1, "units_done")
        assert done > 100
        assert busy == pytest.approx(done * (2000 + 1024 // 8), rel=0.05)
        it.until_sampled()
        assert it.values(NvmlTopic.UTILISATION, 1) == (0,)


def test_power_energy_and_state_are_those_of_the_meter() -> None:
    """A unit of energy is a tenth of a watt for a microsecond."""
    with asked(METERED) as it:
        while not it.server.cpu.finished:
            it.until_sampled()
        rests, told = it.server.kernel.now, set[int]()
        for cycles, state in ((1, 8), (150_000, 12), (250_000, 15), (350_000, 15)):
            while it.server.kernel.now < rests + cycles:
                it.until_sampled()
                told.update(it.values(NvmlTopic.METER, 2, Meter.POWER_NOW))
            assert it.values(NvmlTopic.METER, 2, Meter.PERFORMANCE) == (state,)
        assert told >= {90_000, 20_000, 1_100}
        assert it.values(NvmlTopic.METER, 2, Meter.POWER_LIMIT) == (700_000,)
        (before,) = it.values(NvmlTopic.METER, 2, Meter.ENERGY)
        it.server.run_to(it.server.kernel.now + 1_000_000)
        assert it.values(NvmlTopic.METER, 2, Meter.ENERGY)[0] - before in (1100, 1101)  # millijoule


def test_where_the_file_says_nothing_of_energy_nothing_is_told() -> None:
    with asked(METERED) as it:
        it.until_sampled()
        for meter in set(Meter) - {Meter.PERFORMANCE}:
            assert it.told(NvmlTopic.METER, 1, meter).status is Status.NOT_SUPPORTED


def test_power_added_up_is_the_energy_however_late_the_server_is() -> None:
    """Whoever looks at power again and again, and whoever looks at energy before and after: they find the same."""
    pace = random.Random(7)
    with asked(METERED) as it:
        it.until_sampled()
        it.until_sampled()
        (before,), began, added, paces = it.values(NvmlTopic.METER, 2, Meter.ENERGY), it.seconds(), 0.0, set[int]()
        for _ in range(30):
            it.pace, since = pace.choice((0.5, 1.0, 1.6, 9.0)), it.seconds()
            it.until_sampled()
            (power,) = it.values(NvmlTopic.METER, 2, Meter.POWER_NOW)
            added += power * (it.seconds() - since)
            paces.add(power)
        (after,) = it.values(NvmlTopic.METER, 2, Meter.ENERGY)
        assert added == pytest.approx(after - before, rel=0.01)
        assert len(paces) > 4
        took = it.seconds() - began
        assert took > 3
        (average,) = it.values(NvmlTopic.METER, 2)
        assert min(paces) <= average <= max(paces)


@pytest.mark.parametrize("pace", [1.0, 37.0])
def test_temperature_follows_power_by_the_cycles_of_the_ring_alone(pace: float) -> None:
    """First order: 30 degrees, and 0.07 K for each watt, nearer by 1 - 1/e in 20 seconds of the ring."""
    meters, seconds, counted, expected = PowerMeters(1000), 0.0, 0, 30.0
    for cycle in range(500_000, 90_000_001, 500_000):
        watts = 700 if cycle < 60_000_000 else 90
        counted += watts * 10 * 500_000
        seconds += 0.5 * pace
        meters.note(cycle, seconds, {(0, 1): counted})
        end = 30 + 0.07 * watts
        expected = end + (expected - end) * math.exp(-0.5 / 20)
        assert meters.temperature((0, 1)) == round(expected)
        if cycle > 500_000:
            assert meters.power([(0, 1)], now=True) == round(watts * 1000 / pace)


def test_nobody_is_told_that_there_is_no_memory_at_all() -> None:
    """A total of 0 stands for a GPU that has the machine's own memory: who may have nothing has nothing free."""
    with asked(SHARED) as found:
        found.until_sampled()
        for pages in range(4):
            answer = found.answers._memory(GpuView(pids=frozenset(), memory=pages), 1, Question(NvmlTopic.MEMORY, 1))
            total, free, used, reserved = struct.unpack("=4Q", answer.data)
            assert total == 4096 * max(1, pages)
            assert (free, used + reserved) == (4096 * pages, total - 4096 * pages)


def test_nobody_is_told_of_more_memory_than_there_is() -> None:
    """A limit may be above that."""
    with asked(SHARED) as found:
        found.until_sampled()
        for pages, total in ((300, 300), (5000, 1000)):
            answer = found.answers._memory(GpuView(memory=pages), 1, Question(NvmlTopic.MEMORY, 1))
            assert struct.unpack("=4Q", answer.data)[0] == total * 4096


def test_a_context_that_is_a_new_one_has_had_what_it_has_had() -> None:
    """And not what the one before it had more."""
    with asked(SHARED) as found:
        user = ContextUser(1, "one", ContextRef(0, 1, 1))
        for before, now, share in ((0, 25, 25), (40, 90, 50), (90, 30, 30), (90, 90, 0)):
            found.usage._before.ran[user.place] = _Ran(100, before)
            found.usage._last = replace(found.usage._last, ran={user.place: _Ran(200, now)})
            assert found.usage.share(user) == share


def test_energy_and_time_have_two_words() -> None:
    """A tenth of a watt for a microsecond is a unit of energy."""
    registers = {"power_state": 1, "run_power": 3000, "energy_high": 1, "busy_high": 2, "busy_low": 5}
    read = Counter(registers).__getitem__
    assert millijoules(units_of(read), 1000) == 2**32 // 10_000
    assert busy(read) == 2 * 2**32 + 5


def test_two_that_are_measured_at_different_moments_have_not_more_than_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with asked(SHARED) as it:
        it.until_sampled()
        it.until_sampled()
        monkeypatch.setattr(UsageSampler, "share", lambda self, user: 60)
        both = GpuView(pids=frozenset(user.pid for user in it.answers._views.users()))
        monkeypatch.setattr(Views, "view_of", lambda self, peer: both)
        assert it.values(NvmlTopic.UTILISATION, 1) == (100,)


def test_a_bus_address_is_hexadecimal_and_of_a_whole_device() -> None:
    asked = Asked(f"server: {{cards: {{a: {{gpus: 12}}}}, {SETTINGS}}}")

    def at(text: str) -> tuple[Status, int]:
        told = asked.answers.answer(ME, Question(NvmlTopic.BY_BUS, text=text))
        return told.status, told.number

    asked.until_sampled()
    assert [at(text) for text in ("0000:0A:00.0", "0:0a:0", "a:0")] == [(Status.SUCCESS, 10)] * 3
    assert [at(text)[0] for text in ("0:0a:0.1", "0:0a:1", "1:0a:0", "100:0a:0", "0:10:0")] == [Status.NOT_FOUND] * 5
    assert [at(text)[0] for text in ("", "0x0a:0", "+a:0", "0:0a:0.8", " a:0")] == [Status.INVALID_ARGUMENT] * 5
    asked.server.engine.close()


def test_an_application_is_told_the_energy_of_its_own_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And of nobody else's: together they have at most what the GPU took. Power added up is energy here, too."""
    power = "power: {default: {run_power: 7000, idle_power: 900}}"
    with asked(SHARED.replace("server: {", f"server: {{{power}, ")) as it:
        users = {user.name: user for user in it.answers._views.users()}
        seen = {name: frozenset([user.pid]) for name, user in users.items() if name != "short"} | {
            "nobody": frozenset()
        }
        told = dict[str, list[tuple[int, ...]]]()
        for _ in range(12):
            it.until_sampled()
            for name, pids in seen.items():
                monkeypatch.setattr(Views, "view_of", lambda self, peer, pids=pids: GpuView(pids=pids))
                meters = (Meter.ENERGY, Meter.POWER_NOW, Meter.POWER_LIMIT) if it.usage.measured else (Meter.ENERGY,)
                told.setdefault(name, []).append(tuple(it.values(NvmlTopic.METER, 1, meter)[0] for meter in meters))
                assert it.told(NvmlTopic.METER, 1, Meter.TEMPERATURE).status is Status.NOT_SUPPORTED
        reports = it.server.applications.reports
        for name, work in (("one", 700), ("two", 1500)):
            whole = reports[name].steps * work * 7000 * 100 / 1e6  # millijoule
            assert told[name][-1][0] == pytest.approx(whole, rel=0.2)
            powers = [each[1] for each in told[name][-10:]]
            assert sum(powers) * PERIOD / 1e6 == pytest.approx(told[name][-1][0] - told[name][-11][0], rel=0.01, abs=2)
        assert {each[:2] for each in told["nobody"][2:]} == {(0, 0)}
        monkeypatch.setattr(Views, "view_of", lambda self, peer: GpuView())
        assert sum(told[name][-1][0] for name in ("one", "two")) < it.values(NvmlTopic.METER, 1, Meter.ENERGY)[0]
