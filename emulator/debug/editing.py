"""Source that was changed on disk, put into a run that is under way.

Functions and methods get their new code in place, so that whoever holds them has it; classes get new methods and new
defaults; other names of a module their new values. What a run has in its memory stays. Only modules whose file has
changed are read again, once for all: whoever wants the old ones back has forked before.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.files import reason_of

_SKIPPED = {"__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__firstlineno__"}


class Sources:
    """The modules whose names begin with one of these, as they are on disk now."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages
        self._hashes = {name: _hash(path) for name, path in self._files()}

    def _files(self) -> Iterator[tuple[str, Path]]:
        for name, module in sorted(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if self.holds(name) and file and file.endswith(".py"):
                yield name, Path(file)

    def holds(self, module: str) -> bool:
        """Whether a module is one of them, by its name."""
        return any(module == package or module.startswith(f"{package}.") for package in self._packages)

    def files(self) -> list[Path]:
        """Of those that are loaded."""
        return [path for _, path in self._files()]

    def changed(self) -> list[str]:
        """Those whose file is another now."""
        return [name for name, path in self._files() if _hash(path) != self._hashes.get(name)]

    def reload(self) -> tuple[list[str], list[str]]:
        """What was changed, and what of it doesn't fit a run that is under way. Raises DebugError for source that isn't
        sound; then nothing was done."""
        names = self.changed()
        fresh = {name: _executed(sys.modules[name]) for name in names}
        misfits: list[str] = []
        for name, new in fresh.items():
            misfits += _update(sys.modules[name], new)
        return names, misfits


def _hash(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return b""


def _executed(module: ModuleType) -> dict[str, Any]:
    """The names of a module as its file has them now, of a module beside it."""
    assert module.__file__ is not None
    path = Path(module.__file__)
    new = ModuleType(module.__name__)
    new.__dict__.update(__file__=str(path), __package__=module.__package__, __loader__=module.__loader__)
    try:
        source = path.read_text(encoding="utf-8")
        code: CodeType = compile(ast.parse(source, str(path)), str(path), "exec", dont_inherit=True)
        with redirect_stdout(sys.stderr):  # as when it was loaded
            exec(code, new.__dict__)
    except SyntaxError as error:
        raise DebugError(f"{path}:{error.lineno}: {error.msg}") from None
    except OSError as error:
        raise DebugError(f"{path}: cannot be read: {reason_of(error)}") from None
    except Exception as error:
        raise DebugError(f"{path}: {type(error).__name__}: {error}") from None
    return new.__dict__


def _update(module: ModuleType, new: dict[str, Any]) -> Iterator[str]:
    old = module.__dict__
    for name, value in new.items():
        if name.startswith("__"):
            continue
        before = old.get(name)
        own = getattr(value, "__module__", None) == module.__name__
        if own and isinstance(value, FunctionType) and isinstance(before, FunctionType):
            yield from _function(before, value, f"{module.__name__}.{name}")
        elif own and isinstance(value, type) and isinstance(before, type):
            yield from _class(before, value, module)
        else:
            if own and isinstance(value, FunctionType):
                value = _at_home(value, module)
            old[name] = value
            _everywhere(module, name, before, value)
    for name in [name for name in old if name not in new and not name.startswith("__")]:
        del old[name]


def _at_home(function: FunctionType, module: ModuleType) -> FunctionType:
    """A function that looks its names up in the module that runs, not in the one beside it."""
    found = FunctionType(
        function.__code__, module.__dict__, function.__name__, function.__defaults__, function.__closure__
    )
    found.__kwdefaults__ = function.__kwdefaults__
    found.__dict__.update(function.__dict__)
    found.__qualname__, found.__module__ = function.__qualname__, module.__name__
    return found


def _everywhere(module: ModuleType, name: str, before: object, value: object) -> None:
    """Whoever has imported a name by itself has the new value, too."""
    if before is None:
        return
    for other in list(sys.modules.values()):
        if other is not module and getattr(other, "__dict__", {}).get(name) is before:
            origin = getattr(other, "__name__", "").partition(".")[0]
            if origin == module.__name__.partition(".")[0]:
                setattr(other, name, value)


def _function(old: FunctionType, new: FunctionType, name: str) -> Iterator[str]:
    if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
        yield f"{name}: takes other names from around it than before"
        return
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


def _class(old: type, new: type, module: ModuleType) -> Iterator[str]:
    where = f"{module.__name__}.{old.__qualname__}"
    if issubclass(old, Enum):
        if {str(name): each.value for name, each in old.__members__.items()} != {
            str(name): each.value
            for name, each in new.__members__.items()  # type: ignore[attr-defined]
        }:
            yield f"{where}: has other members"
        return
    if [base.__qualname__ for base in old.__mro__] != [base.__qualname__ for base in new.__mro__]:
        yield f"{where}: has other bases"
        return
    if vars(old).get("__slots__") != vars(new).get("__slots__"):
        yield f"{where}: has other slots"
        return
    had, has = (getattr(each, "__annotations__", {}) for each in (old, new))
    for name in [name for name in has if name not in had and name not in vars(new)]:
        yield f"{where}.{name}: is new and has no default; what runs has no value for it"
    for name, value in vars(new).items():
        before = vars(old).get(name)
        if name in _SKIPPED:
            continue
        if isinstance(value, FunctionType) and isinstance(before, FunctionType):
            around = value.__code__.co_freevars
            if around != before.__code__.co_freevars and "__class__" not in around:
                setattr(old, name, value)  # what `dataclass` has made
            else:
                yield from _function(before, value, f"{where}.{name}")
        elif isinstance(value, property) and isinstance(before, property):
            yield from _property(before, value, f"{where}.{name}")
        elif isinstance(value, staticmethod | classmethod) and isinstance(before, staticmethod | classmethod):
            yield from _function(before.__func__, value.__func__, f"{where}.{name}")  # type: ignore[arg-type]
        elif type(value).__name__ not in ("member_descriptor", "getset_descriptor"):
            setattr(old, name, _at_home(value, module) if isinstance(value, FunctionType) else value)


def _property(old: property, new: property, name: str) -> Iterator[str]:
    for before, value in ((old.fget, new.fget), (old.fset, new.fset)):
        if isinstance(before, FunctionType) and isinstance(value, FunctionType):
            yield from _function(before, value, name)
