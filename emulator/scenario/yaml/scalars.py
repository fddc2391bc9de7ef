"""What a plain scalar means: the core schema of YAML 1.2 (section 10.3), nothing more.

`yes`, `on`, `1_000`, `2024-01-01` and `12:30` are text, as in JSON Schema tools and editors.
"""

import re

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_BASES = ((re.compile(r"[-+]?[0-9]+"), 10), (re.compile(r"0o[0-7]+"), 8), (re.compile(r"0x[0-9a-fA-F]+"), 16))
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_INTEGER = 24  # characters of 64 bits in base 8; Python's own limit would be another error


def resolve(text: str) -> bool | int | float | str | None:
    """Value of a plain scalar.

    Raises OverflowError for a whole number beyond 64 bits: no number in a scenario is that large.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    for pattern, base in _BASES:
        if pattern.fullmatch(text):
            return _integer(text, base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def _integer(text: str, base: int) -> int:
    value = int(text, base) if len(text) <= _LONGEST_INTEGER else 1 << 64
    if abs(value) >= 1 << 64:
        raise OverflowError("a whole number beyond 64 bits")
    return value
