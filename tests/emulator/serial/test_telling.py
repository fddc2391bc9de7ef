"""Events as documents: a number that nobody knows stays a number."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.telling import told
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode

EVENTS = (m.CountEvent, m.RoleEvent, m.FaultEvent, m.FrameEvent, m.MissedEvent)


def test_a_census_of_an_unknown_verdict_is_told_as_it_came() -> None:
    event = m.CountEvent(0, 1, 2, 0, 4, 4, 200, 0, 0, 70, 90, 3, 1, (15,))
    document = told(event)
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
    assert json.dumps(told(event))
