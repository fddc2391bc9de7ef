"""Libraries that can't be firmware, whatever is the matter with them, are one line: none ends ringhil."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import refusal, ringhil, started

from .library import COMPILER, built, processes_of

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


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("says", CODE)
def test_what_crashes(here: Path, says: str) -> None:
    (here / "mine.c").write_text(CODE[says])
    subprocess.run([COMPILER, "-shared", "-fPIC", "-w", "mine.c", "-o", "mine.so"], cwd=here, check=True)
    said = refusal("run", "s.yaml", "--firmware", "a.1=./mine.so", cwd=here)
    assert said == f"ringhil: --firmware a.1=./mine.so: mine.so: {says}; {WANTED}"
    said = refusal("firmware", "check", "./mine.so", cwd=here)
    assert said == f"ringhil: mine.so: {says}; {WANTED}"
    assert {path.name for path in here.iterdir()} == {"mine.c", "mine.so", "s.yaml"}


@pytest.mark.rest
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


ENDLESS = SIZE + "size_t rhf_answer(void *a, void *b, size_t c, void *d, size_t e) { for (;;); }\n"


def endless(here: Path) -> Path:
    (here / "mine.c").write_text(ENDLESS)
    subprocess.run([COMPILER, "-shared", "-fPIC", "-w", "mine.c", "-o", "mine.so"], cwd=here, check=True)
    return here / "mine.so"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("how", [",limit=0.3", ",limit=0.5"])
def test_what_is_never_done_is_given_up(here: Path, how: str) -> None:
    endless(here)
    said = refusal("run", "s.yaml", "--firmware", f"a.1=./mine.so{how}", cwd=here)
    limit = how.partition("=")[2]
    assert said.endswith(f": mine.so: takes more than {limit} s when rhf_answer is called; {WANTED}")


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_who_is_interrupted_meanwhile_leaves_no_process(here: Path, ends: signal.Signals) -> None:
    mine = endless(here)
    words = ("run", "s.yaml", "--firmware", "a.1=./mine.so")
    with started(*words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not processes_of(mine):
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(ends)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, processes_of(mine)) == (128 + ends, [])
    assert said.strip() == ("ringhil: interrupted" if ends is signal.SIGINT else "")


SLOW = """
import time
from pathlib import Path
from ringhil.firmware.boot import Boot

class Slow:
    def __init__(self, boot: Boot) -> None:
        pass
    def start(self, now: int) -> list:
        Path("asked").touch()
        time.sleep(60)
        return []
    def on_timer(self, name: str, now: int) -> list:
        return []
    def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list:
        return []
    def on_status(self, status: int) -> None:
        pass
"""


def test_firmware_that_is_asked_when_the_run_is_ended_is_not_to_blame(here: Path) -> None:
    (here / "slow.py").write_text(SLOW)
    words = ("run", "s.yaml", "--firmware", "a.1=slow:Slow")
    with started(*words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while not (here / "asked").exists():
            assert running.poll() is None
            time.sleep(0.02)
        running.terminate()
        said, wrong = running.communicate(timeout=60)
    assert (running.returncode, said, wrong) == (128 + signal.SIGTERM, "", "")
