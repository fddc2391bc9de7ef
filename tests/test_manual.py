"""`make man`: a manual page for each command, which has each of its options."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ringhil.emulator.front.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """All that can be called, by the names of their pages."""
    yield name, command
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for each in command.list_commands(context):
                below = command.get_command(context, each)
                assert below is not None
                yield from commands(below, f"{name}-{each}")


def test_each_command_has_a_page_with_all_its_options(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "man.py", tmp_path], check=True, timeout=120)
    there = dict(commands(cli, "ringhil"))
    assert {page.name for page in tmp_path.iterdir()} == {f"{name}.1" for name in there}
    for name, command in there.items():
        text = (tmp_path / f"{name}.1").read_text().replace("\\-", "-")
        options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        found = set(re.findall(r"--[a-z][a-z-]*", text))
        assert {word for option in options for word in option.opts if word.startswith("--")} <= found, name
