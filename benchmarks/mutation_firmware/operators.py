"""Which mistakes can be made in a piece of Python, and how each is written.

| operator | makes |
|---|---|
| `compare` | `<` into `<=` and `>=`, likewise the others; `==` into `!=`, `is` into `is not`, `in` into `not in` |
| `arithmetic` | `+` into `-`, `*` into `//`, `%` into `//`, `<<` into `>>`, `&` into `|`, and back; a sign is dropped |
| `list` | of two joined lists, one |
| `constant` | a number one more, and one less where it is above 0; True into False, and back |
| `default` | the same with the default of an argument or field |
| `boolean` | `and` into `or`, and back; one side of either alone; `not` is dropped |
| `condition` | what `if`, `while`, `... if ...` and a comprehension ask, negated |
| `return` | None, an empty list or tuple, the other truth value, one more: by what the function says that it returns |
| `delete` | a call, an assignment to a field or item, `raise`, `del`, `break`, `continue` into `pass` |
"""

import ast
from collections.abc import Iterator

COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.Pow: ast.Mult,
}

Replacement = tuple[str, str]  # operator, and the text that it makes


def compared(node: ast.Compare) -> Iterator[Replacement]:
    """Each of a chain's comparisons by itself."""
    for place, old in enumerate(node.ops):
        for new in COMPARE[type(old)]:
            ops = [*node.ops[:place], new(), *node.ops[place + 1 :]]
            yield "compare", ast.unparse(ast.Compare(node.left, ops, node.comparators))


def calculated(node: ast.BinOp) -> Iterator[Replacement]:
    """Of numbers."""
    if type(node.op) in ARITHMETIC:
        yield "arithmetic", ast.unparse(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))


def joined(node: ast.BinOp) -> Iterator[Replacement]:
    """Of lists."""
    yield "list", ast.unparse(node.left)
    yield "list", ast.unparse(node.right)


def constant(node: ast.Constant) -> Iterator[Replacement]:
    """Numbers and truth values; texts are names."""
    if isinstance(node.value, bool):
        yield "constant", str(not node.value)
    elif isinstance(node.value, int):
        yield "constant", str(node.value + 1)
        if node.value > 0:
            yield "constant", str(node.value - 1)


def combined(node: ast.BoolOp) -> Iterator[Replacement]:
    """And the parts of it without one of them."""
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "boolean", ast.unparse(ast.BoolOp(other, node.values))
    for place in range(len(node.values)):
        left = [*node.values[:place], *node.values[place + 1 :]]
        yield "boolean", ast.unparse(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))


def signed(node: ast.UnaryOp) -> Iterator[Replacement]:
    """`not`, and the sign of a number."""
    operator = {ast.Not: "boolean", ast.USub: "arithmetic", ast.Invert: "arithmetic"}.get(type(node.op))
    if operator is not None:
        yield operator, ast.unparse(node.operand)


def negated(test: ast.expr) -> Iterator[Replacement]:
    """A condition; one comparison, and `not`, are turned round by their own operators."""
    one = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not one and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        yield "condition", f"not ({ast.unparse(test)})"


def returned(value: ast.expr, annotation: ast.expr | None) -> Iterator[Replacement]:
    """By what is said of the function; a constant is changed as a constant."""
    said = "" if annotation is None else ast.unparse(annotation)
    text = ast.unparse(value)
    new = ""
    if said.endswith("| None"):
        new = "None"
    elif said.startswith("list["):
        new = "[]"
    elif said.startswith("tuple[") and said.endswith(", ...]"):
        new = "()"
    elif said in ("bool", "int") and not isinstance(value, ast.Constant):
        new = f"not ({text})" if said == "bool" else f"({text}) + 1"
    if new and text != new:
        yield "return", new
