"""A census that somebody asks for shows what was so when it was asked for."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import FromFirmware
from ringhil.emulator.host.contexts.command import Command
from ringhil.emulator.host.contexts.outside import OutsideClient
from ringhil.emulator.host.work import segments
from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.serial.port.managed_card import ManagedCard, NotDone
from ringhil.emulator.server import LiveServer
from ringhil.protocol import codec
from ringhil.protocol.frames import Result, Statistics
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Refusal
from ringhil.protocol.wire import Compute, Port

SERVER = "server: {cards: {a: {gpus: 8, host_links: [0]}}}\n"


@pytest.mark.parametrize("late", [*range(0, 60, 3), 1000])
def test_one_asked_for_during_a_round_is_of_the_next(late: int) -> None:
    """A GPU that has died just before is counted no more, whatever the round that was under way had seen of it."""
    server = LiveServer(loads(SERVER), cells_library())
    card = ManagedCard(server, 0)
    begun, answers = list[int](), list[m.Message]()

    def seen(frame: FromFirmware) -> None:
        if frame.frame[0] == Statistics.KIND:
            begun.append(frame.cycle)

    server.observations.listen(FromFirmware, seen)
    server.start()
    server.run_to(5000)
    while not begun or begun[-1] < 5000:
        server.run_to(server.kernel.now + 1)
    server.run_to(begun[-1] + late)
    asked = server.kernel.now
    fault = m.InjectRequest(1, Injection.SET.code, LineFault.DEAD.code, 1, 0)
    card.carry_out(fault, answers.append, OutsideClient())
    card.carry_out(m.CensusRequest(2), answers.append, OutsideClient())
    server.run_to(asked + 4000)
    (reply,) = [each for each in answers if isinstance(each, m.CensusReply)]
    assert reply.sent_at >= asked
    assert (reply.count, reply.members) == (7, (0b11111101,))
    server.engine.close()


UNIT = 0x80000001
ROUTE = segments.Route(0, 0, 0, 3, False, 9, 1)


def frame(unit: int = UNIT, route: segments.Route = ROUTE, compute: Compute = Compute.CREATE) -> bytes:
    """A command to context 5 of GPU 3."""
    (found,) = segments.segments(unit, 1, Command(compute, 7, 40).payload(), route, compute, 5)
    return found


@pytest.fixture
def begun() -> Iterator[tuple[LiveServer, ManagedCard]]:
    server = LiveServer(loads(SERVER), cells_library())
    card = ManagedCard(server, 0)
    server.start()
    server.run_to(5000)
    yield server, card
    server.engine.close()


def test_a_command_goes_the_way_of_the_cpu_and_its_answer_is_told(begun: tuple[LiveServer, ManagedCard]) -> None:
    """Once, to whoever has subscribed to answers or to frames, and to nobody as part of what else is told."""
    server, card = begun
    told: list[m.FrameEvent] = []

    def follow(kinds: int, event: m.Message) -> None:
        if kinds & EventKind.ANSWERS and isinstance(event, m.FrameEvent):
            assert kinds == EventKind.ANSWERS | EventKind.FRAMES
            told.append(event)

    card.followers.append(follow)
    answers = list[m.Message]()
    card.carry_out(m.SendRequest(1, 0, Port.CPU.code, frame()), answers.append, OutsideClient())
    server.run_to(9000)
    assert answers == [m.SendReply(1, 5000)]
    (event,) = told
    answer = codec.decode(event.frame)
    assert isinstance(answer, Result)
    assert (event.gpu, answer.unit, answer.source, answer.status, answer.digest) == (0, UNIT, 3, 0, 40)


@pytest.mark.parametrize(
    ("gpu", "port", "sent", "why", "words"),
    [
        (0, Port.CPU, frame(5), Refusal.CANNOT, "only commands to contexts are sent for others"),
        (0, Port.CPU, frame(compute=Compute.DIGEST), Refusal.CANNOT, "only commands to contexts are sent for others"),
        (0, Port.CW, frame(), Refusal.BAD_VALUE, "port 0: allowed for a command is 2"),
        (0, Port.CPU, frame(route=replace(ROUTE, card=1)), Refusal.BAD_VALUE, "card 1, by way of card 0: allowed"),
        (1, Port.CPU, frame(), Refusal.NO_ENTRY_GPU, "GPU 1 is not the entry GPU now"),
    ],
)
def test_other_frames_of_the_data_channel_are_refused(
    begun: tuple[LiveServer, ManagedCard], gpu: int, port: Port, sent: bytes, why: Refusal, words: str
) -> None:
    _, card = begun
    with pytest.raises(NotDone, match=re.escape(words)) as refused:
        card.carry_out(m.SendRequest(1, gpu, port.code, sent), lambda answer: pytest.fail(f"{answer}"), OutsideClient())
    assert refused.value.why is why


def test_a_gpu_that_is_lent_takes_no_commands_and_no_fault_is_told(begun: tuple[LiveServer, ManagedCard]) -> None:
    server, card = begun
    told = list[m.Message]()
    card.followers.append(lambda kinds, event: told.append(event))
    server.lend(GpuRef("a", 3))
    server.run_to(9000)
    with pytest.raises(NotDone, match=r"^GPU 3 is lent to a virtual machine$") as refused:
        card.carry_out(m.SendRequest(1, 0, Port.CPU.code, frame()), told.append, OutsideClient())
    assert refused.value.why is Refusal.CANNOT
    assert not [event for event in told if isinstance(event, m.FaultEvent)]


FAULTY = """
server: {cards: {b: {gpus: 3}, a: {gpus: 8, host_links: [0, 1]}}}
timeline:
  - {at: 1000, fault: dead, gpu: a.3}
  - {at: 1000, fault: link_one_way, link: a.5-a.4}
  - {at: 1000, fault: keepalive_loss, gpu: a.1, count: 2}
  - {at: 1000, fault: slow, gpu: b.2}
  - {at: 1000, fault: link_delay, link: a.6-a.7}
  - {at: 9000, clear: dead, gpu: a.3}
until: 30000
"""
FIRST = 3  # cell of a.0


class Line:
    """A client of card a."""

    def __init__(self) -> None:
        self.server = LiveServer(loads(FAULTY), cells_library())
        self.card = ManagedCard(self.server, 1)
        self.told = list[m.FaultEvent]()
        self.card.followers.append(self._follow)
        self.server.start()

    def _follow(self, kind: EventKind, event: m.Message) -> None:
        if isinstance(event, m.FaultEvent):
            self.told.append(event)

    def ask(self, injection: Injection, fault: LineFault, gpu: int) -> None:
        self.card.carry_out(
            m.InjectRequest(1, injection.code, fault.code, gpu, 0), lambda answer: None, OutsideClient()
        )

    def refused(self, injection: Injection, fault: LineFault, gpu: int) -> str:
        told = len(self.told)
        with pytest.raises(NotDone) as refusal:
            self.ask(injection, fault, gpu)
        assert refusal.value.why is Refusal.BAD_VALUE
        self.server.run_to(self.server.kernel.now + 1)
        assert len(self.told) == told
        return str(refusal.value)


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    made.server.run_to(5000)
    yield made
    made.server.engine.close()


def test_what_the_timeline_has_set_is_set(line: Line) -> None:
    assert line.refused(Injection.SET, LineFault.DEAD, 3) == "dead of GPU 3 is set"
    line.ask(Injection.CLEAR, LineFault.DEAD, 3)
    line.server.run_to(8000)
    assert line.server.engine.peek(FIRST + 3, "status") & 0x10  # healthy
    assert line.refused(Injection.CLEAR, LineFault.DEAD, 3) == "dead of GPU 3 is not set"


def test_so_is_that_of_a_link(line: Line) -> None:
    assert line.refused(Injection.SET, LineFault.LINK_DELAY, 6) == "link_delay of GPU 6 is set"
    line.ask(Injection.CLEAR, LineFault.LINK_DELAY, 6)
    line.ask(Injection.SET, LineFault.LINK_DELAY, 6)


def test_what_the_timeline_has_ended_is_not_set(line: Line) -> None:
    line.server.run_to(9001)
    assert line.refused(Injection.CLEAR, LineFault.DEAD, 3) == "dead of GPU 3 is not set"


def test_what_is_set_elsewhere_or_the_other_way_is_not_set_here(line: Line) -> None:
    assert "is not set" in line.refused(Injection.CLEAR, LineFault.SLOW, 2)
    assert "is not set" in line.refused(Injection.CLEAR, LineFault.LINK_ONE_WAY, 4)


def test_a_loss_that_was_counted_ends_by_itself(line: Line) -> None:
    assert "is not set" in line.refused(Injection.CLEAR, LineFault.KEEPALIVE_LOSS, 1)
    line.ask(Injection.SET, LineFault.KEEPALIVE_LOSS, 1)


def test_nothing_is_set_twice_in_one_cycle(line: Line) -> None:
    line.ask(Injection.SET, LineFault.SLOW, 2)
    with pytest.raises(NotDone, match=r"^slow of GPU 2 is set$"):
        line.ask(Injection.SET, LineFault.SLOW, 2)


@pytest.mark.parametrize("fault", [LineFault.HANG, LineFault.DEAD])
def test_what_is_lost_for_good_can_not_be_ended(line: Line, fault: LineFault) -> None:
    """A board that ran its firmware, or was its hardware, is gone."""
    if fault is LineFault.DEAD:
        line.server.lose(FIRST + 1, "is gone")
    else:
        line.server._hang(FIRST + 1, "is gone")
    line.server.run_to(line.server.kernel.now + 2)
    assert line.refused(Injection.SET, fault, 1) == f"{fault} of GPU 1 is set"
    assert line.refused(Injection.CLEAR, fault, 1) == f"{fault} of GPU 1 is for good: its board is gone"
