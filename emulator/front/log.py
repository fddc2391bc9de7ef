"""What the program does, on stderr, for whoever asks: `ringhil -v COMMAND`, or `-vv` for every message of a run.

A module logs to `logging.getLogger(__name__)`, below the logger `ringhil`. Without `-v` nothing is written, and stdout
is never touched: `--json` prints exactly one document.
"""

import logging
import sys

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def configure(verbosity: int) -> None:
    """0: nothing, 1: what is loaded, built and started, 2 and more: every message of a run, every verdict as well."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger = logging.getLogger("ringhil")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
