"""What the page is told of a recording is what the recording and a session with it say."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from ringhil.emulator.debug.commands import NAMES
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.marks import TimeMarks
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.shown import line
from ringhil.emulator.trace.identity import same_message
from ringhil.emulator.trace.recording import RecordedMessage

from .asking import Asked


def test_what_it_is(asked: Asked, session: DebugSession) -> None:
    about = asked.get("about")
    assert (about["rows"], about["last_cycle"]) == (session.recording.last_number, session.recording.last_cycle)
    assert [gpu for card in about["cards"] for gpu in card["gpus"]] == session.recording.gpus
    assert about["crossings"] == [{"one": "a.3", "other": "b.2"}, {"one": "a.4", "other": "b.3"}]
    assert (about["source"], about["live"], about["complete"], about["unplayable"]) == ("recording", False, True, None)


def test_all_rows_are_there_in_a_line_each(asked: Asked, session: DebugSession) -> None:
    found: list[tuple[object, ...]] = []
    while (answer := asked.get("rows", **{"from": len(found) + 1}))["rows"]:
        assert len(answer["rows"]) <= 500
        found += [(row["number"], row["cycle"], row["gpu"], row["kind"], row["text"]) for row in answer["rows"]]
    gpus = session.recording.gpus
    expected = [
        (item.number, (of := line(item, gpus)).cycle, of.gpu, of.kind, of.said) for item in session.recording.all()
    ]
    assert found == expected


def test_a_row_has_the_fields_that_conditions_are_about(asked: Asked, session: DebugSession) -> None:
    items = list(session.recording.all())
    for item in random.Random(1).sample(items, 60):
        row = asked.get(f"row/{item.number}")
        fields = {name: row[name] for name in ("number", "cycle", "kind")} | row["fields"]
        fields |= {"gpu": row["gpu"]} if row["gpu"] else {}
        told = plain(session.fields(item))
        assert fields == {name: value for name, value in told.items() if name != "bad"}
        assert row["bytes"] == (item.frame.hex() if isinstance(item, RecordedMessage) else None)


def test_hops_are_those_of_the_session(asked: Asked, session: DebugSession) -> None:
    session.go(0)
    for _ in range(3):
        session.step(random.Random(session.number).randrange(1, 300))
        found = [
            (hop["cycle"], hop["gpu"], hop["link"], hop["bytes"]) for hop in asked.get(f"hops/{session.number}")["hops"]
        ]
        assert found == [(hop.cycle, hop.gpu, hop.link, hop.frame.hex()) for hop in session.hops()]


def test_each_frame_that_comes_has_passed_a_link_to_there(asked: Asked, session: DebugSession) -> None:
    first, last = 8000, 10500
    frames = asked.get("passes", **{"from": first, "to": last})["frames"]
    assert [frame["cycle"] for frame in frames] == sorted(frame["cycle"] for frame in frames)
    came = [m for m in session.recording.messages() if first + 300 < m.cycle <= last and m.way in (0, 2) and not m.bad]
    assert came
    rows = {frame["row"] for frame in frames}
    by_number = {m.number: m for m in session.recording.messages()}
    for message in came:
        place = "cpu" if message.way == 2 else session.recording.gpus[message.cell]
        there = [
            frame
            for frame in frames
            if frame["to"] == place and frame["row"] and same_message(by_number[frame["row"]].frame, message.frame)
        ]
        assert any(frame["cycle"] <= message.cycle for frame in there), message
    assert rows


@pytest.mark.parametrize("condition", ["kind == Counted and count == 4", "kind == Struck", "bad == true"])
@pytest.mark.parametrize("back", [0, 1])
def test_a_condition_finds_what_a_session_finds(asked: Asked, session: DebugSession, condition: str, back: int) -> None:
    test, start = parse(condition, NAMES), 2000
    way = session.recording.all_back(start - 1) if back else session.recording.all(start + 1)
    expected = next((item.number for item in way if test(session.fields(item))), None)
    assert asked.get("find", condition=condition, back=back, **{"from": start}) == {"row": expected}


def test_states_are_those_of_the_session(asked: Asked, session: DebugSession) -> None:
    for number in (1, 900, 400):
        session.here = next(session.recording.all(number, number))
        found = asked.get("state", gpu="a.1", number=number)
        assert (found["registers"], found["firmware"]) == (session.registers("a.1"), plain(session.firmware("a.1")))
        assert asked.get("card", name="b", number=number)["knows"] == plain(session.card("b"))


def test_the_time_line_has_every_mark_however_wide_it_is(asked: Asked, session: DebugSession) -> None:
    marks = TimeMarks(session.recording)
    while marks.read(session.recording):
        pass
    while asked.get("marks")["more"]:
        pass
    for buckets in (1, 7, 400, 4000):
        found = asked.get("marks", buckets=buckets)["buckets"]
        assert len(found) <= buckets
        assert sum((Counter(bucket["signs"]) for bucket in found), Counter()) == Counter(
            mark.sign for mark in marks.all
        )
        assert all(one["last"] < other["first"] for one, other in pairwise(found))


WRONG = {
    "rows?from=0": "from: found '0'; allowed is a number from 1 on",
    "rows?count=501": "count: found '501'; allowed is a number from 1 to 500",
    "rows?from=٣": "from: found '٣'; allowed is a number from 1 on",
    "passes?from=5&to=20005": "to: found '20005'; allowed is a number from 5 to 20,004",
    "picture": "cycle: found ''; allowed is a number from 0 on",
    "find": "condition: found 0 letters; allowed are 1 to 2000",
    "state?gpu=z.1&number=1": "found GPU 'z.1'; there are a.0 .. a.4, b.0 .. b.3",
    "card?name=z&number=1": "found card 'z'; there are a, b",
    "row/99999": "row: found 99999; there are 1 to ",
    "hops/99999": "row: found '99999'; allowed is a number from 0 to ",
    "nothing": "there is no such path",
}


@pytest.mark.parametrize("path", WRONG)
def test_what_is_wrong_is_told_in_a_line(asked: Asked, path: str) -> None:
    path, _, query = path.partition("?")
    given = dict(part.split("=") for part in query.split("&")) if query else {}
    key = path + (f"?{query}" if query else "")
    assert asked.refused(path, **given).startswith(WRONG[key])
