"""`--firmware`: somebody else's firmware on some GPUs, or on all."""

import click

option = click.option(
    "--firmware",
    multiple=True,
    metavar="GPU=FIRMWARE",
    help="What runs as the firmware of a GPU (a.3), or of all that have any ('*'): MODULE:CLASS, LIBRARY.so, or the "
    "URL of a board. May be repeated.",
)
