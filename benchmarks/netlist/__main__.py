"""Measures how many mistakes in a netlist are found behind its bridge.

    python -m benchmarks.netlist NETLIST [N] [--seed S] [--json]

NETLIST is the folder that `make -C examples/fpga netlist` has built. N of its look-up tables have one bit flipped, one
at a time, and each is compared as `tests/rtl/test_fpga.py` compares the netlist. A mutant whose bit isn't addressed in
a whole comparison of the netlist without a mistake does in it what that one does, so only the others are played. Of
what isn't found a solver tries to prove that it is no mistake. Exit code 1 if a mutant is left, 2 if it can't be
measured.
"""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.netlist.mutants import MOST, Mutant, Mutants, drawn
from benchmarks.netlist.same_step import Gates
from tests.emulator.engine.stimulus import Seen
from tests.rtl.netlist_plays import PLAYS, Play

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import unwinding_on_termination
from ringhil.emulator.front.cli.terminal import counting, working

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fate:
    """`addressed`: the plays in which its bit is; `found`: in which of them, and what differs, or ""; `same`: it is
    proven to be no mistake."""

    mutant: Mutant
    addressed: tuple[str, ...]
    found: str
    same: bool

    def __str__(self) -> str:
        left = "nothing differs" if self.addressed else "never addressed"
        return f"{self.mutant}: {self.found or ('no mistake' if self.same else left)}"


def measure(mutants: Mutants, gates: Gates, played: Sequence[Play] = PLAYS) -> list[Fate]:
    """What becomes of each. Raises BuildError if the netlist without a mistake differs."""
    addressed = dict[Play, list[Mutant]]()
    for play in played:
        why, _ = play.run(mutants.choose(None), Seen(), mutants.forget)
        if why:
            raise BuildError(f"the netlist itself differs in {play.name}: {why}")
        addressed[play] = mutants.addressed()
    with counting("mutants") as count:
        fates = []
        for done, mutant in enumerate(mutants.mutants):
            count(done, len(mutants.mutants))
            plays = [play for play in played if mutant in addressed[play]]
            found = _found(mutants, mutant, plays)
            same = not found and gates.same_step(mutant) is True
            fates.append(Fate(mutant, tuple(play.name for play in plays), found, same))
            _log.info("%s", fates[-1])
    return fates


def _found(mutants: Mutants, mutant: Mutant, plays: Sequence[Play]) -> str:
    for play in plays:
        why, _ = play.run(mutants.choose(mutant), Seen())
        if why:
            return f"{play.name}: {why.partition('; before that')[0]}"
    return ""


def _number(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed are whole numbers from 1 to {MOST}")
    return int(text)


def main() -> int:
    """Print what became of each mutant."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.netlist", description=__doc__.splitlines()[0])
    parser.add_argument("netlist", type=Path, metavar="NETLIST")
    parser.add_argument("number", metavar="N", type=_number, nargs="?", default=48)
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants (default 1)")
    parser.add_argument("--json", action="store_true", help="one document, with every mutant")
    asked = parser.parse_args()
    try:
        with unwinding_on_termination(), tempfile.TemporaryDirectory(prefix="ringhil-netlist-") as folder:
            text = (asked.netlist / "ring_cell.v").read_text()
            chosen = drawn(text, asked.number, asked.seed)
            with working("netlist") as say:
                mutants = Mutants(text, chosen, Path(folder), say)
            fates = measure(mutants, Gates(text))
    except (OSError, BuildError) as error:
        print(error, file=sys.stderr)
        return 2
    if asked.json:
        print(json.dumps([document(fate) for fate in fates], indent=1))
    else:
        print(*fates, summary(fates), sep="\n")
    return int(any(not fate.found and not fate.same for fate in fates))


def document(fate: Fate) -> dict[str, object]:
    """One of them, as JSON."""
    return {"mutant": str(fate.mutant), "addressed": fate.addressed, "found": fate.found, "same": fate.same}


def summary(fates: Sequence[Fate]) -> str:
    """Of all, in a line."""
    found, same = sum(bool(fate.found) for fate in fates), sum(fate.same for fate in fates)
    never = sum(not fate.addressed and not fate.same for fate in fates)
    counts = f"{same} are proven to be no mistake, {never} never addressed, {len(fates) - found - same - never} unseen"
    return f"{found} of {len(fates)} found; {counts}"


if __name__ == "__main__":
    sys.exit(main())
