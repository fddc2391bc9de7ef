"""`ringhil replay`: a live session again, without the clients that were there."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.firmware_option import option as firmware_option
from ringhil.emulator.front.cli.terminal import building
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.loop.recorded import recorded_nodes, with_recorded
from ringhil.emulator.serial.journal import JournalError
from ringhil.emulator.serial.replaying import Journalled, SessionReplay


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path), metavar="RECORDING")
@firmware_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(file: Path, firmware: tuple[str, ...], as_json: bool) -> int:
    """Run a live session of `ringhil serve --record` again; 0: byte for byte the same, 1: where it first differs."""
    with explained():
        with building():
            library = cells_library()
        try:
            journal = Journalled(file)
            choice, nodes = with_recorded(journal, firmware_of(firmware)), recorded_nodes(journal)
            found = SessionReplay(file, library, choice, journal, nodes=nodes).run()
        except JournalError as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(asdict(found)))
    elif found.difference is not None:
        click.echo(f"differs: {found.difference}")
    else:
        end = f"verdict {found.verdict}" if found.complete else f"{file} breaks off there"
        clients = f"{found.clients} client{'' if found.clients == 1 else 's'}"
        click.echo(f"identical: {found.cycles} cycles, {clients}, {found.bytes_out} bytes sent; {end}")
    return 0 if found.difference is None else 1
