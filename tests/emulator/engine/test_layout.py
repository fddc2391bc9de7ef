"""What C++ writes is what Python reads: the header is up to date, and a row is the same for numpy, struct and C."""

import numpy as np
import pytest

from ringhil.emulator.engine import layout
from ringhil.emulator.engine.engine import FOREVER, Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.protocol import registers

from .stimulus import statistics

ROWS = (layout.EVENT, layout.CHANGE, layout.OBSERVATION, layout.MESSAGE, layout.ENDED)


def test_the_header_in_the_tree_is_what_the_generator_writes() -> None:
    assert layout.HEADER.read_text(encoding="utf-8") == layout.render(), "run `make generate`"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_has_no_gaps(row: layout.RowLayout) -> None:
    """So a compiler adds none, and `struct` and numpy, which never do, agree with it."""
    aligned = np.dtype(row.dtype.descr, align=True)
    assert aligned.fields == row.dtype.fields
    assert aligned.itemsize == row.dtype.itemsize == row.packed.size


def test_numbers_arrive_in_their_fields() -> None:
    """An event, a change and what a register reads, looked at field by field."""
    with Engine(cells_library(), Topology((3,))) as engine:
        engine.watch()
        engine.watch_register(1, "weight", 0xFF)
        engine.poke(1, "weight", 0x1234)
        engine.send_mail(0, 1, statistics(3, 0, 9, ccw=True))
        events = engine.run(500, lookahead=FOREVER)
        assert [(row[1], row[2], row[3], row[4]) for row in events] == [(0, layout.FROM_RING, 1, 0)]
        (row,) = events.table
        assert row["cycle"] < engine.now == 500
        assert len(events.frame(row)) == row["length"] == 32 + 3 * 16 + 8
        (seen,) = engine.observations()
        weight = registers.ADDRESS["weight"]
        assert (seen["cell"], seen["address"], seen["mask"], seen["value"]) == (1, weight, 0xFF, 0x34)
        changes = engine.changes()
        assert {0, 1} & set(changes["port"]) == {0}  # counter-clockwise: out by ring port 1
        assert set(changes["reserved"]) == {0}
        assert engine.evaluations >= engine.busy_cycles > 0


def test_an_endless_lookahead_is_endless() -> None:
    with Engine(cells_library(), Topology((3,))) as engine:
        for at in (10, 200):
            engine.send_mail(1, 0, statistics(3, 1, at), at=at)
        assert len(engine.run(1000, lookahead=FOREVER)) == 2
        assert engine.now == 1000
