"""Text of a YAML file to plain data, with the line and column of every key and value.

Built from the parser's events, not from its objects: no tag can name a type, an alias can't multiply,
and depth is known before anything is nested. What the format has no use for is refused:

| refused                                 | because                                                 |
|-----------------------------------------|---------------------------------------------------------|
| more than 4 MiB, deeper than 20 levels  | no scenario is; a file that is must not stall the reader |
| aliases, tags, YAML other than 1.2      | one way to write a value, the same in every tool         |
| duplicate keys, a second document       | one of them would be ignored in silence                  |
"""

import re
from dataclasses import dataclass, field

from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from ringhil.emulator.scenario.yaml.errors import ScenarioError, quoted
from ringhil.emulator.scenario.yaml.events import events, mark_of
from ringhil.emulator.scenario.yaml.marks import Loc, Position, Source, spell

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_BASES = ((re.compile(r"[-+]?[0-9]+"), 10), (re.compile(r"0o[0-7]+"), 8), (re.compile(r"0x[0-9a-fA-F]+"), 16))
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_INTEGER = 24  # characters of 64 bits in base 8; Python's own limit would be another error


def resolve(text: str) -> bool | int | float | str | None:
    """Value of a plain scalar.

    Raises OverflowError for a whole number beyond 64 bits: no number in a scenario is that large.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    for pattern, base in _BASES:
        if pattern.fullmatch(text):
            return _integer(text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def _integer(text: str, base: int) -> int:
    value = int(text, base) if len(text) <= _LONGEST_INTEGER else 1 << 64
    if abs(value) >= 1 << 64:
        raise OverflowError("a whole number beyond 64 bits")
    return value


MAX_DEPTH = 20


def parse(text: str, path: str) -> Source:
    """Raises ScenarioError, with `path` in it, for everything that isn't one plain YAML 1.2 document."""
    builder = _Builder(path)
    for event in events(text, path):
        builder.take(event)
    return builder.source()


@dataclass
class _Open:
    """A mapping or list whose end hasn't come yet."""

    loc: Loc
    value: dict[str, object] | list[object]
    key: str | None = None  # of the next value; a mapping without one expects a key

    def next_loc(self) -> Loc:
        return (*self.loc, len(self.value) if self.key is None else self.key)


@dataclass
class _Builder:
    path: str
    root: object = None
    documents: int = 0
    stack: list[_Open] = field(default_factory=list)
    values: dict[Loc, Position] = field(default_factory=lambda: {(): Position(1, 1)})
    keys: dict[Loc, Position] = field(default_factory=dict)

    def source(self) -> Source:
        return Source(self.path, self.root, self.values, self.keys)

    def take(self, event: Event) -> None:
        match event:
            case DocumentStartEvent():
                self._document(event)
            case AliasEvent():
                raise self._error(event, f"alias *{event.anchor}; aliases are not used here, write the value out")
            case ScalarEvent():
                self._scalar(event)
            case MappingStartEvent():
                self._open(event, {})
            case SequenceStartEvent():
                self._open(event, [])
            case MappingEndEvent() | SequenceEndEvent():
                self.stack.pop()

    def _document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._error(event, "a second document begins here; a file holds one scenario")
        if event.version is not None and tuple(event.version) != (1, 2):
            raise self._error(event, "another version of YAML; allowed is 1.2")

    def _open(self, event: MappingStartEvent | SequenceStartEvent, value: dict[str, object] | list[object]) -> None:
        if not event.implicit:
            raise self._tagged(event)
        if self._expects_key():
            raise self._error(event, "a mapping or list as a key; keys are names")
        if len(self.stack) >= MAX_DEPTH:
            raise self._error(event, f"nested too deep; at most {MAX_DEPTH} levels are read")
        self.stack.append(_Open(self._place(event, value), value))

    def _scalar(self, event: ScalarEvent) -> None:
        if not any(event.implicit):
            raise self._tagged(event)
        try:
            # JSON writes a character beyond U+FFFF as two escapes, which the scanner leaves as two halves.
            text = event.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._error(event, f"{quoted(event.value)} holds half a character (a surrogate)") from None
        if self._expects_key():
            self._key(event, text)
            return
        try:
            value = resolve(text) if event.implicit[0] else text
        except OverflowError as error:
            raise self._error(event, f"{error}: {quoted(text)}; allowed are numbers of at most 64 bits") from None
        self._place(event, value)

    def _key(self, event: ScalarEvent, key: str) -> None:
        top = self.stack[-1]
        loc = (*top.loc, key)
        if loc in self.keys:
            raise self._error(event, f"duplicate key {quoted(key)}; line {self.keys[loc].line} has it already")
        self.keys[loc] = mark_of(event.start_mark)
        top.key = key

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _place(self, event: Event, value: object) -> Loc:
        loc: Loc = ()
        if self.stack:
            top = self.stack[-1]
            loc = top.next_loc()
            if isinstance(top.value, list):
                top.value.append(value)
            elif top.key is not None:
                top.value[top.key] = value
                top.key = None
        else:
            self.root = value
        # Of nothing at all, the scanner only knows where the next thing begins: that may be lines away.
        nothing = value is None and event.start_mark.index == event.end_mark.index
        self.values[loc] = self.keys[loc] if nothing and loc in self.keys else mark_of(event.start_mark)
        return loc

    def _tagged(self, event: Event) -> ScenarioError:
        return self._error(event, "a tag; tags are not used here, write the plain value")

    def _error(self, event: Event, problem: str) -> ScenarioError:
        where: Loc = ()
        if self.stack:
            where = self.stack[-1].loc if self._expects_key() else self.stack[-1].next_loc()
        return ScenarioError(self.path, *mark_of(event.start_mark), f"{spell(where)}: {problem}")
