"""A node built without contexts (`CONTEXTS = 0`) is the node with them to which no command comes; one without a meter
(`METER = 0`) is the one with it that never sleeps and isn't asked what it takes.

Every wire is the same in every cycle of seeded trouble. What they haven't has no registers; a node without contexts
refuses commands as work of an unknown kind.
"""

import shutil
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.protocol import frames
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .stimulus import Action, Seen, Trouble, differing, run_for
from .test_commands import answers, command, head, started

GPUS = 5
# What a node without contexts hasn't, and what one without a meter hasn't.
REGISTERS = ("device_memory", "context_switch", "default_slice", "contexts", "memory_held", "turn")
METER = (
    *("run_power", "idle_power", "low_power", "off_power", "low_after", "off_after", "low_wake", "off_wake"),
    *("energy_low", "energy_high", "busy_low", "busy_high", "power_state"),
)

pytestmark = pytest.mark.slow(part="engine")


class Uncommanded(Trouble):
    """The same trouble, without commands to contexts."""

    def command(self, cycle: int) -> None:
        """None comes."""


def bare(folder: Path, parameter: str, value: str) -> Library:
    """Cells whose nodes are built with another default of a parameter."""
    rtl = Path(shutil.copytree(RTL, folder / "rtl"))
    node = rtl / "gpu_node.sv"
    text = node.read_text()
    assert text.count(parameter) == 1
    node.write_text(text.replace(parameter, f"{parameter.split()[0]} = {value}"))
    return cells_library(rtl)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """No contexts."""
    return bare(tmp_path_factory.mktemp("bare"), "CONTEXTS = MAX_CONTEXTS", "0")


@pytest.fixture(scope="module")
def unmetered(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """No meter."""
    return bare(tmp_path_factory.mktemp("unmetered"), "METER = 1'b1", "1'b0")


@pytest.mark.parametrize(("seed", "pause", "cycles"), [(1, 25, 60_000), (2, 250, 30_000)])
def test_it_does_the_same_on_every_wire_in_as_many_evaluations(
    without: Library, seed: int, pause: int, cycles: int
) -> None:
    assert_same(without, Uncommanded(seed, GPUS)(cycles, pause), cycles)


@pytest.mark.parametrize(("seed", "pause", "cycles"), [(3, 25, 60_000), (4, 250, 30_000)])
def test_so_does_one_without_a_meter_also_with_commands(unmetered: Library, seed: int, pause: int, cycles: int) -> None:
    assert_same(unmetered, Trouble(seed, GPUS)(cycles, pause), cycles)


def assert_same(library: Library, actions: list[Action], cycles: int) -> None:
    both, seen = (Engine(cells_library(), Topology((GPUS,))), Engine(library, Topology((GPUS,)))), Seen()
    assert differing(both, actions, cycles, seen) == ""
    assert both[0].evaluations == both[1].evaluations
    assert seen.flits > cycles // 20


def test_a_command_tells_them_apart(without: Library) -> None:
    for library in (cells_library(), without):
        engine = started(library)
        (answer,) = answers(engine, command(Compute.CREATE, 1, 1, head(0, 5)))
        if library is without:
            assert isinstance(answer, frames.Acknowledgement)
            assert answer.status == AckStatus.UNKNOWN_KIND.code
        else:
            assert isinstance(answer, frames.Result)
            assert answer.status == ResultStatus.DONE.code


@pytest.mark.parametrize(("library", "registers"), [("without", REGISTERS), ("unmetered", METER)])
def test_registers_of_what_it_has_not_read_zero_and_take_nothing(
    request: pytest.FixtureRequest, library: str, registers: tuple[str, ...]
) -> None:
    engine = started(request.getfixturevalue(library))
    for name in registers:
        engine.poke(1, name, 77)
    run_for(engine, 10)
    assert {name: engine.peek(1, name) for name in registers} == dict.fromkeys(registers, 0)
