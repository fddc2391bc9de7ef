"""Campaigns on jobs of a real Slurm, on one machine: the same results, and no job is left whatever happens."""

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.command import refusal
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
from tests.emulator.campaign.dask.slurm_daemons import QUEUE, Slurm, missing, slurm
from tests.emulator.campaign.explore.servers import LYING, RING

pytestmark = [
    pytest.mark.slow(part="benches"),
    pytest.mark.skipif(bool(missing()), reason=f"Slurm isn't installed: no {', '.join(missing())}"),
]

ASKED = """system: slurm
jobs: 2
wait: {wait}
arguments: {{cores: 1, memory: {memory}, queue: {queue}, walltime: "00:10:00", log_directory: {logs}{more}}}
"""


@pytest.fixture(scope="module")
def one() -> Iterator[Slurm]:
    """A Slurm of one node."""
    with slurm() as ready:
        yield ready


@pytest.fixture
def queue(one: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that asks it for two jobs."""
    monkeypatch.setenv("SLURM_CONF", str(one.configuration))
    yield asked(tmp_path)
    assert one.jobs() == [], "a campaign has left jobs"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


def asked(folder: Path, *, wait: int = 60, memory: str = "1GB", queue: str = QUEUE, more: str = "") -> Path:
    file = folder / "queue.yaml"
    file.write_text(ASKED.format(wait=wait, memory=memory, queue=queue, more=more, logs=folder / "logs"))
    return file


def test_explore_finds_the_same(queue: Path, ring: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    plain = explored(here, ring, *SMALL, "--jobs", 2)
    assert explored(there, ring, *SMALL, "--cluster", queue) == plain
    assert rows(there) == rows(here)
    outputs = [file.read_text() for file in (tmp_path / "logs").iterdir()]
    assert sum("Start worker at" in text for text in outputs) == 2, "not both jobs have had a worker"


def test_verify_finds_the_same_and_brings_what_failing_variants_leave(queue: Path, tmp_path: Path) -> None:
    files, left = tmp_path / "files", tmp_path / "left"
    files.mkdir()
    (files / "swept.yaml").write_text(SWEEP)
    (files / "lying.yaml").write_text(LYING)
    found = []
    for more in (("--jobs", 2), ("--cluster", queue)):
        document = verified(files, "--out", left, *more, code=1)
        found.append((document, {path: path.read_bytes() for path in left.rglob("*") if path.is_file()}))
        shutil.rmtree(left)
    assert found[0] == found[1]
    assert len(found[0][1]) >= 8


@pytest.mark.parametrize("when", ["asked", "playing"])
def test_an_interrupt_takes_the_jobs_back(when: str, one: Slurm, queue: Path, ring: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    campaign = started("explore", ring, *LONG, "--store", store, "--cluster", queue)
    wait_for(lambda: bool(one.jobs()) if when == "asked" else kept(store) > 5)
    os.killpg(campaign.pid, signal.SIGINT)
    assert ended(campaign) == (130, "", "\nringhil: interrupted\n")
    wait_for(lambda: one.jobs() == [])
    before = kept(store)
    again = explored(store, ring, *LONG, "--number", 3, "--cluster", queue)
    assert again["run"] == {"played": 3, "already_done": before, "stopped": "number"}


def test_a_campaign_that_is_killed_leaves_jobs_that_end(
    one: Slurm, queue: Path, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__DEATH_TIMEOUT", "3")
    campaign = started("explore", ring, *LONG, "--cluster", queue)
    wait_for(lambda: len(one.jobs("running")) == 2)
    campaign.kill()
    ended(campaign)
    wait_for(lambda: one.jobs() == [])


def test_a_job_that_is_cancelled_costs_nothing(one: Slurm, queue: Path, ring: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    explored(here, ring, *LONG, "--number", 120)
    campaign = started("explore", ring, *LONG, "--number", 120, "--store", there, "--cluster", queue)
    wait_for(lambda: kept(there) > 5)
    first, _ = one.jobs()
    one.say("scancel", first)
    code, _, errors = ended(campaign)
    assert (code, errors) == (0, "")
    assert rows(there) == rows(here)


def test_what_slurm_does_not_take_is_told_in_its_own_words(queue: Path, ring: Path, tmp_path: Path) -> None:
    nowhere = asked(tmp_path, queue="nosuch")
    for command in (("explore", ring, *SMALL), ("verify", ring)):
        line = refusal(*command, "--cluster", nowhere)
        assert line.startswith(f"ringhil: --cluster {nowhere}: slurm takes no job: sbatch: error: invalid partition")
    line = refusal("verify", ring, "--cluster", asked(tmp_path, memory="900GB"))
    assert "slurm takes no job: sbatch: error: Memory specification can not be satisfied" in line


def test_jobs_that_never_start_are_waited_for_as_long_as_the_file_says(queue: Path, ring: Path, tmp_path: Path) -> None:
    held = asked(tmp_path, wait=3, more=", job_extra_directives: ['--hold']")
    # Another campaign on this machine, for whose port Dask asks: nothing is said about it.
    with socket.socket() as taken:
        with suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        line = refusal("verify", ring, "--cluster", held)
    assert f"--cluster {held}: none of its jobs has had a worker for 3 seconds (wait); squeue says" in line


def test_some_jobs_that_are_not_taken_are_named_and_the_others_play(
    one: Slurm, queue: Path, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a site's own sbatch allows each user one job."""
    site = tmp_path / "site"
    site.mkdir()
    allows = f'test -z "$(squeue -h)" || {{ echo "one job for each user" >&2; exit 1; }}; exec {shutil.which("sbatch")}'
    (site / "sbatch").write_text(f'#!/bin/sh\nexec 9>{site}/lock; flock 9; {allows} "$@"\n')
    (site / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{site}{os.pathsep}{os.environ['PATH']}")
    here, there = tmp_path / "here", tmp_path / "there"
    plain = explored(here, ring, *SMALL)
    said = "left out: 1 of 2 jobs: slurm doesn't take them: one job for each user\n"
    assert explored(there, ring, *SMALL, "--cluster", queue, said=said) == plain
