"""Mistakes of one line in the firmware in C: what `firmware check` plays against it alone finds each by its rule."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.loop.alone.cases import LONE_PROMISES
from ringhil.emulator.loop.checking import FirmwareFinding, checked
from ringhil.emulator.loop.loading import firmware_named
from ringhil.emulator.pages.verdicts import RuleState

from .firmware_mistakes import MISTAKES, Compiled

ALONE = tuple(LONE_PROMISES)
BY_OTHERS = {"lease.own_epochs"}  # no single line in C breaks it: test_firmware_check.py does


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled(tmp_path_factory.mktemp("firmware"))


def found(library: Path, rules: Sequence[str] = ALONE) -> list[FirmwareFinding]:
    """What is broken."""
    findings = checked(firmware_named(str(library)), rules, cells_library())
    return [each for each in findings if each.state is RuleState.BROKEN]


@pytest.mark.rest
def test_without_a_mistake_nothing_is_found(compiled: Compiled) -> None:
    assert found(compiled.right()) == []


@pytest.mark.slow(part="bugs")
@pytest.mark.parametrize("name", MISTAKES)
def test_each_is_found_by_its_rules_and_no_other(name: str, compiled: Compiled) -> None:
    assert tuple(each.rule for each in found(compiled.wrong(name, MISTAKES[name]))) == MISTAKES[name].rules


@pytest.mark.rest(but_one_in=9)
@pytest.mark.parametrize("name", sampled(MISTAKES, "bugs", 3))
def test_each_is_found_by_its_rules(name: str, compiled: Compiled) -> None:
    broken = found(compiled.wrong(name, MISTAKES[name]), MISTAKES[name].rules)
    assert tuple(each.rule for each in broken) == MISTAKES[name].rules
    for each in broken:
        (line,) = each.failures
        assert line.startswith("cycle "), line
        assert "; " in line, line
        assert "\n" not in line, line


def test_each_rule_is_broken_by_some_mistake() -> None:
    assert {rule for mistake in MISTAKES.values() for rule in mistake.rules} == {*ALONE} - BY_OTHERS
