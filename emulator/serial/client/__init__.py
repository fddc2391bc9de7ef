"""Client of a card's management port, real or emulated, and of a serial line in general.

| module | what is in it |
|---|---|
| `client` | `CardClient`, which asks a card |
| `ports` | an open port of pyserial's, and how it is waited for and read |
| `comparing` | two cards that are asked the same |
"""

from ringhil.emulator.serial.client.client import TRIES, CardClient, Info, RefusedError, SilentError, Strays
from ringhil.emulator.serial.client.ports import (
    LINE_GONE,
    TIMEOUT,
    CardError,
    arrived,
    clock_of,
    descriptor,
    line_gone,
    opened_port,
)

__all__ = [
    "LINE_GONE",
    "TIMEOUT",
    "TRIES",
    "CardClient",
    "CardError",
    "Info",
    "RefusedError",
    "SilentError",
    "Strays",
    "arrived",
    "clock_of",
    "descriptor",
    "line_gone",
    "opened_port",
]
