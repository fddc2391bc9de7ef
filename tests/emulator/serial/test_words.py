"""Words for registers: a name and an address are the same one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.words import address_of, event_document, register_of
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode
from ringhil.protocol.registers import REGISTERS, Register

WRITTEN = st.sampled_from([str, hex, "{:#04X}".format, bin])


@given(st.sampled_from(REGISTERS), WRITTEN)
def test_a_register_has_its_name_however_it_is_typed(register: Register, written: object) -> None:
    assert callable(written)
    text = written(register.address)
    assert (register_of(text), register_of(register.name)) == (register.name, register.name)
    assert address_of(text) == address_of(register.name) == register.address


def test_an_address_that_is_not_known_stays_what_it_is() -> None:
    assert [register_of(text) for text in ("0x1F", "255", "0x100")] == ["0x1F", "255", "0x100"]


def found_or_said(text: str) -> str:
    try:
        return register_of(text)
    except ValueError as error:
        return f"said: {error}"


@given(st.text(max_size=20))
def test_any_word_is_a_register_or_refused_in_one_line(text: str) -> None:
    found = found_or_said(text)
    if found.startswith("said: "):
        assert "allowed " in found
        assert "\n" not in found
    else:
        assert address_of(found) == address_of(text)


EVENTS = (m.CountEvent, m.RoleEvent, m.FaultEvent, m.FrameEvent, m.MissedEvent)


def test_a_census_of_an_unknown_verdict_is_told_as_it_came() -> None:
    event = m.CountEvent(0, 1, 2, 0, 4, 4, 200, 0, 0, 70, 90, 3, 1, (15,))
    document = event_document(event)
    assert document["event"] == "count"
    assert (document["verdict"], document["count"], document["counted_at"]) == (200, 4, 90)


@pytest.mark.parametrize("kind", EVENTS)
@given(st.data())
def test_any_event_of_a_card_is_a_document(kind: type[m.Message], data: st.DataObject) -> None:
    body = data.draw(st.binary(max_size=120))
    try:
        event = decode(bytes([kind.TYPE, 0, 0]) + body)
    except MessageError:
        return
    assert json.dumps(event_document(event))
