"""An installed ringhil has what a checkout has: RTL, C++ sources, templates and styles, the page, typing marks."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = "ringhil/emulator/view/page/"  # what the page of `ringhil view` is built of stays behind


@pytest.mark.rest
def test_the_wheel_contains_all_that_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("ringhil-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"ringhil/rtl/{f.name}" for f in (ROOT / "rtl").glob("*.sv")}
    for folder in ("protocol", "firmware", "emulator"):
        for suffix in ("*.py", "*.cpp", "*.c", "*.h", "*.j2", "*.css", "*.yaml", "py.typed"):
            wanted |= {f"ringhil/{f.relative_to(ROOT)}" for f in (ROOT / folder).rglob(suffix)}
    wanted = {name for name in wanted if not name.startswith(PAGE)}
    assert {f"ringhil/emulator/view/built/{name}" for name in ("index.html", "page.js", "page.css")} <= names
    assert not [name for name in names if name.startswith(PAGE)]
    assert wanted <= names, sorted(wanted - names)
    assert not [n for n in names if n.startswith(("protocol/", "firmware/", "emulator/", "rtl/", "tests/"))]
