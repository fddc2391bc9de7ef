"""Proves what the names given name (all without names) and prints a table.

    python -m tests.formal [--twin] [--keep DIR] [NAME ...]

--twin: the broken twins instead. --keep: leave models and traces (VCD) in DIR/NAME, which must not exist yet.
Exit code 1 if a result isn't the one that the table of proofs promises.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from ringhil.emulator.proofs import tools

from . import prove
from .proofs import PROOFS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.formal")
    parser.add_argument("name", nargs="*", help="proofs; all if none is given")
    parser.add_argument("--twin", action="store_true", help="search the broken twins for counterexamples instead")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave models and traces in DIR/NAME")
    arguments = parser.parse_args()
    unknown = set(arguments.name) - {p.name for p in PROOFS}
    if unknown:
        parser.error(f"no proof {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PROOFS)}")
    if tools.missing():
        parser.error(f"not installed: {', '.join(tools.missing())}; {tools.INSTALL}")
    print("solver yices;", ", ".join(f"{package} {version}" for package, version in tools.versions().items()))
    print(f"{'proof':<18} {'result':<9} {'kind':<12} {'seconds':>7}  claim")
    wrong = 0
    for proof in PROOFS:
        if arguments.name and proof.name not in arguments.name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            directory = arguments.keep / proof.name if arguments.keep else Path(scratch)
            if arguments.keep:
                directory.mkdir(parents=True)
            result = (prove.refute if arguments.twin else prove.prove)(proof, directory)
        if arguments.twin:
            kind, expected = f"to depth {proof.twin_depth}", prove.REFUTED
        else:
            kind = f"to depth {proof.depth}" if result.k is None else f"induction {result.k}"
            expected = prove.PROVED
        wrong += result.outcome != expected
        print(f"{proof.name:<18} {result.outcome:<9} {kind:<12} {result.seconds:7.1f}  {proof.claim}", flush=True)
    return int(wrong > 0)


sys.exit(main())
