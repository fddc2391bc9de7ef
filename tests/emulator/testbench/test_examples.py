"""The code of the page about the kit is whole files that run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "testbench.md"
_BLOCK = re.compile(r"^```(?:python|systemverilog)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"`(\w+\.(?:py|sv))`[^\n`]*:\n\n^```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow(part="benches")
def test_the_examples_of_the_kit_run(pytester: pytest.Pytester) -> None:
    files = dict(_NAMED.findall(PAGE.read_text()))
    assert [*files.values()] == _BLOCK.findall(PAGE.read_text()), "each block has its file's name before it"
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    benches = {name.removesuffix(".py") for name in files if name.startswith("bench_")}
    assert benches == set(re.findall(r'ringhil_bench\("(\w+)"', files["test_kit.py"])), "each is run"
    pytester.runpytest_subprocess("-n0").assert_outcomes(passed=len(benches))
