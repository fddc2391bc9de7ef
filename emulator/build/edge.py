"""A clock edge of a model in one function that evaluates only what is used: C++ made of C++ that Verilator emitted.

Verilator evaluates what follows from registers and inputs when inputs change, and again when registers do. Who sets all
inputs before each edge and looks at outputs only after it needs most of that logic once. `write_edge` writes

| function | does |
|---|---|
| `<root>___edge` | a rising edge: the registers, and all outputs but the late ones |
| `<root>___look` | no edge: the late outputs, as they follow from registers and inputs |

Both take the root class, which must have been through one `eval`, and through none since its first `<root>___edge`.

| what they leave out | because |
|---|---|
| statements whose result nobody reads before it is written again | of the two evaluations one is enough |
| members of the class that one evaluation alone needs | locals are cheaper |
| statements that one branch alone uses, while it isn't taken | `sinking` |
| what follows from the usual values, while all of them hold | there is a copy of `<root>___edge` for that |

The usual values are no promise. Each edge compares them with the registers and inputs, and takes the copy that knows
them as constants only if all are as said; the C++ compiler derives what follows. A wrong guess costs time, never a
result.

The model must have a single clock, whose rising edge alone changes registers, and statements that `emitted_code` knows.
Of all others `write_edge` makes nothing: they are evaluated as Verilator wrote them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.emitted_code import (
    Function,
    If,
    RootMembers,
    Simple,
    Statement,
    UnknownCodeError,
    body,
    members,
    places,
    read_function,
    scalar,
    variable,
)
from ringhil.emulator.build.request import Edge, Usual
from ringhil.emulator.build.sinking import reads, sink, writes

_CALLS = re.compile(r"if\(\(1ULL&vlSelfRef\.__V(?:stl|ico|nba)Triggered\[0U\]\)\)\{((?:\w+\(vlSelf\);)*)\}")
_EDGE = re.compile(
    r"vlSelfRef\.__VactTriggered\[0U\]=\(QData\)\(\(IData\)\(\(\(IData\)\(vlSelfRef\.(\w+)\)"
    r"&\(~\(IData\)\(vlSelfRef\.(__Vtrigprevexpr\w+)\)\)\)\)\);vlSelfRef\.\2=vlSelfRef\.\1;"
)
_TABLE = re.compile(r"^extern const \S.* \w+__ConstPool__\w+;", re.MULTILINE)


@dataclass(frozen=True)
class _Model:
    """What Verilator emitted, as statements."""

    root: str
    variables: RootMembers
    clock: str
    before: str  # the member that holds the clock's last level
    settling: tuple[Function, ...]  # all that follows from registers and inputs
    inputs: tuple[Function, ...]  # what follows from inputs
    edge: tuple[Function, ...]  # registers, and what follows from them
    tables: tuple[str, ...]


def write_edge(directory: Path, prefix: str, top: str, edge: Edge) -> Path | None:
    """The file with the functions, of the model that Verilator emitted into `directory`; None: it has none.

    `top` is the model's module, from which the paths of usual values begin.
    """
    try:
        text = _functions(_read(directory, f"{prefix}___024root"), top, edge)
    except UnknownCodeError:
        return None
    file = directory / f"{prefix}_edge.cpp"
    file.write_text(f'#include "{prefix}__pch.h"\n#include "{prefix}___024root.h"\n\n{text}')
    return file


def member(top: str, path: str, names: Iterable[str]) -> str | None:
    """Verilator's name of `path` below `top` (u_part.g_of[2].q; or fault_i, a port of it); None: not there."""
    *parents, name = [re.sub(r"\[(\d+)\]", r"__BRA__\1__KET__", part) for part in path.split(".")]
    if not parents:
        return name if name in names else None
    levels = [top, *parents]
    ways = ["__DOT__".join([*levels, name])]
    # A port can be known by what its parent, a module somewhere above, has at it.
    for at in range(1, len(levels)):
        outer, cell = "__DOT__".join(levels[:at]), "__DOT__".join(levels[at:])
        ways += [f"{outer}__DOT____Vcell{way}__{cell}__{name}" for way in ("inp", "out")]
    return next((way for way in ways if way in names), None)


def _read(directory: Path, root: str) -> _Model:
    source = "\n".join(file.read_text() for file in sorted(directory.glob(f"{root}__*.cpp")))
    variables = members((directory / f"{root}.h").read_text())
    if not set(re.findall(r"___eval_phase__(\w+)\(", source)) <= {"stl", "ico", "act", "nba"}:
        raise UnknownCodeError("a region of the schedule")
    trigger = _EDGE.fullmatch(_squeezed(source, f"{root}___eval_triggers_vec__act"))
    if trigger is None:
        raise UnknownCodeError("an event other than the rising edge of a clock")
    settling, inputs, edge = (_region(source, f"{root}___eval_{name}", variables) for name in ("stl", "ico", "nba"))
    tables = tuple(dict.fromkeys(_TABLE.findall(source)))
    return _Model(root, variables, trigger[1], trigger[2], settling, inputs, edge, tables)


def _region(source: str, name: str, variables: RootMembers) -> tuple[Function, ...]:
    """The functions that a region of Verilator's schedule calls when its only event has happened."""
    calls = _CALLS.fullmatch(_squeezed(source, name))
    if calls is None:
        raise UnknownCodeError(f"{name} of an unknown form")
    called = re.findall(r"(\w+)\(vlSelf\);", calls[1])
    return tuple(read_function(body(source, function), function, variables) for function in called)


def _squeezed(source: str, name: str) -> str:
    return "".join(body(source, name).split())


def _functions(model: _Model, top: str, edge: Edge) -> str:
    """The C++ of both functions."""
    types = model.variables.types
    late = _all_places(model.variables.outputs & set(edge.late), model.variables)
    seen = _all_places(model.variables.outputs, model.variables) - late
    cycle = [*model.inputs, *model.edge]
    look, needed = _pruned(model.settling, late)
    if _written(look) & needed or model.variables.inputs & {variable(place) for place in _written(cycle)}:
        raise UnknownCodeError("logic that remembers, or writes inputs")
    # An edge leaves what the next one reads.
    while True:
        kept, before = _pruned(cycle, seen | needed)
        if before <= needed:
            break
        needed |= before
    sunk = _sunk(kept, seen | needed)
    lines = [*model.tables, "", *_emitted(f"{model.root}___edge_0", sunk, seen | needed, model, {})]
    choice, given, number = list[str](), dict[str, Usual](), 0
    for usual in edge.usual:
        found = {m: u for u in usual if (m := member(top, u.path, types)) and scalar(types[m]) and m in before}
        if not found:
            continue
        differs = " | ".join(_differs(name, value) for name, value in found.items())
        choice.append(f"  if ({differs}) return {model.root}___edge_{number}(vlSelfRef);")
        given, number = given | found, number + 1
        lines += _emitted(f"{model.root}___edge_{number}", sunk, seen | needed, model, given)
    lines += [f"static void {model.root}___edge({model.root}& vlSelfRef) {{"]
    # As if the clock had been low before.
    lines += [f"  vlSelfRef.{model.clock} = 1;", f"  vlSelfRef.{model.before} = 1;", *choice]
    lines += [f"  {model.root}___edge_{number}(vlSelfRef);", "}", ""]
    lines += _emitted(f"{model.root}___look", _sunk(look, late), late, model, {})
    return "\n".join(lines)


def _all_places(names: Iterable[str], variables: RootMembers) -> frozenset[str]:
    return frozenset(place for name in names for place in places(name, variables.types[name]))


def _pruned(functions: Sequence[Function], live: frozenset[str]) -> tuple[list[Function], frozenset[str]]:
    """The functions without statements whose result isn't read, if `live` is read after them; what is live before."""
    answer: list[Function] = []
    for function in reversed(functions):
        kept, live = _prune(function.statements, live)
        own = f"{function.name}:"  # locals hold nothing yet where a function begins
        live = frozenset(place for place in live if not place.startswith(own))
        answer.append(Function(function.name, function.locals, kept))
    return answer[::-1], live


def _prune(statements: Sequence[Statement], live: frozenset[str]) -> tuple[tuple[Statement, ...], frozenset[str]]:
    kept: list[Statement] = []
    now = set(live)
    for statement in reversed(statements):
        if isinstance(statement, Simple):
            if not (statement.writes | statement.may_write) & now:
                continue
            now -= statement.writes
            now |= statement.reads
            kept.append(statement)
        else:
            before = frozenset(now)
            then, one = _prune(statement.then, before)
            other, two = _prune(statement.other, before)
            if not then and not other:
                continue
            now = set(one | two | statement.reads)
            kept.append(If(statement.code, statement.reads, then, other))
    return tuple(reversed(kept)), frozenset(now)


def _sunk(functions: Sequence[Function], live: frozenset[str]) -> Function:
    """All functions as one, and in it each statement only where it is used."""
    statements = [statement for function in functions for statement in function.statements]
    types = {f"{function.name}:{name}": kind for function in functions for name, kind in function.locals.items()}
    return Function("", types, sink(statements, live))


def _written(functions: Iterable[Function]) -> frozenset[str]:
    return frozenset[str]().union(*(writes(s) for function in functions for s in function.statements))


def _emitted(name: str, function: Function, live: frozenset[str], model: _Model, given: dict[str, Usual]) -> list[str]:
    """The C++ function; `live` is what is read after it, `given` is what members hold before it."""
    _, before = _prune(function.statements, live)
    used = {variable(place) for s in function.statements for place in writes(s) | reads(s)}
    kinds = model.variables.types | function.locals
    outside = {variable(place) for place in before | live} | model.variables.inputs
    local = {v: kinds[v] for v in sorted(used) if v not in outside or ":" in v}
    known = {v: usual for v, usual in given.items() if v in used}
    names = {v: v.replace(":", "__") if v in local or v in known else f"vlSelfRef.{v}" for v in used}
    lines = [f"static void {name}({model.root}& vlSelfRef) {{"]
    lines += [f"  {kind} {names[v]};" for v, kind in local.items()]
    lines += [f"  {kinds[v]} {v} = {_value(v, usual)};" for v, usual in known.items()]
    for statement in function.statements:
        lines += _lines(statement, names, "  ")
    written = {variable(place) for place in _written([function])}
    lines += [f"  vlSelfRef.{v} = {v};" for v in known if v in written]
    return [*lines, "}", ""]


def _differs(name: str, usual: Usual) -> str:
    """C++ that is 0 if a member holds its usual value."""
    if usual.mask is None:
        return f"(vlSelfRef.{name} ^ {usual.value:#x}ULL)"
    return f"((vlSelfRef.{name} & {usual.mask:#x}ULL) ^ {usual.value:#x}ULL)"


def _value(name: str, usual: Usual) -> str:
    """C++ for what a member holds if that is its usual value."""
    if usual.mask is None:
        return f"{usual.value:#x}ULL"
    return f"(vlSelfRef.{name} & ~{usual.mask:#x}ULL) | {usual.value:#x}ULL"


def _lines(statement: Statement, names: dict[str, str], indent: str) -> list[str]:
    code = " ".join(names.get(token, token) for token in statement.code)
    if isinstance(statement, Simple):
        return [f"{indent}{code};"]
    lines = [f"{indent}if ({code}) {{"]
    for inner in statement.then:
        lines += _lines(inner, names, indent + "  ")
    if statement.other:
        lines.append(f"{indent}}} else {{")
        for inner in statement.other:
            lines += _lines(inner, names, indent + "  ")
    return [*lines, f"{indent}}}"]
