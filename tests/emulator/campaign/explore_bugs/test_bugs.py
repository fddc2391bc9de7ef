"""Twenty mistakes, one at a time: `ringhil explore` finds each, and makes what it has found small.

One is looked for every day; the rest, most of which cost a build of the RTL or some time, by `make soak`.
"""

from pathlib import Path

import pytest

from ringhil.emulator.scenario import INVARIANTS

from .bugs import BUGS, Bug
from .hunt import ROOT, copy_of_the_package, hunt, python

DAILY = [bug for bug in BUGS[:3] if not bug.file.startswith("rtl/")]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is."""
    return copy_of_the_package(tmp_path_factory.mktemp("sound"))


def seeded(bug: Bug) -> object:
    return pytest.param(bug, id=bug.name, marks=[] if bug in DAILY else [pytest.mark.slow(part="bugs")])


def test_there_are_twenty_different_ones() -> None:
    assert len({bug.name for bug in BUGS}) == len({(bug.file, bug.after) for bug in BUGS}) == len(BUGS) == 20
    assert sum(bug.file.startswith("rtl/") for bug in BUGS) == 12


def test_each_has_its_place() -> None:
    """Once in its file, so that it can be seeded; the hunts themselves are too long for every day."""
    assert [bug.name for bug in BUGS if (ROOT / bug.file).read_text().count(bug.before) != 1] == []


@pytest.mark.rest
@pytest.mark.parametrize("bug", [seeded(bug) for bug in BUGS])
def test_a_seeded_bug_is_found_and_made_small(bug: Bug, tmp_path: Path, sound: Path) -> None:
    found = hunt(bug, tmp_path)
    assert found.number is not None, f"none of {found.cases} cases fails"
    assert found.number > 0, "it shows without any fault"
    assert found.violated in INVARIANTS
    small = found.small
    assert 1 <= len(small.timeline) <= 3
    assert {event.kind for event in small.timeline} <= set(bug.faults)
    assert sum(card.gpus for card in small.server.cards) <= 4

    # What is left fails by itself as long as the bug is there, and says how.
    assert found.shrunk is not None
    test = found.shrunk.with_name(f"test_{found.shrunk.stem}.py")
    pytest_command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", test.parent, test)
    fails = python(tmp_path / "src", *pytest_command)
    assert fails.returncode == 1, fails.stdout + fails.stderr
    assert f"{found.violated}: " in fails.stdout
    passes = python(sound, *pytest_command)
    assert passes.returncode == 0, passes.stdout + passes.stderr
