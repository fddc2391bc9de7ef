"""A node built without fault injection (`FAULTS = 0`) is the node with it whose faults are never set; and each fault of
the port, set, is seen.

Both play the same seeded trouble, side by side: messages, work, garbage, registers, cuts and noise of the media. Every
wire is compared in every cycle.
"""

import shutil
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.protocol import codec, frames

from .stimulus import NODE_FAULTS, Seen, Trouble, differing, differing_registers

GPUS = 5


def keepalive(gpus: int) -> bytes:
    """One as firmware sends it to a neighbour."""
    return codec.encode(frames.Keepalive(0, 0, gpus + 1, 3, 1, 1, 1, 0, 0, 0, 3, 0, 1000, 1, 0, 0))


class OutsideTrouble(Trouble):
    """Trouble that leaves the GPUs' own faults alone, and has firmware that sends keepalives."""

    def fault(self, cycle: int) -> None:
        self.census(cycle)
        self.mail(cycle, self.cell(), self.random.randrange(4), keepalive(self.gpus))


def bare(folder: Path, file: str = "gpu_node.sv", before: str = "", after: str = "") -> Path:
    """A copy of our RTL in which nodes are without fault injection; with one place of `file` changed, if asked."""
    rtl = Path(shutil.copytree(RTL, folder / "rtl"))
    for name, old, new in (("gpu_node.sv", "FAULTS = 1'b1", "FAULTS = 1'b0"), (file, before, after)):
        text = (rtl / name).read_text()
        assert old == "" or text.count(old) == 1
        (rtl / name).write_text(text.replace(old, new) if old else text)
    return rtl


def engines(rtl: Path) -> tuple[Engine, Engine]:
    """The same card of whole nodes and of nodes from `rtl`."""
    return Engine(cells_library(), Topology((GPUS,))), Engine(cells_library(rtl), Topology((GPUS,)))


@pytest.mark.slow(part="engine")
def test_it_does_the_same_on_every_wire_and_ignores_the_fault_port(tmp_path: Path) -> None:
    rtl = bare(tmp_path)
    for seed, pause, cycles in ((1, 25, 60_000), (2, 250, 30_000)):
        both, seen = engines(rtl), Seen()
        for gpu in range(GPUS):
            for name in NODE_FAULTS:
                both[1].set_fault(gpu, name, True)
        assert differing(both, OutsideTrouble(seed, GPUS)(cycles, pause), cycles, seen) == ""
        assert differing_registers(both) == ""
        assert both[0].evaluations == both[1].evaluations
        assert seen.flits > cycles // 20


@pytest.mark.slow(part="engine")
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("gpu_node.sv", "fault = fault_i & {FAULT_PORT_WIDTH{FAULTS}};", "fault = fault_i;"),
        ("outbox.sv", "b_open, b_port, b_data} = '0;", "b_open, b_port, b_data} = '1;"),
        ("control_path.sv", ".lose_i(fault_i[FAULT_KEEPALIVE_LOSS])", ".lose_i(1'b1)"),
    ],
)
def test_one_that_differs_is_found_out(file: str, before: str, after: str, tmp_path: Path) -> None:
    both = engines(bare(tmp_path, file, before, after))
    both[1].set_fault(1, "skip_count", True)
    assert differing(both, OutsideTrouble(1, GPUS)(20_000, 25), 20_000) != ""


@pytest.mark.parametrize("name", NODE_FAULTS)
def test_every_fault_of_the_port_is_seen(name: str) -> None:
    """On a wire, sooner or later. Half-time through the GPU dies in both: a stuck switch needs a reason to move."""
    both = Engine(cells_library(), Topology((GPUS,))), Engine(cells_library(), Topology((GPUS,)))
    both[1].set_fault(2, name, True)
    trouble, cycles = OutsideTrouble(1, GPUS), 20_000
    for at in range(1000, cycles, 1000):
        trouble.mail(at, 2, at // 1000 % 4, keepalive(GPUS))
    trouble.add(cycles // 2, "GPU 2 dies", lambda engine: engine.set_fault(2, "dead", True))
    assert differing(both, trouble(cycles, 25), cycles) != "", f"no RTL does anything about {name}"
