"""Where at a GPU a message was seen, in words."""

from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol.wire import Port

_TO_CPU = WAYS.index("to_cpu")
_PORTS = {port.code: str(port) for port in Port}
_CHANNELS = ("control", "data")


def end_of(way: int, port: int) -> str:
    """A port of the mailbox; of what came to the CPU, the channel."""
    return _CHANNELS[port] if way == _TO_CPU and port < len(_CHANNELS) else _PORTS.get(port, str(port))
