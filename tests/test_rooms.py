"""Packages import each other as the contracts in pyproject.toml say, as docs/explanation/architecture.md shows."""

from pathlib import Path

import grimp
from importlinter.cli import lint_imports

import ringhil


def test_there_is_one_ringhil() -> None:
    """Of two, in the environment and here, the graph of imports would have one or the other."""
    found = [Path(path).resolve() for path in ringhil.__path__]
    assert found == [Path(__file__).resolve().parents[1] / "src" / "ringhil"]


def test_every_import_follows_the_contracts() -> None:
    """The report is printed where one doesn't."""
    assert lint_imports(no_cache=True) == 0


def test_the_oracle_uses_nothing_of_the_judge() -> None:
    """Of ours only the description of a server, and the definition of the wire."""
    graph = grimp.build_graph("ringhil", cache_dir=None)
    oracle = "ringhil.emulator.judge.oracle"
    inside = {oracle, *graph.find_descendants(oracle)}
    used = {module for each in inside for module in graph.find_modules_directly_imported_by(each)} - inside
    allowed = ("ringhil.emulator.scenario", "ringhil.protocol")
    assert used
    assert {module for module in used if not module.startswith(allowed)} == set()
