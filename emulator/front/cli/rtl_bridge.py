"""`ringhil rtl bridge`: a GPU's board that isn't there, until there is one."""

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import click

from ringhil.emulator.build.node_rtl import NODE, OURS
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.loop.bridge.bridge import Bridge, serve
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.serial.server.lines import ListenError
from ringhil.emulator.serial.server.listening import ALLOWED, opened


@click.command("bridge")
@click.option(
    "--rtl", type=click.Path(path_type=Path), default=OURS, metavar="DIR", help="RTL directory.  [default: ours]"
)
@click.option("--top", default=NODE, show_default=True, metavar="MODULE", help="The node in it.")
@click.option("--listen", "where", default="pty", show_default=True, metavar="WHERE", help=ALLOWED)
@click.option("--baud", type=click.IntRange(*BAUDS), default=BAUD, show_default=True, help="Speed of a serial port.")
@click.option("--uart", is_flag=True, help="Pass each byte through two UARTs in RTL, bit by bit.")
@click.option(
    "--optimise",
    type=click.Choice(["0", "1", "2", "3"]),
    default="3",
    show_default=True,
    help="By the C++ compiler: 0 for a netlist, which is large.",
)
@click.option("--json", "as_json", is_flag=True, help="Say where it is as one JSON document.")
def bridge(rtl: Path, top: str, where: str, baud: int, uart: bool, optimise: str, as_json: bool) -> None:
    """One GPU with its bridge, simulated, on a serial line, until SIGINT or SIGTERM: it stands for an FPGA.

    In another terminal: `ringhil run SERVER.yaml --node a.3=PATH`.
    """
    with ExitStack() as stack:
        with explained(), terminal.building() as progress:
            library = bridge_library(rtl, top=top, uart=uart, optimise=f"-O{optimise}", progress=progress)
        try:
            line = opened(where, baud=baud)
        except ListenError as error:
            raise click.ClickException(str(error)) from error
        stack.callback(line.close)
        made = Bridge(library)
        stack.callback(made.close)
        ended = False

        def end(number: int, frame: object) -> None:
            nonlocal ended
            ended = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        click.echo(json.dumps({"ready": True, "port": line.name}) if as_json else line.name)
        serve(made, [line], lambda: ended)
        if not ended:
            raise click.ClickException(f"{line.name}: the line is gone")
