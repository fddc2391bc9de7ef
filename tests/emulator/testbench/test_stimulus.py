"""Stimuli survive being written and read; whatever else is read is refused in one line."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import (
    MAX_SCRIPT,
    Action,
    Carrier,
    Fault,
    Hold,
    Pause,
    Peek,
    Poke,
    Post,
    Repeat,
    Send,
    Stimulus,
    StimulusError,
)
from ringhil.protocol import registers, wire

at = st.integers(0, 100_000)
links = st.sampled_from(wire.LINKS)
flits = st.binary(min_size=1, max_size=6).map(lambda b: b * 8)
frames = st.builds(RingFrame, flits, st.sampled_from(["control", "data"]), st.booleans(), st.booleans(), st.booleans())
sends = st.builds(Send, at, links, frames)
actions: st.SearchStrategy[Action] = st.one_of(
    sends,
    st.builds(Repeat, at, st.lists(sends, max_size=4).map(tuple), st.integers(1, MAX_SCRIPT), st.integers(1, 1000)),
    st.builds(Post, at, st.integers(0, 3), flits, st.booleans()),
    st.builds(Fault, at, st.sampled_from(sorted(registers.FaultBit.codes())), st.booleans()),
    st.builds(Poke, at, st.sampled_from(sorted(registers.ADDRESS)), st.integers(0, 0xFFFFFFFF)),
    st.builds(Peek, at, st.sampled_from(sorted(registers.ADDRESS))),
    st.builds(Carrier, at, links, st.booleans()),
    st.builds(Hold, at, links, st.integers(-1, 1000)),
    st.builds(Pause, at, links, st.booleans()),
)
stimuli = st.lists(actions, max_size=12).map(lambda given: Stimulus.of(given, node=3, size=8))


@given(stimuli)
def test_what_is_written_is_read_again(stimulus: Stimulus) -> None:
    assert Stimulus.from_json(stimulus.to_json()) == stimulus


def test_actions_are_put_in_order_and_the_tail_is_played() -> None:
    stimulus = Stimulus.of([Fault(50, "dead", True), Peek(7, "status")], tail=30)
    assert [a.at for a in stimulus.actions] == [7, 50]
    assert stimulus.cycles == 80


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    with pytest.raises(StimulusError) as error:
        Stimulus.from_json(text, "file")
    assert "\n" not in str(error.value).replace(repr(text), "")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(stimuli.filter(lambda s: bool(s.actions)), st.data())
def test_any_spoilt_field_is_read_or_refused(stimulus: Stimulus, data: st.DataObject) -> None:
    document: dict[str, Any] = json.loads(stimulus.to_json())
    target = data.draw(st.sampled_from([document, *document["actions"]]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(json_values)
    with suppress(StimulusError):
        Stimulus.from_json(json.dumps(document), "file")
        return
    with pytest.raises(StimulusError, match=r"^file: "):
        Stimulus.from_json(json.dumps(document), "file")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("at", -1, "file: action 0: 'at' is -1; allowed are whole numbers from 0 to 10000000"),
        ("link", "p3", "file: action 0: 'link' is 'p3'; allowed are boundary, host, p1, p2"),
        ("frame", "12", "file: action 0: 'frame' must be whole flits in hexadecimal, 1 to 2053 of them"),
        (
            "do",
            "jump",
            "file: action 0: 'do' is 'jump'; "
            "allowed are carrier, fault, hold, mark, pause, peek, poke, post, repeat, send",
        ),
    ],
)
def test_what_is_wrong_is_named(field: str, value: object, said: str) -> None:
    document = json.loads(Stimulus.of([Send(4, "p1", RingFrame(bytes(16), "control"))]).to_json())
    document["actions"][0][field] = value
    with pytest.raises(StimulusError) as error:
        Stimulus.from_json(json.dumps(document), "file")
    assert str(error.value) == said


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StimulusError, match=r"none\.json: cannot be read: No such file"):
        Stimulus.read(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(StimulusError, match=r"no UTF-8 text"):
        Stimulus.read(tmp_path / "bytes.json")
