"""No folder of tests is passed over: pytest leaves some names out by itself, `build` among them."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def test_every_folder_is_looked_into(pytestconfig: pytest.Config) -> None:
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("test_*.py")}
    patterns = pytestconfig.getini("norecursedirs")
    assert len(folders) > 10
    assert [(folder, p) for folder in folders for part in folder.parts for p in patterns if fnmatch(part, p)] == []
