"""Workers that die, hang or leave, and campaigns that are ended: nothing is lost, found twice or left behind."""

import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.campaign.dask.commands import LONG, SMALL, explored, kept, rows, started, wait_for
from tests.emulator.campaign.dask.dask_processes import gone, machines, marked, played_by
from tests.emulator.campaign.explore.servers import RING

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")

KILLS = 10
OTHER_VERSION = """
import importlib.metadata
_version = importlib.metadata.version
importlib.metadata.version = lambda name: "0.3.9" if name == "ringhil" else _version(name)
"""
# Run by a worker when it begins: it does something when it is given a certain case.
TROUBLE = """
import os, pathlib, signal
from ringhil.emulator.campaign.dask import on_worker
def play(self, batch, _play=on_worker.Station.play):
    if any("dead a.2" in text for _, text in batch):
        with (pathlib.Path(os.environ["HOME"]) / "met").open("a") as met:
            met.write("x")
        {act}
    return _play(self, batch)
on_worker.Station.play = play
"""
# Run by each Python of a worker: a certain case ends all processes of its group.
GROUP = """
import os, signal
from ringhil.emulator.campaign.explore import player
def play(server, events, _play=player.play, **how):
    if any(event.kind == "dead" and str(event.target) == "a.2" for event in events):
        os.killpg(0, signal.SIGKILL)
    return _play(server, events, **how)
player.play = play
"""
KILL = TROUBLE.replace("{act}", "os.kill(os.getpid(), signal.SIGKILL)")
STOP = TROUBLE.replace("{act}", "os.kill(os.getpid(), signal.SIGSTOP)")


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


@pytest.mark.slow(part="benches")
def test_workers_that_are_killed_at_random_cost_nothing(ring: Path, tmp_path: Path) -> None:
    here, there, rng = tmp_path / "here", tmp_path / "there", random.Random(1)
    plain = explored(here, ring, *LONG)
    with machines(tmp_path) as two:
        nannies = [two.worker("one"), two.worker("two")]
        campaign = started("explore", ring, *LONG, "--json", "--store", there, "--cluster", two.address)
        killed = 0

        def reached(place: int) -> bool:
            return campaign.poll() is not None or kept(there) >= place

        # At random places of the campaign; one that has just been killed is there again a little later.
        for place in sorted(rng.sample(range(plain["cases"] * 3 // 4), KILLS)):
            wait_for(partial(reached, place))
            playing: list[int] = []
            while campaign.poll() is None and not playing:
                time.sleep(0.1)
                playing = [worker for worker in map(played_by, nannies) if worker is not None]
            if playing:
                os.kill(rng.choice(playing), signal.SIGKILL)
                killed += 1
        _, errors = campaign.communicate(timeout=300)
    assert (campaign.returncode, errors) == (0, "")
    assert killed == KILLS, "the campaign was over too soon"
    assert rows(there) == rows(here)
    assert explored(there, ring, *LONG)["run"]["played"] == 0
    assert plain["run"]["played"] == plain["cases"]


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_case_that_kills_its_worker_is_an_error_and_the_others_are_not(
    threads: int, ring: Path, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    arguments = (ring, "--faults", "dead", "--phases", "1", "--lasts", "left")
    explored(here, *arguments)
    with machines(tmp_path) as one:
        one.worker("one", preload=KILL, threads=threads)
        explored(there, *arguments, "--cluster", one.address, code=1)
        met = (tmp_path / "one" / "met").stat().st_size
    assert 2 <= met <= 3, "once in a batch, if it wasn't by itself, once by itself, and once with nothing beside it"
    different = [(old, new) for old, new in zip(rows(here), rows(there), strict=True) if old != new]
    ((_, bad),) = different
    assert "dead a.2" in bad[2]
    assert "error" in bad
    assert '["the worker that played it was lost, twice"]' in bad


@pytest.mark.slow(part="benches")
def test_a_case_that_ends_its_process_group_costs_no_worker(ring: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    arguments = (ring, "--faults", "dead", "--phases", "1", "--lasts", "left")
    explored(here, *arguments)
    with machines(tmp_path) as one:
        one.worker("one", site=GROUP)
        done = ringhil("-v", "explore", *arguments, "--store", there, "--cluster", one.address)
    assert done.returncode == 1
    assert [line.rpartition(": ")[2] for line in done.stderr.splitlines() if " worker tcp:" in line] == [
        "checking",
        "ready",
    ]
    ((_, bad),) = [(old, new) for old, new in zip(rows(here), rows(there), strict=True) if old != new]
    assert "dead a.2" in bad[2]
    assert '["the process that played it was ended by SIGKILL (out of memory?), twice"]' in bad


@pytest.mark.slow(part="benches")
def test_a_worker_that_hangs_is_left_alone_and_its_cases_are_played(ring: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    explored(here, ring, *SMALL)
    with machines(tmp_path) as two:
        two.worker("hangs", preload=STOP)
        two.worker("well")
        explored(there, ring, *SMALL, "--cluster", two.address)
        well = tmp_path / "well"
        assert well.is_dir()
    assert rows(there) == rows(here)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("after", [2.0, 3.0, 4.0, 6.0])
def test_an_interrupt_of_all_leaves_nobody(after: float, ring: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of a terminal: while the cluster starts, while it is checked, while it plays."""
    store = tmp_path / "s"
    arguments = ("explore", ring, *LONG, "--store", store, "--cluster", "local", "--jobs", 2)
    campaign = started(*arguments, MARK=str(tmp_path))
    time.sleep(after)
    os.killpg(campaign.pid, signal.SIGINT)
    out, errors = campaign.communicate(timeout=60)
    assert (campaign.returncode, out, errors.strip()) == (130, "", "ringhil: interrupted")
    assert marked(f"MARK={tmp_path}") == []
    before = kept(store)
    again = explored(store, ring, *LONG, "--number", 3)
    assert again["run"]["already_done"] == before


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_campaign_that_is_ended_outright_leaves_nobody(number: signal.Signals, ring: Path, tmp_path: Path) -> None:
    campaign = started("explore", ring, *LONG, "--cluster", "local", "--jobs", 2, MARK=str(tmp_path))
    until = time.monotonic() + 60
    while not any("dask.station" in Path(f"/proc/{pid}/cmdline").read_text() for pid in marked(f"MARK={tmp_path}")):
        assert time.monotonic() < until
        time.sleep(0.1)
    campaign.send_signal(number)
    campaign.communicate(timeout=60)
    assert gone(f"MARK={tmp_path}", 30)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("lose", ["worker", "worker beside one that may not play", "scheduler"])
def test_when_nobody_is_left_it_ends_in_one_line_and_keeps_what_it_has(lose: str, ring: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    with machines(tmp_path) as one:
        worker = one.worker("one")
        if "beside" in lose:
            one.worker("old", site=OTHER_VERSION)
        campaign = started("explore", ring, *LONG, "--store", store, "--cluster", one.address)
        wait_for(lambda: kept(store) > 10)
        os.killpg(one.scheduler.pid if lose == "scheduler" else worker.pid, signal.SIGKILL)
        out, errors = campaign.communicate(timeout=90)
    assert (campaign.returncode, out) == (2, "")
    line = errors.splitlines()[-1]
    words = "its scheduler doesn't answer any more" if lose == "scheduler" else "nobody is there to play"
    assert f"--cluster {one.address}: {words}" in line
    assert ("; those that are there may not play: worker tcp://127.0.0.1:" in line) is ("beside" in lose)
    assert len(errors.splitlines()) == (2 if "beside" in lose else 1)  # the refused one is named when it comes
    assert len(rows(store)) > 10
