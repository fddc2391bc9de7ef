"""Manual pages of all commands, from what `--help` says: `python docs/man.py FOLDER`."""

import re
import sys
from importlib.metadata import version
from pathlib import Path

import click
from click_man.core import write_man_pages

from ringhil.emulator.front.cli.main import COMMANDS, cli


def load(group: click.Group) -> None:
    """All commands below: pages are written of what is loaded, and ours are loaded when they are asked for."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            group.add_command(command, name)
            if isinstance(command, click.Group):
                load(command)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    load(cli)
    cli.short_help = (cli.help or "").partition("\n")[0].rstrip(".")
    for name, what in COMMANDS.items():
        cli.commands[name].short_help = what.rstrip(".")
    write_man_pages("ringhil", cli, version=version("ringhil"), target_dir=str(folder))
    for page in folder.glob("ringhil-*.1"):  # `ringhil card URL census` has its page in ringhil-card-census.1
        page.rename(page.with_name(re.sub(r"-[A-Z]+(?=-)", "", page.name)))


if __name__ == "__main__":
    main()
