"""Reports of real campaigns, large ones, and those that can't be written."""

import os
import random
import resource
import shlex
import stat
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, drawn, filled, space
from tests.emulator.campaign.explore.servers import LYING, RING, library
from tests.emulator.pages.page import Page, assert_stands_alone

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_html import write_report
from ringhil.emulator.campaign.explore.store import Store


def test_a_place_that_cannot_be_written_is_one_line_and_the_store_is_whole(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    store = Store(tmp_path / "s")
    filled(store, campaign(PLAN), ((case, PASSED) for case in islice(space(PLAN), 100)))
    before = list(store.rows(1))
    for path in (tmp_path / "none" / "r.html", tmp_path / "folder", tmp_path / "file" / "r.html", Path(), Path("a\0b")):
        with pytest.raises(ExploreError, match="cannot be written: ") as refused:
            write_report(store, 1, path)
        assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(ExploreError, match="no campaign 7; there are 1"):
        write_report(store, 7, tmp_path / "r.html")
    assert list(store.rows(1)) == before
    store.close()
    assert {file.name for file in tmp_path.iterdir()} == {"folder", "file", "s"}


@pytest.mark.rest
def test_a_full_disk_leaves_the_old_report(tmp_path: Path) -> None:
    (tmp_path / "ring.yaml").write_text(RING)
    (tmp_path / "r.html").write_text("old")
    library()  # it is built by now, if it has to be
    before = set(tmp_path.iterdir())

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    command = [sys.executable, "-m", "ringhil.emulator", "explore", "ring.yaml", "--number", "3", "--report", "r.html"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False, preexec_fn=limited
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == "ringhil: r.html: cannot be written: File too large"
    assert (tmp_path / "r.html").read_text() == "old"
    assert set(tmp_path.iterdir()) == before


@pytest.mark.rest
@pytest.mark.parametrize("stored", [True, pytest.param(False, marks=pytest.mark.slow(part="benches"))])
def test_a_failure_is_replayed_by_the_command_of_the_report(tmp_path: Path, stored: bool) -> None:
    folder = tmp_path / "it's a [folder]"
    folder.mkdir()
    (folder / "ring.yaml").write_text(LYING)
    tool = tmp_path / "bin" / "ringhil"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ringhil.emulator "$@"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    where = " --store './-my [store].sqlite'" if stored else ""
    arguments = "--faults skip_count,dead --phases 2 --depth 2 --pairs together"
    done = shell(f"ringhil explore ring.yaml {arguments} --report r.html{where}")
    assert done.returncode == 1, done.stderr
    page = Page.of(folder / "r.html")
    failures = page.table("Failures")[1:]
    if not stored:
        (folder / "server.yaml").write_text(page.texts["pre"][0])
    for failure in (failures[0], failures[-1]):
        again = shell(failure[5])
        assert again.returncode == 1, again.stdout + again.stderr
        told = failure[4].splitlines()  # the page tells the first ones, and how many more there are
        for said in told[:-1] if told[-1].startswith("and ") else told:
            assert said in again.stdout
    good = shell(page.table("Worst recoveries")[1][7])
    assert good.returncode == 0, good.stdout + good.stderr
    assert page.table("Worst recoveries")[1][2] in good.stdout  # the recovery, in cycles


@pytest.mark.slow(part="benches")
def test_a_hundred_thousand_results_make_a_page_of_moderate_size_soon(tmp_path: Path) -> None:
    text = "server: {cards: {a: {gpus: 64, host_links: [0, 1, 2]}}}\n"
    plan = Plan(("dead", "hang", "link_cut"), depth=4, phases=100, random=11_400, pairs="together", lasts=(None, 9, 99))
    kept = campaign(plan, text, a=268)
    assert sum(kept.space.values()) > 100_000
    rng = random.Random(3)
    results = [drawn(rng) for _ in range(1000)]
    cases = list(space(plan, text, a=268))[-100_000:]
    with Store(":memory:") as store:
        filled(store, kept, ((case, rng.choice(results)) for case in cases))
        assert store.count(1) == 100_000
        before = time.process_time()
        write_report(store, 1, tmp_path / "r.html")
        taken = time.process_time() - before
    assert (tmp_path / "r.html").stat().st_size < 2_000_000
    assert taken < 20
    assert_stands_alone((tmp_path / "r.html").read_text(encoding="utf-8"))
