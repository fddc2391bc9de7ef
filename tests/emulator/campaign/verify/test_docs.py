"""docs/howto/ci.md says what the commands do: options that exist, examples that run. tests/test_pipelines.py runs the
pipelines."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from tests import pipelines

from ringhil.emulator.front.cli.main import cli
from ringhil.emulator.judge.known import KnownFailures

from .files import GOOD, ringhil

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "howto" / "ci.md").read_text()
(LISTED,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_list_of_known_failures_is_read(tmp_path: Path) -> None:
    (tmp_path / "known.yaml").write_text(LISTED)
    one, other = KnownFailures.load(tmp_path / "known.yaml", "2026-11-30").current
    assert (one.sort, other.scenario) == (None, None)
    assert len(KnownFailures.load(tmp_path / "known.yaml", "2026-12-01").current) == 1


def commands() -> list[list[str]]:
    """Every line of the page, and of the pipelines that it says to copy, that calls ringhil, as words."""
    lines = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
    lines += [text for text in re.findall(r"`(ringhil [^`]*)`", PAGE) if " " in text]
    words = [*map(shlex.split, lines), *pipelines.commands()]
    return [w for w in words if w[0].endswith("ringhil") and len(w) > 1]


def test_the_commands_and_options_of_the_page_exist() -> None:
    found = commands()
    assert len(found) > 8
    for _, *words in found:
        while words[0].startswith("-"):  # those of ringhil itself stand before the command
            assert words.pop(0) in {option for parameter in cli.params for option in parameter.opts}
        name = words.pop(0)
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert {w for w in words if w.startswith("--")} <= known, words


def test_every_option_of_verify_stands_on_the_page() -> None:
    command = cli.get_command(click.Context(cli), "verify")
    assert command is not None
    table = PAGE.split("| option | does |", 1)[1].split("\n\n", 1)[0]
    known = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert {option for option in known if option not in table} == set()


@pytest.mark.rest
def test_the_example_for_pytest_passes(pytester: pytest.Pytester) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (settings,) = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    (pytester.path / "test_it.py").write_text(code)
    pytester.makeini(settings)
    (pytester.path / "scenarios").mkdir()
    (pytester.path / "scenarios" / "x.yaml").write_text(GOOD)
    pytester.runpytest_subprocess("-n0").assert_outcomes(passed=2)


def test_the_fields_of_the_document_are_those_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(GOOD)
    document = json.loads(ringhil(tmp_path, "verify", ".", "--json").stdout)
    section = PAGE.split("## The document of `ringhil verify --json`", 1)[1].split("\n## ", 1)[0]
    names = set(re.findall(r"`\.?(\w+)(?:\[\])?`", section))
    assert document.keys() | document["results"][0].keys() <= names
