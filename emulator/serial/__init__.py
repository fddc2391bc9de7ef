"""Serial lines to cards: the management port of an emulated card, and the client of any card."""

from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.port import ManagementPort

__all__ = ["ManagedCard", "ManagementPort"]
