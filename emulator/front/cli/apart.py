"""What a command writes must not take the place of what it reads or keeps."""

from collections.abc import Iterable
from pathlib import Path

import click


def check_apart(kept: Iterable[Path | None], **written: Path | None) -> None:
    """Raises UsageError when a file `written`, given by option, is one of those that are `kept`."""
    files = [path for path in kept if path is not None]
    for option, path in written.items():
        if path is not None and any(_same(path, file) for file in files):
            raise click.UsageError(f"--{option} {path}: that would take the place of what is read or kept")


def _same(one: Path, other: Path) -> bool:
    try:
        # A terminal or a pipe may be read and written at the same time.
        return one.samefile(other) and one.is_file()
    except (OSError, ValueError):  # one of them isn't there yet
        return one.absolute() == other.absolute()
