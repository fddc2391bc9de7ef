"""How a bench ended is told: which test, where in the bench, when, what was said last; and no traceback of ours."""

import re
import textwrap
from pathlib import Path

import pytest

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.testbench.build import SIMULATORS, Simulator, build_bench, node_sources
from ringhil.emulator.testbench.listing import listed
from ringhil.emulator.testbench.results import EndedError
from ringhil.emulator.testbench.runner import run_bench

HERE = Path(__file__).parent
SOURCES = node_sources()
NODE = """
import time

import cocotb
from cocotb.triggers import Event
from ringhil.emulator.testbench.node import NodeBench

async def helper(bench):
    await bench.wait(3)
    {helper}

@cocotb.test()
async def mine(dut):
    bench = NodeBench(dut)
    await bench.start()
    await helper(bench)
"""
NOT_IMPORTED = {
    "import cocotb\n\nimport nonesuch\n": r"bench_it\.py:3: ModuleNotFoundError: No module named 'nonesuch'$",
    "def make():\n    raise ValueError('two\\nlines')\n\nmake()\n": r"bench_it\.py:2 in make: ValueError: two$",
    "x = (\n": r"bench_it\.py:1: SyntaxError: '\(' was never closed$",
    "import cocotb\n": r"no cocotb tests: mark them with @cocotb\.test\(\)$",
    None: r"there is no bench_it\.py in /.*$",
}


def written(folder: Path, helper: str) -> None:
    (folder / "bench_it.py").write_text(NODE.format(helper=helper))


@pytest.mark.rest(but_one_in=5, start=2)
@pytest.mark.parametrize("source", NOT_IMPORTED)
def test_a_bench_that_cannot_be_imported_says_where(source: str | None, tmp_path: Path) -> None:
    """In a simulation and where its tests are listed, the same."""
    if source is not None:
        (tmp_path / "bench_it.py").write_text(source)
    bench = build_bench("verilator", "node_bench", SOURCES)
    with pytest.raises(EndedError, match=NOT_IMPORTED[source]) as told:
        run_bench(bench, ["bench_it"], tmp_path / "run", paths=[tmp_path])
    with pytest.raises(BuildError, match=NOT_IMPORTED[source]) as alone:
        listed("bench_it", [tmp_path])
    assert str(alone.value) == f"bench_it: {told.value}"


@pytest.mark.rest
def test_a_failure_names_line_and_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost line of the bench, not of the kit. A folder may be relative."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "bench.ports['p1'].cut(*[1, 2, 3])")
    bench = build_bench("verilator", "node_bench", SOURCES)
    (result,) = run_bench(bench, ["bench_it"], Path("run"), paths=[tmp_path]).failed
    assert re.match(r"mine: bench_it\.py:10 in helper, cycle 6: TypeError: .*cut\(\) takes", result.told), result.told


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    ("helper", "stood"),
    [
        ("await Event().wait()", r"bench_it\.py:10 in helper, awaiting .*Event.*, cycle \d{3,} of"),
        ("await bench.ports['p1'].sink.recv()", r"bench_it\.py:10 in helper, awaiting .*Event.*, cycle \d{3,} of"),
        ("while True: await bench.wait(2)", r"bench_it\.py:10 in helper, .*cycle \d+ of"),
        ("while True: pass", r"bench_it\.py:10 in helper, cycle 6 of"),
        ("time.sleep(1000)", r"bench_it\.py:10 in helper, cycle 6 of"),
    ],
)
def test_a_bench_that_waits_for_ever_says_where(simulator: Simulator, helper: str, stood: str, tmp_path: Path) -> None:
    written(tmp_path, helper)
    bench = build_bench(simulator, "node_bench", SOURCES)
    with pytest.raises(EndedError, match=rf"longer than 5 s in mine \(seed 7\); it stood at {stood}") as told:
        run_bench(bench, ["bench_it"], tmp_path / "run", seed=7, paths=[tmp_path], patience=5)
    assert "it said last: 0.00ns INFO cocotb.regression running bench_it.mine (1/1)" in str(told.value)
    assert (told.value.test, len(str(told.value).splitlines())) == ("mine", 1)


@pytest.mark.slow(part="benches")
def test_a_simulation_is_ended_when_it_comes_no_further_however_long_it_went_on(tmp_path: Path) -> None:
    file = tmp_path / "going"
    onward = f"""for _ in range(12):
        time.sleep(1)
        with open({str(file)!r}, 'a') as going: going.write('.')
    time.sleep(1000)"""
    written(tmp_path, onward)
    bench = build_bench("verilator", "node_bench", SOURCES)
    with pytest.raises(EndedError, match=r"came no further for 10 s in mine .*; it stood at bench_it\.py:13 in"):
        run_bench(bench, ["bench_it"], tmp_path / "run", paths=[tmp_path], patience=10, going=file)
    assert file.read_text() == 12 * "."


def test_tests_of_a_bench_are_listed_as_they_are_run() -> None:
    skipped = [("skipped/times=1", True), ("skipped/times=2", True)]
    assert listed("bench_failing", [HERE]) == [("sometimes", False), ("always", False), *skipped]


@pytest.mark.slow(part="benches")
def test_one_item_for_each_test_and_one_file_for_each(pytester: pytest.Pytester) -> None:
    """Tests of the same name in two files, and of two parameters."""
    folder = pytester.path
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name in ("a", "a-"):
        (folder / name).mkdir()
        (folder / name / "bench_failing.py").write_text((HERE / "bench_failing.py").read_text())
        (folder / name / "test_it.py").write_text(
            textwrap.dedent("""
                import pytest
                from pathlib import Path
                from ringhil.emulator.testbench.build import node_sources

                @pytest.mark.cocotb_tests("bench_failing")
                @pytest.mark.parametrize("way", ["x/y", "x-y"])
                def test_it(ringhil_bench, way):
                    ringhil_bench("bench_failing", "node_bench", node_sources())

                def test_sources(ringhil_bench):
                    ringhil_bench("bench_failing", "node_bench", node_sources(Path("/none")))
            """)
        )
    result = pytester.runpytest_subprocess(
        "-n0", "--ringhil-waves=kept", "--ringhil-coverage=counted", "-k", "not always"
    )
    result.assert_outcomes(failed=2 * 2 + 2, skipped=2 * 4, deselected=2 * 2)
    text = result.stdout.str()
    assert len(list((folder / "kept").glob("*.fst"))) == 2 * 2
    assert len(list((folder / "counted").glob("*.dat"))) == 2 * 2
    assert re.search(r"^test_it\.py:12: /none: no such directory; needed is ", text, re.MULTILINE)
    assert re.search(r"^sometimes: bench_failing\.py:\d+ in sometimes, cycle \d+: drew ", text, re.MULTILINE)
    assert "Traceback" not in text
    assert "site-packages" not in text
