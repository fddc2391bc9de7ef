"""Measures how many mistakes in firmware and CPU the unit tests, `ringhil verify` and `ringhil explore` find.

    python -m benchmarks.mutation_firmware [N] [--seed S] [--at FILE:TEXT ...] [--out FILE] [--quick] [--again]
                                           [--slice K/N] [--jobs N] [--json]

N mutants, drawn from all of firmware/ and emulator/host/, or of the lines of FILE that contain TEXT. In a first pass
`verify` plays some shipped scenarios and `explore` every 64th case; a second one plays all of them and every 8th case
to those that neither has found. Results are kept in a file as they come, and the same command goes on there; unless
--out names it, there is one for each state of sources, tests and scenarios. Exit code 1 if less is found than was found
already (see report.py); 2 if it can't be measured.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.mutation_firmware import kept
from benchmarks.mutation_firmware.campaign import FINDERS, Campaign, plays, run
from benchmarks.mutation_firmware.mutant import ROOT, Mutant
from benchmarks.mutation_firmware.points import choose, everything, sources
from benchmarks.mutation_firmware.report import Report
from benchmarks.mutation_firmware.results import Results, ResultsError, fingerprint

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import unwinding_on_termination


def _place(text: str) -> tuple[str, str]:
    file, colon, piece = text.partition(":")
    if not colon or file not in sources():
        raise argparse.ArgumentTypeError(f"{text!r} is no FILE:TEXT with one of {', '.join(sources())}")
    return file, piece


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed are whole numbers from 1")
    return int(text)


def _slice(text: str) -> slice:
    number, _, slices = text.partition("/")
    if not (number.isdigit() and slices.isdigit() and 1 <= int(number) <= int(slices)):
        raise argparse.ArgumentTypeError(f"{text!r}: allowed is K/N, with K from 1 to N")
    return slice(int(number) - 1, None, int(slices))


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation_firmware", description=__doc__.splitlines()[0])
    parser.add_argument("number", metavar="N", type=_positive, nargs="?", default=220)
    parser.add_argument("--seed", type=int, default=1, help="of the choice of mutants (default 1)")
    parser.add_argument("--at", type=_place, action="append", default=[], metavar="FILE:TEXT")
    parser.add_argument("--out", type=Path, metavar="FILE", help="of the results (default: in build/)")
    parser.add_argument("--quick", action="store_true", help="only the first pass; the exit code judges nothing")
    parser.add_argument("--again", action="store_true", help="what is left once more, with what is there by now")
    parser.add_argument("--slice", type=_slice, default=slice(None), metavar="K/N", help="each Nth from the Kth on")
    parser.add_argument("--jobs", type=_positive, default=1)
    parser.add_argument("--json", action="store_true", help="one document, with every mutant")
    return parser


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except (BuildError, ResultsError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


def _play(mutants: Sequence[Mutant], texts: dict[str, str], results: Results, jobs: int, *, deep: bool) -> None:
    """Have all of these found, and write down what comes of it."""
    if not mutants:
        return
    campaign = Campaign(texts, plays(deep=deep))
    for line in results.lines.values():
        campaign.kills[line["found"]["verify"]["by"]] += 1
    if wrong := campaign.prepare():
        raise ValueError(wrong)
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in campaign.seconds.items())
    print(f"{len(mutants)} mutants; without a mistake: {took}", file=sys.stderr)
    for done, (fate, seconds) in enumerate(run(campaign, mutants, jobs, results.fate), 1):
        results.add(fate, texts[fate.mutant.file], seconds)
        if sys.stderr.isatty():
            print(f"\r{done} of {len(mutants)} mutants", end="", file=sys.stderr)


def main() -> int:
    """Measure, and print the report."""
    asked = _parser().parse_args()
    texts = sources()
    with _refused(), unwinding_on_termination():
        known = kept.load()
        mutants = choose(asked.number, asked.seed, texts, asked.at)[asked.slice]
        if not mutants:
            raise ValueError("no mutant in these lines, or none in this slice")
        out = asked.out or ROOT / "build" / f"mutation-firmware-{everything()}.jsonl"
        results = Results(out, {"sources": fingerprint(texts), "finders": list(FINDERS)})

        def left(*, deep: bool) -> list[Mutant]:
            """What is to be played: what has no result, and what isn't judged and not explained."""
            found = []
            for mutant in mutants:
                fate = results.fate(mutant)
                if fate is None:
                    found.append(mutant)
                elif (asked.again or (deep and not fate.deep)) and not fate.judged:
                    found += [mutant] if kept.reason(mutant, texts, known) is None else []
            return found

        _play(left(deep=False), texts, results, asked.jobs, deep=False)
        if not asked.quick:
            _play(left(deep=True), texts, results, asked.jobs, deep=True)
    ended = [fate for mutant in mutants if (fate := results.fate(mutant)) is not None]
    report = Report(ended, texts, known, results.seconds, drawn=asked.slice != slice(None))
    print(json.dumps(report.to_json(), indent=1) if asked.json else "\n".join(report.lines()))
    return 0 if asked.quick or report.good else 1


if __name__ == "__main__":
    sys.exit(main())
