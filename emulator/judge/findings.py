"""What the judge finds: values that sort, filter and link by their fields; the text is rendered from them.

    wrong = FindingList()
    wrong.tell(now, "{} was refused for {found} cycles, must be {expected}", Name("a.3"), found=70, expected=60)

| part | is |
|---|---|
| `say` | makes a `Statement`: a text with its template, its values, and the line of the judge that says it |
| `Name` | the name of a card, GPU or link among the values: where it was found |
| `Finding` | a statement and its cycle; who collects it adds the promise, one of `scenario.INVARIANTS` |

Two findings are of one sort when promise and template are the same, and both last or both pass: names, numbers and
times are values, never read back out of a text. Statements nest: a value that is one is part of the template.
"""

import string
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

FACTS = ("invariant", "text", "at")  # of its document: the rest follows, and tells where the judge's code stands
MOST = 3  # of one kind are told; more say nothing new
_ROOM = Path(__file__).parents[1]
_PARSE = string.Formatter().parse


class Value(str):
    """A text that is a value, as a list of numbers is; other texts among the values are words of the statement."""

    __slots__ = ()


class Name(Value):
    """The name of a card ("a"), a GPU ("a.3") or a link ("a.5-a.6"). `numbers`: of card and GPU, where the text has
    these in the name's place."""

    __slots__ = ("numbers",)
    numbers: tuple[int, int] | None

    def __new__(cls, text: str, numbers: tuple[int, int] | None = None) -> Self:
        made = super().__new__(cls, text)
        made.numbers = numbers
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (str(self), self.numbers)


class Statement(str):
    """A text that knows its template and its values; see `say`. It compares and sorts as its text."""

    __slots__ = ("line", "named", "template", "values")
    template: str
    values: tuple[Any, ...]
    named: dict[str, Any]
    line: tuple[str, int]  # path of the file that says it, and the line

    def __new__(cls, template: str, values: tuple[Any, ...], named: dict[str, Any], line: tuple[str, int]) -> Self:
        made = super().__new__(cls, template.format(*values, **named))
        made.template, made.values, made.named, made.line = template, values, named, line
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.template, self.values, self.named, self.line)

    @property
    def kind(self) -> str:
        """The template with `N` for numbers, `[]` for lists, `GPU`, `LINK` and `CARD` for names. Of several statements
        in one, only the first counts: they come in a fixed order, and the others follow from it."""
        values, parts = iter(self.values), list[str]()
        for text, name, _, _ in _PARSE(self.template):
            parts.append(text)
            if name is not None:
                parts.append(_kind(self.named[name] if name else next(values)))
        return "".join(parts).partition(";")[0]

    @property
    def source(self) -> str:
        """The line of the judge that says it: "judge/elections/grants.py:95"."""
        path = Path(self.line[0])
        return f"{path.relative_to(_ROOM) if path.is_relative_to(_ROOM) else path}:{self.line[1]}"

    @property
    def places(self) -> tuple[Name, ...]:
        """All that it names."""
        found: list[Name] = []
        for value in (*self.values, *self.named.values()):
            found += value.places if isinstance(value, Statement) else [value] if isinstance(value, Name) else []
        return tuple(dict.fromkeys(found))

    @property
    def cycle(self) -> int | None:
        """The one that it speaks of, where that is none of its listener's."""
        found = self.value("cycle")
        return found if isinstance(found, int) else None

    def value(self, name: str) -> Any:
        """The value of this name, also of a statement within; None: there is none."""
        if name in self.named:
            return self.named[name]
        every = (*self.values, *self.named.values())
        within = (each.value(name) for each in every if isinstance(each, Statement))
        return next((found for found in within if found is not None), None)


def numbered(gpu: tuple[int, int]) -> Name:
    """A GPU where only the numbers of card and GPU are known."""
    return Name(f"GPU {gpu[1]}, card {gpu[0]}", gpu)


def _kind(value: object) -> str:
    if isinstance(value, Statement):
        return value.kind
    if isinstance(value, Name):
        return "GPU" if value.numbers else ("CARD", "GPU", "LINK")[min(value.count("."), 2)]  # a card may be "west-2"
    if isinstance(value, str) and not isinstance(value, Value):
        return value
    return "[]" if isinstance(value, str | list | tuple) else "N"


def say(template: str, /, *values: Any, **named: Any) -> Statement:
    """The text that `template.format(*values, **named)` gives: `found` and `expected` are named, and `cycle` where the
    statement has one of its own. Words among the values stay as they are in its kind. Where it ends with another
    statement, that one's line is the line that says it."""
    return _made(template, values, named, _caller(2))


def _made(template: str, values: tuple[Any, ...], named: dict[str, Any], line: tuple[str, int]) -> Statement:
    last = values[-1] if values and template.endswith("{}") else None
    return Statement(template, values, named, last.line if isinstance(last, Statement) else line)


def _caller(depth: int) -> tuple[str, int]:
    frame = sys._getframe(depth)
    return frame.f_code.co_filename, frame.f_lineno


def joined(statements: Iterable[str]) -> Statement | None:
    """All of them in one, with semicolons between them; None: there is none."""
    every = tuple(statements)
    return Statement("; ".join(["{}"] * len(every)), every, {}, _caller(2)) if every else None


class FindingKind(StrEnum):
    """What a finding says of a promise."""

    BROKEN = "broken"
    NOT_JUDGED = "not judged"  # nobody can tell
    TOO_EARLY = "too early"  # nor of this: the run ended before it was due


@dataclass(frozen=True)
class Finding:
    """`at`: cycle, where there is one. `promise`: an invariant, or `EXPECT`. `place`: the first that it names, or
    "". `lasts`: whether it was still so when the run ended; None: nobody has asked."""

    text: str
    at: int | None = None
    promise: str = ""
    place: str = ""
    kind: FindingKind = FindingKind.BROKEN
    lasts: bool | None = None

    def __str__(self) -> str:
        return str(self.text)

    @property
    def invariant(self) -> str:
        """`promise`, by the name that scenario files and documents have for it."""
        return self.promise

    @property
    def source(self) -> str | None:
        """The line of the judge that found it."""
        return self.text.source if isinstance(self.text, Statement) else None

    @property
    def places(self) -> tuple[Name, ...]:
        """All that it names."""
        return self.text.places if isinstance(self.text, Statement) else ()

    @property
    def sort(self) -> str:
        """The same for all findings of one sort: what lasts is another one than what passes."""
        kind = self.text.kind if isinstance(self.text, Statement) else str(self.text)
        return sort_of(f"{self.promise}: {' '.join(kind.split())}", self.lasts)

    def of(self, promise: str, cards: tuple[str, ...]) -> Self:
        """The same, of this promise. `cards`: by number, for places that are told by numbers."""
        place = next(iter(self.places), None)
        if place is None:
            return replace(self, promise=promise)
        numbers = place.numbers
        return replace(self, promise=promise, place=place if numbers is None else f"{cards[numbers[0]]}.{numbers[1]}")

    def to_json(self) -> dict[str, Any]:
        """For the documents of `--json`."""
        value = self.text.value if isinstance(self.text, Statement) else lambda name: None
        return {
            "invariant": self.promise,
            "text": str(self.text),
            "at": self.at,
            "place": str(self.place) or None,
            "found": _plain(value("found")),
            "expected": _plain(value("expected")),
            "lasts": self.lasts,
            "sort": self.sort,
            "source": self.source,
        }


def sort_of(what: str, lasts: bool | None) -> str:
    """`what`, and whether it was still so at the end."""
    return what if lasts is None else f"{what} [{'lasts' if lasts else 'passes'}]"


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, int) else str(value)


class FindingList(list[Finding]):
    """What a part of the judge has found, in the order in which it did."""

    def tell(self, at: int | None, text: str, /, *values: Any, **named: Any) -> None:
        """See `say`. `at`: the cycle."""
        if values or named:
            text = _made(text, values, named, _caller(2))
        elif not isinstance(text, Statement):
            text = Statement(text.replace("{", "{{").replace("}", "}}"), (), {}, _caller(2))
        self.append(Finding(text, at))

    @classmethod
    def in_time(cls, *parts: Iterable[Finding]) -> Self:
        """Those of several parts in the order of time."""
        return cls(sorted((each for part in parts for each in part), key=lambda each: each.at or 0))

    def first(self, what: str) -> Iterator[Finding]:
        """The first few, and how many more there are; `what` they are, in the plural."""
        yield from self[:MOST]
        if len(self) > MOST:
            yield Finding(say("and {} more {}", len(self) - MOST, what), self[MOST].at)
