"""`ringhil rtl bridge`: a GPU's board that isn't there, until there is one."""

from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import node_rtl_options
from ringhil.emulator.loop.bridge.bridge import Bridge, serve
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.serial.server.listening import ALLOWED, opened


@click.command("bridge")
@node_rtl_options
@click.option("--listen", "where", default="pty", show_default=True, metavar="WHERE", help=f"Serve here: {ALLOWED}.")
@click.option(
    "--baud", type=click.IntRange(*BAUDS), default=BAUD, show_default=True, help="Baud rate of a serial port."
)
@click.option("--uart", is_flag=True, help="Pass each byte through two UARTs in RTL, bit by bit.")
@click.option(
    "--optimise",
    type=click.Choice(["0", "1", "2", "3"]),
    default="3",
    show_default=True,
    help="Optimisation level of the C++ compiler; 0 suits a netlist, which is large.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the port's name as one JSON document.")
def bridge(rtl: Path, top: str, where: str, baud: int, uart: bool, optimise: str, as_json: bool) -> None:
    """Simulate one GPU node with its bridge on a serial line, as an FPGA would run it, until SIGINT or SIGTERM.

    In another terminal: `ringhil run SERVER.yaml --node a.3=PATH`.
    """
    with ExitStack() as stack:
        with explained():
            with terminal.building() as progress:
                library = bridge_library(rtl, top=top, uart=uart, optimise=f"-O{optimise}", progress=progress)
            line = opened(where, baud=baud)
        ended = stack.enter_context(terminal.until_terminated())
        stack.callback(line.close)
        made = Bridge(library)
        stack.callback(made.close)
        if as_json:
            terminal.print_json("rtl-bridge", {"ready": True, "port": line.name})
        else:
            click.echo(line.name)
        serve(made, [line], ended)
        if not ended():
            raise click.ClickException(f"{line.name}: the line is gone")
