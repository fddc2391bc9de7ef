"""Writes Wireshark's dissector, in Lua, from the construct definitions of frames and of what captures put before them.

Runs on the Lua 5.2 of older Wiresharks as well as on 5.4: no integer division, no bit operators, numbers of 64 bits by
their fields only.
"""

import json
import operator
from collections.abc import Iterator
from typing import Any

import construct as c
from construct.expr import BinExpr, Path

from ringhil.protocol import capture, wire
from ringhil.protocol.enums import Coded
from ringhil.protocol.fields import fixed_fields

_STATE = ("keepalive", "state")  # two things in a byte: what it is, and flags
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
# Who speaks to whom, as people call them, and what a frame says in a line.
_SUMMARY = """
local function place(cards, card, gpu)
  return (cards[card + 1] or tostring(card)) .. "." .. gpu
end
local function word(words, code)
  return words[code] or tostring(code)
end
-- Who has sent a frame that was seen at `here`, and for whom it is; nil: nothing says so.
local function ends(kind, way, port, here, cards, v)
  local from, to
  if way == {from_firmware} then from = here end
  if way == {to_firmware} or way == {from_cpu} then to = here end
  if way == {from_cpu} then from = "CPU" end
  if way == {to_cpu} or (way == {from_firmware} and port == {cpu}) then to = "CPU" end
  if kind == "statistics" then
    return place(cards, v.card, v.origin), "ring"
  elseif kind == "keepalive" then
    if not from and v.my_discriminator == 0 then from = "CPU" end
    if not from and (way == {to_cpu} or port ~= {boundary}) then
      from = place(cards, v.card, math.floor(v.my_discriminator / 65536))
    end
  elseif kind == "election" then
    local asks = v.operation == {claim} or v.operation == {release}
    if not from and asks and way == {to_cpu} then from = place(cards, v.card, v.candidate) end
    if not from and not asks and v.role == {entry} then from = "CPU" end
  elseif kind == "result" or kind == "acknowledgement" then
    from, to = place(cards, v.source_card, v.source), "CPU"
  elseif kind == "report" then
    from, to = place(cards, v.card, v.source), "CPU"
  elseif kind == "work" then
    from = from or "CPU"
    to = place(cards, v.card, v.destination)
  end
  if not to then to = place(cards, v.card, v.destination) end
  return from, to
end
local says = {{
  statistics = function(v, cards)
    local records = v.records_count == 1 and " record" or " records"
    return string.format("statistics from %s, count %d of %d, %d%s", place(cards, v.card, v.origin), v.count,
      v.expected, v.records_count, records)
  end,
  keepalive = function(v)
    local state = word(member_states, v.state % 16)
    local answer = v.echo > 0 and string.format(", answers %d", v.echo) or ""
    return string.format("keepalive, %s %s, epoch %d, sequence %d%s", word(roles, v.role), state, v.epoch, v.sequence,
      answer)
  end,
  election = function(v)
    return string.format("%s of %s role, epoch %d", word(operations, v.operation), word(roles, v.role), v.epoch)
  end,
  work = function(v)
    return string.format("%s, unit %d, segment %d, %d bytes", word(computes, v.compute), v.unit, v.segment,
      v.segment_bytes)
  end,
  result = function(v) return string.format("result, unit %d: %s", v.unit, word(results, v.status)) end,
  acknowledgement = function(v) return string.format("refusal, unit %d: %s", v.unit, word(refusals, v.status)) end,
  report = function(v)
    return string.format("report, count %d of %d, verdict %s", v.count, v.size, word(verdicts, v.verdict))
  end,
}}
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
  local seen, cards = {}, {}
  local head = buffer(0, math.min(%d + number(buffer, %d, 2), buffer:len()))
  local at = header(tree:add(proto, head, "Seen"), buffer, 0, seen)
  if not more then
    tree:add_proto_expert_info(short)
    return
  end
  for name in buffer(at - seen.names_length, seen.names_length):string():gmatch("[^,]+") do cards[#cards + 1] = name end
  local way, found, kind = seen.way, seen.found, names[number(buffer, at, 1)]
  local here = way == %d and seen.card == %d and "server" or place(cards, seen.card, seen.gpu)
  if way == %d then
    tree:add(f.event, buffer(at))
    packet.cols.src = here
    packet.cols.info = here .. " " .. buffer(at):string()
  else
    packet.cols.info = string.format("%%s %%s %%s", here, ways[way] or "?", kind or "no frame")
    if found %% 4 >= 2 then
      tree:add(f.bytes, buffer(at))
    elseif kind == nil then
      more = false
    else
      local v = {}
      kinds[kind](tree:add(f["is_" .. kind], buffer(at)), buffer, at, v)
      if more then
        local from, to = ends(kind, way, seen.port, here, cards, v)
        if from then
          packet.cols.src = from
          tree:add(f.source, from):set_generated()
        end
        packet.cols.dst = to
        tree:add(f.destination, to):set_generated()
        packet.cols.info = string.format("%%s %%s: %%s", here, ways[way] or "?", says[kind](v, cards))
      end
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


_FIXED = sum(size for _, size in fixed_fields(capture.Header))
_WORDS: dict[str, type[Coded]] = {
    "roles": wire.Role,
    "member_states": wire.MemberState,
    "operations": wire.Operation,
    "computes": wire.Compute,
    "results": wire.ResultStatus,
    "refusals": wire.AckStatus,
    "verdicts": wire.CensusVerdict,
}
_CODES = {
    **{str(way): way.code for way in capture.SeenAs},
    **{str(each): each.code for each in (wire.Operation.CLAIM, wire.Operation.RELEASE, wire.Role.ENTRY)},
    **{str(port): port.code for port in (wire.Port.CPU, wire.Port.BOUNDARY)},
}


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
        'f.source = ProtoField.string("ringhil.source", "source")',
        'f.destination = ProtoField.string("ringhil.destination", "destination")',
        *(f'f.is_{name} = ProtoField.none("ringhil.{name}", "{name}")' for name in kinds),
        "local ways = { " + ", ".join(f'[{way.code}] = "{way}"' for way in capture.SeenAs) + " }",
        *(f'names[{code}] = "{name}"' for name, code in kinds.items()),
        "local commands = { " + ", ".join(f"[{each.code}] = true" for each in commands) + " }",
        *(f"local {name} = {_table(words)}" for name, words in _WORDS.items()),
        *functions,
        _SUMMARY.format(**_CODES),
        _TAIL
        % (
            "\n".join(f"  {name} = {name}," for name in kinds),
            _FIXED,
            _FIXED - 2,
            capture.SeenAs.EVENT.code,
            capture.NOWHERE,
            capture.SeenAs.EVENT.code,
        ),
    ]
    return "\n".join(parts)


def _table(words: type[Coded]) -> str:
    return "{ " + ", ".join(f'[{word.code}] = "{word}"' for word in words) + " }"


def _struct(function: str, prefix: str, definition: Any, fields: dict[str, str]) -> str:
    lines = [f"local function {function}(tree, buffer, at, v)"]
    for field in definition.subcons:
        lines += [f"  {line}" for line in _field(prefix, field, fields)]
    return "\n".join([*lines, "  return at", "end"])


def _field(prefix: str, field: Any, fields: dict[str, str]) -> Iterator[str]:
    name, inner, docs = field.name, field.subcon, field.docs or ""
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
        made = "string" if prefix == "seen" else "bytes"
        fields[variable] = f'{variable} = ProtoField.{made}("{full}", "{name}")'
        yield f"if {length} > 0 then at = add(tree, {variable}, buffer, at, {length}) end"
    else:
        size = _size(inner)
        fields[variable] = _declared(variable, full, name, inner, size, docs)
        if size <= 4:
            yield f"v.{name} = number(buffer, at, {size})"
        if isinstance(inner, c.FlagsEnum) or (prefix, name) == _STATE:
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


def _declared(variable: str, full: str, name: str, inner: Any, size: int, docs: str) -> str:
    """`docs` are shown where somebody points at the field."""
    kind, said = f"ProtoField.uint{8 * size}", json.dumps(docs, ensure_ascii=True)
    if isinstance(inner, c.FlagsEnum) or full == ".".join(("ringhil", *_STATE)):
        bits = wire.MemberFlag.codes() if not isinstance(inner, c.FlagsEnum) else inner.flags
        each = [
            f'  ProtoField.bool("{full}.{flag}", "{flag}", {8 * size}, nil, 0x{int(value):x}),'
            for flag, value in bits.items()
        ]
        if not isinstance(inner, c.FlagsEnum):
            each.insert(0, f'  {kind}("{full}.member", "member", base.DEC, {_table(wire.MemberState)}, 0x0f),')
        whole = f'{variable} = {kind}("{full}", "{name}", base.HEX, nil, nil, {said})'
        return "\n".join([whole, f"{variable}_bits = {{", *each, "}"])
    words = "nil"
    if isinstance(inner, c.Enum):
        words = "{ " + ", ".join(f'[{int(code)}] = "{word}"' for word, code in inner.encmapping.items()) + " }"
    elif name == "kind":
        words = _table(wire.Kind)
    base = "base.HEX" if name.endswith(("crc", "tag", "discriminator")) else "base.DEC"
    return f'{variable} = {kind}("{full}", "{name}", {base}, {words}, nil, {said})'


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
