"""A GPU is lent, in a run: it gets no work, leaves the ring on purpose, is counted again when it comes back."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.server import NotLent
from ringhil.emulator.host.lending import LendError, LendState
from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.server import LiveServer

_A3 = GpuRef("a", 3)


def _server(text: str) -> LiveServer:
    server = LiveServer(loads(text), cells_library())
    server.start()
    return server


def _wait_for(server: LiveServer, gpu: GpuRef, state: LendState) -> None:
    for _ in range(60):
        if server.lend_state(gpu) is state:
            return
        server.run_to(server.kernel.now + 500)
    raise AssertionError(f"{gpu} is {server.lend_state(gpu)} after so long, not {state}")


def test_a_gpu_with_work_drains_is_lent_and_comes_back() -> None:
    server = _server("server: {cards: {a: {gpus: 5}}}\nworkload: {units: 200, size: 4096}")
    server.run_to(9000)
    server.lend(_A3)
    server.lend(_A3)
    server.run_to(9001)
    assert server.lend_state(_A3) is LendState.DRAINING
    assert server.cpu.cards[0].load[3]
    _wait_for(server, _A3, LendState.LENT)
    assert not server.cpu.cards[0].load[3]
    assert server.engine.peek(3, "lent") == 1
    resent = server.cpu.work.resent
    assert resent == 0
    server.lend(_A3)
    server.take_back(_A3)
    _wait_for(server, _A3, LendState.HERE)
    assert server.engine.peek(3, "lent") == 0
    server.close()


def test_a_gpu_with_contexts_is_not_lent_and_its_holders_are_named() -> None:
    server = _server("""
server: {cards: {a: {gpus: 5}}}
sharing:
  applications:
    first: {gpu: a.3, memory: 1024, steps: 5000, compute: 500}
    second: {gpu: a.3, memory: 1024, steps: 5000, compute: 500}
timeline: [{at: 30000, lend: a.3}]
""")
    seen = list[NotLent]()
    server.observations.listen(NotLent, seen.append)
    server.run_to(20000)
    assert server.holders(_A3) == ("first", "second")
    with pytest.raises(LendError, match=r"^a\.3 has contexts of first, second; ") as caught:
        server.lend(_A3)
    assert caught.value.holders == ("first", "second")
    server.run_to(30001)
    assert [o.why for o in seen] == [str(caught.value)]
    assert server.lend_state(_A3) is LendState.HERE
    server.close()


def test_a_context_that_comes_while_it_drains_keeps_it_and_it_gets_work_at_once() -> None:
    server = _server("""
server: {cards: {a: {gpus: 5}}}
workload: {units: 200, size: 4096}
sharing: {applications: {late: {gpu: a.3, memory: 1024, steps: 5, compute: 500, start: 9500}}}
timeline: [{at: 9000, lend: a.3}]
""")
    seen = list[NotLent]()
    server.observations.listen(NotLent, seen.append)
    server.run_to(9001)
    assert server.lend_state(_A3) is LendState.DRAINING
    while not seen and server.kernel.now < 40_000:
        server.run_to(server.kernel.now + 10)
    assert [o.why for o in seen] == ["a.3 has contexts of late; a GPU without contexts can be lent"]
    assert server.lend_state(_A3) is LendState.HERE
    assert server.cpu.cards[0].load[3]
    server.close()


def test_a_gpu_that_is_not_counted_is_not_lent() -> None:
    server = _server("server: {cards: {a: {gpus: 5}}}\ntimeline: [{at: 5000, fault: dead, gpu: a.3}]")
    server.run_to(20000)
    assert server.lend_state(_A3) is LendState.AWAY
    with pytest.raises(LendError, match=r"^a\.3 is not counted; "):
        server.lend(_A3)
    server.close()
