"""The first bench of docs/reference/hardware.md, as it stands there: it fails, and passes once it is put right."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "hardware.md"


@pytest.mark.slow(part="benches")
def test_the_first_bench_fails_and_then_passes(pytester: pytest.Pytester) -> None:
    section = PAGE.read_text().split("## A first bench")[1].split("\n## ")[0]
    bench, test = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (pytester.path / "bench_mine.py").write_text(bench)
    (pytester.path / "test_mine.py").write_text(test)
    failing = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    failing.assert_outcomes(failed=1)
    shown = re.search(r"^a_gpu_counts_itself_in: .*$", section, re.MULTILINE)
    assert shown is not None
    assert shown[0] in failing.stdout.str()
    assert re.search(r"^waves .*dump\.fst$", failing.stdout.str(), re.MULTILINE)
    (pytester.path / "bench_mine.py").write_text(bench.replace("count == 1\n", "count == 2\n"))
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)
