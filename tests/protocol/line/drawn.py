"""Messages of any table, drawn by hypothesis, and their bytes by construct."""

from typing import Any

from construct import GreedyRange
from hypothesis import strategies as st

from ringhil.protocol.fields import base_field
from ringhil.protocol.generate.tables import parts


@st.composite
def values(draw: st.DrawFn, definition: object) -> dict[str, Any]:
    """Field -> number, or bytes, or words."""
    fixed, tail = parts(definition)
    found: dict[str, Any] = {name: draw(st.integers(0, 256**size - 1)) for name, size in fixed}
    if tail is not None:
        words = st.lists(st.integers(0, 2**64 - 1), max_size=20).map(tuple)
        found[tail[0]] = draw(st.binary(max_size=300) if tail[1] is bytes else words)
    return found


def by_construct(code: int, definition: Any, found: dict[str, Any]) -> bytes:
    """Field by field with the integer and bytes fields beneath."""
    out = bytes([code])
    for sub in definition.subcons[1:]:
        inner = base_field(sub)
        out += GreedyRange(inner.subcon).build(found[sub.name]) if isinstance(inner, GreedyRange) else b""
        out += b"" if isinstance(inner, GreedyRange) else inner.build(found[sub.name])  # type: ignore[attr-defined]
    return out
