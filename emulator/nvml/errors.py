"""What can be wrong with the socket."""


class SocketError(Exception):
    """It can't be made, or nobody answers there; one line says which, and why."""
