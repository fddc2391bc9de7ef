"""What a command prints with `--json` is declared and published as a schema; tests/forked.py checks what is printed."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema_rs
import pytest
from tests.forked import published

from ringhil.emulator.front.cli import explore, verify
from ringhil.emulator.front.cli.main import cli
from ringhil.emulator.front.printed import FORMS, UNNAMED, named

CLI = Path(explore.__file__).parent
OTHERS = {"place-import", "place-order", "verify-list"}  # of a command that prints its own as well


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All below it that do something."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*words, name))


EVERY = {
    **dict(commands(cli)),
    **{("explore", name): each for name, each in explore.SUBCOMMANDS.items()},
    ("verify", "compare"): verify.compare_command,
}


def test_every_command_with_json_has_a_schema() -> None:
    asked = {"-".join(words) for words, each in EVERY.items() if any("--json" in found.opts for found in each.params)}
    assert asked - {"explore-merge"} | OTHERS == {*FORMS}, "explore merge prints what explore does"


def test_nothing_is_printed_beside_them() -> None:
    printed = {path.stem for path in CLI.glob("*.py") if re.search(r"(?<!_)json\.dumps\(", path.read_text())}
    assert printed == {"terminal", "schema", "written"}, "use terminal.print_json"


@pytest.mark.parametrize("more", [{"more": 1}, {"ports": {"a": 1}}])
def test_what_is_not_published_is_refused(more: dict[str, object]) -> None:
    document = {"ready": True, "ports": {"a": ["/dev/pts/3"]}}
    assert published("serve", document) == {"schema": "serve/1", **document}
    with pytest.raises(jsonschema_rs.ValidationError):
        published("serve", document | more)


def test_lists_are_not_named() -> None:
    assert [named(name, []) for name in UNNAMED] == [[]] * len(UNNAMED)
