"""`--node`: GPUs whose hardware is outside, at the other end of a serial line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.speeds import BAUD, BAUDS
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.observations import NodeLost

_log = logging.getLogger(__name__)

option = click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="GPU=URL",
    help="The hardware of this GPU (a.3) is a board on this line: a device or socket://HOST:PORT. May be repeated.",
)
baud = click.option("--node-baud", type=click.IntRange(*BAUDS), default=BAUD, show_default=True, help="Speed of them.")


@contextmanager
def told(server: LiveServer) -> Iterator[None]:
    """Says on stderr when hardware is lost, and in the end whether it did what ours would have done."""
    places = [server.wiring.place(cell) for cell in range(server.wiring.cells)]
    names = [str(GpuRef(server.wiring.cards[card].name, gpu)) for card, gpu in places]

    def lost(seen: NodeLost) -> None:
        what = "from here on it is a GPU that has failed"
        click.echo(f"ringhil: {names[seen.cell]}: cycle {seen.cycle}: the board {seen.why}; {what}", err=True)

    server.observations.listen(NodeLost, lost)
    yield
    for node in server.engine.outside():
        name, steps = names[node.cell], node.steps
        each = (node.sent + node.received) / max(1, steps)
        _log.info("%s: %d cycles outside, %.1f bytes each", name, steps, each)
        if node.differing:
            what = f"in {node.differing} of {steps} cycles, from cycle {node.first_differing} on"
            click.echo(f"ringhil: {name}: the board did otherwise than the RTL of this run {what}", err=True)
