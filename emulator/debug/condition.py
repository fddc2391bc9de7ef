"""Conditions on messages and events: `kind == statistics and count > 3 and gpu == a.2`. Parsed, never run as code.

    condition := all ("or" all)*        all := one ("and" one)*        one := "not" one | "(" condition ")" | test
    test := NAME OP VALUE               OP := == != < <= > >= has      VALUE := 12 | 0x0C | true | a.2 | "any text"

`has`: a list with this value in it. A test on a field that a message hasn't got is false, also with `!=`. Where all
values of a field are known, `==` and `!=` take no other one: what is misspelt would never hold.
"""

import difflib
import operator
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ringhil.emulator.errors import RinghilError

Fields = Mapping[str, Any]
Condition = Callable[[Fields], bool]

_MOST = 1000  # letters
_DEEPEST = 20
_TOKEN = re.compile(
    r"""\s*(?:(?P<word>[A-Za-z_][\w.]*)|(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)|(?P<text>"[^"]*")|(?P<sign>[=!<>]=|[<>()]))"""
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "has": lambda found, value: isinstance(found, list | tuple) and value in found,
}
_TRUTH = {"true": True, "false": False}
_WORDS = {"and", "or", "not"}


class ConditionError(RinghilError, ValueError):
    """It doesn't parse; three lines: what is wrong, the condition, and a mark below the place."""


class Values(NamedTuple):
    """All that a field may be; `listed`: the same for people."""

    all: Collection[str]
    listed: str


def parse(text: str, names: Collection[str], values: Mapping[str, Values] = MappingProxyType({})) -> Condition:
    """A test of fields by these names; `values`: of those of which all are known. Raises ConditionError."""
    return _Parser(text, names, values).parsed()


class _Parser:
    def __init__(self, text: str, names: Collection[str], values: Mapping[str, Values]) -> None:
        self._text, self._names, self._values, self._at, self._depth = text, names, values, 0, 0
        if len(text) > _MOST:
            raise ConditionError(f"found {len(text)} letters; allowed are {_MOST}")

    def parsed(self) -> Condition:
        found = self._condition()
        if self._text[self._at :].strip():
            raise self._wrong("wanted is 'and', 'or' or the end")
        return found

    def _wrong(self, wanted: str) -> ConditionError:
        word = self._peek()[1]
        start = len(self._text) - len(self._text[self._at :].lstrip())
        found = repr(word) if word else ("the end" if not self._text[start:] else repr(self._text[start]))
        return ConditionError(f"found {found}; {wanted}\n{self._text}\n{' ' * start}^")

    def _peek(self) -> tuple[str, str, int]:
        """Kind, text and end of the next word; empty: there is none."""
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            return "", "", self._at
        assert match.lastgroup is not None
        return match.lastgroup, match[match.lastgroup], match.end()

    def _taken(self, *words: str) -> bool:
        _, word, end = self._peek()
        if word in words:
            self._at = end
            return True
        return False

    def _condition(self) -> Condition:
        either = [self._all()]
        while self._taken("or"):
            either.append(self._all())
        return either[0] if len(either) == 1 else lambda fields: any(one(fields) for one in either)

    def _all(self) -> Condition:
        each = [self._one()]
        while self._taken("and"):
            each.append(self._one())
        return each[0] if len(each) == 1 else lambda fields: all(one(fields) for one in each)

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"allowed are {_DEEPEST} conditions one inside the other")
        try:
            if self._taken("not"):
                one = self._one()
                return lambda fields: not one(fields)
            if self._taken("("):
                found = self._condition()
                if not self._taken(")"):
                    raise self._wrong("wanted is ')'")
                return found
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Condition:
        kind, name, end = self._peek()
        if kind != "word" or name in _WORDS or name not in self._names:
            near = difflib.get_close_matches(name, self._names, n=3) if kind == "word" else []
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise self._wrong(f"{hint}allowed are {', '.join(sorted(self._names))}")
        self._at = end
        sign, end = self._peek()[1:]
        if sign not in _OPERATORS:
            raise self._wrong(f"allowed are {' '.join(_OPERATORS)}")
        self._at = end
        kind, word, end = self._peek()
        if kind not in ("word", "number", "text") or word in _WORDS:
            raise self._wrong('wanted is a number, a name or a "text"')
        compare, value = _OPERATORS[sign], _value(kind, word)
        known = self._values.get(name)
        if known is not None and sign in ("==", "!=") and value not in known.all:
            raise self._wrong(f"allowed are {known.listed}")
        self._at = end

        def test(fields: Fields) -> bool:
            if name not in fields:
                return False
            try:
                return bool(compare(fields[name], value))
            except TypeError:  # a name is neither more nor less than a number
                return False

        return test


def _value(kind: str, word: str) -> object:
    if kind == "number":
        return int(word, 16 if word[:2].lower() == "0x" else 10)
    return word[1:-1] if kind == "text" else _TRUTH.get(word, word)
