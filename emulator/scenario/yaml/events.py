"""Files to text, and text to YAML events: the third-party parser, fenced in.

Whatever is wrong with the text leaves as ScenarioError, and nothing that would stall the parser gets to it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import Event
from ruamel.yaml.reader import ReaderError

from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.scenario.yaml.errors import ScenarioError
from ringhil.emulator.scenario.yaml.marks import Position, place_after

MAX_BYTES = 4 << 20

# The scanner needs quadratic time for a tag, two minutes for 4 MiB of it: long ones don't get that far.
_MAX_TAG = 1000
_TAG = re.compile(rf'![^\s"{{}}]{{0,{_MAX_TAG}}}')

# Line breaks in YAML 1.1 and to the scanner, but not in YAML 1.2.
_UNCLEAR_BREAK = re.compile("[\x85\u2028\u2029]")


def events(text: str, path: str) -> Iterator[Event]:
    """The events of `text`. Raises ScenarioError, with `path` in it."""
    text = text.removeprefix("\ufeff")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ScenarioError(path, 1, 1, f"the file is too large; at most {MAX_BYTES} bytes are read")
    if unclear := _UNCLEAR_BREAK.search(text):
        problem = f"character #x{ord(unclear[0]):04x} ends a line in some tools only; in quotes it can be escaped"
        raise ScenarioError(path, *place_after(text[: unclear.start()]), problem)
    for tag in _TAG.finditer(text):
        if len(tag[0]) > _MAX_TAG:
            problem = f"more than {_MAX_TAG} characters without a space after '!'; tags are not used here"
            raise ScenarioError(path, *place_after(text[: tag.start()]), problem)
    return _events(text, path)


def _events(text: str, path: str) -> Iterator[Event]:
    last = Position(1, 1)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            yield event
            last = mark_of(event.end_mark)
    except MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        where = last if at is None else mark_of(at)
        hint = ""
        if at is not None and text[at.index - 1 : at.index + 1] == "${":
            hint = "; within brackets and braces, ${...} needs quotes around it"
        raise ScenarioError(path, *where, f"invalid YAML: {error.problem or error.context}{hint}") from None
    except ReaderError as error:
        place = place_after(text[: error.position])
        raise ScenarioError(path, *place, f"invalid YAML: character #x{error.character:04x}") from None
    except Exception as error:  # the scanner leaks its own, e.g. OverflowError at "\U99999999"
        raise ScenarioError(path, *last, f"invalid YAML after this place: {error}") from None


def mark_of(mark: Any) -> Position:
    """A mark of the parser, which counts from 0."""
    return Position(mark.line + 1, mark.column + 1)


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of a file of at most `most` bytes, UTF-8. Raises ScenarioError."""
    try:
        with open_input(path) as file:
            data = file.read(most + 1)  # one more shows that there is more; what is behind it isn't read
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = reason_of(error) if isinstance(error, OSError) else error
        raise ScenarioError(str(path), None, None, f"cannot be read: {reason}") from None
    if len(data) > most:
        raise ScenarioError(str(path), 1, 1, f"the file is too large; at most {most} bytes are read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = place_after(data[: error.start].decode("utf-8"))
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8; allowed is UTF-8 text"
        raise ScenarioError(str(path), *place, problem) from None
