"""Where `ringhil serve` waits for clients, as people write it."""

from pathlib import Path

from ringhil.emulator.serial.lines import ClientLine, ListenError, Pty, RealPort, TcpListener
from ringhil.emulator.serial.rfc2217 import Rfc2217Connection
from ringhil.emulator.serial.speeds import BAUD

ALLOWED = "pty, tcp://HOST:PORT, rfc2217://HOST:PORT and the path of a serial port"


def opened(where: str, *, baud: int = BAUD) -> TcpListener | ClientLine:
    """`pty`, `tcp://HOST:PORT`, `rfc2217://HOST:PORT`, or the path of a serial port, of that speed. Raises
    ListenError."""
    if where == "pty":
        return Pty()
    if where.startswith("/"):
        return RealPort(Path(where), baud)
    scheme, _, rest = where.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in ("tcp", "rfc2217") or not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ListenError(f"--listen: found {where!r}; allowed are {ALLOWED}")
    if scheme == "tcp":
        return TcpListener(host.strip("[]"), int(port))
    return TcpListener(host.strip("[]"), int(port), "rfc2217", Rfc2217Connection)
