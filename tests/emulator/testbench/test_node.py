"""The kit against a node of ours, on both simulators; what a failing bench leaves behind."""

import re
import shutil
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.testbench.build import SIMULATORS, Simulator, build_bench, node_sources
from ringhil.emulator.testbench.runner import run_bench

SOURCES = node_sources()
HERE = Path(__file__).parent


def needs(simulator: str) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_kit(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    needs(simulator)
    ringhil_bench("bench_node", "node_bench", SOURCES, simulator=simulator)


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
    (waves,) = (folder / "kept").iterdir()
    assert waves.suffix == ".fst"
    assert waves.stat().st_size > 1000
    found = {p.get("name"): p.get("value") for p in ElementTree.parse(folder / "out.xml").iter("property")}
    assert (found["seed"], found["simulator"], found["waves"]) == ("9", "verilator", str(waves))


def test_a_bench_that_never_ends_is_ended(tmp_path: Path) -> None:
    (tmp_path / "bench_endless.py").write_text(
        "import cocotb\n@cocotb.test()\nasync def endless(dut):\n    while True:\n        pass\n"
    )
    bench = build_bench("verilator", "node_bench", SOURCES)
    with pytest.raises(BuildError, match="took longer than 3 s"):
        run_bench(bench, ["bench_endless"], tmp_path / "run", paths=[tmp_path], patience=3)


def test_icarus_counts_no_coverage() -> None:
    with pytest.raises(BuildError, match="use verilator"):
        build_bench("icarus", "node_bench", SOURCES, coverage=True)
