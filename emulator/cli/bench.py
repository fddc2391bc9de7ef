"""`ringhil bench`: speed beside its peers."""

import json
from typing import Any

import click
from rich.table import Table

from ringhil.emulator.bench import suite
from ringhil.emulator.cli import terminal
from ringhil.emulator.cli.errors import explained


@click.command("bench")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.option("--seconds", type=click.FloatRange(0.05, 600), default=2.0, show_default=True, help="For each rate.")
@click.option("--gpus", type=click.IntRange(2, 1024), multiple=True, help="Ring sizes  [default: 8 16 64 256 1024]")
@click.option("--peers/--no-peers", default=True, help="Also build and run what we compare with (minutes).")
def command(as_json: bool, seconds: float, gpus: tuple[int, ...], peers: bool) -> None:
    """Measure messages, cycles and bytes a second, start-up, snapshots and memory, beside other ways to run the RTL.

    Peers: monolithic Verilator in a bare C++ loop, and cocotb with a per-clock monitor (16 GPUs).
    """
    with explained(), terminal.building() as progress:
        document = suite.run(sizes=tuple(sorted(gpus)) or suite.SIZES, seconds=seconds, peers=peers, progress=progress)
    if as_json:
        click.echo(json.dumps(document))
    else:
        _show(document)


def _show(document: dict[str, Any]) -> None:
    console = terminal.output()
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in (
        "GPUs",
        "messages/s",
        "cycles/s",
        "with records: messages/s",
        "bare Verilator cycles/s",
        "ratio",
    ):
        table.add_column(name, justify="right")
    table.add_column("cocotb cycles/s", justify="right")
    table.add_column("ratio", justify="right")
    for row in document["census"]:
        bare, cocotb = row.get("bare"), row.get("cocotb")
        estimated = " (from " + str(bare["extrapolated_from"]) + ")" if bare and bare["extrapolated_from"] else ""
        table.add_row(
            str(row["gpus"]),
            f"{row['messages_per_second']:,.0f}",
            f"{row['cycles_per_second']:,.0f}",
            f"{row['with_records']['messages_per_second']:,.0f}",
            f"{bare['cycles_per_second']:,.0f}{estimated}" if bare else "-",
            f"{bare['ratio']:,.1f}" if bare else "-",
            f"{cocotb['cycles_per_second']:,.0f}" if cocotb else "-",
            f"{cocotb['ratio']:,.0f}" if cocotb else "-",
        )
    console.print(table)
    if "kit" in document:
        k = document["kit"]
        console.print(
            f"testbench kit in cocotb, card of {k['gpus']}, a round each {k['period']:,} cycles: "
            f"{k['cycles_per_second']:,.0f} cycles/s; monitors that look at every clock edge: "
            f"{k['naive_cycles_per_second']:,.0f} ({k['ratio']:.1f} times slower)"
        )
    data, start = document["data"], document["start_up"]
    console.print(f"work data through a card of 8: {data['bytes_per_second'] / 1e6:,.1f} MB/s")
    console.print(f"start of `ringhil run`: cold {start['cold_seconds']:.1f} s, warm {start['warm_seconds']:.2f} s")
    for s in document["snapshots"]:
        console.print(f"snapshot of {s['gpus']} GPUs: {s['save_us']:,.0f} µs, back {s['restore_us']:,.0f} µs")
    console.print(f"peak memory {document['peak_memory_bytes'] / 2**20:,.0f} MiB")
