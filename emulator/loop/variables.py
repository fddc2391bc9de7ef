"""The variables of firmware in C: what the debug information of a library says is in its memory.

A library that was compiled with -g says of each variable its name, its place and its type (DWARF 3 to 5). The state
that `rhf_answer` gets is memory without a name; its type is that of the struct that `rhf_answer` has a pointer to.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

Read = Callable[[int, int], bytes]  # offset and number of bytes; as many, or none: they can't be read
Shape = Callable[[bytes], Any]  # what bytes of that type are, as JSON has it
STATE, ANSWER = "state", "rhf_answer"
_MOST_VARIABLES, _AT_ONCE, _MOST_ITEMS, _DEEPEST = 500, 1 << 13, 64, 12
_SAME = ("typedef", "const_type", "volatile_type", "atomic_type", "restrict_type")
_RECORDS = ("structure_type", "union_type", "class_type")
_ADDRESS, _ADDRESS_BY_NUMBER = 0x03, 0xA1  # operations of DWARF
_BOOLEAN, _FLOAT, _SIGNED = (0x02,), (0x04,), (0x05, 0x06)  # its encodings of numbers
_FLOATS = {4: "<f", 8: "<d"}


@dataclass(frozen=True)
class _Variable:
    name: str
    address: int  # from where the library is loaded
    size: int  # bytes
    shape: Shape


@dataclass(frozen=True)
class Variables:
    """Those of a library, and the type of its state, None: nothing says it."""

    found: tuple[_Variable, ...]
    state: Shape | None
    size: int

    def values(self, of_library: Read, of_state: Read) -> dict[str, Any]:
        """All of them by name, as JSON has them: structs by their members, bytes in hexadecimal, enumerations by name,
        of arrays the first 64 elements. None: it can't be read."""
        places = [(each.name, of_library, each.address, each.size, each.shape) for each in self.found]
        if self.state is not None:
            places.insert(0, (STATE, of_state, 0, self.size, self.state))
        values = dict[str, Any]()
        for name, read, at, size, shape in places:
            data = b"".join(read(at + n, min(_AT_ONCE, size - n)) for n in range(0, size, _AT_ONCE))
            values[name] = shape(data) if len(data) == size else None
        return values


def variables_of(path: Path, size: int) -> Variables | None:
    """Of the library at `path`, whose state has `size` bytes. None: there is no debug information, or none that can be
    read."""
    try:
        return _variables_of(path, path.stat().st_mtime_ns, size)
    except OSError:
        return None


@lru_cache(maxsize=16)
def _variables_of(path: Path, changed: int, size: int) -> Variables | None:
    try:
        file = ELFFile(BytesIO(path.read_bytes()))
        if not file.has_dwarf_info():
            return None
        info = file.get_dwarf_info()
        types, variables, states = _Types(), list[_Variable](), list[DIE]()
        for unit in info.iter_CUs():
            for die in _all(unit.get_top_DIE()):
                if _kind(die) == "variable":
                    variables += _variable(die, types)
                elif _kind(die) == "subprogram" and _name(die) == ANSWER:
                    states += _looked_at_as(die, size)
        state = types.shape(states[0]) if states else None
    except Exception:  # whatever damaged bytes make of a reader of them
        return None
    if not variables and state is None:
        return None
    return Variables(tuple(islice(variables, _MOST_VARIABLES)), state, size)


# ------------------------------------------------------------------------------------------------------- places


def _all(die: DIE, depth: int = 0) -> Iterator[DIE]:
    yield die
    if depth < _DEEPEST and _kind(die) not in _RECORDS:
        for child in die.iter_children():
            yield from _all(child, depth + 1)


def _kind(die: DIE) -> str:
    return str(die.tag).removeprefix("DW_TAG_")


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return "" if attribute is None else attribute.value.decode("utf-8", "replace")


def _variable(die: DIE, types: "_Types") -> Iterator[_Variable]:
    """It, if it has a place of its own that is known."""
    location = die.attributes.get("DW_AT_location")
    if location is None or not isinstance(location.value, list) or not location.value:
        return  # it has none, or one that changes
    operation, *operand = location.value
    if operation == _ADDRESS:
        address = int.from_bytes(bytes(operand), "little")
    elif operation == _ADDRESS_BY_NUMBER:
        address = die.dwarfinfo.get_addr(die.cu, _unsigned(operand))
    else:
        return
    declared = die
    while "DW_AT_specification" in declared.attributes or "DW_AT_abstract_origin" in declared.attributes:
        which = "specification" if "DW_AT_specification" in declared.attributes else "abstract_origin"
        declared = declared.get_DIE_from_attribute(f"DW_AT_{which}")
    type_ = types.of(declared)
    name = _name(declared)
    if name and type_ is not None:
        function = die.get_parent()
        while function is not None and _kind(function) == "lexical_block":
            function = function.get_parent()
        inside = f"{_name(function)}." if function is not None and _kind(function) == "subprogram" else ""
        yield _Variable(inside + name, address, types.size(type_), types.shape(type_))


def _unsigned(bytes_: list[int]) -> int:
    """A number in groups of 7 bits, the lowest first (LEB128)."""
    return sum((byte & 0x7F) << 7 * n for n, byte in enumerate(bytes_))


def _looked_at_as(function: DIE, size: int) -> Iterator[DIE]:
    """Structs of that size to which a parameter or a variable of it points."""
    types = _Types()
    for die in _all(function):
        if _kind(die) in ("variable", "formal_parameter"):
            pointer = types.of(die)
            if pointer is not None and _kind(pointer) == "pointer_type":
                target = types.of(pointer)
                if target is not None and _kind(target) in _RECORDS and types.size(target) == size:
                    yield target


# -------------------------------------------------------------------------------------------------------- types


class _Types:
    """What bytes mean, by the entries of the debug information; each is worked out once."""

    def __init__(self) -> None:
        self._shapes: dict[int, Shape] = {}

    def of(self, die: DIE) -> DIE | None:
        """Its type, without names and qualifiers; None: void."""
        while "DW_AT_type" in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_type")
            if _kind(die) not in _SAME:
                return die
        return None

    def size(self, type_: DIE) -> int:
        """Bytes."""
        if _kind(type_) == "array_type":
            item = self.of(type_)
            assert item is not None
            count = self.size(item)
            for length in _lengths(type_):
                count *= length
            return count
        return int(type_.attributes["DW_AT_byte_size"].value)

    def shape(self, type_: DIE) -> Shape:
        """How bytes of it are shown."""
        if type_.offset not in self._shapes:
            self._shapes[type_.offset] = self._shape(type_)
        return self._shapes[type_.offset]

    def _shape(self, type_: DIE) -> Shape:
        kind = _kind(type_)
        if kind in _RECORDS:
            return self._record(type_)
        if kind == "array_type":
            item = self.of(type_)
            assert item is not None
            return _array(self.shape(item), self.size(item), _lengths(type_), item)
        if kind == "pointer_type":
            return lambda data: f"0x{int.from_bytes(data, 'little'):x}"
        if kind == "enumeration_type":
            names = {each.attributes["DW_AT_const_value"].value: _name(each) for each in type_.iter_children()}
            return lambda data: _enumerated(names, data)
        return _number(int(type_.attributes["DW_AT_encoding"].value), self.size(type_))

    def _record(self, type_: DIE) -> Shape:
        parts = list[tuple[str, Callable[[bytes], Any]]]()
        for member in type_.iter_children():
            under = self.of(member)
            if _kind(member) == "member" and under is not None:
                parts.append((_name(member), self._member(member, under)))

        def shape(data: bytes) -> dict[str, Any]:
            found = dict[str, Any]()
            for name, part in parts:
                value = part(data)
                if not name and isinstance(value, dict):  # members without a name are the record's own
                    found |= value
                else:
                    found[name] = value
            return found

        return shape

    def _member(self, member: DIE, under: DIE) -> Shape:
        at, size, shape = member.attributes, self.size(under), self.shape(under)
        begin = at["DW_AT_data_member_location"].value if "DW_AT_data_member_location" in at else 0
        begin = _unsigned(begin[1:]) if isinstance(begin, list) else int(begin)  # DWARF 3: it is added
        if "DW_AT_bit_size" not in at:
            return lambda data: shape(data[begin : begin + size])
        bits = int(at["DW_AT_bit_size"].value)
        if "DW_AT_data_bit_offset" in at:
            first = int(at["DW_AT_data_bit_offset"].value)
        else:  # DWARF 3 counts from the most significant bit
            first = 8 * (begin + size) - int(at["DW_AT_bit_offset"].value) - bits
        signed = "DW_AT_encoding" in under.attributes and under.attributes["DW_AT_encoding"].value in _SIGNED

        def shown(data: bytes) -> Any:
            value = int.from_bytes(data, "little") >> first & (1 << bits) - 1
            value -= signed and value >> bits - 1 and 1 << bits
            return shape((value % (1 << 8 * size)).to_bytes(size, "little"))

        return shown


def _lengths(array: DIE) -> list[int]:
    """Of its dimensions."""
    found = list[int]()
    for each in array.iter_children():
        at = each.attributes
        if "DW_AT_count" in at:
            found.append(int(at["DW_AT_count"].value))
        else:
            found.append(int(at["DW_AT_upper_bound"].value) + 1 if "DW_AT_upper_bound" in at else 0)
    return found


def _array(item: Shape, size: int, lengths: list[int], type_: DIE) -> Shape:
    first, *rest = lengths
    if rest:
        inner = _array(item, size, rest, type_)
        for length in rest:
            size *= length
        return _array(inner, size, [first], type_)
    if size == 1 and _kind(type_) == "base_type" and not rest:
        return lambda data: data[: 4 * _MOST_ITEMS].hex() + ("..." if len(data) > 4 * _MOST_ITEMS else "")

    def shape(data: bytes) -> list[Any]:
        shown = [item(data[n * size : (n + 1) * size]) for n in range(min(first, _MOST_ITEMS))]
        return [*shown, "..."] if first > _MOST_ITEMS else shown

    return shape


def _number(encoding: int, size: int) -> Shape:
    if encoding in _BOOLEAN:
        return any
    if encoding in _FLOAT and size in _FLOATS:
        return lambda data: struct.unpack(_FLOATS[size], data)[0]
    return lambda data: int.from_bytes(data, "little", signed=encoding in _SIGNED)


def _enumerated(names: dict[int, str], data: bytes) -> str | int:
    signed, unsigned = (int.from_bytes(data, "little", signed=way) for way in (True, False))
    return names.get(signed) or names.get(unsigned) or unsigned
