"""Finds the scenario files below paths.

A file counts when its name ends in .yaml, .yml or .json and it has a top-level key `server`. Left out are hidden files
and folders, and what verify itself has left of failures: folders with a `replay.json`. A file that is named counts
whatever it is, so that a mistake in it is shown and not passed over.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.scenario.yaml.events import MAX_BYTES
from ringhil.emulator.scenario.yaml.parse import parse

REPLAY = "replay.json"
SUFFIXES = (".yaml", ".yml", ".json")

_BLOCK = re.compile(rb"""^(?:\xef\xbb\xbf)?(?:server|"server"|'server')[ \t]*:(?:[ \t\r]|$)""", re.MULTILINE)
_FLOW = re.compile(rb"""\A(?:\xef\xbb\xbf)?(?:[ \t\r\n]|#[^\n]*\n|---)*\{""")

_ANYWHERE = re.compile(rb"""["']?server["']?[ \t]*:""")
_CARDS = re.compile(rb"""["']?\bcards["']?[ \t]*:""")


class VerifyError(RinghilError, ValueError):
    """What is asked for can't be verified or reported; the message is one line."""


def discover(paths: Iterable[Path]) -> list[Path]:
    """The scenario files at and below `paths`, sorted, each once. Raises VerifyError if there is no such file."""
    wanted = list(paths)
    found = sorted({os.path.normpath(file): None for path in wanted for file in _below(path)})
    if not found:
        where = ", ".join(map(str, wanted)) or "no path"
        raise VerifyError(f"{where}: no scenario found; that is a YAML or JSON file with a top-level key 'server'")
    return [Path(name) for name in found]


def looks_like_scenario(file: Path) -> bool:
    """Whether the file has a top-level key `server`; False also when it can't be read.

    In a doubtful case, such as JSON with a mistake in it, it has: the mistake should come to light.
    """
    head = _head(file)
    if not _FLOW.match(head):
        return _BLOCK.search(head) is not None
    if not _ANYWHERE.search(head):
        return False
    try:
        data = parse(head.decode("utf-8"), str(file)).data
    except (ScenarioError, UnicodeDecodeError):
        return True
    return isinstance(data, dict) and "server" in data


def speaks_of_cards(file: Path) -> bool:
    """Whether there is a key `cards`; other people's files may have a server, but hardly cards."""
    return _CARDS.search(_head(file)) is not None


def _head(file: Path) -> bytes:
    try:
        with open_input(file) as content:
            return content.read(MAX_BYTES)
    except OSError:
        return b""


def _below(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise VerifyError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if REPLAY in files:
            continue
        for name in files:
            file = Path(folder, name)
            if name.endswith(SUFFIXES) and not name.startswith(".") and looks_like_scenario(file):
                yield file


def _unreadable(error: OSError) -> None:
    raise VerifyError(f"{error.filename}: cannot be read: {reason_of(error)}") from None
