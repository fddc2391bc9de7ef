"""A client of a management port ends whatever fault is set, and begins none twice, whoever has set it."""

from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.refused import NotDone
from ringhil.emulator.server import LiveServer
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Refusal

SERVER = """
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
        self.server = LiveServer(loads(SERVER), cells_library())
        self.card = ManagedCard(self.server, 1)
        self.told = list[m.FaultEvent]()
        self.card.followers.append(self._follow)
        self.server.start()

    def _follow(self, kind: EventKind, event: m.Message) -> None:
        if isinstance(event, m.FaultEvent):
            self.told.append(event)

    def ask(self, injection: Injection, fault: LineFault, gpu: int) -> None:
        self.card.carry_out(m.InjectRequest(1, injection.code, fault.code, gpu, 0), lambda answer: None)

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
