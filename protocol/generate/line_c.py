"""Writes messages for C, from the construct definitions: structs, and functions that pack and unpack them.

`ringhil_messages`: those of a management port; `ringhil_firmware_messages`: those of the firmware loop;
`ringhil_frames`: those frames of the ring that firmware, or a driver, makes and reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ringhil.protocol import registers, wire
from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.fields import fixed_fields, variable_field
from ringhil.protocol.generate.tables import FIRMWARE_LOOP, MANAGEMENT, MessageTable, parts
from ringhil.protocol.line import firmware_loop, framing, management
from ringhil.protocol.reasons import LeaseEnd, Rejection

_NAMES = {
    "LineFault": "FAULT",
    "EventKind": "EVENTS",
    "LoopType": "TYPE",
    "Declined": "WHY",
    "BootOption": "OPTION",
    "MemberState": "STATE",
    "MemberFlag": "MEMBER",
    "CensusVerdict": "VERDICT",
    "AckStatus": "REFUSAL",
    "ResultStatus": "ANSWER",
    "GpuState": "GPU",
    "RecordFlag": "RECORD",
    "LeaseEnd": "END",
    "Rejection": "REJECTION",
    "ControlBit": "CONTROL",
    "StatusBit": "STATUS",
}
_TRAILER = 8  # bytes of a frame's two CRCs
_FRAMES = ("statistics", "keepalive", "election", "report", "work", "result", "acknowledgement")


@dataclass(frozen=True)
class _Struct:
    """`code`: of its first byte, None: there is none. `fixed`: (name, bytes) behind it; `tail`: its name, and whether
    it is made of bytes or 64-bit words."""

    name: str
    code: int | None
    fixed: list[tuple[str, int]]
    tail: tuple[str, type] | None

    @property
    def size(self) -> int:
        return (self.code is not None) + sum(bytes_ for _, bytes_ in self.fixed)


@dataclass(frozen=True)
class CFile:
    """A header and its source. `about`: first line of the header; `needs`: headers that it includes; `constants`:
    lines; `words`, `bits`: enumerations; `structs`: what is packed and unpacked; `extra`: declarations and code."""

    name: str
    prefix: str
    about: str
    needs: tuple[str, ...]
    constants: tuple[str, ...]
    words: tuple[type[Coded], ...]
    bits: tuple[type[Bits], ...]
    structs: tuple[_Struct, ...]
    declared: str = ""
    defined: str = ""

    def header(self) -> str:
        """The text of the header."""
        guard = f"{self.name.upper()}_H"
        out = [_HEAD.format(about=self.about, prefix=self.prefix, guard=guard)]
        out += [f'#include "{needed}"' for needed in self.needs]
        out += ["", *_CPP_BEGIN, "", *self.constants] if self.constants else ["", *_CPP_BEGIN]
        for words in self.words:
            out += ["", f"/* {_doc(words)} */", *_enum(self._name(words), words.codes())]
        for bits in self.bits:
            out += ["", f"/* {_doc(bits)} */"]
            out += [f"#define {self._name(bits)}_{name.upper()} 0x{code:04X}u" for name, code in bits.codes().items()]
        if self.name == "ringhil_messages":
            out += ["", "/* Registers of a node, by name: docs/reference/protocol.md. */"]
            out += _enum("RH_REGISTER", registers.ADDRESS)
        for each in self.structs:
            out += ["", f"struct {self.prefix}_{each.name} {{"]
            out += [f"    uint{8 * size}_t {name};" for name, size in each.fixed]
            if each.tail is not None:
                out += [f"    const uint8_t *{each.tail[0]};", f"    size_t {each.tail[0]}_{_unit(each.tail[1])};"]
            out += ["};", f"{_packs(self.prefix, each)};", f"{_unpacks(self.prefix, each)};"]
        return "\n".join(out) + "\n" + self.declared + _FOOT

    def source(self) -> str:
        """The text of the source."""
        head = _SOURCE.format(name=self.name)
        return "\n".join([head + self.defined, *(_functions(self.prefix, each) for each in self.structs)])

    def _name(self, words: type[object]) -> str:
        return f"{self.prefix.upper()}_{_NAMES.get(words.__name__, words.__name__.upper())}"


_NOTE = "Generated from protocol/: do not edit; `make generate` rewrites it."
_CPP_BEGIN = ("#ifdef __cplusplus", 'extern "C" {', "#endif")
_HEAD = f"""/*
 * {{about}}
 * {_NOTE}
 *
 * {{prefix}}_pack_... writes one: its bytes, or 0 when there is no room for them.
 * {{prefix}}_unpack_... reads one: 1, or 0 when the bytes are none of that type. A field of any length points into the
 * bytes that were read; one of words has them most significant byte first, see rh_word.
 */
#ifndef {{guard}}
#define {{guard}}

#include <stddef.h>
#include <stdint.h>
"""
_FOOT = """
#ifdef __cplusplus
}
#endif

#endif
"""
_SOURCE = f"""/* {_NOTE} */
#include "{{name}}.h"

#include <string.h>

static uint8_t *put(uint8_t *out, uint64_t value, unsigned bytes) {{{{
    for (unsigned i = 0; i < bytes; ++i)
        out[i] = (uint8_t)(value >> (8u * (bytes - 1u - i)));
    return out + bytes;
}}}}

static uint64_t get(const uint8_t **in, unsigned bytes) {{{{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value = value << 8 | (*in)[i];
    *in += bytes;
    return value;
}}}}
"""
_GENERAL_DECLARED = """
/* Type of a message; 0: there is none. */
uint8_t rh_type(const uint8_t *message, size_t length);
/* Its id; 0 when it is too short for one. */
uint16_t rh_id(const uint8_t *message, size_t length);
/* A word of a field of words. */
uint64_t rh_word(const uint8_t *words, size_t index);
"""
_GENERAL_DEFINED = """
uint8_t rh_type(const uint8_t *message, size_t length) { return length ? message[0] : 0; }

uint16_t rh_id(const uint8_t *message, size_t length) {
    return length < 3 ? 0 : (uint16_t)(message[1] << 8 | message[2]);
}

uint64_t rh_word(const uint8_t *words, size_t index) {
    const uint8_t *at = words + 8 * index;
    return get(&at, 8);
}
"""


def _structs(table: MessageTable) -> tuple[_Struct, ...]:
    return tuple(_Struct(kind, kind.code, *parts(each)) for kind, each in table.definitions)


def _frames() -> Iterable[_Struct]:
    """Frames without their CRCs, which are written last of all; and a record of a statistics frame."""
    yield _Struct("record", None, fixed_fields(wire.Record), None)
    for name in _FRAMES:
        definition = wire.FRAMES[name]
        tail = variable_field(definition)
        fixed = [(field, size) for field, size in fixed_fields(definition)[1:] if not field.endswith("_crc")]
        yield _Struct(name, wire.Kind.parse(name).code, fixed, (tail, bytes) if tail else None)


def _enum(name: str, codes: Mapping[str, int]) -> list[str]:
    return [f"enum {name.lower()} {{", *(f"    {name}_{word.upper()} = {code}," for word, code in codes.items()), "};"]


MESSAGES = CFile(
    name="ringhil_messages",
    prefix="rh",
    about="Messages of a card's management port: docs/reference/management.md.",
    needs=(),
    constants=(
        f"#define RH_MAJOR {management.MAJOR}u",
        f"#define RH_MINOR {management.MINOR}u",
        f"#define RH_LONGEST {framing.LONGEST}u /* bytes of a message */",
        f"#define RH_KEPT {management.KEPT}u /* requests whose answers a card keeps */",
    ),
    words=(management.Type, management.Refusal, management.Way, management.LineFault, management.Injection),
    bits=(management.Capability, management.EventKind),
    structs=_structs(MANAGEMENT),
    declared=_GENERAL_DECLARED,
    defined=_GENERAL_DEFINED,
)
FIRMWARE_MESSAGES = CFile(
    name="ringhil_firmware_messages",
    prefix="rhf",
    about="Messages and actions of the firmware loop: docs/reference/firmware-loop.md.",
    needs=("ringhil_messages.h",),
    constants=(
        f"#define RHF_MAJOR {firmware_loop.MAJOR}u",
        f"#define RHF_MINOR {firmware_loop.MINOR}u",
        f"#define RHF_NOBODY 0x{firmware_loop.NOBODY:04X}u /* no GPU */",
    ),
    words=(firmware_loop.LoopType, firmware_loop.Declined, LeaseEnd, Rejection),
    bits=(firmware_loop.BootOption,),
    structs=_structs(FIRMWARE_LOOP),
)
FRAMES = CFile(
    name="ringhil_frames",
    prefix="rhw",
    about="Frames of the ring, without their two CRCs: docs/reference/protocol.md.",
    needs=("ringhil_messages.h",),
    constants=(
        f"#define RHW_TRAILER {_TRAILER}u /* bytes of the two CRCs */",
        f"#define RHW_MAX_RING {wire.MAX_RING}u /* GPUs of a card */",
        f"#define RHW_NO_CARD 0x{wire.NO_CARD:02X}u",
        f"#define RHW_NO_HOLDER 0x{wire.NO_HOLDER:08X}u",
        f"#define RHW_CONTEXTS {wire.CONTEXTS}u /* of a compute engine */",
        f"#define RHW_SEGMENT {wire.SEGMENT_BYTES}u /* bytes of a work unit in a frame */",
        f"#define RHW_OVERFLOW 0x{wire.OVERFLOW:04X}u /* in `record_limit` */",
    ),
    words=(
        wire.Kind,
        wire.Port,
        wire.GpuState,
        wire.Role,
        wire.MemberState,
        wire.Operation,
        wire.CensusVerdict,
        wire.Compute,
        wire.Query,
        wire.AckStatus,
        wire.ResultStatus,
    ),
    bits=(wire.Flag, wire.RecordFlag, wire.MemberFlag, registers.ControlBit, registers.StatusBit),
    structs=tuple(_frames()),
)


def _doc(words: type[object]) -> str:
    assert words.__doc__ is not None
    return words.__doc__.splitlines()[0]


def _unit(kind: type) -> str:
    return "length" if kind is bytes else "count"


def _packs(prefix: str, each: _Struct) -> str:
    return f"size_t {prefix}_pack_{each.name}(const struct {prefix}_{each.name} *m, uint8_t *out, size_t room)"


def _unpacks(prefix: str, each: _Struct) -> str:
    return f"int {prefix}_unpack_{each.name}(struct {prefix}_{each.name} *m, const uint8_t *in, size_t length)"


def _functions(prefix: str, each: _Struct) -> str:
    size, tail = each.size, each.tail
    packs, unpacks = [f"{_packs(prefix, each)} {{"], [f"{_unpacks(prefix, each)} {{"]
    wrong = "" if each.code is None else f" || in[0] != {each.code}u"
    if tail is None:
        packs += [f"    if (room < {size}u)", "        return 0;"]
        unpacks.append(f"    if (length != {size}u{wrong})")
    else:
        name = f"m->{tail[0]}_{_unit(tail[1])}"
        scale = "" if tail[1] is bytes else " / 8u"
        packs += [
            f"    if (room < {size}u || {name} > (room - {size}u){scale} || {name} > (RH_LONGEST - {size}u){scale})",
            "        return 0;",
        ]
        whole = "" if tail[1] is bytes else f" || (length - {size}u) % 8u"
        unpacks.append(f"    if (length < {size}u{wrong}{whole})")
    unpacks.append("        return 0;")
    if each.code is not None:
        packs.append(f"    out = put(out, {each.code}u, 1);")
        unpacks.append("    in += 1;")
    packs += [f"    out = put(out, m->{name}, {bytes_});" for name, bytes_ in each.fixed]
    unpacks += [f"    m->{name} = (uint{8 * bytes_}_t)get(&in, {bytes_});" for name, bytes_ in each.fixed]
    if tail is None:
        packs += [f"    return {size}u;", "}", ""]
        unpacks.append("    (void)in;")
    else:
        name, times = f"{tail[0]}_{_unit(tail[1])}", "" if tail[1] is bytes else " * 8u"
        packs += [
            f"    if (m->{name})",
            f"        memcpy(out, m->{tail[0]}, m->{name}{times});",
            f"    return {size}u + m->{name}{times};",
            "}",
            "",
        ]
        rest = f"length - {size}u" if tail[1] is bytes else f"(length - {size}u) / 8u"
        unpacks += [f"    m->{tail[0]} = in;", f"    m->{name} = {rest};"]
    unpacks += ["    return 1;", "}", ""]
    return "\n".join(packs + unpacks)
