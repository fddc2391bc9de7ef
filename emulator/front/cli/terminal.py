"""Progress on a terminal, silence in a pipe. All of it goes to stderr."""

import errno
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from ringhil.emulator.errors import printable
from ringhil.emulator.files import is_stdout
from ringhil.emulator.front import printed
from ringhil.emulator.pages import visible
from ringhil.emulator.pages.github import at_most, on_github

# What rings are drawn with, and what stands for it where a locale has no such letters.
_PLAIN = str.maketrans("┌┐└┘─│↔…", "++++-|<~")


class _Console(Console):
    """Whoever reads it may go: that is for the command line to deal with; rich makes exit code 1 of it."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **how: Any) -> Text:
        shown = str(visible(text))
        if not self.encoding.lower().startswith("utf"):
            shown = shown.translate(_PLAIN)
        return super().render_str(shown, **how)


errors: Console = _Console(stderr=True, highlight=False)
_log = logging.getLogger(__name__)

_PIPE_WIDTH = 140  # characters; tables must not be folded where nobody sees them


def output() -> Console:
    """Results, on stdout."""
    console = _Console(highlight=False)
    return console if console.is_terminal else _Console(highlight=False, width=_PIPE_WIDTH)


def beside(as_json: bool, **reports: Path | None) -> Console:
    """Where results go beside `reports`, given by option: stderr, if a report is `-`. Raises UsageError when two things
    want standard output."""
    wanted = [f"--{option} -" for option, path in reports.items() if is_stdout(path)] + ["--json"] * as_json
    if len(wanted) > 1:
        raise click.UsageError(f"{' and '.join(wanted)} both write to standard output")
    return errors if wanted and not as_json else output()


def print_json(schema: str, document: object, indent: int | None = None) -> None:
    """The document of `--json`, or one of several, as the `schema` of this name has it."""
    click.echo(json.dumps(printed.named(schema, document), indent=indent))


def say(text: str, *, err: bool = False) -> None:
    """Lines in which there may be what a board or a file says."""
    click.echo("\n".join(map(printable, text.split("\n"))), err=err)


def annotate(errors: Callable[[], Sequence[str]], of_what: str) -> None:
    """On GitHub, show errors on the job's page; it takes commands from either stream: these go where they can't spoil a
    document. `of_what`: what each of them is about."""
    if on_github(os.environ):
        for line in at_most(errors(), of_what):
            say(line, err=True)


def _quiet() -> bool:
    """Nobody watches, or lines of the log would run through what moves."""
    return not errors.is_terminal or _log.isEnabledFor(logging.INFO)


@contextmanager
def until_terminated() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT or SIGTERM has come, by which a command that serves is ended."""
    came = list[int]()
    before = {n: signal.signal(n, lambda number, frame: came.append(number)) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def building() -> Iterator[Callable[[str], None]]:
    """Shows what a build is doing; a cache hit is over before it would be seen."""
    if _quiet():
        yield lambda text: _log.info("building the engine: %s", text)
        return
    with errors.status("engine") as status:
        yield lambda text: status.update(f"building the engine: {text}")


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Shows what is being done at the moment."""
    if _quiet():
        yield lambda text: _log.info("%s: %s", what, text)
        return
    with errors.status(what) as status:
        yield lambda text: status.update(f"{what}: {text}")


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for `done` of `total`."""
    if _quiet():
        yield lambda done, total: _log.debug("%s: %d of %d", what, done, total)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=errors, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
