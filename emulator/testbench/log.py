"""Loggers of the kit, which say what sources send and sinks take.

| level | what |
|---|---|
| INFO | frames of sources and sinks, mail that firmware writes and reads |
| DEBUG | register accesses, broken rules that monitors see |

They are named `cocotb.ringhil.p1`, in a card `cocotb.ringhil.CELL.p1`. They are quiet unless RINGHIL_LOG is INFO or
DEBUG in the environment of the simulation, or a bench sets a level itself: a random test sends frames by the thousand.
"""

import logging
import os

_LEVELS = ("DEBUG", "INFO", "WARNING")


def logger(name: str, cell: int | None = None) -> logging.Logger:
    """That of one part of a node. Raises ValueError when RINGHIL_LOG is no level."""
    level = os.environ.get("RINGHIL_LOG", "WARNING")
    if level not in _LEVELS:
        raise ValueError(f"RINGHIL_LOG is {level!r}; allowed are {', '.join(_LEVELS)}")
    kit = logging.getLogger("cocotb.ringhil")
    if kit.level == logging.NOTSET:
        kit.setLevel(level)
    return kit.getChild(name if cell is None else f"{cell}.{name}")
