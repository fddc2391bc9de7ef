"""`--firmware`: somebody else's firmware on some GPUs, or on all."""

import click

from ringhil.emulator.loop.board import Board
from ringhil.emulator.server.firmware_choice import FirmwareChoice

option = click.option(
    "--firmware",
    multiple=True,
    metavar="GPU=FIRMWARE",
    help="What runs as the firmware of a GPU (a.3), or of all that have any ('*'): MODULE:CLASS, LIBRARY.so, or the "
    "URL of a board. May be repeated.",
)


def jobs_for(firmware: FirmwareChoice, jobs: int | None) -> int | None:
    """How many processes play with it, which are forked, when so many were asked for. Raises UsageError."""
    if not firmware.boards:
        return jobs
    for where, board in firmware.boards.items():
        if isinstance(board, Board) and not board.forkable:
            why = "a process that plays can't use such a port; allowed are devices and socket://HOST:PORT"
            raise click.UsageError(f"--firmware {where}={board.url}: {why}")
    if jobs not in (None, 1):
        raise click.UsageError("--jobs: a board runs one server's firmware at a time; leave it out")
    return 1
