"""When a server stops, and what its cards are told."""

from pathlib import Path

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.power_up import BootPlan
from ringhil.emulator.server.times import times_of
from ringhil.emulator.server.wiring import Wiring


def test_a_run_ends_in_the_cycle_in_which_its_last_work_is_done() -> None:
    done_at: list[int] = []

    def progress(done: int, total: int) -> None:
        if done == total:
            done_at.append(run.kernel.now)

    scenario = loads("server: {cards: {a: {gpus: 2}}}\nworkload: {units: 1500, size: 256}\n")
    run = Run(scenario, cells_library(), on_progress=progress)
    horizon = run.judge.horizon()
    assert [run.run().cycles] == done_at
    assert done_at[0] > horizon, "the work takes longer than all else"


def test_work_that_can_not_be_done_is_waited_for_as_long_as_the_docs_say() -> None:
    scenario = loads("""
server: {cards: {a: {gpus: 2}}}
workload: {units: 1500, size: 256}
timeline: [{at: 3000, fault: dead, gpu: a.0}, {at: 3000, fault: dead, gpu: a.1}]
""")
    run = Run(scenario, cells_library())
    horizon = run.judge.horizon()
    config = run.cpu.config
    assert run.run().cycles == horizon + 4 * (config.silence + config.patience)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at /proc, which only Linux has")
def test_no_file_of_the_work_stays_open(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(1000))
    Run(loads(f"server: {{cards: {{a: {{gpus: 2}}}}}}\nworkload: {{data: {data}, size: 100}}\n"), cells_library()).run()
    assert data not in {fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()}


def test_both_cards_of_a_link_keep_the_time_of_the_slower_one() -> None:
    scenario = loads("""
server:
  cards: {a: {gpus: 4}, b: {gpus: 300}}
  boundary_links: [{from: [a.2, a.3], to: [b.1, b.2]}]
""")
    wiring, times = Wiring(scenario.server), times_of(scenario.server)
    groups = BootPlan(wiring, scenario.server.settings, times, seed=1)
    assert times[0].election.interval < times[1].election.interval
    for card, gpu in ((0, 2), (0, 3), (1, 1), (1, 2)):
        assert groups.boundary_group(card, gpu, boots=0).interval == times[1].election.interval
    assert groups.entry_group(0, 0, boots=0).interval == times[0].election.interval
