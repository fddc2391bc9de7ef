"""Measures how many design mistakes in a node the conformance check finds.

    python -m benchmarks.designs SET [NN ...] [--out FILE] [--json]

SET: a folder beside this file, `first`; NN: only these. `--out`: a file of JSON lines that keeps what was found, so
that the same command goes on where it was. Exit code 0: all were found; 1: some weren't; 2: it can't be measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import copytree

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.processes import unwinding_on_termination
from ringhil.emulator.conformance.check import CheckSettings, check
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.front.cli.terminal import counting

HERE = Path(__file__).parent
BARE = "`define SYNTHESIS\n"  # before a source: leaves its assertions out
SETS = tuple(sorted(folder.name for folder in HERE.iterdir() if any(folder.glob("*.patch"))))


@dataclass(frozen=True)
class Design:
    """Mistake `number` of a set; `broken`: the rules that it breaks, none: it isn't found."""

    number: str
    broken: tuple[str, ...]


def patched(patch: Path, folder: Path) -> Path:
    """A copy of our RTL below `folder`, with the mistake and without our assertions: another make's node has none, and
    is judged by what it does. Raises BuildError when the patch doesn't fit any more."""
    rtl = Path(copytree(RTL, folder / "rtl"))
    done = subprocess.run(["git", "apply", str(patch)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{patch}: {' '.join(done.stderr.split())}")
    for source in rtl.glob("*.sv"):
        source.write_text(BARE + source.read_text())
    return rtl


def played(patch: Path) -> Design:
    """Judge a node with the mistake by all rules. Raises BuildError."""
    with tempfile.TemporaryDirectory() as folder:
        rtl = patched(patch, Path(folder))
        report = check(rtl, settings=CheckSettings(out=Path(folder) / "out", waves=False))
    broken = (verdict.rule for verdict in report.verdicts.values() if verdict.state == "broken")
    return Design(patch.stem, tuple(broken))


def _kept(out: Path | None) -> dict[str, Design]:
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["number"]: Design(row["number"], tuple(row["broken"])) for row in rows}


def _all(patches: Sequence[Path], out: Path | None) -> Iterator[Design]:
    kept = _kept(out)
    with counting("designs") as progress:
        for done, patch in enumerate(patches):
            progress(done, len(patches))
            found = kept.get(patch.stem)
            if found is None:
                found = played(patch)
                if out is not None:
                    with out.open("a") as file:
                        file.write(json.dumps(asdict(found)) + "\n")
            yield found


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.designs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("numbers", nargs="*", metavar="NN")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    patches = sorted((HERE / given.set).glob("*.patch"))
    unknown = set(given.numbers) - {patch.stem for patch in patches}
    if unknown:
        parser.error(f"found {min(unknown)!r}; allowed are {patches[0].stem} to {patches[-1].stem}")
    try:
        designs = list(_all([p for p in patches if not given.numbers or p.stem in given.numbers], given.out))
    except BuildError as error:
        print(f"designs: {error}", file=sys.stderr)
        return 2
    found = sum(bool(design.broken) for design in designs)
    if given.json:
        print(json.dumps({"set": given.set, "found": found, "designs": [asdict(design) for design in designs]}))
    else:
        for design in designs:
            print(design.number, ", ".join(design.broken) or "not found")
        print(f"found {found} of {len(designs)}")
    return 0 if found == len(designs) else 1


if __name__ == "__main__":
    with unwinding_on_termination():
        sys.exit(main())
