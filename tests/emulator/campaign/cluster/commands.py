"""What campaigns and verdicts have found, without what differs from run to run."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.command import ringhil

SMALL = ("--faults", "dead,slow,link_cut", "--phases", "2", "--lasts", "left")


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
