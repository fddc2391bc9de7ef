"""The fast codec against construct, and against everything that is no message."""

from contextlib import suppress
from typing import Any

import pytest
from construct import Enum, FlagsEnum, GreedyBytes, GreedyRange, Renamed
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.scenario.file.faults import FAULTS, FaultTarget
from ringhil.protocol.fields import base_field
from ringhil.protocol.generate.tables import parts
from ringhil.protocol.line import management
from ringhil.protocol.line.codec import MessageError, decode, encode
from ringhil.protocol.line.framing import LONGEST
from ringhil.protocol.line.management import MESSAGES, REQUESTS, LineFault, Type
from ringhil.protocol.line.messages import BY_TYPE, Message, ReadRequest, SubscribeReply, TimeRequest, WriteRequest
from ringhil.protocol.registers import REGISTERS

from .drawn import by_construct, values

every_type = pytest.mark.parametrize("kind", list(Type))


def message_of(kind: Type, found: dict[str, Any]) -> Message:
    return BY_TYPE[kind.code](**found)


@every_type
@given(data=st.data())
def test_bytes_are_those_of_the_definition(kind: Type, data: st.DataObject) -> None:
    found = data.draw(values(MESSAGES[kind]))
    encoded = encode(message_of(kind, found))
    assert encoded == by_construct(kind.code, MESSAGES[kind], found)
    assert decode(encoded) == message_of(kind, found)
    parsed = MESSAGES[kind].parse(encoded)
    for sub in MESSAGES[kind].subcons[1:]:
        named: object = sub
        while isinstance(named, Renamed):
            named = named.subcon
        if not isinstance(named, Enum | FlagsEnum):
            value = parsed[sub.name]
            assert (tuple(value) if isinstance(found[sub.name], tuple) else value) == found[sub.name]
        elif isinstance(named, Enum):
            assert int(parsed[sub.name]) == found[sub.name]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    with suppress(MessageError):
        assert encode(decode(data)) == data


@every_type
@given(data=st.data())
def test_a_cut_message_is_refused_and_so_is_a_longer_one(kind: Type, data: st.DataObject) -> None:
    fixed, tail = parts(MESSAGES[kind])
    size = 1 + sum(size for _, size in fixed)
    encoded = encode(message_of(kind, data.draw(values(MESSAGES[kind]))))
    with pytest.raises(MessageError, match="bytes; allowed are"):
        decode(encoded[: data.draw(st.integers(1, size - 1))])
    if tail is None:
        with pytest.raises(MessageError, match=f"{size + 1} bytes; allowed are {size}"):
            decode(encoded + b"\0")
    elif tail[1] is int:
        with pytest.raises(MessageError, match="whole words of 8"):
            decode(encoded + b"\0")


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(MessageError, match="no type"):
        decode(b"")
    with pytest.raises(MessageError, match="type 0x77 is not known"):
        decode(b"\x77\0\0")
    with pytest.raises(MessageError, match="WriteRequest: gpu = 65536; allowed are whole numbers from 0 to 65535"):
        encode(WriteRequest(1, 65536, 0, 0))
    with pytest.raises(MessageError, match="TimeRequest: id = -1"):
        encode(TimeRequest(-1))
    with pytest.raises(MessageError, match=f"allowed are {LONGEST}"):
        encode(BY_TYPE[Type.SEND.code](1, 0, 0, bytes(LONGEST)))  # type: ignore[call-arg]


def test_examples_as_bytes() -> None:
    """What is written down in other programs must not change."""
    assert encode(ReadRequest(0x1234, 3, 0x20)).hex() == "031234000320"
    assert encode(SubscribeReply(1, 5, 0x0102030405060708)).hex() == "88000100050102030405060708"


def test_every_request_has_a_reply_and_all_begin_alike() -> None:
    assert {kind for kind in Type if not kind.endswith(("_reply", "_event")) and kind != Type.REFUSED} == set(REQUESTS)
    for kind in REQUESTS:
        assert Type.of(kind.code | management.REPLY) == f"{kind}_reply"
    for definition in MESSAGES.values():
        assert [sub.name for sub in definition.subcons[:2]] == ["type", "id"]
        inner = [base_field(sub) for sub in definition.subcons]
        assert not any(field is GreedyBytes or isinstance(field, GreedyRange) for field in inner[:-1])
    assert set(MESSAGES) == set(Type)


def test_faults_are_those_of_a_card() -> None:
    crossing = {name for name, fault in FAULTS.items() if fault.hits is FaultTarget.BOUNDARY_LINK}
    assert set(LineFault) == set(FAULTS) - crossing
    links = {name for name, fault in FAULTS.items() if fault.hits in (FaultTarget.RING_LINK, FaultTarget.LINK)}
    assert {fault for fault in LineFault if fault.code >= 32} == links


def test_a_register_address_fits() -> None:
    assert all(register.address < 256 for register in REGISTERS)
