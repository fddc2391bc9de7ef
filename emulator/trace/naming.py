"""Frames in words, for messages: what one is and who sent it, and by which fields two of them differ.

Names, sizes and words of values are those of the definitions in `protocol/wire.py`. Damaged and cut frames have words
too: what is not there is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from construct import Enum, FlagsEnum, Renamed

from ringhil.protocol import wire
from ringhil.protocol.fields import fixed_fields, variable_field

_DEFINITIONS = {wire.Kind.parse(name).code: definition for name, definition in wire.FRAMES.items()}
_TRAILER = ("e2e_crc", "link_crc")
_CRC = 4  # bytes
_NAMED = 3  # differences that a message names
_PLAIN = 1 << 16  # values from here on are shown in hexadecimal
# Who sent a frame: the first two bytes of the first of these fields that its kind has.
_SENDERS = ("origin", "source", "candidate", "my_discriminator")
_NUMBERS = ("sequence", "unit")


@dataclass(frozen=True, slots=True)
class FrameField:
    """A field of a frame, `name`: bytes `start` up to but without `end`. `sub` is its part of the definition, `record`
    its record's number, from 0."""

    name: str
    start: int
    end: int
    sub: object = None
    record: int | None = None

    @property
    def title(self) -> str:
        """The name, and the record that it lies in."""
        return self.name if self.record is None else f"record {self.record}: {self.name}"

    def value(self, data: bytes) -> int:
        """The number that it holds in the frame `data`."""
        return int.from_bytes(data[self.start : self.end], "big")

    def shown(self, data: bytes) -> str:
        """The value in words where the definition has words for it."""
        return _shown(self.value(data), self.sub)


def _shown(value: int, sub: object) -> str:
    while isinstance(sub, Renamed):
        sub = sub.subcon
    if isinstance(sub, Enum) and value in sub.decmapping:
        return str(sub.decmapping[value])
    if isinstance(sub, FlagsEnum):
        words = [name for name, bit in sub.flags.items() if value & bit]
        rest = value & ~sum(sub.flags.values())
        return "+".join([*words, *([f"0x{rest:X}"] if rest else [])]) or "none"
    return str(value) if value < _PLAIN else f"0x{value:X}"


@cache
def _head(definition: object) -> tuple[FrameField, ...]:
    """The fixed fields before the variable one, without the trailer."""
    subs = {sub.name: sub for sub in definition.subcons}  # type: ignore[attr-defined]
    found, at = [], 0
    for name, size in fixed_fields(definition):
        if name not in _TRAILER:
            found.append(FrameField(name, at, at + size, subs[name]))
        at += size
    return tuple(found)


def fields_of(data: bytes) -> Iterator[FrameField]:
    """The fields of a whole frame, in order; nothing for bytes that are of no known kind. A payload and sets of GPUs
    are one field a flit."""
    definition = _DEFINITIONS.get(data[0]) if data else None
    if definition is None:
        return
    head = _head(definition)
    yield from (field for field in head if field.end <= len(data))
    at, end = head[-1].end, len(data) - len(_TRAILER) * _CRC
    variable, record = variable_field(definition), _head(wire.Record)
    number = 0
    while variable is not None and at < end:
        if variable == "records" and at + record[-1].end <= end:
            yield from (FrameField(f.name, at + f.start, at + f.end, f.sub, number) for f in record)
            at += record[-1].end
        else:
            yield FrameField(f"{variable} flit {number}", at, at + wire.FLIT_BYTES)
            at += wire.FLIT_BYTES
        number += 1
    if end >= head[-1].end:
        yield from (FrameField(name, end + _CRC * i, end + _CRC * (i + 1)) for i, name in enumerate(_TRAILER))


def described(data: bytes) -> str:
    """A frame, or the beginning of one, by its kind, who sent it, and for whom: "keepalive from GPU 2 for GPU 0 of
    card 3, sequence 7"."""
    definition = _DEFINITIONS.get(data[0]) if data else None
    if definition is None:
        return f"no known kind: 0x{data.hex()[: 2 * wire.FLIT_BYTES]}" if data else "nothing"
    here = {field.name: field for field in _head(definition) if field.end <= len(data)}
    text = wire.Kind.of(data[0]).value
    sender = next((here[name] for name in _SENDERS if name in here), None)
    if sender is not None:
        text += f" from GPU {int.from_bytes(data[sender.start : sender.start + 2], 'big')}"
    if "destination" in here:
        text += f" for GPU {here['destination'].value(data)}"
    if "card" in here:
        text += f" of card {here['card'].value(data)}"
    number = next((here[name] for name in _NUMBERS if name in here), None)
    return text if number is None else f"{text}, {number.name} {number.shown(data)}"


def differing(found: bytes, wanted: bytes) -> str:
    """Where a frame differs from what it must be: "record 2: tag is 7, must be 3"; at most three fields. Check sums are
    named only if nothing else differs, since they follow from it."""
    lines: list[str] = []
    sums: list[str] = []
    named = {(f.title, f.start): f for f in fields_of(found)}
    for field in fields_of(wanted):
        other = named.get((field.title, field.start))
        if other is not None and other.value(found) != field.value(wanted):
            text = f"{field.title} is {other.shown(found)}, must be {field.shown(wanted)}"
            (sums if field.name in _TRAILER else lines).append(text)
    if len(found) != len(wanted):
        lines.append(f"it has {len(found) // wire.FLIT_BYTES} flits, must have {len(wanted) // wire.FLIT_BYTES}")
    lines = lines or sums
    if not lines:
        return "the same" if found == wanted else _flit(found, wanted)
    more = f" (and {len(lines) - _NAMED} more)" if len(lines) > _NAMED else ""
    return "; ".join(lines[:_NAMED]) + more


def _flit(found: bytes, wanted: bytes) -> str:
    """The first flit that differs, of frames without names for their fields."""
    size = wire.FLIT_BYTES
    at = next(i for i in range(0, max(len(found), len(wanted)), size) if found[i : i + size] != wanted[i : i + size])
    return f"flit {at // size} is 0x{found[at : at + size].hex()}, must be 0x{wanted[at : at + size].hex()}"
