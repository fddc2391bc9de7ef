"""Writes `protocol/line/messages.py`: typed messages of a serial line, from the construct definitions."""

from construct import GreedyBytes, GreedyRange, Renamed

from ringhil.protocol.fields import base_field
from ringhil.protocol.line import management

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_HEAD = '''"""Typed messages and their struct formats.

Generated from management.py: do not edit; `make generate` rewrites it.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar
'''
_TAILS = {bytes: 'bytes = b""', int: "tuple[int, ...] = ()"}


def class_name(kind: management.Type) -> str:
    """`HelloRequest` of hello, `HelloReply` of hello_reply, `RefusedReply` of refused."""
    name = "".join(word.title() for word in kind.split("_"))
    if kind is management.Type.REFUSED:
        return f"{name}Reply"
    return f"{name}Request" if kind in management.REQUESTS else name


def parts(definition: object) -> tuple[list[tuple[str, int]], tuple[str, type] | None]:
    """(name, bytes) of the fixed fields after `type`; name of the tail, and what it is made of: bytes or 64-bit
    words."""
    fixed: list[tuple[str, int]] = []
    for sub in definition.subcons[1:]:  # type: ignore[attr-defined]
        inner = base_field(sub)
        if inner is GreedyBytes:
            return fixed, (str(sub.name), bytes)
        if isinstance(inner, GreedyRange):
            assert inner.subcon.sizeof() == 8
            return fixed, (str(sub.name), int)
        fixed.append((str(sub.name), int(inner.sizeof())))  # type: ignore[attr-defined]
    return fixed, None


def _class(kind: management.Type, definition: Renamed) -> str:
    fixed, tail = parts(definition)
    lines = ["@dataclass(frozen=True, slots=True)", f"class {class_name(kind)}:"]
    lines.append(f'    """{kind}: see `management.py`."""')
    lines += ["", f"    TYPE: ClassVar[int] = 0x{kind.code:02X}"]
    lines.append(f'    FIXED: ClassVar[struct.Struct] = struct.Struct(">B{"".join(_FORMATS[n] for _, n in fixed)}")')
    lines.append(f'    TAIL: ClassVar[str] = "{tail[0] if tail else ""}"')
    lines += ["", *(f"    {name}: int" for name, _ in fixed)]
    if tail:
        lines.append(f"    {tail[0]}: {_TAILS[tail[1]]}")
    return "\n".join(lines) + "\n"


def render() -> str:
    """The module's text."""
    messages = management.MESSAGES
    out = [_HEAD, *(_class(kind, definition) for kind, definition in messages.items())]
    names = [class_name(kind) for kind in messages]
    out.append("Message = (\n    " + "\n    | ".join(names) + "\n)\n")
    table = "\n".join(f"    {name}.TYPE: {name}," for name in names)
    out.append(f"BY_TYPE: dict[int, type[Message]] = {{\n{table}\n}}\n")
    return "\n\n".join(out)
