"""An engine has no threads: a process that is forked would have none of them, and wait for them where it frees one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library, card_library, cells_library, inside_library

GPUS = 5
LIBRARIES: dict[str, Callable[[], Library]] = {
    "cells": cells_library,
    "cells that are looked into": lambda: inside_library(cells_library()),
    "a card": partial(card_library, GPUS, optimise="-O0"),
}


@pytest.mark.parametrize("which", sampled(LIBRARIES, "engine", 3))
def test_none_begins(which: str, tmp_path: Path) -> None:
    library = LIBRARIES[which]()
    before = sorted(Path("/proc/self/task").iterdir())
    with Engine(library, Topology((GPUS,))) as engine:
        engine.run(100)
        if "into" in which:
            engine.inside(0, tmp_path / "m.vcd")
        assert sorted(Path("/proc/self/task").iterdir()) == before
