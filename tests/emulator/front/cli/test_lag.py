"""What `serve --clock` says of a ring that is behind its clock."""

import json

import pytest

from ringhil.emulator.front.cli.paced import Lag

SECONDS = (0.0, 0.9, 1.0, 1.5, 1.9, 2.4, 4.7, 4.9, 400.0, 401.0)
TOLD = (1.0, 2.4, 4.9, 400.0)


@pytest.mark.parametrize("as_json", [False, True])
def test_it_says_so_at_a_second_and_each_time_that_it_has_doubled(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few lines, however late it is; for people beside what they read, and for programs in it."""
    lag = Lag(1_000_000, "serve" if as_json else "")
    for behind in SECONDS:
        lag.tell(behind)
    said = capsys.readouterr()
    if as_json:
        assert [json.loads(line) for line in said.out.splitlines()] == [
            {"schema": "serve/1", "behind": behind, "clock": 1_000_000} for behind in TOLD
        ]
    else:
        assert said.err.splitlines() == [f"ringhil: {each:.1f} s behind its clock of 1,000,000 Hz" for each in TOLD]
    assert (said.err if as_json else said.out) == ""


def test_without_a_clock_nothing_is_late(capsys: pytest.CaptureFixture[str]) -> None:
    Lag(None).tell(1e9)
    assert capsys.readouterr() == ("", "")
