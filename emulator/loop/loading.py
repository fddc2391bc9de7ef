"""Loads somebody else's firmware, as people write it: `a.3=module:Class`, `a.3=libfirmware.so`, `a.3=/dev/ttyACM0`, any
other path of a port, or any URL; `*=...` for every GPU that has any. `libfirmware.so,here`: in this process;
`libfirmware.so,limit=60`: an answer may take so many seconds; `libfirmware.so,gdb=5000`: it waits for a debugger there.

Code is only ever named by whoever starts a run, never by a file that is read. Nothing that plays or judges imports
this; a worker of a cluster does, for which it must lie there already, in a file of the same content.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from ringhil.emulator.documents import shown
from ringhil.emulator.files import reason_of
from ringhil.emulator.loop.apart import LIMIT
from ringhil.emulator.loop.board import Board
from ringhil.emulator.loop.library import firmware_in
from ringhil.emulator.outside_code import NAMED, load_named, look_here
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice, who
from ringhil.emulator.server.foreign import METHODS, FirmwareError, Maker

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*|/dev/.+")
_LIBRARY = re.compile(r"(?P<path>.*\.so)(,(?P<how>[^/,]*))?", re.DOTALL)
_CYCLE = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_LIMITS = (0.1, 86_400.0)  # seconds
_MOST_FILES = 1000  # of a module, that are hashed
_SHOWN = 12  # digits of a hash
_ALLOWED = (
    "GPU=MODULE:CLASS, GPU=LIBRARY.so or GPU=URL, such as a.3=mine:Firmware or a.3=/dev/ttyACM0; "
    "'*' for GPU is every one that has any"
)


def firmware_of(given: Sequence[str], sources: Mapping[str, str] | None = None) -> FirmwareChoice:
    """What was written, loaded. `sources`: those of such a choice on another machine, and nothing is loaded from
    another file than there. Raises FirmwareError."""
    wanted = dict[str, str]()
    for text in given:
        where, mark, what = text.partition("=")
        if not mark or not _is_firmware(what):
            raise FirmwareError(f"--firmware: found {shown(text)}; allowed is {_ALLOWED}")
        try:
            where = where if where == ALL else str(GpuRef.parse(where))
        except ValueError as error:
            raise FirmwareError(f"--firmware {text}: {error}") from error
        if where in wanted:
            named = "'*'" if where == ALL else f"GPU {where}"
            raise FirmwareError(f"--firmware {text}: {named} has {wanted[where]} already; allowed is one")
        wanted[where] = what
        if is_board(what) and (where == ALL or list(wanted.values()).count(what) > 1):
            raise FirmwareError(f"--firmware {text}: a board runs the firmware of one GPU")
    found = dict[str, Chosen]()
    for where, what in wanted.items():
        text = f"{where}={what}"
        try:
            if sources is not None:
                _check_same(what, sources.get(who(text), ""))
            found[where] = _chosen(what)
        except FirmwareError as error:
            raise FirmwareError(f"--firmware {text}: {error}") from error
    return FirmwareChoice(tuple(given), found)


def firmware_named(what: str) -> Chosen:
    """What stands behind `GPU=`, by itself. Raises FirmwareError."""
    if not _is_firmware(what):
        raise FirmwareError(f"found {shown(what)}; allowed is MODULE:CLASS, LIBRARY.so or the URL of a board")
    return _chosen(what)


def is_board(what: str) -> bool:
    """Whether this names a board, or did when it was recorded: its port may be gone."""
    return _URL.fullmatch(what) is not None or (bool(what) and ":" not in what and not _LIBRARY.fullmatch(what))


def _is_firmware(what: str) -> bool:
    if is_board(what):  # a word that is no port either is a class that was not written out
        return "/" in what or Path(what).exists()
    return _LIBRARY.fullmatch(what) is not None or NAMED.fullmatch(what) is not None


def _chosen(what: str) -> Chosen:
    if is_board(what):
        board = Board(what)
        return Chosen(what, board.made, board.name, board)
    file = _file_of(what)
    source = "" if file is None else _source(what, file)
    library = _LIBRARY.fullmatch(what)
    return Chosen(who(what), _loaded(what) if library is None else _in_library(library), source)


def _in_library(named: re.Match[str]) -> Maker:
    how = named["how"]
    path, (key, _, limit) = Path(named["path"]), (how or "").partition("=")
    if key == "gdb" and _CYCLE.fullmatch(limit):
        return firmware_in(path, gdb=int(limit))
    if how not in (None, "here") and (key != "limit" or not _NUMBER.fullmatch(limit)):
        raise FirmwareError(f"{path}: found ,{shown(how)}; allowed are ,here, ,limit=SECONDS and ,gdb=CYCLE")
    seconds = float(limit or LIMIT)
    if not _LIMITS[0] <= seconds <= _LIMITS[1]:
        allowed = f"{_LIMITS[0]:g} to {_LIMITS[1]:,.0f} seconds"
        raise FirmwareError(f"{named['path']}: limit: found {shown(limit)}; allowed are {allowed}")
    return firmware_in(path, limit=seconds, here=how == "here")


def _check_same(what: str, source: str) -> None:
    """Raises FirmwareError when it isn't here, or its file has another hash. Runs nothing that is in it."""
    file = None if is_board(what) else _file_of(what)
    if file is None:
        name = f"module {what.partition(':')[0]}" if NAMED.fullmatch(what) else what
        raise FirmwareError(f"there is no {name}; looked for from {Path.cwd()} on")
    found = _source(what, file)
    if found != source:
        raise FirmwareError(f"{file} has sha256 {found[:_SHOWN]}; allowed is {source[:_SHOWN]}, as here")


def _file_of(what: str) -> Path | None:
    """Where code is, which isn't run to find that out; None: nowhere, or in no file."""
    library = library_of(what)
    if library is not None:
        return library if library.is_file() else None
    look_here()
    module = what.partition(":")[0]
    folders: Sequence[str] | None = None
    for name in accumulate(module.split("."), "{}.{}".format):
        specs = (finder.find_spec(name, folders) for finder in sys.meta_path)
        found = next((spec for spec in specs if spec is not None), None)
        if found is None or name == module:
            return Path(found.origin) if found is not None and found.has_location and found.origin else None
        folders = found.submodule_search_locations or ()  # without any, it is no package
    return None


def _source(what: str, file: Path) -> str:
    """Of a library its content; of a module the same, with the files beside it that it and these import."""
    if library_of(what) is not None:
        return hash_of(file)
    module = what.partition(":")[0]
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    found, left = dict[Path, str](), [file]
    while left:
        here = left.pop()
        if here not in found and len(found) < _MOST_FILES:
            found[here] = hash_of(here)
            left += _imported(here, root)
    if len(found) == 1:
        return found[file]
    lines = sorted(f"{each.relative_to(root).as_posix()} {digest}\n" for each, digest in found.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _imported(file: Path, root: Path) -> Iterator[Path]:
    """Files below `root` that a file of Python names in its imports, wherever these stand in it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return  # whoever loads it says what is wrong
    package = file.relative_to(root).parent.parts
    for node in ast.walk(tree):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(each.name.split(".")) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            names = [base, *((*base, each.name) for each in node.names)]
        for name in names:
            for depth in range(1, len(name) + 1):  # a package's own file is run as well
                stem = root.joinpath(*name[:depth])
                yield from (
                    each for each in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if each.is_file()
                )


def library_of(what: str) -> Path | None:
    """The file of a library."""
    found = _LIBRARY.fullmatch(what)
    return None if found is None else Path(found["path"])


def hash_of(file: Path) -> str:
    """Of its content. Raises FirmwareError."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise FirmwareError(f"{file}: cannot be read: {reason_of(error)}") from error


def _loaded(what: str) -> Maker:
    found, name = load_named(what, FirmwareError), what.partition(":")[2]
    missing = [method for method in METHODS if isinstance(found, type) and not hasattr(found, method)]
    if missing:
        raise FirmwareError(f"{name} has no method {missing[0]}; wanted are {', '.join(METHODS)}")
    maker: Maker = found
    return maker
