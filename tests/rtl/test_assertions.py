"""Assertions in modules: each holds under random stimulus, and fails when the module or its bench has one mistake."""

import subprocess
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import RTL, rtl_files

from .tools import needs_icarus

pytestmark = needs_icarus

BENCHES = Path(__file__).with_name("assertions.sv")

# A module, what its assertion says, what stands once in it or in the bench, and the mistake that takes its place.
TWINS = (
    ("registers", "a counter of the map has no place", "COUNTERS = 17", "COUNTERS = 16"),
    ("registers", "an event isn't counted", "units_refused_i, crossed_i, stalled_i} != 31'h0", "crossed_i} != 27'h0"),
    ("registers", "a counter has passed its limit", "count + 32'(events)", "count - 32'(events)"),
    ("registers", "the meter isn't told of a setting", "addr_i <= REG_OFF_WAKE;", "addr_i < REG_OFF_WAKE;"),
    ("outbox", "a flit goes into a full queue", "assign ready = space[port];", "assign ready = 1'b1;"),
    ("outbox", "a flit goes into two queues", "push[port] = 1'b1;", "push = 4'b0011 << port;"),
    ("outbox", "a muted GPU begins a frame", "assign wanted = pass && !lost;", "assign wanted = !lost;"),
    ("outbox", "two frames are written at once", "b_open) && !writing_q && !frozen_i;", "b_open) && !frozen_i;"),
    (
        "slice_scheduler",
        "a launch and a unit have the engine at once",
        "assign choose         = any && open && !plain_busy_i",
        "assign choose         = any && open",
    ),
    (
        "slice_scheduler",
        "the turn goes to somebody who doesn't wait",
        "candidates = waits & ~served_q;",
        "candidates = ~served_q;",
    ),
    ("slice_scheduler", "a unit starts out of turn", "starts = waits && !runs && go;", "starts = waits && !runs;"),
    ("slice_scheduler", "a turn isn't counted in its round", "(CONTEXTS'(1) << next);", "CONTEXTS'(1);"),
    ("slice_scheduler", "a switch to nobody", "now_i >= work_from || finish || stopped", "now_i >= work_from"),
    (
        "slice_scheduler",
        "a launch comes forward by more than is left",
        "whole ? left_i : slow_q ? slice >> 2 : slice;",
        "slow_q ? slice >> 2 : slice;",
    ),
)


def _played(module: str, folder: Path, before: str = "", after: str = "") -> str:
    """What the bench of `module` says when `after` stands for `before`."""
    changed = [RTL / f"{module}.sv", BENCHES]
    for source in changed:
        (folder / source.name).write_text(source.read_text().replace(before, after) if before else source.read_text())
    sources = [folder / source.name if source in changed else source for source in (*rtl_files(), BENCHES)]
    model = folder / "bench.vvp"
    command = ["iverilog", "-g2012", "-s", f"{module}_bench", "-o", str(model), *map(str, sources)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return subprocess.run(["vvp", "-n", str(model)], capture_output=True, text=True, timeout=120, check=False).stdout


@pytest.mark.parametrize("module", sorted({module for module, *_ in TWINS}))
def test_the_assertions_of_a_module_hold(module: str, tmp_path: Path) -> None:
    assert _played(module, tmp_path) == ""


@pytest.mark.parametrize(("module", "said", "before", "after"), TWINS, ids=[said for _, said, *_ in TWINS])
def test_an_assertion_finds_its_mistake(module: str, said: str, before: str, after: str, tmp_path: Path) -> None:
    assert ((RTL / f"{module}.sv").read_text() + BENCHES.read_text()).count(before) == 1
    assert f": {said}\n" in _played(module, tmp_path, before, after)


@pytest.mark.parametrize("module", sorted({module for module, *_ in TWINS}))
def test_every_assertion_has_its_mistake(module: str) -> None:
    said = {line.split('"')[1] for line in (RTL / f"{module}.sv").read_text().splitlines() if "$fatal(1, " in line}
    assert said == {said for of, said, *_ in TWINS if of == module}
