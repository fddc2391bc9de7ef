"""What can be wrong with the socket."""

from ringhil.emulator.errors import RinghilError


class SocketError(RinghilError):
    """It can't be made, or nobody answers there; one line says which, and why."""
