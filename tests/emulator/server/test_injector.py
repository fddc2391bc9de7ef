"""Faults that overlap or come and go do what docs/reference/scenarios.md says of each."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.server import Flapped
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer


def test_a_link_that_is_cut_twice_is_cut_until_both_are_cleared() -> None:
    outcome = Run(
        loads("""
server: {cards: {a: {gpus: 5}}}
timeline:
  - {at: 6000, fault: link_cut, link: a.1-a.2}
  - {at: 6100, fault: link_one_way, link: a.1-a.2}
  - {at: 16000, clear: link_cut, link: a.1-a.2}
  - {at: 30000, clear: link_one_way, link: a.1-a.2}
expect:
  - {at: 29000, break: {a: a.1-a.2}}
  - {end: true, break: {a: null}}
"""),
        cells_library(),
    ).run()
    assert outcome.verdict == "pass", outcome.failures


def test_a_flapping_gpu_fails_once_in_a_period() -> None:
    scenario = loads("server: {cards: {a: {gpus: 4}}}\ntimeline: [{at: 3000, fault: flap, gpu: a.2, period: 701}]")
    server = LiveServer(scenario, cells_library())
    seen: list[tuple[int, bool]] = []
    server.observations.listen(Flapped, lambda o: seen.append((o.cycle, o.failed)))
    server.start()
    server.run_to(3000 + 4 * 701)
    assert [cycle for cycle, failed in seen if failed] == [3000 + 701 * n for n in range(4)]
    assert [cycle for cycle, failed in seen if not failed] == [3350 + 701 * n for n in range(4)]


def test_a_gpu_that_loses_keepalives_no_more_takes_the_role_up_again() -> None:
    outcome = Run(
        loads("""
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
timeline:
  - {at: 6000, fault: keepalive_loss, gpu: a.0}
  - {at: 30000, clear: keepalive_loss, gpu: a.0}
  - {at: 60000, fault: dead, gpu: a.1}
expect:
  - {at: 29000, entry: {a: a.1}}
  - {end: true, entry: {a: a.0}}
"""),
        cells_library(),
    ).run()
    assert outcome.verdict == "pass", outcome.failures
