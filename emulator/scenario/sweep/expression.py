"""`${...}` in the text of a file: a parameter, or whole-number arithmetic over parameters.

    sum      = product {("+" | "-") product}
    product  = operand {("*" | "//" | "%") operand}
    operand  = number | parameter | "-" operand | "(" sum ")"

`//` rounds down and `%` is the remainder that goes with it, as in Python. `$${` stands for the text `${`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.scenario.yaml.errors import quoted, shown

MAX_LENGTH = 200  # characters between the braces
MAX_DEPTH = 20  # of brackets
MAX_EXPRESSIONS = 50  # in one text

Value = str | int | bool | None | tuple[str, ...]  # a tuple: a set of GPUs
Values = Mapping[str, Value]

_OPEN = re.compile(r"\$?\$\{")
_TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*%()]))", re.ASCII)
_ALLOWED = "allowed are parameters, whole numbers, + - * // % and brackets"
_LONGEST_NUMBER = 20  # digits of 64 bits


class ExpressionError(RinghilError, ValueError):
    """Text that is no expression, or one that has no value; without a place in the file."""


@dataclass(frozen=True)
class Template:
    """Text with expressions in it. `names` are the parameters that it uses."""

    parts: tuple["str | _Node", ...]
    names: frozenset[str]

    def value(self, values: Values) -> Value:
        """What takes its place: a parameter's value with its type when nothing stands around it, otherwise text.

        Raises ExpressionError.
        """
        if len(self.parts) == 1 and not isinstance(self.parts[0], str):
            return self.parts[0].value(values)
        return self.text(values)

    def text(self, values: Values) -> str:
        """The same as text, always."""
        return "".join(part if isinstance(part, str) else as_text(part.value(values)) for part in self.parts)


def as_text(value: Value) -> str:
    """A value as it stands in a longer text and in the name of a variant."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case tuple():
            return "+".join(value)
    return str(value)


def template(text: str) -> Template | None:
    """`text` taken apart; None: nothing in it has to be replaced. Raises ExpressionError."""
    parts = list(_parts(text))
    if parts in ([], [text]):
        return None
    expressions = [part for part in parts if not isinstance(part, str)]
    if len(expressions) > MAX_EXPRESSIONS:
        raise ExpressionError(f"{len(expressions)} times ${{...}} in one text; allowed are {MAX_EXPRESSIONS}")
    return Template(tuple(parts), frozenset(name for part in expressions for name in part.names))


def _parts(text: str) -> Iterator["str | _Node"]:
    at = 0
    while found := _OPEN.search(text, at):
        if found.start() > at:
            yield text[at : found.start()]
        at = found.end()
        if found[0] == "$${":
            yield "${"
            continue
        end = text.find("}", at)
        if end < 0:
            raise ExpressionError(f"'${{' without '}}' in {quoted(text)}; the text '${{' itself is written '$${{'")
        yield _parse(text[at:end])
        at = end + 1
    if at < len(text):
        yield text[at:]


@dataclass(frozen=True)
class _Number:
    number: int
    names: frozenset[str] = frozenset()

    def value(self, values: Values) -> Value:
        return self.number


@dataclass(frozen=True)
class _Name:
    name: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.name})

    def value(self, values: Values) -> Value:
        return values[self.name]


@dataclass(frozen=True)
class _Operation:
    sign: str
    left: "_Node"
    right: "_Node"
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.left.names | self.right.names)

    def value(self, values: Values) -> Value:
        left, right = _number(self.left, values), _number(self.right, values)
        if right == 0 and self.sign in ("//", "%"):
            raise ExpressionError(f"{left} {self.sign} 0 has no value")
        result = _OPERATORS[self.sign](left, right)
        if abs(result) >= 1 << 64:
            raise ExpressionError(f"{left} {self.sign} {right} is a whole number beyond 64 bits")
        return result


_Node = _Number | _Name | _Operation
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def _number(node: _Node, values: Values) -> int:
    value = node.value(values)
    if isinstance(value, bool) or not isinstance(value, int):
        what = f"parameter {quoted(node.name)}" if isinstance(node, _Name) else "it"
        found = "a set of GPUs" if isinstance(value, tuple) else shown(value)
        raise ExpressionError(f"{what} is {found}; arithmetic takes whole numbers")
    return value


class _Parser:
    """The value of one expression; `text` is what stands between the braces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._split())
        self.at = 0

    def _split(self) -> Iterator[str]:
        end, text = 0, self.text.rstrip()
        while end < len(text):
            found = _TOKEN.match(text, end)
            if found is None:
                raise self.error(f"found {quoted(text[end:].lstrip()[:1])}")
            yield found[0].strip()
            end = found.end()

    def error(self, problem: str) -> ExpressionError:
        return ExpressionError(f"{problem} in {quoted('${' + self.text + '}')}; {_ALLOWED}")

    def take(self, *tokens: str) -> str | None:
        """The next token, if it is one of these."""
        if self.at < len(self.tokens) and self.tokens[self.at] in tokens:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def sum(self, depth: int) -> _Node:
        left = self.product(depth)
        while sign := self.take("+", "-"):
            left = _Operation(sign, left, self.product(depth))
        return left

    def product(self, depth: int) -> _Node:
        left = self.operand(depth)
        while sign := self.take("*", "//", "%"):
            left = _Operation(sign, left, self.operand(depth))
        return left

    def operand(self, depth: int) -> _Node:
        if depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} brackets or signs within one another")
        if self.take("-"):
            return _Operation("-", _Number(0), self.operand(depth + 1))
        if self.take("("):
            inner = self.sum(depth + 1)
            if not self.take(")"):
                raise self.error("no ')'")
            return inner
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if token[:1].isdigit():
            if len(token) > _LONGEST_NUMBER or int(token) >= 1 << 64:
                raise self.error("a whole number beyond 64 bits")
            self.at += 1
            return _Number(int(token))
        if token[:1].isidentifier():
            self.at += 1
            return _Name(token)
        raise self.error(f"found {quoted(token)}" if token else "a value is missing")


def _parse(text: str) -> _Node:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression of {len(text)} characters; allowed are {MAX_LENGTH}")
    parser = _Parser(text)
    node = parser.sum(0)
    if parser.at < len(parser.tokens):
        raise parser.error(f"found {quoted(parser.tokens[parser.at])}")
    return node
