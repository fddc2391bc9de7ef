"""Campaigns on Dask workers find what campaigns on this machine find, and take no worker that isn't the same."""

import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.command import refusal
from tests.emulator.campaign.dask.commands import SMALL, SWEEP, explored, rows, verified
from tests.emulator.campaign.dask.dask_processes import Machines, gone, machines
from tests.emulator.campaign.explore.servers import LYING, RING

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")

OTHER_VERSION = """
import importlib.metadata
_version = importlib.metadata.version
importlib.metadata.version = lambda name: "0.3.9" if name == "ringhil" else _version(name)
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two machines with a worker each, and a third one with another ringhil."""
    with machines(tmp_path_factory.mktemp("machines")) as started:
        started.worker("one")
        started.worker("two")
        started.worker("old", site=OTHER_VERSION)
        yield started


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


@pytest.mark.slow(part="benches")  # a local one is also in test_firmware.py
def test_a_local_cluster_finds_the_same_and_leaves_nobody(
    ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    plain = explored(here, ring, *SMALL, "--jobs", 2)
    mark = f"MARK={tmp_path}"
    monkeypatch.setenv("MARK", str(tmp_path))
    # Another cluster on this machine, for whose port Dask asks: nothing is said about it (`explored` looks).
    with socket.socket() as taken:
        with suppress(OSError):
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        assert explored(there, ring, *SMALL, "--cluster", "local", "--jobs", 2) == plain
    assert gone(mark)
    assert rows(there) == rows(here)


@pytest.mark.slow(part="benches")
def test_two_machines_find_the_same_and_one_of_another_version_is_named(
    two: Machines, ring: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    explored(here, ring, *SMALL, "--number", 9)
    said = "(old): it has ringhil 0.3.9 "
    first = explored(there, ring, *SMALL, "--number", 9, "--cluster", two.address, said=said)
    assert first["run"] == {"played": 9, "already_done": 0, "stopped": "number"}
    assert rows(there) == rows(here)
    whole = explored(here, ring, *SMALL)
    assert explored(there, ring, *SMALL, "--cluster", two.address, said=said) == whole
    assert rows(there) == rows(here)


@pytest.mark.slow(part="benches")
def test_verdicts_and_what_failing_variants_leave_are_the_same(two: Machines, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "swept.yaml").write_text(SWEEP)
    (files / "wrong.yaml").write_text("server: {cards: {a: {gpus: 1}}}")
    (files / "lying.yaml").write_text(LYING)
    left = tmp_path / "left"
    found = []
    for more in ((), ("--cluster", two.address)):
        document = verified(files, "--out", left, "--waves", "--record", *more, code=1)
        files_left = [path for path in left.rglob("*") if path.is_file()]
        found.append((document, {path.relative_to(left): path.read_bytes() for path in files_left}))
    assert found[0] == found[1]
    document, kept = found[0]
    assert [r["verdict"] for r in document["results"]] == [
        "pass",
        *["fail", "fail", "pass", "pass", "fail", "fail"],
        "error",
    ]
    for name in ("waves.fst", "run.rec", "run.html"):
        assert len([path for path in kept if path.name == name]) == 4


@pytest.mark.slow(part="benches")
def test_when_all_are_refused_one_line_names_them(ring: Path, tmp_path: Path) -> None:
    with machines(tmp_path) as started:
        started.worker("old", site=OTHER_VERSION)
        line = refusal("explore", ring, *SMALL, "--cluster", started.address)
    assert f"--cluster {started.address}: nobody may play: worker tcp://127.0.0.1:" in line
    assert "it has ringhil 0.3.9 " in line
    assert f"; allowed is {version('ringhil')} " in line
