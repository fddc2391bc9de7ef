"""A wave file shows on every wire, in every cycle, what the engine's own trace shows."""

import gc
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import Advanced
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.waves import WaveError, WaveWriter
from ringhil.emulator.trace.waves.vcd import convert
from ringhil.protocol import wire

from .read_back import changes_in

TEXT = "server: {cards: {a: {gpus: 3}}}\nworkload: {units: 2, size: 300}\nuntil: 3000\n"
LONGER = TEXT.replace("units: 2", "units: 20").replace("3000", "9000")


def run(path: Path, text: str = TEXT) -> Run:
    server = Run(loads(text), cells_library())
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


@contextmanager
def full_disk(after: int) -> Iterator[None]:
    """No file takes more than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_nothing_is_left_and_it_is_told(tmp_path: Path) -> None:
    """The library that writes it doesn't say so, or dies by it."""
    run(tmp_path / "whole.fst", LONGER)
    whole = (tmp_path / "whole.fst").stat().st_size
    unchanged = [path.name for path in tmp_path.iterdir()]
    missing = "a part of it is missing; is the disk full?"
    for after in (0, 2500, 3000, whole // 2, whole - 300, whole - 100, whole - 1):
        says = missing if after > 2976 else "no room in /tmp: "
        with full_disk(after), pytest.raises(WaveError, match=rf"w\.fst: cannot be written: {re.escape(says)}"):
            run(tmp_path / "w.fst", LONGER)
        gc.collect()
        assert [path.name for path in tmp_path.iterdir()] == unchanged, after
    with full_disk(whole):
        run(tmp_path / "w.fst", LONGER)
    assert (tmp_path / "w.fst").read_bytes() == (tmp_path / "whole.fst").read_bytes()


@pytest.mark.parametrize(("after", "says"), [(10, "no room in /tmp: "), (400, "a part of it is missing")])
def test_so_is_one_that_is_made_of_a_vcd(tmp_path: Path, after: int, says: str) -> None:
    vcd = tmp_path / "w.vcd"
    vcd.write_text("$scope module top $end\n$var wire 1 ! clk $end\n$upscope $end\n$enddefinitions $end\n#0\n1!\n")
    with full_disk(after), pytest.raises(WaveError, match=rf"w\.fst: cannot be written: {says}"):
        convert(vcd, tmp_path / "w.fst")
    assert [path.name for path in tmp_path.iterdir()] == ["w.vcd"]
    convert(vcd, tmp_path / "w.fst")
