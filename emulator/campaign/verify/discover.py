"""Finds the scenario files below paths.

A file counts when its name ends in .yaml, .yml or .json and it has a top-level key `server`, or those of a cluster of
which something is expected, `cluster` and `expect`; or when it speaks of what only scenarios have, and a key of it is a
near miss of that (`Server`, `sever`). So does a .yaml or .yml that is empty or no YAML: it may be one that was cut off.
A file that is named counts whatever it is. So a mistake in it is shown, and not passed over. Left out are hidden files
and folders, and what verify itself has left of failures: folders with a `replay.json`. Whatever else has such a name is
passed over, and that is said.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.scenario.yaml.events import MAX_BYTES, events
from ringhil.emulator.scenario.yaml.parse import parse

REPLAY = "replay.json"
_YAML = (".yaml", ".yml")
SUFFIXES = (*_YAML, ".json")

_BLOCK = re.compile(rb"""^(?:\xef\xbb\xbf)?(?:server|"server"|'server')[ \t]*:(?:[ \t\r]|$)""", re.MULTILINE)
_CLUSTER, _EXPECT = (
    re.compile(rf"""^(?:\xef\xbb\xbf)?(?:{key}|"{key}"|'{key}')[ \t]*:(?:[ \t\r]|$)""".encode(), re.MULTILINE)
    for key in ("cluster", "expect")
)
_FLOW = re.compile(rb"""\A(?:\xef\xbb\xbf)?(?:[ \t\r\n]|#[^\n]*\n|---)*\{""")

_ANYWHERE = re.compile(rb"""["']?server["']?[ \t]*:""")
_CARDS = re.compile(rb"""["']?\bcards["']?[ \t]*:""")
_OURS = re.compile(rb"""["']?\b(?:cards|host_links|timeline|expect)["']?[ \t]*:""")
_KEY = re.compile(r"""^([ \t]*)["']?([^\s"'#:{}\[\],-][^\s"'#:{}\[\],]{0,15})["']?[ \t]*:(?:\s|$)""", re.MULTILINE)
_MOST_CHANGES = 2
_MOST_BROKEN = 1 << 16  # bytes; a scenario has its `server` before that, and reading takes a second
_OWN = {"timeline", "expect", "workload", "invariants", "sharing", "switching", "sweep"}


class VerifyError(RinghilError, ValueError):
    """What is asked for can't be verified or reported; the message is one line."""


def discover(paths: Iterable[Path]) -> list[Path]:
    """The scenario files at and below `paths`, sorted, each once. Raises VerifyError if there is no such file."""
    wanted = list(paths)
    found = sorted({os.path.normpath(file): None for path in wanted for file in _below(path)})
    if not found:
        where = ", ".join(map(str, wanted)) or "no path"
        needed = "a YAML or JSON file with a top-level key 'server', or 'cluster' and 'expect'"
        raise VerifyError(f"{where}: no scenario found; that is {needed}")
    return [Path(name) for name in found]


def passed_over(paths: Iterable[Path], found: Iterable[Path]) -> list[Path]:
    """What else is below `paths` beside the scenarios `found` and might be taken for one; and links to folders, into
    which nobody looks. Raises VerifyError."""
    others: list[Path] = []
    for path in paths:
        for _ in _below(path, others.append):
            pass
    known = set(found)
    return [other for other in dict.fromkeys(Path(os.path.normpath(other)) for other in others) if other not in known]


def is_cluster(file: Path) -> bool:
    """Whether the file has a top-level key `cluster`, and no key `server`."""
    return _is_cluster(_head(file))


def _is_cluster(head: bytes, *, judged: bool = False) -> bool:
    if not _FLOW.match(head):
        found = _CLUSTER.search(head) is not None and _BLOCK.search(head) is None
        return found and (not judged or _EXPECT.search(head) is not None)
    try:
        data = parse(head.decode("utf-8"), "").data if b"cluster" in head else None
    except (ScenarioError, UnicodeDecodeError):
        return False
    return isinstance(data, dict) and "cluster" in data and "server" not in data and (not judged or "expect" in data)


def looks_like_scenario(file: Path) -> bool:
    """Whether the file has a top-level key `server`, or `cluster` and `expect`; False also when it can't be read.

    In a doubtful case, such as JSON with a mistake in it, or a key that is nearly the same in a file that is ours by
    all else, it has: the mistake should come to light.
    """
    head = _head(file)
    if _is_cluster(head, judged=True):
        return True
    if not _FLOW.match(head):
        return _BLOCK.search(head) is not None or _nearly(head)
    if not _ANYWHERE.search(head):
        return _nearly(head)
    try:
        data = parse(head.decode("utf-8"), str(file)).data
    except (ScenarioError, UnicodeDecodeError):
        return True
    return isinstance(data, dict) and ("server" in data or _nearly(head))


def _nearly(head: bytes) -> bool:
    """Whether it is a scenario but for the name of a key, or the place at which it stands."""
    if not _OURS.search(head):
        return False
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    try:
        data = parse(text, "").data
    except ScenarioError:  # then by the lines that begin as far to the left as any
        places = [(len(found[1].expandtabs()), found[2]) for found in _KEY.finditer(text)]
        least = min((column for column, _ in places), default=0)
        keys = [key for column, key in places if column == least]
    else:
        keys = [str(key) for key in data] if isinstance(data, dict) else []
    return len(_OWN.intersection(keys)) > 1 or any(_near(key) for key in keys)


def _near(key: str) -> bool:
    """Within two changes of a letter of it, whatever the case."""
    wanted, key = "server", key.strip().casefold()
    if abs(len(key) - len(wanted)) > _MOST_CHANGES:
        return False
    row = list(range(len(wanted) + 1))
    for n, letter in enumerate(key, start=1):
        above, row = row, [n]
        for column, other in enumerate(wanted, start=1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (letter != other)))
    return row[-1] <= _MOST_CHANGES


def speaks_of_cards(file: Path) -> bool:
    """Whether there is a key `cards`, or a cluster; other people's files may have a server, but hardly cards."""
    head = _head(file)
    return _CARDS.search(head) is not None or _is_cluster(head, judged=True)


def _head(file: Path) -> bytes:
    try:
        with open_input(file) as content:
            return content.read(MAX_BYTES)
    except OSError:
        return b""


def _below(path: Path, passed: Callable[[Path], None] | None = None) -> Iterator[Path]:
    if not path.exists():
        raise VerifyError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if REPLAY in files:
            continue
        for name in folders:
            if passed is not None and (link := Path(folder, name)).is_symlink():
                passed(link)
        for name in sorted(files):
            file = Path(folder, name)
            if not name.lower().endswith(SUFFIXES) or name.startswith("."):
                continue
            if looks_like_scenario(file) or not _readable(file):
                yield file
            elif passed is not None:  # those of them that are broken have been found before
                passed(file)
            elif broken(file):
                yield file


def broken(file: Path) -> bool:
    """Whether nothing can be told of a file: it is empty, or no YAML. Not of JSON: a shell makes an empty file of what
    it is told to write, such as `--json > today.json`."""
    head = _head(file)
    if not file.name.lower().endswith(_YAML) or len(head) > _MOST_BROKEN:
        return False
    try:
        deque(events(head.decode("utf-8"), ""), maxlen=0)
    except (ScenarioError, UnicodeDecodeError):
        return True
    return not head.strip()


def _readable(file: Path) -> bool:
    """What is no file at all is nobody's scenario; what can't be read may be one."""
    return os.access(file, os.R_OK) if file.is_file() else not file.is_symlink()


def _unreadable(error: OSError) -> None:
    raise VerifyError(f"{error.filename}: cannot be read: {reason_of(error)}") from None
