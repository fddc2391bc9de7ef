"""A node built without contexts (`CONTEXTS = 0`) is the node with them to which no command comes.

Every wire is the same in every cycle of seeded trouble. It has no registers of contexts, and refuses commands as work
of an unknown kind.
"""

import shutil
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.protocol import frames
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .stimulus import Seen, Trouble, differing, run_for
from .test_commands import answers, command, head, started

GPUS = 5
# What a node without contexts hasn't.
REGISTERS = ("device_memory", "context_switch", "default_slice", "contexts", "memory_held", "turn")

pytestmark = pytest.mark.slow(part="engine")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Cells whose nodes have no contexts."""
    rtl = Path(shutil.copytree(RTL, tmp_path_factory.mktemp("bare") / "rtl"))
    node = rtl / "gpu_node.sv"
    text = node.read_text()
    assert text.count("CONTEXTS = MAX_CONTEXTS") == 1
    node.write_text(text.replace("CONTEXTS = MAX_CONTEXTS", "CONTEXTS = 0"))
    return cells_library(rtl)


@pytest.mark.parametrize(("seed", "pause", "cycles"), [(1, 25, 60_000), (2, 250, 30_000)])
def test_it_does_the_same_on_every_wire_in_as_many_evaluations(
    without: Library, seed: int, pause: int, cycles: int
) -> None:
    both = Engine(cells_library(), Topology((GPUS,))), Engine(without, Topology((GPUS,)))
    seen = Seen()
    assert differing(both, Trouble(seed, GPUS)(cycles, pause), cycles, seen) == ""
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


def test_its_registers_of_contexts_read_zero_and_take_nothing(without: Library) -> None:
    engine = started(without)
    for name in REGISTERS:
        engine.poke(1, name, 77)
    run_for(engine, 10)
    assert [engine.peek(1, name) for name in REGISTERS] == [0, 0, 0, 0, 0]
