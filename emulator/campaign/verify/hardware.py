"""Whether hardware outside has taken part in a run to its end, and whether it did what ours does."""

import logging

from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.node_choice import NodeError, did_otherwise

_log = logging.getLogger(__name__)


def took_part(server: LiveServer, name: str) -> None:
    """Raises NodeError for a board that was lost: whatever came of the run, it is no verdict on that hardware. What
    one did otherwise is said, and left to the judge."""
    for node in server.engine.outside():
        gpu, otherwise = server.wiring.gpu_of(node.cell), did_otherwise(node)
        if otherwise is not None:
            _log.warning("%s: %s: %s", name, gpu, otherwise)
        if node.lost:
            raise NodeError(f"{gpu}: cycle {node.lost_at + 1}: the board {node.lost}")
