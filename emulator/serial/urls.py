"""What is alike in URLs of ours."""

from pathlib import Path
from urllib.parse import unquote


def path_in(written: str) -> str:
    """The path in a URL. As a URL has no relative paths, one that begins with a slash may be of this folder, or from
    the root."""
    path = unquote(written)
    here = path.removeprefix("/")
    return here if here and (Path(here).exists() or not Path(path).exists()) else path
