"""What a recording has of each event, and where each has happened."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import events

from ringhil.emulator.events.hardware import FRAMES, RegisterChanged
from ringhil.emulator.events.places import Places
from ringhil.emulator.events.recorded import IN_RECORDINGS, KINDS, tell_recorded
from ringhil.emulator.events.server import CpuSaid, Flapped, Struck, TakenIn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.contexts.context_events import MixedUp
from ringhil.emulator.scenario import loads
from ringhil.firmware.observations import Granted
from ringhil.protocol.registers import ADDRESS

SERVER = "server: {cards: {a: {gpus: 3}, b: {gpus: 5}}}\n"
STRIKES = loads(
    SERVER + "timeline: [{at: 5, fault: dead, gpu: b.2}, {at: 9, fault: link_one_way, link: a.1-a.0},"
    " {at: 9, fault: keepalive_loss, gpu: a.0, count: 2}]\n"
).timeline
WATCHED = {0, 4}
REGISTERS = {"turn": "Turn", "memory_held": "MemoryHeld"}


def told(kind: type[Any]) -> st.SearchStrategy[Any]:
    """An event of a type."""
    if kind is Struck:
        return st.builds(Struck, st.integers(0, 99), st.sampled_from(STRIKES))
    if kind is RegisterChanged:
        addresses = st.sampled_from([ADDRESS[name] for name in ("turn", "memory_held", "status")])
        return st.builds(RegisterChanged, st.integers(0, 99), st.integers(0, 7), addresses, st.integers(0, 2**32 - 1))
    return st.builds(kind)


@pytest.mark.parametrize("kind", events.every_type(), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_recording_has_what_the_reference_says(kind: type[Any], data: st.DataObject) -> None:
    stream, found, watched = Stream(), list[Any](), set[tuple[int, str]]()
    tell_recorded(stream, WATCHED, lambda cell, name: watched.add((cell, name)), lambda *row: found.append(row))
    event = data.draw(told(kind))
    stream.tell(event)
    assert watched == {(cell, name) for cell in WATCHED for name in REGISTERS}
    said = IN_RECORDINGS[kind]
    if kind in FRAMES or said.startswith(("nothing", "a row")):
        assert found == []
        return
    if isinstance(event, RegisterChanged):
        names = {ADDRESS[name]: shown for name, shown in REGISTERS.items()}
        assert [row[2] for row in found] == ([names[event.address]] if found else [])
        assert bool(found) == (event.cell in WATCHED and event.address in names)
    else:
        assert len(found) == 1
    for cycle, cell, name, row in found:
        assert (cycle, cell) == (event.cycle, getattr(event, "cell", None))
        assert {"peer" if key == "gpu" and name.startswith("Peer") else key for key in row} <= KINDS[name] | {"gpu"}
        about = getattr(event, "what", event)
        expected = {f"`{type(about).__name__}`" in said, "what is said" in said, f"`{name}`" in said}
        assert True in expected
        if about is not event:
            assert {each.name for each in fields(about)} <= set(row)


@given(st.integers(0, 7), st.integers(0, 1), st.integers(0, 2))
def test_one_function_has_the_place_of_every_event(cell: int, card: int, gpu: int) -> None:
    places = Places(loads(SERVER).server)
    name = f"a.{cell}" if cell < 3 else f"b.{cell - 3}"
    assert [places.gpus[cell], places.of(TakenIn(1, cell, b"", False))] == [name, name]
    assert places.of(CpuSaid(1, card, Granted)) == "ab"[card]
    assert places.of(Flapped(1, card, gpu, True)) == places.of(MixedUp(1, (card, gpu))) == f"{'ab'[card]}.{gpu}"
    assert [places.of(Struck(1, event)) for event in STRIKES] == ["b.2", "a.1-a.0", "a.0"]
