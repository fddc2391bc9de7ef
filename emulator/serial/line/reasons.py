"""Says why a serial port can't be used. pyserial's own messages repeat what Python says, in brackets."""

import errno
import os
import re
import stat
import termios
from contextlib import suppress
from pathlib import Path

_NETWORK = ("socket", "rfc2217")  # URLs of pyserial's for a host and a port
_NEGOTIATING = "Remote does not seem to support RFC2217"  # so pyserial begins
_FOR_GROUP = stat.S_IRGRP | stat.S_IWGRP
_NO_PORTS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a disk",
}
_CLEARER = {errno.ENOTTY: "it is no serial port", errno.EAGAIN: "another program has it"}


def not_opened(url: str, error: Exception) -> str:
    """Returns why a port could not be opened; where permission lacks, also which group has it."""
    other = _no_port(url)
    if other is not None:
        return f"it is {other}; allowed is a serial port or a pseudo terminal"
    if address := re.fullmatch(r"(?:(?:tcp|https?)://)?([^/:]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})/?", url):
        return f"it is no URL of a port; socket://{address[1]}:{address[2]} is one"
    caught = _caught(error)
    why = said_by_system(error) or said_by_system(caught)
    if getattr(error, "errno", None) == errno.EACCES:
        with suppress(OSError, KeyError):
            path = Path(url)
            if path.stat().st_mode & _FOR_GROUP == _FOR_GROUP:
                return f"{why}; group {path.group()} may, join it or become root"
    scheme = url.partition("://")[0].lower()
    if why is None and scheme in _NETWORK:
        if str(error).startswith(_NEGOTIATING):
            return "who answers there doesn't speak RFC 2217"
        if caught is not None:
            return f"allowed is {scheme}://HOST:PORT[?OPTION&...], PORT up to 65535"
    return why or reason(error, url)


def _no_port(url: str) -> str | None:
    """Returns what stands in the place of a device; None where there is a device, a URL or nothing."""
    try:
        return _NO_PORTS.get(stat.S_IFMT(Path(url).stat().st_mode))
    except (OSError, ValueError):
        return None


def said_by_system(error: BaseException | None) -> str | None:
    """Returns why the operating system refused; None where something else was wrong."""
    if isinstance(error, termios.error):
        number, text = error.args
    elif isinstance(error, TimeoutError):
        number, text = errno.ETIMEDOUT, ""
    elif isinstance(error, OSError):
        number, text = error.errno, error.strerror
    else:
        return None
    if number is None:
        return None
    # Other numbers are of getaddrinfo; the texts of positive ones may have more in them than why.
    return _CLEARER.get(number) or (os.strerror(number) if number > 0 else text)


def reason(error: Exception, url: str = "") -> str:
    """Returns what an error says, on one line, without the URL."""
    return " ".join(str(error).split()).removeprefix(f"{url}: ")


def _caught(error: Exception) -> BaseException | None:
    """Returns the error that pyserial has caught and appended to its own text."""
    found = error.__context__
    return found if found is not None and str(error).endswith(f": {found}") else None
