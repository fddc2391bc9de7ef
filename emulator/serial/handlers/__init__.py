"""URLs that ringhil adds to pyserial's: it finds them here once `ringhil.emulator.serial.client` is loaded."""

from pathlib import Path
from urllib.parse import quote, unquote


def path_in(written: str) -> str:
    """The path in a URL. As a URL has no relative paths, one that begins with a slash may be of this folder, or from
    the root."""
    path = unquote(written)
    here = path.removeprefix("/")
    return here if here and (Path(here).exists() or not Path(path).exists()) else path


def emulated_url(server: str) -> str:
    """`emulated://` for `SERVER.yaml[#CARD]` as people write it, whatever characters are in the name of the file."""
    path, mark, card = server.rpartition("#")
    if not mark or Path(server).exists():
        path, card = server, ""
    return f"emulated:///{quote(path)}" + (f"#{quote(card)}" if card else "")
