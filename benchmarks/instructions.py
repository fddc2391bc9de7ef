"""Instructions of one evaluation of a node: `python -m benchmarks.instructions [--rtl DIR] [--census] [--top N]`.

Needs valgrind, whose callgrind counts them whatever the machine's load. A ring of 8 with census messages, with and
without records, and work from the CPU; `--census`: a ring of 64 with census messages alone. Counted is what the
engine's library does (models, wires, the CPU's ends) in some rounds more than one: what it does before and after them
is in both.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from ringhil.emulator.bench.bare import messages
from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.host.work.segments import Route, segments
from ringhil.protocol.wire import Port

_NO_AVX512 = " -mno-avx512f"
GPUS, CENSUS_GPUS, ROUND = 8, 64, 400  # GPUs; cycles
_COST = re.compile(r"^ *([\d,]+) \([ \d.]+%\) +[^:]*:(.+?)\(.*\[.*/libV\w+\.so\]$", re.MULTILINE)


def play(rtl: Path, rounds: int, *, census: bool) -> tuple[int, float]:
    """Play `rounds` rounds; evaluations of a node, and seconds."""
    gpus = CENSUS_GPUS if census else GPUS
    work = segments(1, 0, bytes(512), Route(0, 0, 0, 5, False, gpus + 1, 1))
    with Engine(cells_library(rtl), Topology((gpus,))) as engine:
        engine.poke(0, "allowance", 10**6)
        engine.poke(0, "control", 1)
        began = time.perf_counter()
        for number in range(rounds):
            for records in (False,) if census else (False, True):
                for port, frame in zip((Port.CW, Port.CCW), messages(gpus, records=records), strict=True):
                    engine.send_mail(0, port.code, frame, at=engine.now)
            if not census:
                engine.send_from_cpu(0, work, at=engine.now)
            while engine.now < (number + 1) * ROUND:
                engine.run((number + 1) * ROUND, lookahead=ROUND)
        return engine.evaluations, time.perf_counter() - began


def counted(rtl: Path, rounds: int, *, census: bool) -> tuple[Counter[str], int]:
    """Instructions of each function of the library in `rounds` rounds, and evaluations of a node."""
    with tempfile.TemporaryDirectory(prefix="ringhil-instructions-") as scratch:
        out = Path(scratch) / "callgrind.out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [sys.executable, "-m", "benchmarks.instructions", "--inside", f"--rtl={rtl}", f"--rounds={rounds}"]
        command += ["--census"] if census else []
        environment = os.environ | {"CXX": os.environ["CXX"].removesuffix(_NO_AVX512)}
        evaluations = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        annotate = ["callgrind_annotate", "--threshold=100", str(out)]
        listing = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    found: Counter[str] = Counter()
    for cost, name in _COST.findall(listing):
        found[name] += int(cost.replace(",", ""))
    return found, int(evaluations)


@click.command()
@click.option("--rtl", type=click.Path(exists=True, file_okay=False, path_type=Path), default=RTL)
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--top", type=click.IntRange(0), default=12, show_default=True, help="functions to show")
@click.option("--census", is_flag=True, help="a ring of 64 with census messages alone")
@click.option("--inside", is_flag=True, hidden=True)
def main(rtl: Path, rounds: int, top: int, census: bool, inside: bool) -> None:
    """Count, and print instructions and nanoseconds for each evaluation, and where they go."""
    # callgrind doesn't know AVX-512.
    os.environ["CXX"] = os.environ.get("CXX", "c++") + _NO_AVX512
    evaluations, seconds = play(rtl, rounds, census=census)
    if inside:
        click.echo(evaluations)
        return
    (once, before), (more, after) = (counted(rtl, n, census=census) for n in (1, 1 + rounds))
    more.subtract(once)
    if more.total() <= 0:
        raise click.ClickException("callgrind counted nothing")
    evaluations = after - before
    click.echo(f"{more.total() / evaluations:,.0f} instructions an evaluation, {evaluations:,} evaluations")
    for name, cost in more.most_common(top):
        click.echo(f"{cost / evaluations:>10,.0f}  {name}")
    evaluations, seconds = play(rtl, 100 * rounds, census=census)
    click.echo(f"{seconds / evaluations * 1e9:,.0f} ns an evaluation")


if __name__ == "__main__":
    main()
