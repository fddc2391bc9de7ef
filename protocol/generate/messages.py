"""Writes typed messages of a serial line, from the construct definitions: `protocol/line/messages.py`, for one."""

from construct import Renamed

from ringhil.protocol.enums import Coded
from ringhil.protocol.generate.tables import MessageTable, parts

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_HEAD = '''"""Typed messages and their struct formats.

Generated from {module}.py: do not edit; `make generate` rewrites it.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar
'''
_TAILS = {bytes: 'bytes = b""', int: "tuple[int, ...] = ()"}


def _class(table: MessageTable, kind: Coded, definition: Renamed) -> str:
    fixed, tail = parts(definition)
    lines = ["@dataclass(frozen=True, slots=True)", f"class {table.class_name(kind)}:"]
    lines.append(f'    """{kind}: see `{table.module}.py`."""')
    lines += ["", f"    TYPE: ClassVar[int] = 0x{kind.code:02X}"]
    lines.append(f'    FIXED: ClassVar[struct.Struct] = struct.Struct(">B{"".join(_FORMATS[n] for _, n in fixed)}")')
    lines.append(f'    TAIL: ClassVar[str] = "{tail[0] if tail else ""}"')
    lines.append(f"    IN_WORDS: ClassVar[bool] = {tail is not None and tail[1] is int}")
    lines += ["", *(f"    {name}: int" for name, _ in fixed)]
    if tail:
        lines.append(f"    {tail[0]}: {_TAILS[tail[1]]}")
    return "\n".join(lines) + "\n"


def render(table: MessageTable) -> str:
    """The module's text."""
    out = [_HEAD.format(module=table.module)]
    out += [_class(table, kind, definition) for kind, definition in table.definitions]
    names = [table.class_name(kind) for kind, _ in table.definitions]
    out.append("Message = (\n    " + "\n    | ".join(names) + "\n)\n")
    rows = "\n".join(f"    {name}.TYPE: {name}," for name in names)
    out.append(f"BY_TYPE: dict[int, type[Message]] = {{\n{rows}\n}}\n")
    return "\n\n".join(out)
