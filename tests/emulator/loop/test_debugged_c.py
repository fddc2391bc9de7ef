"""Firmware in C under a debugger: its variables by name, and a run that waits for gdb."""

import ctypes
import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.command import ringhil, started
from tests.firmware.c.library import made_by_make

from ringhil.emulator.loop.variables import variables_of

PTRACE_SEIZE = 0x4206  # attaches, and stops nothing
SOURCE = """
#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
enum mood { CALM, CROSS = 7, BELOW = -2 };
typedef struct { uint8_t kind; union { uint32_t whole; uint16_t half[2]; }; } part;
struct gpu {
    uint32_t epoch; int64_t due; enum mood mood; bool up; float share; double load;
    unsigned low : 3, high : 5; int sign : 4; uint8_t id[4]; const part parts[2]; int16_t grid[2][3]; struct gpu *next;
};
volatile int counter = -5;
static volatile uint64_t large[100] = {1, 2};
uint8_t name[200] = {0xab};
void *nowhere = 0;
extern int elsewhere;
static int counted(void) { static int calls; return ++calls; }
size_t rhf_size(void) { return sizeof(struct gpu); }
size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room) {
    struct gpu *gpu = state;
    gpu->epoch = 4000000000u; gpu->due = -1; gpu->mood = BELOW; gpu->up = 1; gpu->share = 0.5f; gpu->load = -0.25;
    gpu->low = 5; gpu->high = 17; gpu->sign = -3; gpu->id[1] = 2; gpu->grid[1][0] = -7;
    ((part *)gpu->parts)[1].kind = 9; ((part *)gpu->parts)[1].whole = 0x00020001;
    gpu->next = (struct gpu *)(large[0] * 0x1000);
    return (size_t)(counted() + counter + request[0] + length + answer[0] + room);
}
"""
STATE = {
    "epoch": 4_000_000_000,
    "due": -1,
    "mood": "BELOW",
    "up": True,
    "share": 0.5,
    "load": -0.25,
    "low": 5,
    "high": 17,
    "sign": -3,
    "id": "00020000",
    "parts": [{"kind": 0, "whole": 0, "half": [0, 0]}, {"kind": 9, "whole": 0x20001, "half": [1, 2]}],
    "grid": [[0, 0, 0], [-7, 0, 0]],
    "next": "0x1000",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_by_make(tmp_path_factory.mktemp("library"), "CFLAGS=-g") / "libringhil_gpu.so"


@pytest.mark.parametrize("options", ["-g", "-gdwarf-3", "-gdwarf-4 -O2", "-gdwarf-5 -O2", "-g0"])
def test_each_kind_of_type_reads_as_it_was_set(options: str, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(SOURCE)
    path = tmp_path / "x.so"
    subprocess.run(["cc", *options.split(), "-shared", "-fPIC", "x.c", "-o", path], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(path))
    size = library.rhf_size()
    found = variables_of(path, size)
    if options == "-g0":
        assert found is None
        return
    state = ctypes.create_string_buffer(size)
    library.rhf_answer(state, b"\\0", 1, ctypes.create_string_buffer(1), 1)
    assert found is not None
    (counter,) = (each.address for each in found.found if each.name == "counter")
    base = ctypes.addressof(ctypes.c_int.in_dll(library, "counter")) - counter
    values = found.values(lambda at, n: ctypes.string_at(base + at, n), lambda at, n: state.raw[at : at + n])
    assert values.pop("state") == STATE
    assert values == {
        "counter": -5,
        "large": [1, 2, *[0] * 62, "..."],
        "name": "ab" + 199 * "00",
        "nowhere": "0x0",
        "counted.calls": 1,
    }
    assert {*found.values(lambda at, n: b"", lambda at, n: b"").values()} == {None}


@pytest.mark.parametrize("cut", range(0, 100, 7))
def test_a_library_that_is_damaged_has_none_or_some(cut: int, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "x.c", "-o", "x.so"], cwd=tmp_path, check=True)
    data = bytearray((tmp_path / "x.so").read_bytes())
    for at in range(cut + 64, len(data), 101):
        data[at] ^= 0x55
    (tmp_path / "x.so").write_bytes(data)
    found = variables_of(tmp_path / "x.so", 8)
    assert found is None or len(found.found) <= 500


@pytest.mark.rest
def test_state_of_a_gpu_has_them(library: Path, tmp_path: Path) -> None:
    """Of the run's own moment: what `boot` has said."""
    (tmp_path / "s.yaml").write_text("server: {cards: {a: {gpus: 4}}, settings: {census_period: 3000}}\nuntil: 9000\n")
    (tmp_path / "script").write_text("until cycle >= 5000\nstate a.2\n")
    firmware = f"a.2={library}"
    done = ringhil("step", "s.yaml", "--firmware", firmware, "--script", "script", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    boot = json.loads(done.stdout.splitlines()[-1])["firmware"]["variables"]["state"]["boot"]
    assert (boot["card"], boot["gpu"], boot["gpus"], boot["period"]) == (0, 2, 4, 3000)


def test_a_variable_is_watched(library: Path, tmp_path: Path) -> None:
    """The next change of it is where `state` says that it is another, and not in the cycle before."""
    text = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}, settings: {census_period: 3000}}\nuntil: 9000\n"
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "script").write_text(
        "go 4000\nstate a.1\nwatch a.1 state.entry.sequence\nstate a.1\n"
        "watch a.1 variables.state.entry.peers[0].sequence\nstate a.1\nwatch a.1 state.boot.gpu\n"
    )
    firmware = f"a.1={library}"
    done = ringhil("step", "s.yaml", "--firmware", firmware, "--script", "script", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    _, before, own, then, peer, later, never = map(json.loads, done.stdout.splitlines())
    entries = [each["firmware"]["variables"]["state"]["entry"] for each in (before, then, later)]
    assert own["changed"]["state.entry.sequence"] == entries[0]["sequence"] + 1 == entries[1]["sequence"]
    assert own["message"]["kind"] == "keepalive"
    assert own["message"]["cycle"] == own["changed"]["cycle"]
    name = "variables.state.entry.peers[0].sequence"
    assert peer["changed"][name] == entries[1]["peers"][0]["sequence"] + 1 == entries[2]["peers"][0]["sequence"]
    assert not never["moved"]


@pytest.mark.rest
def test_it_waits_for_a_debugger_and_the_run_is_the_same(library: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("server: {cards: {a: {gpus: 4}}}\nuntil: 9000\n")
    with started(
        *("run", "s.yaml", "--record", "stopped", "--firmware", f"a.0={library},gdb=3000"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stderr is not None
        said = re.fullmatch(
            r".*GPU 0 of card 0, cycle 3\d+: waits for a debugger: gdb -p (\d+)\n", run.stderr.readline()
        )
        assert said is not None
        assert run.poll() is None
        assert ctypes.CDLL(None).ptrace(PTRACE_SEIZE, int(said[1]), None, None) == 0
        _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (0, "")
    ringhil("run", "s.yaml", "--record", "whole", "--firmware", f"a.0={library}", cwd=tmp_path)
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()
