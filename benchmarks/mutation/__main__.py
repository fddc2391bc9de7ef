"""Measures how many mistakes in a node the conformance suite finds.

    python -m benchmarks.mutation [N] [--seed S] [--at FILE:TEXT ...] [--again REPORT] [--rules RULE,...] [--json]

N mutants, spread over all source lines of the node, or over those of FILE that contain TEXT; with `--again` those that
survived in an earlier report of the same RTL (JSON). Exit code 1 if a mutant
survives that is neither proven equivalent nor explained in `explained.json`; 2 if it can't be measured.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.mutation import bench, campaign, equivalence, explained, netlist, yosys
from benchmarks.mutation.mutant import Mutant, parse
from benchmarks.mutation.report import Report

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import unwinding_on_termination
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.front.cli.terminal import counting, working


def _place(text: str) -> tuple[str, str]:
    file, colon, piece = text.partition(":")
    if not colon or not (RTL / file).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no FILE:TEXT with a file of {RTL.name}/")
    return file, piece


def _number(text: str) -> int:
    most = (1 << netlist.WIDTH) - 1
    if not text.isdigit() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed are whole numbers from 1 to {most}")
    return int(text)


def _survivors(report: Path, folder: Path) -> list[Mutant]:
    """Of an earlier campaign; `folder` holds the sources."""
    try:
        found = json.loads(report.read_text())["list"]
        commands = [entry["command"] for entry in found if entry["state"] == "survived"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{report}: no report of a campaign ({type(error).__name__})") from None
    return [mutant for command in commands if (mutant := parse(command, folder)) is not None]


def measure(
    number: int,
    seed: int = 1,
    at: tuple[tuple[str, str], ...] = (),
    suite: campaign.Suite | None = None,
    again: Path | None = None,
) -> Report:
    """The whole campaign. Raises BuildError."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ringhil-mutation-") as scratch:
        folder = Path(scratch)
        with working("mutation") as say:
            say("Yosys reads the node")
            read = netlist.read(RTL, folder, seed)
            if again is None:
                mutants = netlist.choose(read.pool, number, seed, at, folder)
            else:
                mutants = _survivors(again, folder)
            if not mutants:
                raise BuildError("no mutant in these lines")
            built = bench.build(read, mutants, say)
        with counting("mutants") as count:
            chosen = suite if suite is not None else campaign.Suite()
            fates = campaign.run(built, mutants, chosen, lambda done: count(done, len(mutants) + 1))
        left = [i for i, fate in enumerate(fates) if not fate.killed]
        proofs, reasons, known = {}, {}, explained.load()
        with counting("proofs") as count:
            for done, i in enumerate(left):
                count(done, len(left))
                found = equivalence.proof(folder, fates[i].mutant)
                if found:
                    proofs[i] = found
                else:
                    reasons[i] = explained.reason(fates[i].mutant, folder, known)
    return Report(built.rtl, seed, yosys.version(), time.monotonic() - started, fates, proofs, reasons)


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("number", metavar="N", type=_number, nargs="?", default=400)
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants (default 1)")
    parser.add_argument("--at", type=_place, action="append", default=[], metavar="FILE:TEXT")
    parser.add_argument("--again", type=Path, metavar="REPORT", help="only the survivors of this report (JSON)")
    parser.add_argument("--rules", default="", help="only these rules, separated by commas")
    parser.add_argument("--json", action="store_true", help="one document, with every mutant")
    asked = parser.parse_args()
    suite = campaign.Suite(tuple(r for r in asked.rules.split(",") if r))
    try:
        with unwinding_on_termination():
            report = measure(asked.number, asked.seed, tuple(asked.at), suite, asked.again)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        print("\n".join(report.lines()))
    return 1 if any(not report.reasons.get(i) for i in report.survivors) else 0


if __name__ == "__main__":
    sys.exit(main())
