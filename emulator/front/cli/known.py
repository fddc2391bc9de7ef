"""`--known FILE` and `--today DAY`: failures that are no news. Only here it is asked which day it is."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import click

from ringhil.emulator.front.cli.options import FILE
from ringhil.emulator.judge.known import KnownFailures, day

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _day(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else day(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None


def known_options(command: _Command) -> _Command:
    """Both."""
    said = (
        "Failures that are known, each with a reason and a last day: they don't fail; what is gone all the same does."
    )
    file = click.option("--known", type=FILE, metavar="FILE", help=said)
    when = click.option(
        "--today", callback=_day, metavar="DAY", help="Day for --known, such as 2026-12-31.  [default: today]"
    )
    return file(when(command))


def known_of(file: Path | None, today: str | None) -> KnownFailures:
    """The list on that day. Raises UsageError and ScenarioError."""
    if file is None:
        if today is not None:
            raise click.UsageError("--today: it is the day for --known FILE, which is missing")
        return KnownFailures()
    return KnownFailures.load(file, today or date.today().isoformat())
