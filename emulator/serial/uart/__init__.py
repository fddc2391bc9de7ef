"""The line below a management port, bit by bit: two UARTs of rtl/, wired to each other and simulated."""

from ringhil.emulator.serial.uart.bit_true import BitTrueLink, EndCounts, Side
from ringhil.emulator.serial.uart.library import link_library

__all__ = ["BitTrueLink", "EndCounts", "Side", "link_library"]
