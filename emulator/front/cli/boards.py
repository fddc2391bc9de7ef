"""What isn't ours: `--node` for the hardware of a GPU, a board at the end of a serial line, and `--firmware`."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from ringhil.emulator.events.server import NodeLost
from ringhil.emulator.front.cli.terminal import say
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import NodeChoice, did_otherwise

_log = logging.getLogger(__name__)

node_option = click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="GPU=URL",
    help="Use the board on this line as the hardware of a GPU (a.3): a device, socket://HOST:PORT or "
    "rfc2217://HOST:PORT. May be repeated.",
)
node_baud_option = click.option(
    "--node-baud",
    type=click.IntRange(*BAUDS),
    default=BAUD,
    show_default=True,
    help="Baud rate of the lines of --node.",
)


def firmware_given(given: Sequence[str], nodes: Sequence[str] = ()) -> FirmwareChoice:
    """What `--firmware` says, loaded, but for a line that `--node` has too. Raises FirmwareError and NodeError."""
    if not given:
        return OURS
    if nodes:
        from ringhil.emulator.loop.nodes import check_lines  # as below

        check_lines(nodes, given)
    from ringhil.emulator.loop.loading import firmware_of  # what it stands on takes as long to load as a short run

    return firmware_of(given)


def boards_again(firmware: FirmwareChoice) -> FirmwareChoice:
    """The same for processes that are forked in the middle of a run: a board is told again what it was told before."""
    if not firmware.boards:
        return firmware
    from ringhil.emulator.loop.retold import retold  # as above

    return retold(firmware)


@contextmanager
def nodes_given(nodes: Sequence[str], baud: int) -> Iterator[NodeChoice]:
    """What `--node` says, with open lines. Raises NodeError."""
    if not nodes:
        yield NodeChoice()
        return
    from ringhil.emulator.loop.nodes import OpenNodes, check_lines  # as above

    check_lines(nodes, ())
    with OpenNodes(nodes, baud=baud) as opened:
        yield opened.choice


@contextmanager
def told(server: LiveServer, *, again: bool = False) -> Iterator[None]:
    """Says on stderr when hardware is lost, and in the end whether it did what ours would have done. `again`: also how
    the same is played without it."""

    def lost(seen: NodeLost) -> None:
        name, what = server.wiring.gpu_of(seen.cell), "from here on it is a GPU that has failed"
        same = any(node.cell == seen.cell and not node.differing for node in server.engine.outside())
        if again and same:
            what += f"; --node {name}=lost@{seen.cycle} plays this again"
        say(f"ringhil: {name}: cycle {seen.cycle}: the board {seen.why}; {what}", err=True)

    server.observations.listen(NodeLost, lost)
    yield
    for node in server.engine.outside():
        name, otherwise = server.wiring.gpu_of(node.cell), did_otherwise(node)
        each = (node.sent + node.received) / max(1, node.steps)
        _log.info("%s: %d cycles outside, %.1f bytes each", name, node.steps, each)
        if otherwise is not None:
            click.echo(f"ringhil: {name}: {otherwise}", err=True)


def jobs_for(firmware: FirmwareChoice, jobs: int | None) -> int | None:
    """How many processes play with it, which are forked, when so many were asked for. Raises UsageError."""
    if not firmware.boards:
        return jobs
    from ringhil.emulator.loop.board import Board  # as above

    for where, board in firmware.boards.items():
        if isinstance(board, Board) and not board.forkable:
            why = "a process that plays can't use such a port; allowed are devices and socket://HOST:PORT"
            raise click.UsageError(f"--firmware {where}={board.url}: {why}")
    if jobs not in (None, 1):
        raise click.UsageError("--jobs: a board runs one server's firmware at a time; leave it out")
    return 1
