"""The page as it was built: a few files, read once. No other file can be asked for."""

from importlib.resources import files
from importlib.resources.abc import Traversable

from ringhil.emulator.pages.one_file import PageError

__all__ = ["INDEX", "PageError", "built"]

INDEX = "index.html"
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
    "json": "application/json",
}
_MOST = 8 << 20  # bytes of all of them


def built() -> dict[str, tuple[bytes, str]]:
    """Content and type of each file, by its path. Raises PageError."""
    folder = files("ringhil.emulator.view") / "built"
    found = dict(_below(folder, "")) if folder.is_dir() else {}
    if INDEX not in found:
        raise PageError("the page was not built: found no emulator/view/built/index.html; `make page` builds it")
    pages = {path: (each.read_bytes(), _KINDS[path.rpartition(".")[2]]) for path, each in found.items()}
    if sum(len(content) for content, _ in pages.values()) > _MOST:
        raise PageError(f"the page: found more than {_MOST:,} bytes in emulator/view/built; `make page` builds it anew")
    return pages


def _below(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found += _below(each, f"{path}{each.name}/")
        elif each.name.rpartition(".")[2] in _KINDS:
            found.append((f"{path}{each.name}", each))
    return found
