"""The verbs of `ringhil step`, for scripts and people: a line in, a document out."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from ringhil.emulator.debug.condition import Condition, ConditionError, parse
from ringhil.emulator.debug.happened import KINDS
from ringhil.emulator.debug.looking import plain
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.protocol.frames import BY_KIND

Document = dict[str, Any]

_MESSAGES = {kind.__name__.lower(): [each.name for each in fields(kind)] for kind in BY_KIND.values()}
NAMES = frozenset(
    {"number", "cycle", "gpu", "kind", "way", "port", "bad", *(name for names in _MESSAGES.values() for name in names)}
    | {name for names in KINDS.values() for name in names}
)
_MOST = 2000  # letters of a line


class Commands:
    """Of one session. `do` raises DebugError for a line that can't be done; then nothing has changed."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._verbs: dict[str, Callable[[str], Document]] = {
            "step": lambda rest: self._moved(session.step(_number(rest))),
            "back": lambda rest: self._moved(session.back(_number(rest))),
            "next": lambda rest: self._moved(session.until(_kind(rest))),
            "previous": lambda rest: self._moved(session.back_until(_kind(rest))),
            "until": lambda rest: self._moved(session.until(_condition(rest))),
            "back-until": lambda rest: self._moved(session.back_until(_condition(rest))),
            "show": lambda rest: {},
            "state": lambda rest: {"registers": session.registers(rest), "firmware": session.firmware(rest)},
            "card": lambda rest: {"card": session.card(rest)},
        }

    def do(self, line: str) -> Document:
        """`command`, `cycle` and `message` (or event) where the session is then, and what was asked for: `moved`,
        whether there was such a place; `registers` and `firmware`; `card`."""
        if len(line) > _MOST:
            raise DebugError(f"found {len(line)} letters; allowed are {_MOST}")
        verb, _, rest = line.strip().partition(" ")
        if verb not in self._verbs:
            raise DebugError(f"found {verb!r}; allowed are {', '.join(self._verbs)}")
        found = self._verbs[verb](rest.strip())
        here = self._session.here
        message = None if here is None else plain(self._session.fields(here))
        return {"command": line.strip(), "cycle": self._session.cycle, "message": message, **found}

    @staticmethod
    def _moved(moved: bool) -> Document:
        return {"moved": moved}


def lines(text: str) -> Iterator[tuple[int, str]]:
    """The commands of a script, each with the number of its line; `#` begins a comment."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def in_words(document: Document) -> str:
    """For people."""
    about = dict(document["message"] or {})
    head = f"{about.pop('number')}: " if about else ""
    where = [about.pop(name) for name in ("gpu", "way", "kind") if name in about]
    about.pop("cycle", None)
    found = [f"{head}cycle {document['cycle']} {' '.join(map(str, where)) or 'before the first message'}"]
    if document.get("moved") is False:
        found.insert(0, "no more")
    found += [f"  {name}: {value}" for name, value in about.items() if document["command"].split()[0] == "show"]
    for part in ("registers", "firmware", "card"):
        if part in document:
            found += [f"{part}:", *_indented(document[part], "  ")]
    return "\n".join(found)


def _indented(value: Any, space: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{space}{value}"
        return
    for name, each in value.items():
        if isinstance(each, dict) and each:
            yield f"{space}{name}:"
            yield from _indented(each, f"{space}  ")
        else:
            yield f"{space}{name}: {each}"


def _number(text: str) -> int:
    if not text:
        return 1
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:12]) <= 10**9:
        raise DebugError(f"found {text[:50]!r}; allowed is a number of messages from 1 to 1,000,000,000")
    return int(text)


def _kind(text: str) -> Condition:
    if text not in _MESSAGES and text not in KINDS:
        raise DebugError(f"found kind {text[:50]!r}; allowed are {', '.join([*_MESSAGES, *KINDS])}")
    return parse(f"kind == {text}", NAMES)


def _condition(text: str) -> Condition:
    try:
        return parse(text, NAMES)
    except ConditionError as error:
        raise DebugError(str(error)) from None
