"""The oracle shares no code with what it judges: no import, direct or by way of others, leads there."""

import ast
from pathlib import Path

import pytest

import ringhil

ROOTS = [Path(folder) for folder in ringhil.__path__]
FORBIDDEN = (
    "ringhil.firmware",
    "ringhil.emulator.host",
    "ringhil.emulator.server",
    "ringhil.emulator.engine",
    "ringhil.emulator.kernel",
    "ringhil.rtl",
)


def find(module: str) -> Path | None:
    """The source of one of our modules."""
    words = module.split(".")[1:]
    for root in ROOTS:
        folder = root.joinpath(*words)
        for file in (folder / "__init__.py", folder.with_suffix(".py")):
            if file.is_file():
                return file
    return None


def imports(module: str) -> set[str]:
    """Modules of ours that one names in an import anywhere in it, and the packages that they are in."""
    file = find(module)
    if file is None:
        return set()
    named: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            named |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            assert name not in ("__import__", "import_module"), f"{module}: an import that can't be seen"
    ours = {name for name in named if name.split(".")[0] == "ringhil"}
    # Importing a module runs the packages around it.
    return {".".join(name.split(".")[:n]) for name in ours for n in range(1, len(name.split(".")) + 1)}


def reached(module: str) -> set[str]:
    """All that importing a module runs, itself included."""
    seen, new = set[str](), {module}
    while new:
        seen |= new
        new = {other for name in new for other in imports(name)} - seen
    return {name for name in seen if find(name) is not None}


def modules(package: str) -> list[str]:
    file = find(package)
    assert file is not None
    return [package, *(f"{package}.{source.stem}" for source in file.parent.glob("[!_]*.py"))]


def test_nothing_of_what_is_judged_is_imported() -> None:
    for module in modules("ringhil.emulator.judge.oracle"):
        wrong = {name for name in reached(module) if name.startswith(FORBIDDEN)}
        assert not wrong, f"{module} reaches {sorted(wrong)}"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("module", ["ringhil.emulator.judge.recovery.truth", "ringhil.emulator.judge.recovery.watch"])
def test_the_walk_would_find_it(module: str) -> None:
    assert any(name.startswith("ringhil.firmware") for name in reached(module))
    assert "ringhil.emulator.judge.oracle.ring" in reached(module)
