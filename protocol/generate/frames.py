"""Writes `protocol/frames.py`: typed frames with fast codecs, from the construct definitions."""

import re

from ringhil.protocol import wire
from ringhil.protocol.fields import fixed_fields, variable_field

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_HEAD = '''"""Typed frames and their struct formats.

Generated from wire.py: do not edit; `make generate` rewrites it.
"""

import struct
from typing import ClassVar

from ringhil.protocol.values import value
'''


_VARIABLE_TYPES = {
    "records": "tuple[Record, ...] = ()",
    "payload": 'bytes = b""',
    "sets": "tuple[int, ...] = ()",
}


def _class(name: str, definition: object, kind: wire.Kind | None) -> str:
    fields = fixed_fields(definition)
    variable = variable_field(definition)
    trailer = ("e2e_crc", "link_crc")
    head = [(n, size) for n, size in fields if n not in trailer]
    fmt = ">" + "".join(_FORMATS[size] for _, size in head)
    lines = ["@value(frozen=True, slots=True)", f"class {name}:"]
    bits = "".join(f" {n} {size * 8}," for n, size in head if n != "kind").rstrip(",")
    what = "What a GPU says of itself in a statistics frame" if kind is None else f"Frame `{kind}`: {kind.doc}"
    lines += [f'    """{what}.', "", *_wrap(f"    Fixed fields, bits:{bits}."), '    """', ""]
    if kind is not None:
        lines.append(f"    KIND: ClassVar[int] = 0x{kind.code:02X}")
    lines.append(f'    HEAD: ClassVar[struct.Struct] = struct.Struct("{fmt}")')
    lines.append(f"    VARIABLE: ClassVar[str] = {_quoted(variable)}")
    lines.append("")
    lines += [f"    {n}: int" for n, _ in head if n not in ("kind", "records_count")]
    if variable:
        lines.append(f"    {variable}: {_VARIABLE_TYPES[variable]}")
    return "\n".join(lines) + "\n"


def _quoted(name: str | None) -> str:
    return f'"{name}"' if name else '""'


def _wrap(line: str) -> list[str]:
    words, out = re.split(r"(?<=,) ", line), [""]
    for word in words:
        if len(out[-1]) + len(word) > 105:
            out.append("    ")
        out[-1] += (" " if out[-1].strip() else "") + word
    return [part.rstrip() for part in out]


def render() -> str:
    """The module's text."""
    parts = [_HEAD, _class("Record", wire.Record, None)]
    parts += [_class(name.title(), definition, wire.Kind.parse(name)) for name, definition in wire.FRAMES.items()]
    names = " | ".join(name.title() for name in wire.FRAMES)
    parts.append(f"Frame = {names}\n")
    table = "\n".join(f"    {name.title()}.KIND: {name.title()}," for name in wire.FRAMES)
    parts.append(f"BY_KIND: dict[int, type[Frame]] = {{\n{table}\n}}\n")
    return "\n\n".join(parts)
