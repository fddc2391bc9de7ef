"""Of a run that failed: since when it was to, by futures in which chance is drawn anew."""

from pathlib import Path

import pytest
from tests.emulator.debug.test_questions import recorded

from ringhil.emulator.debug.commands import Commands, in_words
from ringhil.emulator.debug.doomed import MOST_MOMENTS, Doomed, Share
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library

QUICK = """
server:
  cards: {a: {gpus: 3, host_links: [0, 1]}}
  settings: {census_period: 300, firmware_latency: 8, host_latency: 8, keepalive_interval: 200, allowance_period: 512}
timeline:
- {at: 500, fault: slow, gpu: a.1}
- {at: 900, fault: dead, gpu: a.2}
- {at: 1000, clear: slow, gpu: a.1}
expect:
- {at: 1700, count: {a: %d}}
"""
LOST = QUICK % 3  # but for the GPU that dies it would be so


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("lost") / "r", LOST)


def asked(path: Path, *, jobs: int = 2, tries: int = 2) -> tuple[Doomed, int]:
    """What is found, and the cycle in which the session is then."""
    with DebugSession(path, cells_library()) as session:
        return session.doomed(tries=tries, jobs=jobs), session.cycle


@pytest.fixture(scope="module")
def answer(lost: Path) -> tuple[Doomed, int]:
    return asked(lost, jobs=3, tries=4)


@pytest.mark.rest
def test_what_doomed_a_run_is_named_and_the_curve_rises_there(answer: tuple[Doomed, int]) -> None:
    found, here = answer
    assert found.likely is not None
    assert found.certain is not None
    for turn in (found.likely, found.certain):
        assert turn.main is not None
        assert (turn.main.cycle, turn.after, here) == (900, 900, 900)
        assert turn.before - 900 < 300, "one round of the census"
    shares = [share.failed / share.tries for share in found.curve]
    rises = [share.cycle > 900 for share in found.curve].index(True)
    assert set(shares[rises:]) == {1.0}
    assert max(shares[:rises]) < 1.0
    assert found.futures == sum(share.tries for share in found.curve) <= 4 * (MOST_MOMENTS + 2)


@pytest.mark.rest
def test_any_number_of_processes_finds_the_same(lost: Path, answer: tuple[Doomed, int]) -> None:
    assert asked(lost, jobs=1, tries=4) == answer


@pytest.mark.rest
def test_what_was_never_to_come_true_was_lost_from_the_beginning(tmp_path: Path) -> None:
    found, _ = asked(recorded(tmp_path / "r", QUICK % 1))
    assert all(share.failed == share.tries for share in found.curve)
    assert found.likely == found.certain
    assert found.certain is not None
    assert (found.certain.after, found.certain.before, found.certain.items) == (None, 0, ())


@pytest.mark.parametrize(("failed", "tries"), [(0, 8), (8, 8), (1, 2), (3, 100), (16, 16)])
def test_the_interval_holds_the_share_and_narrows_with_more_tries(failed: int, tries: int) -> None:
    low, high = Share(0, failed, tries).interval
    assert 0 <= low <= failed / tries <= high <= 1
    narrow = Share(0, failed * 9, tries * 9).interval
    assert narrow[1] - narrow[0] < high - low


@pytest.mark.rest
def test_text_and_document_say_the_same(lost: Path) -> None:
    with DebugSession(lost, cells_library()) as session:
        found = Commands(session).do("doomed 1 2")
    doom, text = found["doomed"], in_words(found)
    assert doom["likely"]["main"]["kind"] == "Struck"
    assert doom["failure"] in text
    for share in doom["curve"]:
        assert f"{share['cycle']:>19}  {share['failed']} of {share['tries']} " in text
    for word in ("likely", "certain"):
        assert f"{word}: from cycle {doom[word]['after']} on" in text
        assert doom[word]["main"] in doom[word]["items"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("doomed 2", "found failure 2; there are 1 to 1"),
        ("doomed x", "found 'x'; allowed is the number of a failure"),
        ("doomed any 1", "found '1'; allowed is a number of futures from 2 to 100"),
        ("doomed 1 2 3", "found '1 2 3'; wanted is"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(lost: Path, line: str, why: str) -> None:
    with DebugSession(lost, cells_library()) as session, pytest.raises(DebugError) as error:
        Commands(session).do(line)
    assert str(error.value).startswith(why)
    assert "\n" not in str(error.value)


def test_a_run_that_passed_has_no_such_moment(tmp_path: Path) -> None:
    path, why = recorded(tmp_path / "r", QUICK % 2), "the recorded run has not failed"
    with DebugSession(path, cells_library()) as session, pytest.raises(DebugError, match=why):
        session.doomed()


def test_it_can_be_broken_off_and_the_session_goes_on(lost: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > 2:
            raise KeyboardInterrupt

    with DebugSession(lost, cells_library()) as session:
        session.go(800)
        before = session.registers("a.0")
        with pytest.raises(KeyboardInterrupt):
            session.doomed(progress=stop)
        assert session.registers("a.0") == before
