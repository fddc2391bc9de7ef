"""Messages of the firmware loop against construct, and against everything that is none."""

from contextlib import suppress

import pytest
from construct import GreedyBytes, GreedyRange
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol.enums import Coded
from ringhil.protocol.fields import base_field
from ringhil.protocol.line.firmware_codec import MessageError, decode, encode, joined, taken_apart
from ringhil.protocol.line.firmware_loop import ACTIONS, MESSAGES, REQUESTS, LoopType
from ringhil.protocol.line.firmware_messages import BY_TYPE, PeerUpAction, SendAction, SetTimerAction, TimerRequest

from .drawn import by_construct, values

every_message = pytest.mark.parametrize("kind", list(MESSAGES))
every_action = pytest.mark.parametrize("kind", list(ACTIONS))


@every_message
@given(data=st.data())
def test_bytes_are_those_of_the_definition(kind: Coded, data: st.DataObject) -> None:
    found = data.draw(values(MESSAGES[kind]))
    message = BY_TYPE[kind.code](**found)
    assert encode(message) == by_construct(kind.code, MESSAGES[kind], found)
    assert decode(encode(message)) == message


@every_action
@given(data=st.data())
def test_actions_are_told_apart(kind: Coded, data: st.DataObject) -> None:
    found = data.draw(values(ACTIONS[kind]))
    action = BY_TYPE[kind.code](**found)
    whole = by_construct(kind.code, ACTIONS[kind], found)
    other = SetTimerAction(1, 2)
    assert joined([action, other]) == len(whole).to_bytes(2) + whole + bytes.fromhex("000a 42 01 0000000000000002")
    assert taken_apart(joined([other, action, other])) == [other, action, other]


@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_an_error(data: bytes) -> None:
    with suppress(MessageError):
        assert encode(decode(data)) == data
    with suppress(MessageError):
        assert joined(taken_apart(data)) == data


def test_what_is_cut_or_of_the_other_kind_is_refused() -> None:
    whole = joined([SendAction(0, b"12345678"), PeerUpAction(1, 2)])
    for length in range(len(whole)):
        if length != 12:  # both bytes of the length, type, port, frame: the first action is whole
            with pytest.raises(MessageError):
                taken_apart(whole[:length] if length else b"\0")
    with pytest.raises(MessageError, match="action 2: 3 bytes of 4"):
        taken_apart(whole[:-1])
    with pytest.raises(MessageError, match="type 0x41 is not known"):
        decode(encode(SendAction(0, b"")))
    with pytest.raises(MessageError, match="type 0x07 is not known"):
        taken_apart(joined([TimerRequest(1, 2, 3, 4)]))


def test_examples_as_bytes() -> None:
    """What is written down in other programs must not change."""
    assert encode(TimerRequest(0x1234, 5, 0x10, 7)).hex() == "071234" + "0000000000000005" + "00000010" + "07"
    assert encode(SendAction(3, b"\xaa")).hex() == "4103aa"


def test_every_kind_is_defined_once_and_begins_alike() -> None:
    assert {*MESSAGES, *ACTIONS} == set(LoopType)
    assert not {*MESSAGES} & {*ACTIONS}
    assert set(REQUESTS) <= set(MESSAGES)
    for table, begins in ((MESSAGES, ["type", "id"]), (ACTIONS, ["type"])):
        for definition in table.values():
            assert [sub.name for sub in definition.subcons[: len(begins)]] == begins
            inner = [base_field(sub) for sub in definition.subcons]
            assert not any(field is GreedyBytes or isinstance(field, GreedyRange) for field in inner[:-1])
