"""RTL of somebody's own: a directory with a node, completed with those of our files that it lacks.

| the directory has | what is added |
|---|---|
| `ring_cell` | the package of constants, if it isn't there |
| a node with the ports of `gpu_node` | also the media in front of its ports: `ring_cell`, `link_channel` |
| a node of another name | also a `gpu_node` that is nothing but that node |
| a node without quiescence outputs | the same, with "never quiescent" |
"""

import difflib
import hashlib
import re
from pathlib import Path

from ringhil.emulator.build.cache import cache_dir
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.request import check_names
from ringhil.emulator.files import reason_of

OURS = Path(__file__).resolve().parents[2] / "rtl"
PACKAGE = "ringhil_pkg.sv"
NODE = "gpu_node"
MAX_BYTES = 16_000_000  # of a source file
_SUFFIXES = (".sv", ".v")
_DEFINED = re.compile(r"^\s*(?:module|package)\s+(?:automatic\s+|static\s+)?([A-Za-z_]\w*)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PARAMETERS = re.compile(r"#\s*\([^()]*\)\s*")
_PORT = re.compile(r"\b(input|output)\s+(?:logic|wire|reg|var)?\s*(\[[^\]]*\])?\s*(\w+)")


def sources(rtl: Path) -> tuple[Path, ...]:
    """The source files of a directory, the package of constants first: theirs, else ours. Raises BuildError."""
    if not rtl.is_dir():
        raise BuildError(
            f"{rtl}: no such directory; needed is one with the SystemVerilog of a node"
            if not rtl.exists()
            else f"{rtl}: not a directory"
        )
    files = sorted((f for f in rtl.iterdir() if f.suffix in _SUFFIXES and f.is_file()), key=lambda f: f.name)
    if not files:
        raise BuildError(f"{rtl}: no SystemVerilog files (*.sv, *.v) found")
    package = next((f for f in files if f.name == PACKAGE), None)
    if package is None:
        package = OURS / PACKAGE
    check_names(files)
    return (package, *(f for f in files if f.name != PACKAGE))


def modules(files: tuple[Path, ...]) -> dict[str, Path]:
    """Modules and packages by name, with the file that defines each. Raises BuildError."""
    return {name: file for file in files for name in _DEFINED.findall(_text(file))}


def defined(files: tuple[Path, ...], top: str) -> None:
    """Raises BuildError if `top` isn't among the modules of `files`."""
    if not _NAME.fullmatch(top):
        raise BuildError(f"top {top!r} is no module's name (letters, digits and '_', no digit first)")
    there = modules(files)
    if top not in there:
        names = sorted(n for n, f in there.items() if f.name != PACKAGE)
        near = difflib.get_close_matches(top[:80], names, n=3)
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise BuildError(f"{files[-1].parent}: no module '{top}'; {meant}there are: {', '.join(names) or 'none'}")


def cell_sources(rtl: Path, top: str = NODE) -> tuple[Path, ...]:
    """All that the engine's cell is built from. Raises BuildError."""
    files = sources(rtl)
    there = modules(files)
    if "ring_cell" in there and top == NODE:
        return files
    defined(files, top)
    added = [OURS / f"{name}.sv" for name in ("link_channel", "ring_cell") if name not in there]
    text = _adapter(top, _text(there[top]))
    if text is not None:
        if NODE in there and top != NODE:
            files = tuple(f for f in files if f != there[NODE])
        added.append(_written(text))
    return (*files, *added)


def _adapter(top: str, text: str) -> str | None:
    """A `gpu_node` around `top`; None if `top` is one as it is."""
    restless = "quiescent_o" not in text and "wake_at_o" not in text
    if top == NODE:
        if restless:
            raise BuildError(f"{NODE} has no quiescent_o and wake_at_o: add them, or name the module otherwise (--top)")
        return None
    ours = _COMMENTS.sub("", _text(OURS / f"{NODE}.sv"))
    head = _PARAMETERS.sub("", ours[ours.index(f"module {NODE}") : ours.index(");") + 2])
    lines = ["// Made by ringhil: a node under the name that the rest of the design knows.", head]
    if restless:
        ports = [name for _, _, name in _PORT.findall(head) if name not in ("quiescent_o", "wake_at_o")]
        lines += [f"  {top} u_node ({', '.join('.' + name for name in ports)});"]
        lines += ["  assign quiescent_o = 1'b0;", "  assign wake_at_o = 64'h0;"]
    else:
        lines.append(f"  {top} u_node (.*);")
    return "\n".join([*lines, "endmodule", ""])


def _written(text: str) -> Path:
    """The adapter as a file in the cache."""
    folder = cache_dir() / "adapters" / hashlib.sha256(text.encode()).hexdigest()[:16]
    file = folder / f"{NODE}.sv"
    if not file.is_file() or file.read_text() != text:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = folder / f"{NODE}.draft"
        draft.write_text(text)
        draft.replace(file)
    return file


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise BuildError(f"{file}: larger than {MAX_BYTES} bytes")
        # A byte-order mark, and comments in another encoding: the tools read them, and names are ASCII anyway.
        return _COMMENTS.sub("", file.read_text(encoding="utf-8-sig", errors="replace"))
    except OSError as error:
        raise BuildError(f"{file}: cannot be read: {reason_of(error)}") from error
