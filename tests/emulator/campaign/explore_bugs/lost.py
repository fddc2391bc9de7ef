"""Runs that fail by a seeded bug, each with the event that it was lost by: what `doomed` is to name.

Other faults come before and after it, and do no harm.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bugs import BUGS, SERVERS
from .hunt import copy_of_the_package, python

PERIOD = 600  # cycles between two rounds of the census, as SERVERS have it
_BEFORE = ("{at: 3000, fault: slow, gpu: a.1}", "{at: 6000, clear: slow, gpu: a.1}")
_AFTER = ("{at: 15000, fault: slow, gpu: a.2}", "{at: 19000, clear: slow, gpu: a.2}")


@dataclass(frozen=True)
class Lost:
    """A run with a `bug`. `cause`: the event by which it is lost, at cycle `at`; `ends`: another one, after it.
    `alone`: the others would do harm."""

    bug: str
    at: int
    cause: str
    ends: str = ""
    until: int | None = 24000
    alone: bool = False

    @property
    def scenario(self) -> str:
        """As a file."""
        server = next(SERVERS[bug.server] for bug in BUGS if bug.name == self.bug)
        before, after = ((), ()) if self.alone else (_BEFORE, _AFTER)
        events = [*before, f"{{at: {self.at}, {self.cause}}}", *([f"{{{self.ends}}}"] if self.ends else []), *after]
        until = "" if self.until is None else f"until: {self.until}\n"
        return f"{server}timeline: [{', '.join(events)}]\n{until}"


LOST = (
    Lost("an entry GPU goes on when its lease is over", 9000, "fault: host_link_cut, gpu: a.0"),
    Lost("half a ring is counted when the other half's message is lost", 8472, "fault: link_cut, link: a.2-a.3"),
    Lost("a lease that has run out keeps the others out for sixteen more", 9000, "fault: dead, gpu: a.0", until=34000),
    Lost("records are not checked", 9000, "fault: skip_count, gpu: a.3"),
    Lost("the link of a slow hop is named from the wrong end", 9000, "fault: link_delay, link: a.3-a.4"),
    Lost("the sides of a break are swapped", 9000, "fault: link_cut, link: a.3-a.4"),
    Lost(
        "the rest of a range of work is forgotten when shares change",
        7000,
        "fault: dead, gpu: a.3",
        until=None,
        alone=True,
    ),
    Lost("the watchdog waits 256 times too long", 9000, "fault: hang, gpu: a.3"),
    Lost("the guardian mutes no GPU", 9000, "fault: babble, gpu: a.3"),
    Lost(
        "no credits are returned when a link starts afresh",
        9000,
        "fault: link_cut, link: a.0-a.1",
        "at: 9800, clear: link_cut, link: a.0-a.1",
        None,
    ),
)


def doomed(lost: Lost, folder: Path) -> dict[str, Any]:
    """What `doomed` says of the run."""
    source = copy_of_the_package(folder / "src", next(bug for bug in BUGS if bug.name == lost.bug))
    server, script, recording = folder / "server.yaml", folder / "script", folder / "r"
    server.write_text(lost.scenario)
    script.write_text("doomed")
    ran = python(source, "-m", "ringhil.emulator", "run", server, "--record", recording)
    assert ran.returncode == 1, f"it doesn't fail: {ran.stdout}{ran.stderr}"
    done = python(source, "-m", "ringhil.emulator", "step", recording, "--script", script, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["doomed"]
    return found


def main() -> None:
    """Prints a line for each."""
    import tempfile

    print("| bug | cause | likely from | certain from | futures |\n|---|---:|---:|---:|---:|")
    for lost in LOST:
        if not any(word in lost.bug for word in sys.argv[1:] or [""]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = doomed(lost, Path(folder))
        turns = (found[name] for name in ("likely", "certain"))
        named = " | ".join("never" if turn is None else str(turn["main"] and turn["main"]["cycle"]) for turn in turns)
        print(f"| {lost.bug} | {lost.at} | {named} | {found['futures']} |", flush=True)
        print(json.dumps(found["curve"]), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
