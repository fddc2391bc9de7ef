"""Prints what becomes of each seeded bug: `python -m tests.emulator.campaign.explore_bugs [WORD]` (in its name)."""

import sys
import tempfile
from pathlib import Path

from .bugs import BUGS
from .hunt import hunt

print("| bug | found by case | broken | events left | GPUs left | tries |\n|---|---:|---|---|---|---:|")
for bug in BUGS:
    if not any(word in bug.name for word in sys.argv[1:] or [""]):
        continue
    with tempfile.TemporaryDirectory() as folder:
        found = hunt(bug, Path(folder))
        if found.number is None:
            print(f"| {bug.name} | none of {found.cases} | | | | |", flush=True)
            continue
        small = found.small
        events = ", ".join(f"{e.action} {e.kind} {e.where} at {e.at}" for e in small.timeline)
        gpus = " + ".join(str(card.gpus) for card in small.server.cards)
        print(f"| {bug.name} | {found.number} | {found.violated} | {events} | {gpus} | {found.tries} |", flush=True)
