"""From a failed verdict to what it was found by in one step."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ringhil.emulator.debug.commands import Commands, in_words
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.server.firmware_choice import OURS, Chosen, FirmwareChoice
from ringhil.firmware.actions import Action
from ringhil.firmware.commands import Send
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive

from .test_replaying import Eager, record, replayed


class Hasty(Eager):
    """Its keepalives tell of another interval than the one that they keep."""

    @staticmethod
    def _changed(action: Action) -> Action:
        if isinstance(action, Send):
            message = codec.decode(action.frame, link=False)
            if isinstance(message, Keepalive):
                return replace(action, frame=codec.encode(replace(message, interval=99)))
        return action


LIAR = FirmwareChoice(("a.1=x",), {"a.1": Chosen("x", cast(Any, Hasty), "")})


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("failed") / "r", firmware=LIAR)


@pytest.fixture
def commands(failed: Path) -> Iterator[Commands]:
    with DebugSession(failed, cells_library(), firmware=LIAR) as session:
        yield Commands(session)


def test_it_goes_to_the_message_that_was_not_as_it_must_be(commands: Commands) -> None:
    first = commands.do("failures")["failures"][0]
    assert (first["invariant"], first["place"]) == ("rightly_told", "a.1")
    assert first["source"].startswith("judge/elections/frame_contents.py:")
    here = commands.do("failure")
    assert (here["moved"], here["failure"]) == (True, first)
    assert (here["cycle"], here["message"]["gpu"]) == (first["at"], "a.1")
    message = here["message"]
    assert (message["kind"], message["way"], message["interval"]) == ("keepalive", "from_firmware", first["found"])
    assert first["found"] == 99 != first["expected"]
    assert first["text"] in in_words(here)
    assert f"  1. rightly_told: {first['text']}" in in_words(commands.do("failures")).splitlines()


def test_a_number_that_there_is_not_is_refused(commands: Commands) -> None:
    there = len(commands.do("failures")["failures"])
    for line in ("failure 0", f"failure {there + 1}", "failure x"):
        with pytest.raises(DebugError, match=f"allowed is the number of a failure from 1 to {there}$"):
            commands.do(line)


def test_of_a_run_that_kept_all_promises_there_is_none(tmp_path: Path) -> None:
    with DebugSession(record(tmp_path / "r"), cells_library(), firmware=OURS) as session:
        assert (Commands(session).do("failures")["failures"], session.here) == ([], None)
        with pytest.raises(DebugError, match="broke an invariant"):
            Commands(session).do("failure")


AT = {"b": ("b.0", "b.1", "b.2"), "b.2": ("b.2",), "a.3-b.1": ("a.3", "b.1"), "b.1-a.3": ("a.3", "b.1"), "nowhere": ()}


@pytest.mark.parametrize("place", [*AT, 7, None])
def test_a_failure_may_be_at_a_card_a_link_or_nowhere(failed: Path, place: object) -> None:
    with DebugSession(failed, cells_library(), firmware=LIAR) as session:
        gpus = session.recording.gpus
        wanted = gpus if place is None else AT.get(str(place), ())
        there = [item for item in session.recording.all() if item.cycle <= 80000]
        last = next(
            (m for m in reversed(there) if place is None or (m.cell is not None and gpus[m.cell] in wanted)), None
        )
        assert session.failure({"at": 80000, "place": place}) == (last is not None)
        assert session.here == last


@pytest.mark.parametrize("at", [0, -1, None, "soon", 10**30])
def test_before_the_first_message_there_is_none_to_go_to(failed: Path, at: object) -> None:
    """Without a cycle it is the end of the run that counts."""
    with DebugSession(failed, cells_library(), firmware=LIAR) as session:
        there = session.recording.at(at) if isinstance(at, int) else next(session.recording.all_back())
        assert session.failure({"at": at, "place": None}) == (there is not None) == (at != -1)
        assert session.here == there


@pytest.mark.rest
def test_what_another_version_of_the_judge_says_of_itself_is_no_difference(failed: Path, tmp_path: Path) -> None:
    """A recording that names no source of its findings, or another one, replays; another text is a difference."""
    for change, same in (
        (lambda each: {key: each[key] for key in ("invariant", "text", "at")}, True),
        (lambda each: {**each, "source": "judge/old.py:1", "sort": "x", "new": 1}, True),
        (lambda each: {**each, "text": "something else"}, False),
        (lambda each: {**each, "at": 5}, False),
    ):
        path = tmp_path / "r"
        path.write_bytes(failed.read_bytes())
        with closing(sqlite3.connect(path)) as db, db:
            outcome = json.loads(db.execute("SELECT outcome FROM about").fetchone()[0])
            outcome["violations"] = [change(each) for each in outcome["violations"]]
            db.execute("UPDATE about SET outcome = ?", (json.dumps(outcome),))
        assert (replayed(path, LIAR).difference is None) == same


def test_a_failure_at_a_link_or_of_what_the_cpu_said_is_found_in_its_cycle(failed: Path) -> None:
    """What the file does to a link, and what the CPU says of a card, is at no GPU."""
    with DebugSession(failed, cells_library(), firmware=LIAR) as session:
        for event in session.recording.events():
            if event.cell is not None:
                continue
            said = session.recording.said(event)
            cards = list(dict.fromkeys(gpu.partition(".")[0] for gpu in session.recording.gpus))
            if not {"link", "gpu", "card"} & {*said}:
                continue
            place = said.get("link") or said.get("gpu") or f"{cards[said['card']]}.0"
            assert session.failure({"at": event.cycle, "place": place, "invariant": "lease_terms"})
            assert session.here is not None
            assert session.here.cycle == event.cycle
            there = [each for each in session.recording.events() if each.cycle == event.cycle]
            assert session.here in there


def test_a_failure_is_an_event_before_its_messages_unless_a_message_is_wrong(failed: Path) -> None:
    with DebugSession(failed, cells_library(), firmware=LIAR) as session:
        gpus, every = session.recording.gpus, list(session.recording.all())
        elected = next(each for each in session.recording.events() if each.kind == "Elected")
        place = gpus[elected.cell]  # type: ignore[index]
        beside = [each for each in every if (each.cycle, each.cell) == (elected.cycle, elected.cell)]
        assert len({type(each) for each in beside}) == 2
        assert session.failure({"at": elected.cycle, "place": place, "invariant": "one_entry"})
        assert type(session.here) is type(elected)
        assert session.failure({"at": elected.cycle, "place": place, "invariant": "rightly_told"})
        assert type(session.here) is not type(elected)
