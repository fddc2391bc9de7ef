"""A value as YAML on one line."""

import json
import re
from collections.abc import Mapping, Sequence

from ringhil.emulator.scenario.file.topology import GpuRef

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*(?:[ -][A-Za-z0-9_.]+)*")  # text that needs no quotes anywhere
_NOT_TEXT = re.compile(r"null|true|false", re.IGNORECASE)


def flow(value: object) -> str:
    """A value on one line."""
    match value:
        case str():
            if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
                return value
            return json.dumps(value, ensure_ascii=not value.isprintable())
        case Mapping():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(flow, value)) + "]"
        case GpuRef():
            return str(value)
    return json.dumps(value)
