"""What campaigns and verdicts have found, without what differs from run to run."""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.command import RINGHIL, ringhil

SMALL = ("--faults", "dead,slow,link_cut", "--phases", "2", "--lasts", "left")
LONG = ("--faults", "dead,slow,link_cut,hang", "--phases", "all", "--lasts", "left")
SWEEP = """sweep: {gpu: [a.1, a.2, a.3], at: [3000, 4000]}
name: swept
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
timeline: [{at: "${at}", fault: dead, gpu: "${gpu}"}]
expect: [{at: 20000, count: {a: 3}}, {at: 20000, members: {a: [0, 1, 3]}}]
"""


def explored(store: Path, *arguments: object, code: int = 0, said: str = "") -> dict[str, Any]:
    """The document of a campaign in `store`, without what differs from run to run."""
    done = ringhil("explore", *arguments, "--json", "--store", store)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
    assert said or done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    found["run"] = {key: found["run"][key] for key in ("played", "already_done", "stopped")}
    return found


def verified(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The document of `verify`, without times."""
    done = ringhil("verify", *arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for part in (found, *found["results"]):
        del part["seconds"]
    return found


def rows(store: Path) -> list[tuple[Any, ...]]:
    """All that a store has."""
    with sqlite3.connect(store) as db:
        found = [*db.execute("SELECT * FROM campaigns"), *db.execute("SELECT * FROM results ORDER BY number")]
    db.close()
    return found


def kept(store: Path) -> int:
    """The number of results that a store has by now."""
    try:
        return max(len(rows(store)) - 1, 0) if store.exists() else 0  # the campaign itself may be missing yet, too
    except sqlite3.OperationalError:  # its tables are still to come
        return 0


def started(*arguments: object, **more: str) -> "subprocess.Popen[str]":
    """A command in a session of its own, with `more` in its environment."""
    command = [*RINGHIL, *map(str, arguments)]
    environment = {**os.environ, **more}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=environment)


def ended(campaign: "subprocess.Popen[str]", seconds: float = 120) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that was started."""
    out, errors = campaign.communicate(timeout=seconds)
    return campaign.returncode, out, errors


def wait_for(what: Callable[[], bool]) -> None:
    """Until it is true. Raises AssertionError after a minute."""
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.1)
