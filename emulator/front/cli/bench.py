"""`ringhil bench`: speed beside its peers."""

from typing import Any

import click
from rich.console import Console

from ringhil.emulator.bench import suite
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import Seconds, json_option
from ringhil.emulator.pages import units
from ringhil.emulator.pages.tables import print_table, table


@click.command("bench")
@json_option
@click.option(
    "--seconds", type=Seconds(0.05, 600), default=2.0, show_default=True, help="Time for which each rate is measured."
)
@click.option(
    "--gpus",
    type=click.IntRange(2, 1024),
    multiple=True,
    help="Number of GPUs in a ring; may be repeated.  [default: 8 16 64 256 1024]",
)
@click.option("--peers/--no-peers", default=True, help="Also build and run what is compared, which takes minutes.")
@click.option(
    "--only", type=click.Choice(suite.SECTIONS), multiple=True, help="Measure only this part; may be repeated."
)
@click.option(
    "--schedules",
    type=click.IntRange(2, 1000),
    default=suite.SCHEDULES,
    show_default=True,
    help="Most fault schedules that are played.",
)
def command(
    as_json: bool, seconds: float, gpus: tuple[int, ...], peers: bool, only: tuple[str, ...], schedules: int
) -> None:
    """Measure fault schedules, messages, cycles and bytes a second, start-up and memory, beside other ways to run the
    RTL.

    Peers: monolithic Verilator in a bare C++ loop, and cocotb with per-clock monitors and with the testbench kit.
    """
    with explained(), terminal.working("measuring") as progress:
        document = suite.run(
            sizes=tuple(sorted(gpus)) or suite.SIZES,
            seconds=seconds,
            peers=peers,
            only=only or suite.SECTIONS,
            schedules=schedules,
            progress=progress,
        )
    if as_json:
        terminal.print_json("bench", document)
    else:
        _show(document)


def _show(document: dict[str, Any]) -> None:
    console = terminal.output()
    if "census" in document:
        _show_census(console, document["census"])
    if "kit" in document:
        k = document["kit"]
        console.print(
            f"testbench kit in cocotb, card of {k['gpus']}, a round each {k['period']:,} cycles: "
            f"{k['cycles_per_second']:,.0f} cycles/s; monitors that look at every clock edge: "
            f"{k['naive_cycles_per_second']:,.0f} ({k['ratio']:.1f} times slower)"
        )
    if "scenarios" in document:
        _show_scenarios(console, document["scenarios"])
    if "data" in document:
        console.print(f"work data through a card of 8: {document['data']['bytes_per_second'] / 1e6:,.1f} MB/s")
    if "lines" in document:
        _show_lines(console, document["lines"])
    if "start_up" in document:
        start = document["start_up"]
        console.print(f"start of `ringhil run`: cold {start['cold_seconds']:.1f} s, warm {start['warm_seconds']:.2f} s")
    console.print(f"peak memory {units.memory(document['peak_memory_bytes'])}")


def _show_lines(console: Console, lines: dict[str, Any]) -> None:
    shown = table("management port", "requests/s", "median, us", "99th of 100, us", "bare echo/s", "ratio")
    for row in lines["transports"]:
        figures = [f"{row[key]:,.0f}" for key in ("per_second", "p50", "p99")]
        echo = [f"{row['echo']['per_second']:,.0f}", f"{row['ratio']:.2f}"] if "echo" in row else ["", ""]
        shown.add_row(row["name"], *figures, *echo)
    print_table(console, shown)
    for row in lines["pacing"]:
        console.print(
            f"paced at {row['baud']:,} baud and {row['clock']:,} cycles/s: "
            f"{row['found_baud'] / row['baud'] - 1:+.2%} and {row['found_clock'] / row['clock'] - 1:+.2%}"
        )


def _show_census(console: Console, rows: list[dict[str, Any]]) -> None:
    columns = ("GPUs", "messages/s", "cycles/s", "with records: messages/s", "bare Verilator cycles/s", "ratio")
    shown = table(*columns, "cocotb cycles/s", "ratio")
    for row in rows:
        bare, cocotb = row.get("bare"), row.get("cocotb")
        estimated = " (from " + str(bare["extrapolated_from"]) + ")" if bare and bare["extrapolated_from"] else ""
        shown.add_row(
            str(row["gpus"]),
            f"{row['messages_per_second']:,.0f}",
            f"{row['cycles_per_second']:,.0f}",
            f"{row['with_records']['messages_per_second']:,.0f}",
            f"{bare['cycles_per_second']:,.0f}{estimated}" if bare else "-",
            f"{bare['ratio']:,.1f}" if bare else "-",
            f"{cocotb['cycles_per_second']:,.0f}" if cocotb else "-",
            f"{cocotb['ratio']:,.0f}" if cocotb else "-",
        )
    print_table(console, shown)


_COCOTB = {"kit": "cocotb, the kit's monitors", "naive": "cocotb, monitors at every clock edge"}


def _show_scenarios(console: Console, found: dict[str, Any]) -> None:
    load = found["load"]
    console.print(
        f"{found['schedules']} fault schedules of a card of {found['gpus']}, {found['cycles']:,} cycles from power-up; "
        f"the same counts everywhere (load {load['before']:.1f} before, {load['after']:.1f} after)"
    )
    columns = ("schedules/s", "cycles each", "cycles/s", "ms of processor each", "ratio", "of processor time")
    shown = table("", *columns, left=("",))
    rows = [(f"explore, {jobs} at a time", rate) for jobs, rate in found["explore"].items()]
    rows += [(f"verify, {jobs} at a time", rate) for jobs, rate in found["verify"].items()]
    rows += [(_COCOTB[monitors], rate) for monitors, rate in found["cocotb"].items()]
    for name, rate in rows:
        shown.add_row(
            name,
            f"{rate['schedules_per_second']:,.2f}",
            f"{rate['cycles'] / rate['schedules']:,.0f}",
            f"{rate['cycles_per_second']:,.0f}",
            f"{1000 * rate['processor_seconds'] / rate['schedules']:,.1f}",
            f"{rate['ratio']:,.1f}",
            f"{rate['processor_ratio']:,.1f}",
        )
    print_table(console, shown)
    console.print(f"explore's warm state, once for a campaign: {found['settling_seconds']:.2f} s")
