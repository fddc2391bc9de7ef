"""A wave file shows on every wire, in every cycle, what the engine's own trace shows."""

import gc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel.observations import Advanced
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.waves import WaveError, WaveWriter
from ringhil.protocol import wire

from .read_back import changes_in

TEXT = "server: {cards: {a: {gpus: 3}}}\nworkload: {units: 2, size: 300}\nuntil: 3000\n"


def run(path: Path) -> Run:
    server = Run(loads(TEXT), cells_library())
    with WaveWriter(path, server.engine, ["a"]) as writer:
        server.observations.listen(Advanced, lambda _: writer.drain())
        server.run()
        assert not path.exists()
        writer.commit()
    return server


def test_frames_on_the_wire_are_in_the_file(tmp_path: Path) -> None:
    run(tmp_path / "w.fst")
    found = changes_in(tmp_path / "w.fst")
    assert len(found) == 3 * 4 * (1 + len(wire.LinkBit))
    first_flits = {value >> 56 for _, value in found["a.gpu1.p2_tx.data_flit"]}
    assert wire.Kind.STATISTICS.code in first_flits
    # The entry hands a frame on at the first valid flit, and the next GPU two cycles later.
    rises = [next(t for t, v in found[f"a.gpu{gpu}.p2_tx.valid"] if v) for gpu in (0, 1, 2)]
    assert [b - a for a, b in pairwise(rises)] == [2, 2]


def test_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    run(tmp_path / "one.fst")
    run(tmp_path / "two.fst")
    assert (tmp_path / "one.fst").read_bytes() == (tmp_path / "two.fst").read_bytes()


def test_an_interrupt_while_it_is_set_up_leaves_nothing(tmp_path: Path) -> None:
    class Interrupted(list[str]):
        def __iter__(self) -> Iterator[str]:
            assert len(list(tmp_path.iterdir())) > 1, "the library keeps a file of its own beside ours"
            raise KeyboardInterrupt

    with Engine(cells_library(), Topology((2,))) as engine:
        with pytest.raises(KeyboardInterrupt) as caught:
            WaveWriter(tmp_path / "w.fst", engine, Interrupted(["a"]))
        del caught  # its traceback holds the writer
        gc.collect()
    assert not any(tmp_path.iterdir())


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    engine = Engine(cells_library(), Topology((2,)))
    with pytest.raises(RuntimeError), WaveWriter(tmp_path / "w.fst", engine, ["a"]):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    engine = Engine(cells_library(), Topology((2,)))
    with pytest.raises(WaveError, match="cannot be written"):
        WaveWriter(tmp_path / "no" / "w.fst", engine, ["a"])
