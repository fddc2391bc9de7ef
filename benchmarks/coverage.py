"""Coverage of all of rtl/ by cocotb benches: `python -m benchmarks.coverage [-o build/coverage.html] [--effort N]`.

The conformance check covers the node and its parts, the benches of card and server the media between nodes and the two
tops. Verilator's counts and the circumstances of the check go into one report; a Markdown file lies beside the HTML.
"""

import tempfile
from pathlib import Path

import click

from ringhil.emulator.conformance.check import CheckSettings, check
from ringhil.emulator.coverage import report as coverage_report
from ringhil.emulator.coverage import waivers
from ringhil.emulator.coverage.result import share
from ringhil.emulator.engine.library import RTL, rtl_files
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.pages.one_file import report_parts
from ringhil.emulator.testbench.build import build_bench
from ringhil.emulator.testbench.runner import run_bench

ROOT = Path(__file__).resolve().parents[1]
BENCHES: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("cocotb_census", "card_top", {"N": 4}),
    ("cocotb_server", "server_top", {}),
    ("cocotb_uart", "uart", {}),
    ("cocotb_uart_parity", "uart", {"PARITY": 1, "STOP_BITS": 2}),
)


@click.command()
@click.option("-o", "out", type=click.Path(path_type=Path), default=Path("build/coverage.html"), show_default=True)
@click.option("--effort", type=click.IntRange(1, 100), default=2, show_default=True)
def main(out: Path, effort: int) -> None:
    """Run everything with counters on, and write the report."""
    report_parts()
    out.parent.mkdir(parents=True, exist_ok=True)
    with terminal.working("coverage") as progress, tempfile.TemporaryDirectory(prefix="ringhil-coverage-") as scratch:
        folder = Path(scratch)
        found = check(
            RTL, settings=CheckSettings(effort=effort, out=folder, waves=False, coverage=folder), progress=progress
        )
        if not found.ok:
            raise click.ClickException("a rule is broken: run `ringhil rtl check`")
        for module, top, parameters in BENCHES:
            progress(module)
            bench = build_bench("verilator", top, rtl_files(), parameters=parameters, coverage=True, optimise="-O0")
            run = run_bench(bench, [module], folder / module, paths=[ROOT / "tests" / "rtl"])
            if run.failed:
                raise click.ClickException(f"{module}: {run.failed[0].failure}")
            (folder / module / "coverage.dat").rename(folder / f"{module}.dat")
        files = sorted([*folder.glob("*.dat"), *folder.glob("functional-*.json")])
        merged = coverage_report.gather(files, RTL, waivers.DEFAULT)
        for target in (out, out.with_suffix(".md")):
            coverage_report.write(merged, target)
    for name, tally in merged.totals:
        click.echo(f"{name}: {tally.reached:,} of {tally.wanted:,}, {share(tally)}")
    click.echo(f"{out} and {out.with_suffix('.md')}")


if __name__ == "__main__":
    main()
