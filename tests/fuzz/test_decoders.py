"""Each decoder takes the bytes of its corpus, among them all that a fuzzer has found; and a fuzzer finds no others."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from .decoders import CORPUS, DECODERS

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in CORPUS.glob("*/*"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_in_the_corpus_is_taken(path: Path, tmp_path: Path) -> None:
    DECODERS[path.parent.name].fed(path.read_bytes(), tmp_path / "read")


def test_each_decoder_has_a_corpus() -> None:
    assert {path.parent.name for path in FILES} == {*DECODERS}


@pytest.mark.slow(part="fuzz")
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="no atheris: pip install 'ringhil[fuzz]'")
@pytest.mark.parametrize("name", DECODERS)
def test_a_guided_fuzzer_finds_nothing(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.fuzz", name, str(DECODERS[name].executions), str(tmp_path / "found")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DONE" in done.stderr
