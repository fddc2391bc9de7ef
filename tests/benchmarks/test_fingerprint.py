"""What a change is compared by reads every file that it names."""

import pytest
from benchmarks.fingerprint import files, tasks


@pytest.mark.slow(part="scenarios")
def test_each_scenario_file_gives_runs() -> None:
    assert {file for file, _ in tasks() if file.endswith(".yaml")} == {*files()}
