"""Files that a command writes: refused before anything is played where they can't be written, or would take the place
of what is read or kept; whole in the end, or not there."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ringhil.emulator.files import AtomicFile, is_stream, reason_of, shown, write_whole


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


def must_be_writable(path: Path | None) -> None:
    """Raises ClickException."""
    if path is not None and not is_stream(path) and (path.is_dir() or not os.access(path.parent, os.W_OK)):
        raise click.ClickException(f"{path}: cannot be written; name a file in a folder that can be written to")


def write_page(path: Path, text: str) -> None:
    """Raises ClickException."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {reason_of(error)}") from None


@contextmanager
def report_file(path: Path | None) -> Iterator[Callable[[str], None]]:
    """What writes a report whole, if one is wanted; refused before anything is played if it can't."""
    if path is None:
        yield lambda text: None
        return
    with _cannot_be_written(path):
        file = AtomicFile(path)

    def write(text: str) -> None:
        assert file.file is not None
        with _cannot_be_written(path):
            file.file.write(text)
            file.commit()

    with file:
        yield write


@contextmanager
def _cannot_be_written(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"{shown(path)}: cannot be written: {reason_of(error)}") from error
