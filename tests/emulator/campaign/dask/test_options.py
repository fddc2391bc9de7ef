"""Options of `explore` and `verify` mean on a cluster what they mean without one."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.campaign.dask.commands import (
    LONG,
    SMALL,
    SWEEP,
    ended,
    explored,
    kept,
    rows,
    started,
    verified,
    wait_for,
)
from tests.emulator.campaign.dask.dask_processes import Machines, machines
from tests.emulator.campaign.explore.servers import LYING, RING

pytestmark = [
    pytest.mark.slow(part="benches"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has"),
]
THIRD = ("--rtl", Path(__file__).parents[4] / "examples" / "third-party" / "rtl", "--top", "other_node")
# Run by each Python of a worker: a certain case has no end.
ENDLESS = """
import time
from ringhil.emulator.campaign.explore import player
def play(server, events, _play=player.play, **how):
    while any(event.kind == "dead" and str(event.target) == "a.2" for event in events):
        time.sleep(1)
    return _play(server, events, **how)
player.play = play
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two machines, one of which plays two batches at a time."""
    with machines(tmp_path_factory.mktemp("machines")) as begun:
        begun.worker("one")
        begun.worker("double", threads=2)
        yield begun


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Ten variants, of which the third is the first to fail, and a file that can't be used."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.yaml").write_text(RING)
    (folder / "b.yaml").write_text(SWEEP)
    (folder / "c.yaml").write_text(LYING)
    (folder / "d.yaml").write_text(SWEEP)
    (folder / "e.yaml").write_text("server: {cards: {a: {gpus: 1}}}")
    return folder


def test_a_shard_and_its_report_are_the_same(two: Machines, ring: Path, tmp_path: Path) -> None:
    arguments = (ring, *SMALL, "--shard", "2/3", "--store", "s.sqlite", "--report", "r.html", "--rounds", "0")
    found = []
    for name, more in (("here", ("--jobs", 2)), ("there", ("--cluster", two.address))):
        folder = tmp_path / name
        folder.mkdir()
        done = ringhil("explore", *arguments, *more, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        found.append((rows(folder / "s.sqlite"), (folder / "r.html").read_bytes()))
    assert found[0] == found[1]
    assert len(found[0][0]) == 1 + 8, "the campaign, and every third of 25 cases"


@pytest.mark.parametrize("first", ["cluster", "here"])
def test_what_was_interrupted_goes_on_with_or_without_a_cluster(
    first: str, two: Machines, ring: Path, tmp_path: Path
) -> None:
    here, both = tmp_path / "here", tmp_path / "both"
    ways: list[tuple[object, ...]] = [("--cluster", two.address), ("--jobs", 2)]
    begins, goes_on = ways if first == "cluster" else reversed(ways)
    campaign = started("explore", ring, *LONG, "--store", both, *begins)
    wait_for(lambda: kept(both) > 10)
    os.killpg(campaign.pid, signal.SIGINT)
    assert ended(campaign) == (130, "", "\nringhil: interrupted\n")
    before = kept(both)
    again = explored(both, ring, *LONG, "--number", 120, *goes_on)
    assert again["run"] == {"played": 120, "already_done": before, "stopped": "number"}
    whole = explored(here, ring, *LONG, "--number", before + 120)
    found = {row[1]: row for row in rows(both)[1:]}
    same = {row[1]: row for row in rows(here)[1:]}
    assert whole["run"]["played"] == before + 120
    assert len(found.keys() & same.keys()) > 100
    assert all(found[number] == same[number] for number in found.keys() & same.keys())


def test_a_case_that_takes_longer_than_its_limit_is_reported_as_hung(ring: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    arguments = (ring, "--faults", "dead", "--phases", "1", "--lasts", "left", "--limit", "4")
    explored(here, *arguments)
    with machines(tmp_path) as one:
        one.worker("one", site=ENDLESS)
        explored(there, *arguments, "--cluster", one.address, code=1)
    ((_, hung),) = [(old, new) for old, new in zip(rows(here), rows(there), strict=True) if old != new]
    assert "dead a.2" in hung[2]
    assert "hung" in hung
    assert '["no end after 4 seconds"]' in hung


def test_rtl_of_ones_own_is_sent(ring: Path, files: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    explored(here, ring, *SMALL, *THIRD)
    with machines(tmp_path) as one:  # it has what was built just now
        one.worker("one")
        explored(there, ring, *SMALL, *THIRD, "--cluster", one.address)
        (files / "e.yaml").unlink()
        documents = [verified(files, *THIRD, *more, code=1) for more in ((), ("--cluster", one.address))]
    assert rows(there) == rows(here)
    assert documents[0] == documents[1]
    assert documents[0]["rtl"] == rows(here)[0][4]


@pytest.mark.parametrize("options", [(), ("--shard", "2/3"), ("--select", "*a.1*"), ("--fail-fast",)])
def test_verdicts_junit_and_evidence_are_the_same(
    options: tuple[str, ...], two: Machines, files: Path, tmp_path: Path
) -> None:
    found = []
    for more in (("--jobs", 2), ("--cluster", two.address)):
        left, junit = tmp_path / "left", tmp_path / "junit.xml"
        document = verified(files, "--out", left, "--junit", junit, *options, *more, code=1)
        evidence = {path.relative_to(left): path.read_bytes() for path in left.rglob("*") if path.is_file()}
        reported = {Path(r["left"]).name for r in document["results"] if r["left"] is not None}
        assert {path.parts[0] for path in evidence} == {*reported, ".last-failed"}, "something unreported is left"
        text = re.sub(r' (time|timestamp)="[^"]*"', "", junit.read_text())
        found.append((document, evidence, text))
        for path in sorted(left.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        left.rmdir()
    assert found[0] == found[1]
    assert found[0][1]
