"""Every exception of the emulator's has one root, by which the command line knows it."""

import ast
from pathlib import Path

import ringhil.emulator

_ROOM = Path(next(iter(ringhil.emulator.__path__)))
_PYTHONS = {"Exception", "ValueError", "RuntimeError", "OSError", "LookupError", "KeyError"}
_DEFECTS = {"EndlessCycleError", "RtlStopped"}  # their traceback is wanted
_ALONE = "lending/agent/"  # for guests, which have nothing else of ringhil


def test_exceptions_have_one_root() -> None:
    """But for those that never leave their module, and for defects."""
    found = {
        f"{path.relative_to(_ROOM)}: {node.name}"
        for path in _ROOM.rglob("*.py")
        if not str(path.relative_to(_ROOM)).startswith(_ALONE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in _DEFECTS
        if (bases := {base.id for base in node.bases if isinstance(base, ast.Name)}) & _PYTHONS
        and "RinghilError" not in bases
    }
    assert found == {"errors.py: RinghilError"}
