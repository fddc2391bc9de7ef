"""The page that `--html FILE` asks for: refused before anything is played, written whole."""

import os
from pathlib import Path

import click

from ringhil.emulator.files import is_stream, reason_of, write_whole


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
