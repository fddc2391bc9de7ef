"""`ringhil rtl viewers`: signals and words for wave viewers."""

from pathlib import Path

import click

from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.trace.waves import viewers as made


@click.command("viewers")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Write the files there."
)
def viewers(output: Path) -> None:
    """Write a save file and filters for GTKWave, and a command file and mappings for Surfer.

    They show a node's bench: what goes over each link, in words. Open with `gtkwave dump.fst DIR/ringhil.gtkw`, or in
    DIR with `surfer --command-file ringhil.sucl dump.fst`.
    """
    with explained():
        for path in made.write(output):
            click.echo(path)
