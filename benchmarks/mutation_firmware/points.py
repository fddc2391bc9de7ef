"""Every mutant of a source: where in it a mistake can be, and which.

Left out: docstrings, texts, annotations, decorators, assertions (they tell the type checker what is so), what is
raised, what is logged, `__repr__` and `__str__`, and types that are given names.
"""

import ast
import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from benchmarks.mutation_firmware import operators
from benchmarks.mutation_firmware.mutant import ROOT, Mutant
from benchmarks.mutation_firmware.operators import Replacement

FOLDERS = ("firmware", "emulator/host")
_FOLLOWS_FROM = ("protocol", "firmware", "emulator", "rtl", "tests", "examples", "benchmarks/mutation_firmware")
_SUFFIXES = (".py", ".sv", ".cpp", ".h", ".yaml")

# Where a list comes back from a call, of another file or together with something else.
_LISTS = ("actions", "ended", "times")

_GENERIC = ("Callable", "Generator", "tuple")  # types that the sources give names

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources(root: Path = ROOT) -> dict[str, str]:
    """Text of every file that is mutated, by its path in the project."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(found)}


def everything(root: Path = ROOT) -> str:
    """A hash of all that results follow from: of other sources, tests or scenarios they are other ones."""
    found = hashlib.sha256()
    for folder in _FOLLOWS_FROM:
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in _SUFFIXES):
            found.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes() + b"\n")
    return found.hexdigest()[:12]


def choose(number: int, seed: int, texts: dict[str, str], at: Sequence[tuple[str, str]] = ()) -> list[Mutant]:
    """`number` of all mutants, or all if there are fewer, in the order in which they are drawn: the first ones are
    those that a smaller number gives. `at`: only in these files, in lines with that text."""
    every = [m for file, text in texts.items() for m in mutants(file, text) if not at or _there(m, text, at)]
    random.Random(seed).shuffle(every)
    return every[:number]


def _there(mutant: Mutant, text: str, at: Sequence[tuple[str, str]]) -> bool:
    return any(mutant.file == file and piece in mutant.source_line(text) for file, piece in at)


def mutants(file: str, text: str) -> list[Mutant]:
    """In the order of the text; no two make the same text."""
    finder = _Finder(file, text)
    finder.visit(ast.parse(text))
    first: dict[str, Mutant] = {}
    for mutant in sorted(finder.found, key=lambda m: (m.start, m.end)):
        first.setdefault(mutant.applied(text), mutant)
    first.pop(text, None)
    return list(first.values())


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, text: str) -> None:
        self._file, self._data = file, text.encode()
        self._lines = [0, *accumulate(len(line) for line in self._data.splitlines(keepends=True))]
        self._within: list[str] = []  # classes and functions
        self._functions: list[_Function] = []
        self._default = False
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, _Function)]
        self._listing = {function.name for function in functions if _lists(function.returns)}
        self.found: list[Mutant] = []

    # ------------------------------------------------------------------------------------------------ what is found

    def _add(self, node: ast.expr | ast.stmt, made: Iterable[Replacement]) -> None:
        start = self._lines[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        before = self._data[start:end].decode()
        for operator, after in made:
            whole = after if isinstance(node, ast.stmt | ast.Constant) or operator == "return" else f"({after})"
            kind = "default" if self._default and operator == "constant" else operator
            self.found.append(Mutant(self._file, start, end, node.lineno, ".".join(self._within), kind, before, whole))

    def _deleted(self, node: ast.stmt) -> None:
        self._add(node, [("delete", "pass")])

    # ------------------------------------------------------------------------------------------------ where not to look

    def visit_Assert(self, node: ast.Assert) -> None:
        """Not looked into."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Not looked into."""

    def visit_Import(self, node: ast.Import) -> None:
        """Not looked into."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Not looked into."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """What is raised is a text for the reader."""
        self._deleted(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body."""
        self._within.append(node.name)
        before, self._default = self._default, True
        self._visit_all(node.body)
        self._default = before
        self._within.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Defaults and body."""
        if node.name in ("__repr__", "__str__"):
            return
        before, self._default = self._default, True
        self._visit_all([*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)])
        self._default = False
        self._within.append(node.name)
        self._functions.append(node)
        self._visit_all(node.body)
        self._functions.pop()
        self._within.pop()
        self._default = before

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The value, without the annotation."""
        if node.value is not None:
            if isinstance(node.target, ast.Attribute | ast.Subscript):
                self._deleted(node)
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """Of `isinstance` not the types, of `field` nothing: how a class is made is no behaviour."""
        name = ast.unparse(node.func)
        if name == "isinstance":
            self.visit(node.args[0])
        elif name != "field" and not name.startswith("_log."):
            self.generic_visit(node)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    # --------------------------------------------------------------------------------------------------- statements

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call; neither docstrings nor `...`, and no logging."""
        if isinstance(node.value, ast.Call) and not ast.unparse(node.value.func).startswith("_log."):
            if not ast.unparse(node.value.func).startswith("super()"):
                self._deleted(node)
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Of a field or item it may be left out; a name, or the field of a new object, would only be unknown."""
        if not self._within and _is_type(node.value):
            return
        kept = any(isinstance(part, ast.Attribute | ast.Subscript) for part in _targets(node))
        if kept and self._within[-1:] != ["__init__"]:
            self._deleted(node)
        self._visit_all([*node.targets, node.value])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Left out, or with another operation."""
        self._deleted(node)
        if not (isinstance(node.op, ast.Add) and (self._is_list(node.target) or self._is_list(node.value))):
            other = operators.ARITHMETIC.get(type(node.op))
            if other is not None:
                self._add(node, [("arithmetic", ast.unparse(ast.AugAssign(node.target, other(), node.value)))])
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Left out."""
        self._deleted(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Left out."""
        self._deleted(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Left out."""
        self._deleted(node)

    def visit_Return(self, node: ast.Return) -> None:
        """What is returned."""
        if node.value is not None:
            self._add(node.value, operators.returned(node.value, self._functions[-1].returns))
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        """The condition, and all below."""
        self._add(node.test, operators.negated(node.test))
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """The condition, and all below."""
        self._add(node.test, operators.negated(node.test))
        self.generic_visit(node)

    # -------------------------------------------------------------------------------------------------- expressions

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The condition, and all below."""
        self._add(node.test, operators.negated(node.test))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """The conditions, and all below."""
        for test in node.ifs:
            self._add(test, operators.negated(test))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """The comparisons, and all below."""
        self._add(node, operators.compared(node))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """The operation, and all below."""
        self._add(node, operators.combined(node))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """The operation, and all below."""
        self._add(node, operators.signed(node))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """The operation, and all below. Texts are neither joined nor filled in otherwise."""
        if any(isinstance(side, ast.Constant) and isinstance(side.value, str | bytes) for side in _sides(node)):
            return
        both = isinstance(node.op, ast.Add) and self._is_list(node)
        self._add(node, operators.joined(node) if both else operators.calculated(node))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number or truth value."""
        self._add(node, operators.constant(node))

    # ---------------------------------------------------------------------------------------------------------- types

    def _is_list(self, node: ast.expr) -> bool:
        """As far as the file says so: what is joined with `+` is a list if either side is."""
        match node:
            case ast.List() | ast.ListComp() | ast.Tuple():
                return True
            case ast.BinOp(op=ast.Add()):
                return self._is_list(node.left) or self._is_list(node.right)
            case ast.IfExp():
                return self._is_list(node.body) or self._is_list(node.orelse)
            case ast.Call():
                name = ast.unparse(node.func).rpartition(".")[2]
                return name in self._listing or name in ("list", "sorted")
            case ast.Name():
                return bool(self._functions) and node.id in _list_names(self._functions[-1])
            case _:
                return False


def _lists(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).startswith("list[")


def _list_names(function: _Function) -> set[str]:
    """Names of a function that are lists, by their annotations or by what they are given."""
    names = {a.arg for a in function.args.args if _lists(a.annotation)}
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _lists(node.annotation):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            given = isinstance(node.value, ast.List | ast.ListComp)
            new = (target.id for target in _targets(node) if isinstance(target, ast.Name))
            names.update(name for name in new if given or name in _LISTS)
    return names


def _targets(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from target.elts if isinstance(target, ast.Tuple) else [target]


def _is_type(value: ast.expr) -> bool:
    """A union of types, or a generic one."""
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Name) and value.value.id in _GENERIC
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right
