"""Writes Wireshark's dissector, in Lua, from the construct definitions of frames and of what captures put before them.

Runs on the Lua 5.2 of older Wiresharks as well as on 5.4: no integer division, no bit operators, numbers of 64 bits by
their fields only.
"""

import operator
from collections.abc import Iterator
from typing import Any

import construct as c
from construct.expr import BinExpr, Path

from ringhil.protocol import capture, wire

_SIZES = {"B": 1, "H": 2, "L": 4, "I": 4, "Q": 8}
_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*"}
_HEAD = """-- Messages of ring-interconnect GPU cards, as ringhil captures them (link type 147).
-- Generated from protocol/wire.py and protocol/capture.py: do not edit; `make generate` rewrites it.

local proto = Proto("ringhil", "Ring-interconnect GPU card")
local f, names = {}, {}
local bad = ProtoExpert.new("ringhil.bad", "arrived damaged, or marked by an earlier hop", expert.group.CHECKSUM,
  expert.severity.WARN)
local wrong_crc = ProtoExpert.new("ringhil.wrong_crc", "its bytes have another CRC, or it is no frame",
  expert.group.CHECKSUM, expert.severity.ERROR)
local rejected = ProtoExpert.new("ringhil.rejected", "rejected", expert.group.RESPONSE_CODE, expert.severity.WARN)
local short = ProtoExpert.new("ringhil.short", "ends before its fields do", expert.group.MALFORMED,
  expert.severity.ERROR)
proto.experts = { bad, wrong_crc, rejected, short }

-- A field of `size` bytes at `at`, into `tree`; where the packet ends before, `more` says so.
local more = true
local function add(tree, field, buffer, at, size)
  if not more or at + size > buffer:len() then
    more = false
    return 0
  end
  tree:add(field, buffer(at, size))
  return at + size
end
local function number(buffer, at, size)
  if at + size > buffer:len() then return 0 end
  return buffer(at, size):uint()
end
local function flags(tree, field, bits, buffer, at, size)
  if not more or at + size > buffer:len() then
    more = false
    return 0
  end
  local branch = tree:add(field, buffer(at, size))
  for _, bit in ipairs(bits) do branch:add(bit, buffer(at, size)) end
  return at + size
end
"""
# What is ahead of the payload: of a command to a context, which its first segment has, its own fields.
_COMMAND = """local first = v.segment == 0 and v.segment_bytes >= {size} and at + {size} <= buffer:len()
if commands[v.compute] and first then
  command(tree:add(proto, buffer(at, {size}), "command"), buffer, at, {{}})
end"""
_TAIL = """
local kinds = {
%s
}

function proto.dissector(buffer, packet, root)
  packet.cols.protocol = "RING"
  more = true
  local tree = root:add(proto, buffer())
  local at = header(tree:add(proto, buffer(0, math.min(%d, buffer:len())), "Seen"), buffer, 0, {})
  if not more then
    tree:add_proto_expert_info(short)
    return
  end
  local way, found, kind = number(buffer, 1, 1), number(buffer, 3, 1), number(buffer, %d, 1)
  local place = string.format("%%d.%%d", number(buffer, 4, 2), number(buffer, 6, 2))
  if way == %d then
    tree:add(f.event, buffer(at))
    packet.cols.info = place .. " " .. buffer(at):string()
  else
    packet.cols.info = string.format("%%s %%s %%s", place, ways[way] or "?", names[kind] or "no frame")
    if found %% 4 >= 2 then
      tree:add(f.bytes, buffer(at))
    elseif kinds[kind] == nil then
      more = false
    else
      local branch = tree:add(proto, buffer(at), names[kind])
      kinds[kind](branch, buffer, at, {})
    end
  end
  if found %% 2 >= 1 then tree:add_proto_expert_info(bad) end
  if found %% 4 >= 2 then tree:add_proto_expert_info(wrong_crc) end
  if found %% 8 >= 4 then tree:add_proto_expert_info(rejected) end
  if not more then tree:add_proto_expert_info(short) end
end

local list = {}
for _, field in pairs(f) do
  if type(field) == "table" then
    for _, bit in ipairs(field) do list[#list + 1] = bit end
  else
    list[#list + 1] = field
  end
end
proto.fields = list
DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)
"""


def render() -> str:
    """The whole file."""
    fields: dict[str, str] = {}
    functions = [_struct("header", "seen", capture.Header, fields)]
    functions += [_struct("record", "record", wire.Record, fields)]
    functions += [_struct("command", "command", wire.Command, fields)]
    functions += [_struct(name, name, definition, fields) for name, definition in wire.FRAMES.items()]
    kinds = {name: wire.Kind.parse(name).code for name in wire.FRAMES}
    commands = [each for each in wire.Compute if each is not wire.Compute.DIGEST]
    parts = [
        _HEAD,
        "\n".join(fields.values()),
        'f.event = ProtoField.string("ringhil.event", "event")',
        'f.bytes = ProtoField.bytes("ringhil.bytes", "bytes")',
        "local ways = { " + ", ".join(f'[{way.code}] = "{way}"' for way in capture.SeenAs) + " }",
        *(f'names[{code}] = "{name}"' for name, code in kinds.items()),
        "local commands = { " + ", ".join(f"[{each.code}] = true" for each in commands) + " }",
        *functions,
        _TAIL
        % (
            "\n".join(f"  [{code}] = {name}," for name, code in kinds.items()),
            capture.Header.sizeof(),
            capture.Header.sizeof(),
            capture.SeenAs.EVENT.code,
        ),
    ]
    return "\n".join(parts)


def _struct(function: str, prefix: str, definition: Any, fields: dict[str, str]) -> str:
    lines = [f"local function {function}(tree, buffer, at, v)"]
    for field in definition.subcons:
        lines += [f"  {line}" for line in _field(prefix, field, fields)]
    return "\n".join([*lines, "  return at", "end"])


def _field(prefix: str, field: Any, fields: dict[str, str]) -> Iterator[str]:
    name, inner = field.name, field.subcon
    while isinstance(inner, c.Const | c.Rebuild | c.Renamed):
        inner = inner.subcon
    variable = f"f.{prefix}_{name}"
    full = f"ringhil.{prefix}.{name}"
    if isinstance(inner, c.Array):
        yield from _array(variable, full, name, inner, fields)
    elif isinstance(inner, c.Bytes):
        length = _expression(inner.length)
        if (prefix, name) == ("work", "payload"):
            yield from _COMMAND.format(size=wire.Command.sizeof()).splitlines()
        fields[variable] = f'{variable} = ProtoField.bytes("{full}", "{name}")'
        yield f"if {length} > 0 then at = add(tree, {variable}, buffer, at, {length}) end"
    else:
        size = _size(inner)
        fields[variable] = _declared(variable, full, name, inner, size)
        if size <= 4:
            yield f"v.{name} = number(buffer, at, {size})"
        if isinstance(inner, c.FlagsEnum):
            yield f"at = flags(tree, {variable}, {variable}_bits, buffer, at, {size})"
        else:
            yield f"at = add(tree, {variable}, buffer, at, {size})"


def _array(variable: str, full: str, name: str, inner: Any, fields: dict[str, str]) -> Iterator[str]:
    yield f"for i = 1, {_expression(inner.count)} do"
    yield "  if not more then break end"
    if inner.subcon is wire.Record:
        size = wire.Record.sizeof()
        yield f"  if at + {size} > buffer:len() then more = false break end"
        yield f'  at = record(tree:add(proto, buffer(at, {size}), "record " .. i), buffer, at, {{}})'
    else:
        size = _size(inner.subcon)
        fields[variable] = f'{variable} = ProtoField.uint{8 * size}("{full}", "{name}", base.HEX)'
        yield f"  at = add(tree, {variable}, buffer, at, {size})"
    yield "end"


def _declared(variable: str, full: str, name: str, inner: Any, size: int) -> str:
    bits = 8 * size
    if isinstance(inner, c.FlagsEnum):
        each = [
            f'  ProtoField.bool("{full}.{flag}", "{flag}", {bits}, nil, 0x{int(value):x}),'
            for flag, value in inner.flags.items()
        ]
        whole = f'{variable} = ProtoField.uint{bits}("{full}", "{name}", base.HEX)'
        return "\n".join([whole, f"{variable}_bits = {{", *each, "}"])
    if isinstance(inner, c.Enum):
        words = ", ".join(f'[{int(code)}] = "{word}"' for word, code in inner.encmapping.items())
        return f'{variable} = ProtoField.uint{bits}("{full}", "{name}", base.DEC, {{ {words} }})'
    base = "base.HEX" if name.endswith(("crc", "tag")) else "base.DEC"
    return f'{variable} = ProtoField.uint{bits}("{full}", "{name}", {base})'


def _size(inner: Any) -> int:
    while isinstance(inner, c.Enum | c.FlagsEnum | c.Const | c.Rebuild):
        inner = inner.subcon
    if isinstance(inner, c.BytesInteger):
        return int(inner.length)
    assert isinstance(inner, c.FormatField), inner
    return _SIZES[inner.fmtstr[-1]]


def _expression(value: Any) -> str:
    """An expression of `this`, in Lua."""
    if isinstance(value, BinExpr):
        left, right = _expression(value.lhs), _expression(value.rhs)
        if value.op is operator.floordiv:
            return f"math.floor({left} / {right})"
        return f"({left} {_SIGNS[value.op]} {right})"
    if isinstance(value, Path):
        return f"v.{str(value).removeprefix('this.').removeprefix('this')}".replace("['", "").replace("']", "")
    assert isinstance(value, int), value
    return str(value)
