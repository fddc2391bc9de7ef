"""Writes `ringhil_messages.h` and `.c`: the messages of a management port for C, from the construct definitions."""

from ringhil.protocol import registers
from ringhil.protocol.enums import Coded
from ringhil.protocol.generate.messages import parts
from ringhil.protocol.line import framing, management

_NOTE = "Generated from protocol/line/: do not edit; `make generate` rewrites it."
_WORDS = (
    management.Type,
    management.Refusal,
    management.Way,
    management.LineFault,
    management.Injection,
)
_BITS = (management.Capability, management.EventKind)
_NAMES = {"LineFault": "FAULT", "EventKind": "EVENTS"}

_HEAD = f"""/*
 * Messages of a card's management port: docs/management.md.
 * {_NOTE}
 *
 * rh_pack_... writes a message: its bytes, or 0 when there is no room for them.
 * rh_unpack_... reads one: 1, or 0 when the bytes are no message of that type. A field of any length points into the
 * bytes that were read; one of words has them most significant byte first, see rh_word.
 */
#ifndef RINGHIL_MESSAGES_H
#define RINGHIL_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
_FOOT = """
/* Type of a message; 0: there is none. */
uint8_t rh_type(const uint8_t *message, size_t length);
/* Its id; 0 when it is too short for one. */
uint16_t rh_id(const uint8_t *message, size_t length);
/* A word of a field of words. */
uint64_t rh_word(const uint8_t *words, size_t index);

#ifdef __cplusplus
}
#endif

#endif
"""
_SOURCE = f"""/* {_NOTE} */
#include "ringhil_messages.h"

#include <string.h>

#define TYPE_BYTES 1u

static uint8_t *put(uint8_t *out, uint64_t value, unsigned bytes) {{
    for (unsigned i = 0; i < bytes; ++i)
        out[i] = (uint8_t)(value >> (8u * (bytes - 1u - i)));
    return out + bytes;
}}

static uint64_t get(const uint8_t **in, unsigned bytes) {{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value = value << 8 | (*in)[i];
    *in += bytes;
    return value;
}}

uint8_t rh_type(const uint8_t *message, size_t length) {{ return length ? message[0] : 0; }}

uint16_t rh_id(const uint8_t *message, size_t length) {{
    return length < 3 ? 0 : (uint16_t)(message[1] << 8 | message[2]);
}}

uint64_t rh_word(const uint8_t *words, size_t index) {{
    const uint8_t *at = words + 8 * index;
    return get(&at, 8);
}}
"""


def header() -> str:
    """The text of the header."""
    out = [_HEAD, f"#define RH_MAJOR {management.MAJOR}u", f"#define RH_MINOR {management.MINOR}u"]
    out.append(f"#define RH_LONGEST {framing.LONGEST}u /* bytes of a message */")
    out.append(f"#define RH_KEPT {management.KEPT}u /* requests whose answers a card keeps */")
    for words in _WORDS:
        out += ["", f"/* {_doc(words)} */", f"enum rh_{_prefix(words).lower()} {{"]
        out += [f"    RH_{_prefix(words)}_{name.upper()} = {code}," for name, code in words.codes().items()]
        out.append("};")
    for bits in _BITS:
        out += ["", f"/* {_doc(bits)} */"]
        out += [f"#define RH_{_prefix(bits)}_{name.upper()} 0x{code:04X}u" for name, code in bits.codes().items()]
    out += ["", "/* Registers of a node, by name: docs/protocol.md. */", "enum rh_register {"]
    out += [f"    RH_REGISTER_{name.upper()} = {address}," for name, address in registers.ADDRESS.items()]
    out.append("};")
    for kind, definition in management.MESSAGES.items():
        fixed, tail = parts(definition)
        out += ["", f"struct rh_{kind} {{", *(f"    uint{8 * size}_t {name};" for name, size in fixed)]
        if tail is not None:
            out += [f"    const uint8_t *{tail[0]};", f"    size_t {tail[0]}_{_unit(tail[1])};"]
        out += ["};", f"{_packs(kind)};", f"{_unpacks(kind)};"]
    return "\n".join(out) + "\n" + _FOOT


def source() -> str:
    """The text of the source."""
    return "\n".join([_SOURCE, *map(_functions, management.MESSAGES)])


def _doc(words: type[object]) -> str:
    assert words.__doc__ is not None
    return words.__doc__.splitlines()[0]


def _prefix(words: type[Coded] | type[object]) -> str:
    return _NAMES.get(words.__name__, words.__name__.upper())


def _unit(kind: type) -> str:
    return "length" if kind is bytes else "count"


def _packs(kind: str) -> str:
    return f"size_t rh_pack_{kind}(const struct rh_{kind} *m, uint8_t *out, size_t room)"


def _unpacks(kind: str) -> str:
    return f"int rh_unpack_{kind}(struct rh_{kind} *m, const uint8_t *in, size_t length)"


def _functions(kind: management.Type) -> str:
    fixed, tail = parts(management.MESSAGES[kind])
    size = 1 + sum(bytes_ for _, bytes_ in fixed)
    packs, unpacks = [f"{_packs(kind)} {{"], [f"{_unpacks(kind)} {{"]
    if tail is None:
        packs += [f"    if (room < {size}u)", "        return 0;"]
        unpacks.append(f"    if (length != {size}u || in[0] != {kind.code}u)")
    else:
        name = f"m->{tail[0]}_{_unit(tail[1])}"
        each = "" if tail[1] is bytes else " / 8u"
        packs += [
            f"    if (room < {size}u || {name} > (room - {size}u){each} || {name} > (RH_LONGEST - {size}u){each})",
            "        return 0;",
        ]
        whole = "" if tail[1] is bytes else f" || (length - {size}u) % 8u"
        unpacks.append(f"    if (length < {size}u || in[0] != {kind.code}u{whole})")
    packs.append(f"    out = put(out, {kind.code}u, TYPE_BYTES);")
    unpacks += ["        return 0;", "    in += TYPE_BYTES;"]
    packs += [f"    out = put(out, m->{name}, {bytes_});" for name, bytes_ in fixed]
    unpacks += [f"    m->{name} = (uint{8 * bytes_}_t)get(&in, {bytes_});" for name, bytes_ in fixed]
    if tail is None:
        packs += [f"    return {size}u;", "}", ""]
    else:
        name, times = f"{tail[0]}_{_unit(tail[1])}", "" if tail[1] is bytes else " * 8u"
        packs += [
            f"    if (m->{name})",
            f"        memcpy(out, m->{tail[0]}, m->{name}{times});",
            f"    return {size}u + m->{name}{times};",
            "}",
            "",
        ]
        over = "" if tail[1] is bytes else " / 8u"
        rest = f"length - {size}u" if tail[1] is bytes else f"(length - {size}u){over}"
        unpacks += [f"    m->{tail[0]} = in;", f"    m->{name} = {rest};"]
    if tail is None:
        unpacks.append("    (void)in;")
    unpacks += ["    return 1;", "}", ""]
    return "\n".join(packs + unpacks)
