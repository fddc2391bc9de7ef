"""`--firmware`: somebody else's firmware on some GPUs, or on all."""

import click

option = click.option(
    "--firmware",
    multiple=True,
    metavar="GPU=MODULE:CLASS",
    help="Run this class as the firmware of a GPU (a.3), or of all that have any ('*'). May be repeated.",
)
