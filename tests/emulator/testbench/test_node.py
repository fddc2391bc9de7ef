"""The kit against a node of ours, on both simulators; what a failing bench leaves behind."""

import os
import re
import shutil
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.testbench.build import SIMULATORS, Bench, Simulator, build_bench, node_sources
from ringhil.emulator.testbench.runner import run_bench

SOURCES = node_sources()
HERE = Path(__file__).parent


def needs(simulator: str) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_kit(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    needs(simulator)
    ringhil_bench("bench_node", "node_bench", SOURCES, simulator=simulator)


@pytest.mark.rest
def test_wrong_arguments_of_a_node_are_told(ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("bench_arguments", "node_bench", SOURCES)


@pytest.mark.rest
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_seed_is_replayed(simulator: Simulator, tmp_path: Path) -> None:
    needs(simulator)
    bench = build_bench(simulator, "node_bench", SOURCES)
    said = {}
    for seed in (5, 5, 6):
        run = run_bench(bench, ["bench_failing"], tmp_path / "run", seed=seed, paths=[HERE])
        (failed,) = run.failed
        alone = run_bench(bench, ["bench_failing"], tmp_path / "alone", seed=seed, paths=[HERE], tests=["sometimes"])
        assert [r.failure for r in alone.results] == [failed.failure], "alone it fails in the same way"
        said.setdefault(seed, set()).add(failed.failure)
        seeds = {p.get("value") for p in ElementTree.parse(run.xml).iter("property") if p.get("name") == "random_seed"}
        assert seeds == {str(seed)}, "cocotb's results name the seed"
    assert len(said[5]) == 1
    assert said[5] != said[6]


AROUND = {
    "COCOTB_TEST_FILTER": "never$",
    "COCOTB_TESTCASE": "never",
    "COCOTB_TEST_MODULES": "nowhere",
    "COCOTB_TOPLEVEL": "nowhere",
    "COCOTB_RANDOM_SEED": "77",
    "COCOTB_PLUSARGS": "+more",
    "COCOTB_RESOLVE_X": "never",
    "COCOTB_LOG_LEVEL": "never",
    "COCOTB_ATTACH": "60",
    "COCOTB_MAX_FAILURES": "1",
    "COCOTB_PYTEST_ARGS": "never",
    "GPI_USERS": "nowhere.so;nothing",
    "GPI_EXTRA": "nowhere.so",
    "GPI_LOG_LEVEL": "never",
    "PYGPI_ENTRY_POINT": "nowhere:nothing",
    "PYGPI_PYTHON_BIN": "/nowhere",
    "PYGPI_USERS": "nowhere:nothing",
    "PYTHONHOME": "/nowhere",
    "PYTHONOPTIMIZE": "2",  # without this bench's assertions nothing could fail
    "PYTEST_ADDOPTS": "--never",
    "TESTCASE": "never",
    "TOPLEVEL": "nowhere",
    "MODULE": "nowhere",
    "RANDOM_SEED": "77",
    "PLUSARGS": "+more",
    "VERILATOR_ROOT": "/nowhere",
    "RINGHIL_CHECK_RULES": "never",
}


@pytest.mark.rest
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_what_is_set_around_a_bench_changes_nothing(
    simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(simulator)
    bench = build_bench(simulator, "node_bench", SOURCES)
    before = run_bench(bench, ["bench_failing"], tmp_path / "before", seed=5, paths=[HERE]).results
    for name, value in AROUND.items():
        monkeypatch.setenv(name, value)
    assert run_bench(bench, ["bench_failing"], tmp_path / "within", seed=5, paths=[HERE]).results == before
    assert [result.failure for result in before if result.failure]


@given(st.sets(st.from_regex(r"\A(COCOTB|GPI|PYGPI|PYTEST|VERILATOR|RINGHIL_CHECK|CFLAGS|MAKE)[A-Z_]{0,9}\Z")))
def test_only_what_is_given_reaches_a_program(around: set[str]) -> None:
    with mock.patch.dict(os.environ, {**AROUND, **dict.fromkeys(around, "x"), "PATH": "/bin"}, clear=True):
        assert child_environment() == {"PATH": "/bin", "LC_ALL": "C"}
        given = {"COCOTB_TEST_FILTER": "good$"}
        assert child_environment(given) == {"PATH": "/bin", "LC_ALL": "C"} | given


@pytest.mark.parametrize(
    ("python", "says"), [(None, "no shared library"), ("/a;b/libpython3.so", "/a;b/libpython3.so: cocotb can't")]
)
def test_a_python_that_no_simulation_can_load_is_told(python: str | None, says: str, tmp_path: Path) -> None:
    bench = Bench("verilator", "node_bench", tmp_path, "", True)
    library = mock.patch("find_libpython.find_libpython", return_value=python)
    with library, pytest.raises(BuildError, match=says) as told:
        run_bench(bench, ["bench_failing"], tmp_path / "run")
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.rest(but_one_in=3, start=2)
@pytest.mark.parametrize("level", ["", "INFO", "DEBUG"])
def test_the_kit_says_what_it_sends_and_takes_when_asked(level: str, tmp_path: Path) -> None:
    bench = build_bench("verilator", "node_bench", SOURCES)
    settings = {"RINGHIL_LOG": level} if level else {}
    tests = ["a_pause_generator_stretches_a_frame", "a_quiet_monitor_sleeps"]
    run = run_bench(bench, ["bench_node"], tmp_path, paths=[HERE], settings=settings, tests=tests)
    assert not run.failed
    said = re.findall(r"cocotb\.ringhil\.(\w+) +(.*)", run.log.read_text())
    frames = [(where, words.partition(":")[0]) for where, words in said if where in ("p1", "p2")]
    expected = [("p1", "TX control election, 5 flits"), ("p2", "RX control election, 5 flits")]
    assert frames[:2] == (expected if level else [])
    assert (("registers", "write heartbeat = 0x0") in said) == (level == "DEBUG"), said


@pytest.mark.slow(part="benches")
def test_a_failing_bench_fails_with_seed_and_waves(pytester: pytest.Pytester) -> None:
    folder = pytester.path
    (folder / "bench_failing.py").write_text((HERE / "bench_failing.py").read_text())
    (folder / "test_it.py").write_text(
        textwrap.dedent("""
            from ringhil.emulator.testbench.build import node_sources

            def test_it(ringhil_bench):
                ringhil_bench("bench_failing", "node_bench", node_sources())
        """)
    )
    command = ["--ringhil-seed=9", f"--ringhil-waves={folder / 'kept'}", "--junitxml=out.xml", "-n0"]
    result = pytester.runpytest_subprocess(*command)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert re.search(r"^sometimes: .*drew \d+", text, re.MULTILINE)
    assert "always" not in text
    assert "--ringhil-seed=9" in text
    (waves,) = (folder / "kept").glob("*.fst")
    assert waves.with_suffix(".gtkw").is_file()
    assert waves.suffix == ".fst"
    assert waves.stat().st_size > 1000
    found = {p.get("name"): p.get("value") for p in ElementTree.parse(folder / "out.xml").iter("property")}
    assert (found["seed"], found["simulator"], found["waves"]) == ("9", "verilator", str(waves))


def test_icarus_counts_no_coverage() -> None:
    with pytest.raises(BuildError, match="use verilator"):
        build_bench("icarus", "node_bench", SOURCES, coverage=True)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("control", "pin"), [("8'bx", "p1_tx_ctl_o"), ("8'h40", "p1_tx_data_o"), ("8'h41", "p1_tx_data_o")]
)
def test_a_pin_that_is_not_known_is_named(control: str, pin: str, tmp_path: Path) -> None:
    """Unknown control bits; unknown data, in a flit and without one."""
    needs("icarus")
    source = tmp_path / "unknown.sv"
    ports = "input logic clk_i, output logic [63:0] p1_tx_data_o, output logic [7:0] p1_tx_ctl_o"
    source.write_text(f"module unknown ({ports});\n  assign p1_tx_ctl_o = {control};\nendmodule\n")
    bench = build_bench("icarus", "unknown", [source])
    (result,) = run_bench(bench, ["bench_unknown"], tmp_path / "run", paths=[HERE]).results
    assert re.search(rf"p1 out, cycle 7: {pin} is [XZ]+[:;]", str(result.failure))
