"""Files that a command writes: refused before anything is played where they can't be written, or would take the place
of what is read or kept; whole in the end, or not there."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from ringhil.emulator.files import AtomicFile, NobodyReadsError, is_stream, reason_of, shown, write_whole
from ringhil.emulator.pages import junit
from ringhil.emulator.pages.one_file import PageError, report_parts


def check_apart(kept: Iterable[Path | None], **written: Path | None) -> None:
    """Raises UsageError when a file `written`, given by option, is one of those that are `kept`."""
    files = [path for path in kept if path is not None]
    for option, path in written.items():
        if path is not None and any(_same(path, file) for file in files):
            given = f"-{option}" if len(option) == 1 else f"--{option}"
            raise click.UsageError(f"{given} {path}: that would take the place of what is read or kept")


def check_new(option: str, *paths: Path) -> None:
    """Raises UsageError where a file is there: somebody may have changed it by hand."""
    for path in paths:
        if path.exists() and not is_stream(path) and not path.is_dir():
            raise click.UsageError(f"{option}: {shown(path)} is there already; name another file, or remove it")


def _same(one: Path, other: Path) -> bool:
    try:
        # A terminal or a pipe may be read and written at the same time.
        return one.samefile(other) and one.is_file()
    except (OSError, ValueError):  # one of them isn't there yet
        return one.absolute() == other.absolute()


def must_be_writable(path: Path | None) -> None:
    """In a folder that is made when it isn't there. Raises ClickException."""
    if path is None or is_stream(path):
        return
    make_folder(path.parent)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise click.ClickException(f"{path}: cannot be written; name a file in a folder that can be written to")


def report_must_be_possible(path: Path | None) -> None:
    """The same, and what reports are made of is there. Raises ClickException."""
    must_be_writable(path)
    if path is not None:
        try:
            report_parts()
        except PageError as error:
            raise click.ClickException(str(error)) from None


def make_folder(path: Path) -> None:
    """Where files are to be written. Raises ClickException."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def write_page(path: Path, text: str) -> None:
    """Raises ClickException."""
    try:
        write_whole(path, text)
        _written.add(path)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written: {reason_of(error)}") from None


_written: set[Path] = set()  # reports of this process, or what there was room for of them


class Output:
    """A file that appears when `write` is called, in a folder that is made when it isn't there. `wait`: for somebody
    who reads a FIFO; without it NobodyReadsError is raised. Raises ClickException."""

    def __init__(self, path: Path, *, wait: bool = True) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AtomicFile(path, wait=wait)
        except NobodyReadsError:
            raise
        except OSError as error:
            raise _unwritable(path, error) from None

    def write(self, text: str) -> None:
        """All of it."""
        assert self._file.file is not None
        try:
            _written.add(self._path)
            self._file.file.write(text)
            self._file.commit()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.__exit__(kind, error, tb)


def refuse_in_junit(path: Path, command: str, message: str) -> None:
    """Nothing came of a command that was to report there: an earlier report must not speak for it. Leaves alone what is
    no report, such as a scenario that was named by mistake, and what this very command has written."""
    with suppress(OSError, ValueError, click.ClickException):
        if not path.is_file() or _begins(path, b"<", b""):
            _replace(path, junit.refused(command, message))


def refuse_in_page(path: Path, command: str, message: str) -> None:
    """The same of a page, where there is an earlier one."""
    with suppress(OSError, ValueError, click.ClickException):
        if path.is_file() and _begins(path, b"<!doctype html", b"<html"):
            title = escape(f"{command}: nothing came of it")
            head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{title}</title>'
            _replace(path, f'<!doctype html><html lang="en">{head}<h1>{title}</h1><p>{escape(message)}</p></html>\n')


def refuse_in_code_quality(path: Path, command: str, message: str) -> None:
    """The same of a Code Quality report."""
    with suppress(OSError, ValueError, click.ClickException):
        if path.is_file() and _begins(path, b"["):
            issue = {"description": message, "check_name": command, "severity": "blocker"}
            where = {"fingerprint": command, "location": {"path": ".", "lines": {"begin": 1}}}
            _replace(path, json.dumps([issue | where], indent=2) + "\n")


# What becomes of a report, by the option that names it.
REFUSED = {
    "--junit": refuse_in_junit,
    "--codequality": refuse_in_code_quality,
    "--html": refuse_in_page,
    "--report": refuse_in_page,
}


def _replace(path: Path, text: str) -> None:
    if path not in _written:
        with Output(path, wait=False) as file:
            file.write(text)


def _begins(path: Path, *words: bytes) -> bool:
    with path.open("rb") as file:
        found = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return any(found.startswith(word) if word else not found for word in words)


def append(path: Path, text: str) -> None:
    """Add to a file that others write to as well. Raises ClickException."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> click.ClickException:
    return click.ClickException(f"{shown(path)}: cannot be written: {reason_of(error)}")
