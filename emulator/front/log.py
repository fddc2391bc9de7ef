"""What the program does, on stderr, for whoever asks: `ringhil -v COMMAND`, or `-vv` for every message of a run.

A module logs to `logging.getLogger(__name__)`, below the logger `ringhil`. Without `-v` only warnings are written, as
errors are. stdout is never touched: `--json` prints exactly one document.
"""

import logging
import sys

from ringhil.emulator.errors import printable

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class _Lines(logging.Formatter):
    """Who says it stands before a message, but for a warning: which module has it is nothing to its reader."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record) if record.levelno < logging.WARNING else f"ringhil: {record.getMessage()}"
        return "\n".join(map(printable, text.split("\n")))


def configure(verbosity: int) -> None:
    """0: warnings, 1: what is loaded, built and started, 2 and more: every message of a run, every verdict as well."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("%(name)s: %(message)s"))
    logger = logging.getLogger("ringhil")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
