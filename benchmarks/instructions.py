"""Instructions of one evaluation of a node: `python -m benchmarks.instructions [--rtl DIR] [--top N]`.

Needs valgrind, whose callgrind counts them whatever the machine's load. A ring of 8 with census messages, with and
without records, and work from the CPU. Only the engine's `run` is counted: models, wires, the CPU's ends.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from ringhil.emulator.bench.bare import messages
from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import RTL, cells_library
from ringhil.emulator.host.segments import Route, segments
from ringhil.protocol.wire import Port

GPUS, ROUND = 8, 400  # GPUs; cycles
_COST = re.compile(r"^ *([\d,]+) \([ \d.]+%\) +[^:]*:(.+?)\(.*$", re.MULTILINE)
_TOTAL = re.compile(r"^ *([\d,]+) .*PROGRAM TOTALS", re.MULTILINE)


def play(rtl: Path, rounds: int) -> tuple[int, float]:
    """Play `rounds` rounds; evaluations of a node, and seconds."""
    work = segments(1, 0, bytes(512), Route(0, 0, 0, 5, False, GPUS + 1, 1))
    with Engine(cells_library(rtl), Topology((GPUS,))) as engine:
        engine.poke(0, "allowance", 10**6)
        engine.poke(0, "control", 1)
        began = time.perf_counter()
        for number in range(rounds):
            for records in (False, True):
                for port, frame in zip((Port.CW, Port.CCW), messages(GPUS, records=records), strict=True):
                    engine.send_mail(0, port.code, frame, at=engine.now)
            engine.send_from_cpu(0, work, at=engine.now)
            while engine.now < (number + 1) * ROUND:
                engine.run((number + 1) * ROUND, lookahead=ROUND)
        return engine.evaluations, time.perf_counter() - began


def _each(cost: str, evaluations: int) -> str:
    return f"{int(cost.replace(',', '')) / evaluations:,.0f}"


@click.command()
@click.option("--rtl", type=click.Path(exists=True, file_okay=False, path_type=Path), default=RTL)
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--top", type=click.IntRange(0), default=12, show_default=True, help="functions to show")
@click.option("--inside", is_flag=True, hidden=True)
def main(rtl: Path, rounds: int, top: int, inside: bool) -> None:
    """Count, and print instructions and nanoseconds for each evaluation, and where they go."""
    # callgrind doesn't know AVX-512.
    os.environ["CXX"] = f"{os.environ.get('CXX', 'c++')} -mno-avx512f"
    evaluations, seconds = play(rtl, rounds)
    if inside:
        click.echo(evaluations)
        return
    with tempfile.TemporaryDirectory(prefix="ringhil-instructions-") as scratch:
        out = Path(scratch) / "callgrind.out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=ringhil_run"]
        command += [sys.executable, "-m", "benchmarks.instructions", "--inside", f"--rtl={rtl}", f"--rounds={rounds}"]
        environment = os.environ | {"CXX": os.environ["CXX"].removesuffix(" -mno-avx512f")}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        annotate = ["callgrind_annotate", "--threshold=99", out]
        listing = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    total = _TOTAL.search(listing)
    if total is None:
        raise click.ClickException("callgrind counted nothing")
    click.echo(f"{_each(total[1], evaluations)} instructions an evaluation, {evaluations:,} evaluations")
    for cost, name in _COST.findall(listing)[:top]:
        click.echo(f"{_each(cost, evaluations):>10}  {name}")
    evaluations, seconds = play(rtl, 100 * rounds)
    click.echo(f"{seconds / evaluations * 1e9:,.0f} ns an evaluation")


if __name__ == "__main__":
    main()
