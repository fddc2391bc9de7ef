"""A path that is empty, as of a variable that isn't set, is refused: it would be the current directory."""

from pathlib import Path

import click
from tests.command import refusal
from tests.emulator.front.test_printed import EVERY


def refused(command: click.Command, parameter: click.Parameter) -> bool:
    try:
        parameter.type.convert("", parameter, click.Context(command))
    except click.BadParameter as error:
        return error.message == "found ''; allowed is a path"
    return False


def test_no_command_takes_an_empty_one() -> None:
    of_path = {
        " ".join((*words, parameter.opts[-1])): refused(command, parameter)
        for words, command in EVERY.items()
        for parameter in command.params
        if isinstance(parameter.type, click.Path)
    }
    assert {"verify paths", "run --record"} <= {*of_path}
    assert [name for name, found in of_path.items() if not found] == []


def test_an_empty_one_plays_nothing(tmp_path: Path) -> None:
    """What is in the current directory isn't what was asked for."""
    (tmp_path / "s.yaml").write_text("name: s\n")
    assert refusal("verify", "", cwd=tmp_path).endswith("'PATH...': found ''; allowed is a path")
    assert refusal("card", "", "census").endswith("'URL': found ''; allowed is a serial port or a URL")
