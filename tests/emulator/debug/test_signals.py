"""Any wire or register inside a GPU's hardware, at any moment of a recorded run."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.debug.commands import Commands, in_words
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library, cells_library, inside_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace.waves.values import signals
from ringhil.protocol.registers import ADDRESS

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
workload: {units: 20, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
until: 20000
"""


@pytest.fixture(scope="module")
def opened() -> Library:
    return inside_library(cells_library())


@pytest.fixture
def session(tmp_path: Path, opened: Library) -> Iterator[DebugSession]:
    record_run(tmp_path / "r", loads(SERVER), cells_library(), OURS)
    with DebugSession(tmp_path / "r", cells_library(), open_up=lambda library: opened) as found:
        yield found


@pytest.mark.slow(part="benches")
def test_at_any_moment_signals_are_what_registers_and_links_say(session: DebugSession) -> None:
    """To and fro: a register read by its address is the flip-flop of its name, and the time is that of the cycle."""
    rng = random.Random(1)
    seen = set[tuple[str, int]]()
    for _ in range(20):
        session.go(rng.randrange(1, 20_000))
        gpu = f"a.{rng.randrange(5)}"
        inside, registers = session.signals(gpu), session.registers(gpu)
        assert inside["u_node.now_i"].value == session.cycle + 1
        for name in ADDRESS:
            found = inside.get(f"u_node.u_registers.{name}_q")
            if found is not None:
                assert found.value == registers[name], name
                seen.add((name, found.value))
        assert inside["u_node.status"].value == registers["status"]
        seen.add(("status", registers["status"]))
    assert len({value for name, value in seen if name == "status"}) > 1, "nothing has changed in between"


def played(library: Library, until: int, wires: dict[tuple[int, int], tuple[int, int]]) -> Iterator[tuple[int, Run]]:
    """A run, each time that something has changed on its links: what is on them by then."""
    run = Run(loads(SERVER), library)
    run.engine.watch()
    run.start()
    for cycle in range(1, until):
        run.run_to(cycle)
        changes = run.engine.changes().tolist()
        wires.update({(cell, link): (data, control) for _, data, cell, link, control, _ in changes})
        if changes:
            yield cycle, run


@pytest.mark.rest
def test_of_each_gpu_it_is_what_its_links_carry(opened: Library, tmp_path: Path) -> None:
    """As the engine has read them off the outputs of each, one by one; at three moments with much on the links."""
    rng, wires = random.Random(2), dict[tuple[int, int], tuple[int, int]]()
    busy = [at for at, _ in played(cells_library(), 12_000, wires) if sum(data > 0 for data, _ in wires.values()) > 3]
    for chosen in rng.sample(busy, 3):
        wires.clear()
        (run,) = [run for cycle, run in played(opened, chosen + 1, wires) if cycle == chosen]
        for cell in range(5):
            run.engine.inside(cell, tmp_path / "m.vcd")
            with (tmp_path / "m.vcd").open() as lines:
                found = signals(lines)
            assert found["node_id_i"].value == cell
            for link, port in enumerate(("p1", "p2", "host", "boundary")):
                if (cell, link) in wires:
                    assert (found[f"{port}_tx_data_o"].value, found[f"{port}_tx_ctl_o"].value) == wires[cell, link]


@pytest.mark.rest
def test_the_run_is_the_recorded_one_before_and_after(session: DebugSession) -> None:
    session.go(15_000)
    before = session.registers("a.1"), session.firmware("a.1"), session.card("a")
    assert session.signals("a.1", "u_node.u_control.*")
    assert (session.registers("a.1"), session.firmware("a.1"), session.card("a")) == before


def test_names_are_patterns_whose_brackets_are_brackets(session: DebugSession) -> None:
    session.go(1_000)
    name = "u_node.g_rx[0].u_rx.u_credits.credits_q"
    (found,) = session.signals("a.0", name).items()
    assert found == (name, (3, 3))
    assert set(session.signals("a.0", "*.credits_q")) == {name.replace("[0]", f"[{port}]") for port in range(4)}
    document = Commands(session).do(f"signal a.0 {name}")
    assert document["signals"] == {name: {"bits": 3, "value": 3}}
    assert f"  {name}: 3'h3" in in_words(document).splitlines()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("signal a.0 hop_q", "g_lane[1].u_stat.hop_q or "),
        ("signal b.0 *", "found GPU 'b.0'; there are a.0 .. a."),
        ("signal a.0", "found 'a.0'; wanted is GPU NAME"),
        ("watch", "found ''; wanted is GPU REGISTER [CYCLES], or a value of firmware"),
        ("watch a.0", "found 'a.0'; wanted is GPU REGISTER [CYCLES], or a value of firmware"),
    ],
)
def test_what_is_not_there_is_one_line(session: DebugSession, line: str, says: str) -> None:
    with pytest.raises(DebugError, match=re.escape(says)) as refused:
        Commands(session).do(line)
    assert "\n" not in str(refused.value)
