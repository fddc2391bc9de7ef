"""What a construct definition of `wire.py` says of its fields: names and sizes, adapters seen through.

A definition is a fixed part, then at most one variable field, then the trailer of both CRCs. Whatever
needs to know that (generators, numpy types) asks here.
"""

from construct import Array, Bytes, BytesInteger, Const, Enum, FlagsEnum, FormatField, Rebuild, Renamed


def base_field(field: object) -> object:
    """The integer field beneath names, enumerations, flags, constants and rebuilt values."""
    while isinstance(field, Renamed | Enum | FlagsEnum | Const | Rebuild):
        field = field.subcon
    return field


def fixed_fields(definition: object) -> list[tuple[str, int]]:
    """(name, bytes) of the fields before the variable one, `kind` included.

    Without a variable field that is the whole definition, the CRCs included.
    """
    fields = []
    for sub in definition.subcons:  # type: ignore[attr-defined]
        inner = base_field(sub)
        if isinstance(inner, Array | Bytes):
            break
        assert isinstance(inner, FormatField | BytesInteger), sub
        fields.append((str(sub.name), int(inner.sizeof())))
    return fields


def variable_field(definition: object) -> str | None:
    """Name of the variable-length field, if there is one: it lies between header and trailer."""
    for sub in definition.subcons:  # type: ignore[attr-defined]
        if isinstance(base_field(sub), Array | Bytes):
            return str(sub.name)
    return None
