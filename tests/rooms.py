"""The table of rooms in docs/explanation/architecture.md.

Rows and their order are those of the contracts in pyproject.toml ([tool.importlinter]), top layer first. What a room
holds is the first paragraph of its package, or of its file.
"""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EMULATOR = "ringhil.emulator"


@dataclass(frozen=True)
class Room:
    """A row: a package or module, and the layer in which it stands."""

    module: str
    layer: int

    @property
    def path(self) -> str:
        path = self.module.removeprefix("ringhil.").replace(".", "/")
        return path + "/" if (ROOT / path).is_dir() else path + ".py"

    @property
    def holds(self) -> str:
        file = ROOT / self.path
        text = ast.get_docstring(ast.parse((file / "__init__.py" if file.is_dir() else file).read_text()))
        return " ".join((text or "").split("\n\n")[0].split())

    def within(self, module: str) -> bool:
        return f"{self.module}.".startswith(f"{module}.")


def contracts() -> list[dict[str, Any]]:
    """As pyproject.toml has them."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: list[dict[str, Any]] = document["tool"]["importlinter"]["contracts"]
    return found


def rooms() -> list[Room]:
    """The rooms of emulator/, with those of campaign/ below it, then firmware and protocol."""
    layers = {(c.get("containers") or [""])[0]: c["layers"] for c in contracts() if c["type"] == "layers"}

    def inside(parent: str) -> Iterator[list[str]]:
        for line in layers.get(parent, []):
            names = [name.strip(" ()") for name in line.split("|")]
            yield [module for name in names if exists(module := f"{parent}.{name}" if parent else name)]

    order: list[list[str]] = []
    for top in inside(""):
        if top == [EMULATOR]:
            for line in inside(EMULATOR):
                order += [line, *(below for module in line for below in inside(module))]
        else:
            order.append(top)
    found = [Room(module, layer) for layer, line in enumerate(order) for module in line]
    for source in (source for c in contracts() for source in c.get("source_modules", ())):
        if source not in (room.module for room in found):  # a part of a room with a contract of its own
            parent = next(room for room in found if source.startswith(f"{room.module}."))
            found.insert(found.index(parent) + 1, Room(source, parent.layer))
    return [room for room in found if room.module != f"{EMULATOR}.__main__"]


def exists(module: str) -> bool:
    """Whether there is such a package or file."""
    path = ROOT / module.removeprefix("ringhil.").replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def may_import(room: Room, others: list[Room]) -> str:
    """What the contracts leave of the rows below."""
    below = [other for other in others if other.layer > room.layer]
    banned = {
        other
        for contract in contracts()
        if contract["type"] == "forbidden" and any(room.within(source) for source in contract["source_modules"])
        for other in below
        if any(other.within(module) for module in contract["forbidden_modules"])
    }
    allowed = [other for other in below if other not in banned]

    def said(chosen: list[Room]) -> str:
        return ", ".join(f"`{other.path.removeprefix('emulator/').rstrip('/')}`" for other in chosen)

    if not allowed:
        return "nothing of ours"
    if not banned:
        return "all below"
    left_out = [other for other in below if other in banned]
    return said(allowed) if len(allowed) <= len(left_out) else f"all below, except {said(left_out)}"


def table() -> list[str]:
    """Markdown, line by line."""
    found = rooms()
    lines = ["| room | holds | may import |", "|---|---|---|"]
    return lines + [f"| `{room.path}` | {room.holds} | {may_import(room, found)} |" for room in found]
