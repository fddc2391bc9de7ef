"""A census that somebody asks for shows what was so when it was asked for."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.kernel.observations import FromFirmware
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.server import LiveServer
from ringhil.protocol.frames import Statistics
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Injection, LineFault

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
