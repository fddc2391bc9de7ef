"""`--node`: GPUs whose hardware is outside, at the other end of a serial line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ringhil.emulator.front.cli.terminal import say
from ringhil.emulator.serial.line import BAUD, BAUDS
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.node_choice import did_otherwise
from ringhil.emulator.server.observations import NodeLost

_log = logging.getLogger(__name__)

option = click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="GPU=URL",
    help="The hardware of this GPU (a.3) is a board on this line: a device, socket://HOST:PORT or rfc2217://HOST:PORT. "
    "May be repeated.",
)
baud = click.option("--node-baud", type=click.IntRange(*BAUDS), default=BAUD, show_default=True, help="Speed of them.")


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
