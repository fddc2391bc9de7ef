"""Errors of the input or the environment, as one line and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ringhil.emulator.errors import RinghilError


@contextmanager
def explained() -> Iterator[None]:
    """Turns every error of ours into a message for the user."""
    try:
        yield
    except RinghilError as error:
        raise click.ClickException(str(error)) from error
