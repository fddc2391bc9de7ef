"""The public names of ringhil, from its stubs: for the tables of docs/reference/python.md, and for a list with their
parameters, from which none may vanish."""

import ast
import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "public-names.txt"
PACKAGES = {
    f"ringhil.{stub.parent.relative_to(ROOT).as_posix().replace('/', '.')}": stub
    for folder in ("protocol", "firmware", "emulator")
    for stub in sorted((ROOT / folder).rglob("__init__.pyi"))
}

# What one wants to do, the package that has the names for it, and the modules that they come from (none: all of them).
GROUPS = {
    "scenario files": ("ringhil.emulator", "scenario"),
    "runs": ("ringhil.emulator", "judge build engine.library errors groups pytest_plugin server"),
    "events": ("ringhil.emulator.events", ""),
    "recordings": ("ringhil.emulator", "trace debug"),
    "lines": ("ringhil.emulator", "serial"),
    "placement": ("ringhil.emulator", "cluster"),
    "campaigns": ("ringhil.emulator.campaign", ""),
    "firmware": ("ringhil.firmware", ""),
    "frames and registers": ("ringhil.protocol", ""),
    "engine": ("ringhil.emulator", "engine.engine kernel"),
    "testbenches": ("ringhil.emulator.testbench", ""),
}


@dataclass(frozen=True)
class Public:
    """A name of a package, and the module that defines it, by its path below the package."""

    package: str
    module: str
    name: str

    @property
    def value(self) -> Any:
        return getattr(importlib.import_module(self.package), self.name)

    @property
    def sentence(self) -> str:
        """The first one of its docstring; of a constant, what the comment on its line says."""
        if inspect.isclass(self.value) or inspect.isroutine(self.value):
            text = " ".join((inspect.getdoc(self.value) or "").split("\n\n")[0].split())
            return re.split(r"(?<=\.) (?=[A-Z`])", text)[0].rstrip(".")
        source = inspect.getsource(importlib.import_module(f"{self.package}.{self.module}"))
        (said,) = re.findall(rf"^{self.name}\b.*?  # (.+)$", source, re.MULTILINE)
        return str(said)


def names(package: str) -> list[Public]:
    """Those of a package, in the order of its stub."""
    nodes = ast.parse(PACKAGES[package].read_text()).body
    return [
        Public(package, node.module or "", alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def group(title: str) -> list[Public]:
    """The names of a group."""
    package, modules = GROUPS[title]
    wanted = tuple(f"{module}." for module in modules.split()) or ("",)
    return [each for each in names(package) if f"{each.module}.".startswith(wanted)]


def table(title: str) -> list[str]:
    """The rows of a group."""
    rows = [f"| `{each.name}` | {each.sentence} |" for each in sorted(group(title), key=lambda each: each.name.lower())]
    return [f"| in `{GROUPS[title][0]}` | is |", "|---|---|", *rows]


def lines() -> list[str]:
    """Each name with its parameters, and each public member of a class."""
    return sorted(line for package in PACKAGES for each in names(package) for line in _lines(each))


def _lines(each: Public) -> Iterator[str]:
    path = f"{each.package}.{each.name}"
    if not inspect.isclass(each.value):
        yield path + (_parameters(each.value) if inspect.isroutine(each.value) else "")
        return
    made = not issubclass(each.value, enum.Enum | BaseException) and not getattr(each.value, "_is_protocol", False)
    yield path + (_parameters(each.value) if made else "")
    told = {*inspect.signature(each.value).parameters} if made else set()  # by its constructor
    for name in _members(each.value) - told:
        found = inspect.getattr_static(each.value, name, None)
        bound = inspect.isfunction(found)
        called = bound or isinstance(found, classmethod | staticmethod)
        yield f"{path}.{name}{_parameters(getattr(each.value, name), bound=bound) if called else ''}"


def _members(kind: type) -> set[str]:
    """Methods, properties and fields, inherited ones of ours too."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("ringhil.")]
    found = {name for base in ours for name in (*vars(base), *inspect.get_annotations(base))}
    return {name for name in found if not name.startswith("_")}


def _parameters(function: Any, *, bound: bool = False) -> str:
    """As they are called, with `=` for a default: `(path, *, seed=)`."""
    shown, named = [], False
    for parameter in list(inspect.signature(function).parameters.values())[bound:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            shown.append("*")
        named |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        shown.append(f"{stars}{parameter.name}{'' if parameter.default is parameter.empty else '='}")
    return f"({', '.join(shown)})"


def broken(listed: list[str], found: list[str]) -> list[str]:
    """What a program may use that keeps to the list, and no longer can."""
    now = {_name(line): line for line in found}
    return [line for line in listed if not _serves(line, now.get(_name(line), ""))]


def write() -> None:
    """Put what there is into the list. What is broken stays: who means to take it away does so by hand."""
    found = {_name(line): line for line in lines()}
    kept = {_name(line): line for line in broken(LIST.read_text().splitlines(), [*found.values()])}
    LIST.write_text("\n".join(sorted((found | kept).values())) + "\n")


def _name(line: str) -> str:
    return line.partition("(")[0]


def _serves(old: str, new: str) -> bool:
    """Whether each call that `old` allows is allowed by `new`: more parameters may be there, with a default and behind
    the others."""
    if "(" not in old or "(" not in new:
        return _name(old) == new.partition("(")[0] and ("(" in old) <= ("(" in new)
    (before, named_before), (after, named_after) = _split(old), _split(new)
    added = [*after[len(before) :], *(each for each in named_after if each.rstrip("=") not in map(_bare, named_before))]
    return (
        len(after) >= len(before)
        and all(new in (old, f"{old}=") for old, new in zip(before, after, strict=False))
        and all({each, f"{_bare(each)}="} & {*named_after, *after} for each in named_before)
        and all(each.endswith("=") or each.startswith("*") for each in added)
    )


def _bare(parameter: str) -> str:
    return parameter.rstrip("=")


def _split(line: str) -> tuple[list[str], list[str]]:
    """Parameters that may be given by place, and those by name alone."""
    each = [word for word in line.partition("(")[2].rstrip(")").split(", ") if word]
    place = next((i for i, word in enumerate(each) if word.startswith("*")), len(each))
    return each[:place], [word for word in each[place:] if word != "*"]
