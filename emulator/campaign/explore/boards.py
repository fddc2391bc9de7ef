"""Boards that play in cases."""

from ringhil.emulator.campaign.explore.errors import ExploreError
from ringhil.emulator.server.firmware_choice import FirmwareChoice

_KEPT = "what was played with it is kept with --store, and the same command goes on"


def check_boards(firmware: FirmwareChoice) -> None:
    """Raises ExploreError when one of them is gone, or isn't the same each time: what has just been played says nothing
    of the server."""
    for where, board in firmware.boards.items():
        if board.difference is not None:
            raise ExploreError(f"firmware of {where}: {board.difference}; {_KEPT}")
