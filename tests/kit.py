"""The public names of the testbench kit, from its sources, each with its docstring."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KIT = Path(__file__).resolve().parents[1] / "emulator" / "testbench"
INSIDE = {"replay"}  # modules that run by themselves inside the simulator: nobody calls them

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class PublicName:
    """A name as it is used, and its docstring. `members`: of a class, its methods and properties; `attributes`: its
    other public ones."""

    name: str
    text: str
    members: tuple["PublicName", ...] = ()
    attributes: tuple[str, ...] = ()
    is_class: bool = False


def modules(folder: Path = KIT) -> Iterator[tuple[str, Path]]:
    """The modules with public names, and their files."""
    for path in sorted(folder.rglob("*.py")):
        if path.stem not in INSIDE and any(public(path)):
            yield ".".join(path.relative_to(folder).with_suffix("").parts), path


def public(path: Path) -> Iterator[PublicName]:
    """Functions and classes of a module. Raises ValueError for one without a docstring."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, _Function) and _shown(node):
            yield PublicName(_called(node), _text(node, path, node.name))
        elif isinstance(node, ast.ClassDef) and _shown(node):
            members = (m for m in node.body if isinstance(m, _Function) and _shown(m))
            found = [PublicName(_called(m, bound=True), _text(m, path, f"{node.name}.{m.name}")) for m in members]
            yield PublicName(_class(node), _text(node, path, node.name), tuple(found), _attributes(node), True)


def _shown(node: _Function | ast.ClassDef) -> bool:
    return not node.name.startswith("_")


def _class(node: ast.ClassDef) -> str:
    """With the arguments of its constructor: those of `__init__`, or the fields of a dataclass or named tuple."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return f"{node.name}({_arguments(method, bound=True)})"
    made = [f for f in _fields(node) if f.value is None or "init=False" not in ast.unparse(f.value)]
    shown = [ast.unparse(f.target) + _default(f.value) for f in made]
    return f"{node.name}({', '.join(shown)})"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    return f"={ast.unparse(value)}" if isinstance(value, ast.Constant) else "=..."


def _fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [f for f in node.body if isinstance(f, ast.AnnAssign) and not ast.unparse(f.target).startswith("_")]


def _attributes(node: ast.ClassDef) -> tuple[str, ...]:
    """Fields, and what the constructor puts into `self`."""
    found = [ast.unparse(f.target) for f in _fields(node)]
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            names = (n for n in ast.walk(method) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
            found += [n.attr for n in names if ast.unparse(n.value) == "self" and not n.attr.startswith("_")]
    return tuple(dict.fromkeys(found))


def _called(node: _Function, *, bound: bool = False) -> str:
    decorators = {ast.unparse(d) for d in node.decorator_list}
    if "property" in decorators:
        return node.name
    text = f"{node.name}({_arguments(node, bound=bound)})"
    return f"await {text}" if isinstance(node, ast.AsyncFunctionDef) else text


def _arguments(node: _Function, *, bound: bool) -> str:
    """Names and defaults, without types."""
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    text = ast.unparse(node.args)
    return re.sub(r"^(self|cls)(, )?", "", text) if bound else text


def _text(node: ast.Module | _Function | ast.ClassDef, path: Path, name: str) -> str:
    text = ast.get_docstring(node)
    if text is None:
        raise ValueError(f"{path.name}: {name} has no docstring")
    return text
