"""A census that somebody asks for shows what was so when it was asked for."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import Command
from ringhil.emulator.host.work import segments
from ringhil.emulator.kernel.observations import FromFirmware
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.refused import NotDone
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
    card.carry_out(fault, answers.append)
    card.carry_out(m.CensusRequest(2), answers.append)
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
    card.carry_out(m.SendRequest(1, 0, Port.CPU.code, frame()), answers.append)
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
        card.carry_out(m.SendRequest(1, gpu, port.code, sent), lambda answer: pytest.fail(f"{answer}"))
    assert refused.value.why is why
