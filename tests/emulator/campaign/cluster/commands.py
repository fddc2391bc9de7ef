"""`ringhil` as a user calls it, and what it has found."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

RINGHIL = [sys.executable, "-m", "ringhil.emulator"]
SMALL = ("--faults", "dead,slow,link_cut", "--phases", "2", "--lasts", "left")


def ringhil(*arguments: object, **how: Any) -> "subprocess.CompletedProcess[str]":
    """A command that has ended."""
    command = [*RINGHIL, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **how)


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


def refusal(*arguments: object, **how: Any) -> str:
    """The one line of a command that ends with exit code 2, and prints nothing."""
    done = ringhil(*arguments, **how)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line
