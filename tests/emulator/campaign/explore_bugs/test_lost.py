"""Ten runs that fail by a seeded bug: `doomed` names the event by which each was lost.

`python -m tests.emulator.campaign.explore_bugs.lost` prints what it says of each.
"""

from pathlib import Path

import pytest

from ringhil.emulator.scenario import loads

from .lost import LOST, PERIOD, Lost, doomed


def test_there_are_ten_each_of_which_is_a_scenario() -> None:
    assert len({lost.bug for lost in LOST}) == 10
    for lost in LOST:
        assert any(event.at == lost.at for event in loads(lost.scenario).timeline)
        assert f"census_period: {PERIOD}," in lost.scenario


@pytest.mark.slow(part="bugs")
@pytest.mark.parametrize("lost", LOST, ids=lambda lost: lost.bug)
def test_the_event_by_which_a_run_was_lost_is_named(lost: Lost, tmp_path: Path) -> None:
    found = doomed(lost, tmp_path)
    for name in ("likely", "certain"):
        assert found[name] is not None
        assert found[name]["main"]["kind"] == "Struck"
        assert abs(found[name]["main"]["cycle"] - lost.at) <= PERIOD
