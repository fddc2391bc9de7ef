"""Reads the C++ that Verilator emits for a model's logic, as statements that say what they read and write.

Only what is known of that C++ is taken: assignments, `if` and calls of Verilator's functions without side effects, over
the members of the root class and over locals. `UnknownCodeError` is raised at everything else (displays, calls of
tasks, loops).

Words of wide values and elements of arrays are told apart where their index is a constant: `name[3]`. An array of more
than `WHOLE` elements is one thing, of which nobody knows when all of it has been written.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.errors import RinghilError

WHOLE = 64
_TOKEN = re.compile(
    r"\s+|(?P<t>[A-Za-z_$][\w$]*|0x[0-9a-fA-F]+[UL]*|\d+[UL]*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:,.;()\[\]{}])"
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TYPE = r"(?:[CSIQE]Data|VlWide<\d+>|VlUnpacked<.*, ?\d+>)"
_DECLARED = re.compile(rf"^ *({_TYPE}) (\w+);", re.MULTILINE)
_PORT = re.compile(r"^ *VL_(IN|OUT|INOUT)(\w*)\(&?(\w+),(\d+),(\d+)(?:,\d+)?\);", re.MULTILINE)
_SIZE = re.compile(r"(?:VlWide<(\d+)>|VlUnpacked<.*,(\d+)>)")
_FLAT = re.compile(r"VlUnpacked<[CSIQE]Data, ?\d+>")
_INDEX = re.compile(r"(0x[0-9a-fA-F]+|\d+)[UL]*")
_ROOT = "vlSelfRef"
_PREAMBLE = "auto& vlSelfRef = std::ref(*vlSelf).get();"
_CONSTANT = re.compile(r"\w+__ConstPool__\w+")
_SCALARS = ("CData", "SData", "IData", "QData", "EData")
# Functions of Verilator without side effects. Those that make a wide value write it to one of their arguments.
_READS = re.compile(
    r"VL_(?:(?:UN)?LIKELY|(?:N?EQ|[GL]TE?S?|RED\w+|COUNTONES|ONEHOT0?|CLOG2)_\w+"
    r"|(?:EXTENDS?|SHIFT(?:L|R|RS)|B?I?T?SEL|CONCAT|REPLICATE|MULS?|DIVS?|MODDIVS?|NEGATE|STREAML|POW\w*)_[IQ]\w*)"
)
# Those that write to an argument: which one of them it is, from 0.
_WRITES = re.compile(
    r"VL_(?:(?P<one>ZERO|ASSIGN|AND|OR|XOR|NOT|NEGATE|ADD|SUB|MULS?)|(?P<two>EXTENDS?|REPLICATE|SEL)"
    r"|(?P<three>SHIFT(?:L|R|RS)|CONCAT))_W\w*|VL_ASSIGNSEL_(?P<part>[CSIQW])\w+"
)
_DESTINATION = {"one": 1, "two": 2, "three": 3, "part": 3}


class UnknownCodeError(RinghilError):
    """C++ that this file doesn't know."""


@dataclass(frozen=True)
class Simple:
    """An assignment or a call; `writes` holds for sure and as a whole, `may_write` perhaps or in part."""

    code: tuple[str, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    may_write: frozenset[str]


@dataclass(frozen=True)
class If:
    """A condition without side effects, and the statements of both branches."""

    code: tuple[str, ...]
    reads: frozenset[str]
    then: tuple["Statement", ...]
    other: tuple["Statement", ...]


Statement = Simple | If


@dataclass(frozen=True)
class Function:
    """Statements of a function; `locals` are types by name. Names of locals are the function's own: `function:name`."""

    name: str
    locals: dict[str, str]
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class RootMembers:
    """Members of the root class: types by name, and which of them are the model's inputs and outputs."""

    types: dict[str, str]
    inputs: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()


def members(header: str) -> RootMembers:
    """What the header of a root class declares."""
    header = _COMMENT.sub("", header)
    types = {name: kind for kind, name in _DECLARED.findall(header)}
    ports: dict[str, set[str]] = {"IN": set(), "OUT": set(), "INOUT": set()}
    kinds = {"8": "CData", "16": "SData", "": "IData", "64": "QData"}
    for direction, width, name, left, right in _PORT.findall(header):
        words = (int(left) - int(right)) // 32 + 1
        types[name] = kinds.get(width, f"VlWide<{words}>")
        ports[direction].add(name)
    if ports["INOUT"]:
        raise UnknownCodeError("a port that is both")
    return RootMembers(types, frozenset(ports["IN"]), frozenset(ports["OUT"]))


def body(source: str, function: str) -> str:
    """The text between the braces of a function, after its preamble. Raises UnknownCodeError if `source` has none."""
    start = rf"^(?:VL_\w+ )*\w+ {re.escape(function)}\([^;{{]*\) \{{\n"
    found = re.search(rf"{start}(.*?)^\}}", source, re.MULTILINE | re.DOTALL)
    if found is None or _PREAMBLE not in found[1]:
        raise UnknownCodeError(f"no function {function}")
    return _COMMENT.sub("", found[1].rpartition(_PREAMBLE)[2])


def read_function(text: str, name: str, variables: RootMembers) -> Function:
    """The statements of a function's `text`. Raises UnknownCodeError."""
    return _Reader(text, name, variables).function()


def scalar(kind: str) -> bool:
    """Whether a type is one that C++ has in a register."""
    return kind in _SCALARS


def places(name: str, kind: str) -> frozenset[str]:
    """All that can be told apart in a variable."""
    size = _SIZE.fullmatch(kind.replace(" ", ""))
    count = int(size[1] or size[2]) if size else 0
    return frozenset(f"{name}[{i}]" for i in range(count)) if 0 < count <= WHOLE else frozenset({name})


def variable(place: str) -> str:
    """The variable that a place is in."""
    return place.partition("[")[0]


@dataclass
class _Used:
    reads: set[str] = field(default_factory=set)
    may_write: set[str] = field(default_factory=set)


class _Reader:
    def __init__(self, text: str, name: str, variables: RootMembers) -> None:
        self.name = name
        self.types: Mapping[str, str] = variables.types
        self.locals: dict[str, str] = {}
        self.tokens = list(_tokens(text))
        self.at = 0

    def function(self) -> Function:
        statements = self.statements(len(self.tokens))
        return Function(self.name, self.locals, tuple(statements))

    def statements(self, end: int) -> list[Statement]:
        answer: list[Statement] = []
        while self.at < end:
            token = self.tokens[self.at]
            if token == "if":
                answer.append(self.branch())
            elif token == "{":
                close = self.closing(self.at)
                self.at += 1
                answer += self.statements(close)
                self.at = close + 1
            elif token in (*_SCALARS, "VlWide", "VlUnpacked"):
                self.declaration()
            else:
                answer.append(self.simple())
        return answer

    def branch(self) -> If:
        opened = self.at + 1
        if self.tokens[opened] != "(":
            raise UnknownCodeError("an if without a parenthesis")
        closed = self.closing(opened)
        condition = self.tokens[opened + 1 : closed]
        used = self.used(condition)
        if used.may_write:
            raise UnknownCodeError("a condition that writes")
        self.at = closed + 1
        then = self.block()
        other: list[Statement] = []
        if self.at < len(self.tokens) and self.tokens[self.at] == "else":
            self.at += 1
            other = [self.branch()] if self.tokens[self.at] == "if" else self.block()
        return If(self.named(condition), frozenset(used.reads), tuple(then), tuple(other))

    def block(self) -> list[Statement]:
        if self.tokens[self.at] != "{":
            raise UnknownCodeError("a branch without braces")
        close = self.closing(self.at)
        self.at += 1
        answer = self.statements(close)
        self.at = close + 1
        return answer

    def declaration(self) -> None:
        end = self.end()
        *kind, name = self.tokens[self.at : end]
        if not re.fullmatch(r"\w+", name):
            raise UnknownCodeError(f"a declaration of {name}")
        text = "".join(kind).replace(",", ", ")
        if self.locals.setdefault(name, text) != text or not re.fullmatch(_TYPE, text):
            raise UnknownCodeError(f"a local {name} of type {text}")
        self.at = end + 1

    def simple(self) -> Simple:
        end = self.end()
        code = self.tokens[self.at : end]
        self.at = end + 1
        if "=" not in code:
            return self.procedure(code)
        equals = code.index("=")
        target, value = code[:equals], code[equals + 1 :]
        if "=" in value:
            raise UnknownCodeError("an assignment inside another one")
        used = self.used(value)
        name, indices = self.target(target)
        inside = self.used([token for index in indices for token in (*index, ",")])
        reads = frozenset(used.reads | inside.reads)
        here = self.where(name, indices)
        sure = here if self.exact(name, indices) else frozenset()
        return Simple(self.named(code), reads, sure, frozenset(used.may_write) | (here - sure))

    def procedure(self, code: Sequence[str]) -> Simple:
        """A call that is a statement."""
        found = _WRITES.fullmatch(code[0])
        if found is None or code[1] != "(" or _closing(code, 1) != len(code) - 1:
            raise UnknownCodeError(" ".join(code[:8]))
        used = self.used(code)
        name, indices = self.target(list(_arguments(code[2:-1]))[_DESTINATION[str(found.lastgroup)]])
        # The others write all words of a wide value.
        sure = frozenset[str]() if found["part"] or indices else self.where(name, indices)
        return Simple(self.named(code), frozenset(used.reads), sure, frozenset(used.may_write) - sure)

    def target(self, code: Sequence[str]) -> tuple[str, list[list[str]]]:
        at = 2 if list(code[:2]) == [_ROOT, "."] else 0
        name = self.known(code[at], member=at == 2)
        indices = []
        at += 1
        while at < len(code):
            if code[at] != "[":
                raise UnknownCodeError(f"an assignment to {' '.join(code)}")
            close = _closing(code, at)
            indices.append(list(code[at + 1 : close]))
            at = close + 1
        return name, indices

    def used(self, code: Sequence[str]) -> _Used:
        """What an expression reads, and what calls in it may write."""
        used = _Used()
        at = 0
        while at < len(code):
            token = code[at]
            if not re.match(r"[A-Za-z_$]", token) or token in _SCALARS:
                at += 1
            elif at + 1 < len(code) and code[at + 1] == "(":
                close = _closing(code, at + 1)
                self.call(token, code[at + 2 : close], used)
                at = close + 1
            elif _CONSTANT.fullmatch(token):
                at += 1
            else:
                at = self.read(code, at, used)
        return used

    def call(self, function: str, code: Sequence[str], used: _Used) -> None:
        destination = None
        if found := _WRITES.fullmatch(function):
            destination = _DESTINATION[str(found.lastgroup)]
        elif not _READS.fullmatch(function):
            raise UnknownCodeError(f"a call of {function}")
        for number, argument in enumerate(_arguments(code)):
            if number == destination:
                name, indices = self.target(argument)
                used.may_write |= self.where(name, indices)
                argument = [token for index in indices for token in (*index, ",")]
            inside = self.used(argument)
            used.reads |= inside.reads
            used.may_write |= inside.may_write

    def read(self, code: Sequence[str], at: int, used: _Used) -> int:
        member = code[at] == _ROOT
        at += 2 if member else 0
        name = self.known(code[at], member=member)
        at += 1
        indices = []
        while at < len(code) and code[at] == "[":
            close = _closing(code, at)
            indices.append(list(code[at + 1 : close]))
            used.reads |= self.used(indices[-1]).reads
            at = close + 1
        if at < len(code) and code[at] == ".":
            raise UnknownCodeError(f"a part of {name}")
        used.reads |= self.where(name, indices)
        return at

    def where(self, name: str, indices: Sequence[Sequence[str]]) -> frozenset[str]:
        every = places(name, self.kind(name))
        if indices and (constant := _constant(indices[0])) is not None:
            place = f"{name}[{constant}]"
            if place in every:
                return frozenset({place})
        return every

    def exact(self, name: str, indices: Sequence[Sequence[str]]) -> bool:
        """Whether this is the whole of the places that `where` says."""
        kind = self.kind(name)
        if not indices:
            return True
        simple = kind.startswith("VlWide") or _FLAT.fullmatch(kind)
        return len(indices) == 1 and bool(simple) and self.where(name, indices) != places(name, kind)

    def kind(self, name: str) -> str:
        head, colon, own = name.rpartition(":")
        return self.locals[own] if colon and head == self.name else self.types[name]

    def known(self, name: str, *, member: bool) -> str:
        if member and name in self.types:
            return name
        if not member and name in self.locals:
            return f"{self.name}:{name}"
        raise UnknownCodeError(f"the name {name}")

    def named(self, code: Sequence[str]) -> tuple[str, ...]:
        """Code in which each variable is one token."""
        answer: list[str] = []
        at = 0
        while at < len(code):
            if code[at] == _ROOT:
                answer.append(code[at + 2])
                at += 3
            else:
                own = code[at] in self.locals
                answer.append(f"{self.name}:{code[at]}" if own else code[at])
                at += 1
        return tuple(answer)

    def closing(self, at: int) -> int:
        return _closing(self.tokens, at)

    def end(self) -> int:
        try:
            return self.tokens.index(";", self.at)
        except ValueError:
            raise UnknownCodeError("a statement without an end") from None


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnknownCodeError(f"the character {text[at]!r}")
        if found["t"]:
            yield found["t"]
        at = found.end()


def _closing(code: Sequence[str], at: int) -> int:
    pairs = {"(": ")", "[": "]", "{": "}"}
    opened, depth = code[at], 0
    for i in range(at, len(code)):
        if code[i] == opened:
            depth += 1
        elif code[i] == pairs[opened]:
            depth -= 1
            if depth == 0:
                return i
    raise UnknownCodeError(f"a {opened} that nothing closes")


def _arguments(code: Sequence[str]) -> Iterator[Sequence[str]]:
    start, at = 0, 0
    while at < len(code):
        if code[at] in "([{":
            at = _closing(code, at)
        elif code[at] == ",":
            yield code[start:at]
            start = at + 1
        at += 1
    yield code[start:]


def _constant(index: Sequence[str]) -> int | None:
    found = _INDEX.fullmatch(index[0]) if len(index) == 1 else None
    return int(found[1], 0) if found else None
