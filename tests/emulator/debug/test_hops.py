"""The cycle of a frame on a link is that of its first flit."""

from tests.emulator.debug.test_questions import CARD

from ringhil.emulator.debug.hops import Links
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import Advanced
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import LinkBit

UNTIL = 8000


def begun() -> set[tuple[int, int, int]]:
    """Cycle, GPU and link of every first flit, off the wires."""
    server = LiveServer(loads(CARD % ""), cells_library())
    server.engine.watch()
    changes = list[tuple[int, ...]]()
    server.observations.listen(Advanced, lambda _: changes.extend(map(tuple, server.engine.changes().tolist())))
    server.start()
    server.run_to(UNTIL)
    server.engine.close()
    first = LinkBit.VALID | LinkBit.SOF
    return {(cycle, cell, link) for cycle, _, cell, link, control, _ in changes if control & first == first}


def test_it_is_that_of_the_wires() -> None:
    server = LiveServer(loads(CARD % ""), cells_library())
    links = Links(server.engine)
    server.observations.listen(Advanced, lambda _: links.drain())
    server.start()
    server.run_to(UNTIL)
    server.engine.close()
    found = {(each.cycle, each.cell, each.link) for each in links.passed}
    wires = begun()
    assert len(found) > 100
    assert found <= wires
    assert all(cycle > UNTIL - 100 for cycle, _, _ in wires - found)  # those are still on their way
