"""Libraries that can't be firmware, whatever is the matter with them, are one line: none ends ringhil."""

import subprocess
from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from .library import COMPILER, built

SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 3000\n"
WANTED = "wanted is a whole library with the functions rhf_size and rhf_answer"
SIZE = "#include <stddef.h>\nsize_t rhf_size(void) { return 8; }\n"
CODE = {
    "crashes (Segmentation fault) when rhf_size is called": "char rhf_size[64] = {1}, rhf_answer[64] = {1};",
    "crashes (Segmentation fault) when rhf_answer is called": SIZE + "char rhf_answer[64] = {1};",
    "crashes (Aborted) when it is loaded": (
        SIZE + "#include <stdlib.h>\n__attribute__((constructor)) static void a(void) { abort(); }"
    ),
    "ends the program with exit code 3 when rhf_size is called": (
        "#include <stdlib.h>\nsize_t rhf_size(void) { exit(3); }\nchar rhf_answer[8];"
    ),
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SERVER)
    return tmp_path


@pytest.mark.parametrize("says", CODE)
def test_what_crashes(here: Path, says: str) -> None:
    (here / "mine.c").write_text(CODE[says])
    subprocess.run([COMPILER, "-shared", "-fPIC", "-w", "mine.c", "-o", "mine.so"], cwd=here, check=True)
    said = refusal("run", "s.yaml", "--firmware", "a.1=./mine.so", cwd=here)
    assert said == f"ringhil: --firmware a.1=./mine.so: mine.so: {says}; {WANTED}"
    said = refusal("firmware", "check", "./mine.so", cwd=here)
    assert said == f"ringhil: mine.so: {says}; {WANTED}"
    assert {path.name for path in here.iterdir()} == {"mine.c", "mine.so", "s.yaml"}


def test_one_that_was_cut_off_anywhere(here: Path) -> None:
    """What is missing may be nothing that is needed."""
    whole = built(here / "built").read_bytes()
    lengths = [0, 3, 64, 700, *range(1 << 12, len(whole), len(whole) // 8), len(whole) - 1]
    refused = list[str]()
    for length in lengths:
        (here / "cut.so").write_bytes(whole[:length])
        done = ringhil("run", "s.yaml", "--firmware", "a.1=./cut.so", cwd=here)
        if done.returncode == 2:
            (line,) = done.stderr.splitlines()
            assert line.startswith("ringhil: --firmware a.1=./cut.so: ")
            refused.append(line)
        else:
            assert (done.returncode, done.stderr) == (0, "")
    assert len(refused) > len(lengths) // 2
    assert any(f"crashes (Bus error) when it is loaded; {WANTED}" in line for line in refused)
