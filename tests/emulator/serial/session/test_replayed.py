"""A recorded session answers as the card did; a program that does something else is told where it begins to."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import serial
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal, ringhil

from ringhil.emulator.serial.client import CardClient, CardError, RefusedError
from ringhil.emulator.serial.session.format import load_session
from ringhil.emulator.serial.session.recording import RecordedLine, SessionWriter
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import LineFault

SERVER = "server: {cards: {a: {gpus: 4}}}\n"

Call = tuple[str, tuple[object, ...]]

_GPU = st.integers(0, 5)
CALLS = st.one_of(
    st.just(("now", ())),
    st.tuples(st.just("read"), st.tuples(_GPU, st.integers(0, 60))),
    st.tuples(st.just("write"), st.tuples(_GPU, st.sampled_from([2, 3, 30]), st.integers(0, 2**32 - 1))),
    st.just(("census", ())),
    st.just(("last_census", ())),
    st.just(("line", ())),
    st.tuples(st.just("subscribe"), st.tuples(st.integers(0, 16))),
    st.tuples(st.just("fault"), st.tuples(st.sampled_from([*LineFault]), _GPU)),
    st.tuples(st.just("clear"), st.tuples(st.sampled_from([*LineFault]), _GPU)),
    st.tuples(st.just("events"), st.tuples(st.floats(0, 0.003))),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed")
    (folder / "server.yaml").write_text(SERVER)
    return folder


def done(card: CardClient, call: Call) -> object:
    """What comes of a call."""
    name, arguments = call
    try:
        answer = getattr(card, name)(*arguments)
        return list(answer) if name == "events" else answer
    except RefusedError as error:
        return str(error)


def answers(url: str, calls: list[Call], record: Path) -> list[object]:
    with CardClient.open(url, record=record) as card:
        return [done(card, call) for call in calls]


@settings(max_examples=10)
@given(st.lists(CALLS, max_size=12))
def test_the_same_program_hears_the_same_byte_for_byte(folder: Path, calls: list[Call]) -> None:
    heard = answers(f"emulated://{folder}/server.yaml", calls, folder / "one")
    assert answers(f"replay://{folder}/one", calls, folder / "two") == heard
    one, two = load_session(folder / "one"), load_session(folder / "two")
    for sent in (True, False):
        said = [b"".join(burst.data for burst in each.bursts if burst.sent == sent) for each in (one, two)]
        assert said[0] == said[1]


@settings(max_examples=10)
@given(st.lists(CALLS, min_size=1, max_size=8), st.data())
def test_where_a_program_does_something_else_is_named(folder: Path, calls: list[Call], data: st.DataObject) -> None:
    requests = [n for n, (name, _) in enumerate(calls) if name != "events"]
    answers(f"emulated://{folder}/server.yaml", calls, folder / "one")
    which = data.draw(st.integers(0, len(requests)))
    at = requests[which] if which < len(requests) else len(calls)
    number = which + 2  # hello is the first one
    with CardClient.open(f"replay://{folder}/one") as card:
        for call in calls[:at]:
            done(card, call)
        with pytest.raises(CardError) as told:
            card.read(77, 99)
        with pytest.raises(CardError) as again:
            card.now()
    assert str(again.value) == str(told.value)  # nothing after it can be believed
    words = f"message {number}: the program sends ReadRequest(id={number}, gpu=77, address=99), "
    assert str(told.value).startswith(words)
    rest = str(told.value).removeprefix(words)
    if which == len(requests):
        assert rest == f"the recording ends after {number - 1}"
    else:
        kinds = {"now": "TimeRequest", "last_census": "LastCensusRequest", "fault": "InjectRequest"}
        name = calls[at][0]
        kind = kinds.get(name, "InjectRequest" if name == "clear" else f"{name.capitalize()}Request")
        assert rest.startswith(f"recorded is {kind}(id={number}")


def test_an_answer_that_was_lost_is_lost_again(folder: Path) -> None:
    """The program waits as long as it did, in recorded time, and asks again."""
    line = serial.serial_for_url(f"emulated://{folder}/server.yaml")
    read, lost = line.read, list[bytes]()

    def losing(size: int = 1) -> bytes:
        data = bytes(read(size))
        if len(lost) < 3 and data and line.monotonic() > began:
            lost.append(data)
            return b""
        return data

    began = line.monotonic()
    line.read = losing
    file = folder / "lossy"
    with CardClient(RecordedLine.at(line, file, "x"), timeout=0.25) as card:
        began = -1.0
        told = [card.read(1, "watchdog"), card.now(), card.census()]
    assert lost
    with CardClient.open(f"replay://{file}", timeout=0.25) as card:
        assert [card.read(1, "watchdog"), card.now(), card.census()] == told
    # Without its second try a program would go on earlier than it did.
    with CardClient.open(f"replay://{file}", timeout=0.25, tries=1) as card:
        with pytest.raises(CardError, match=r"no answer to read in 1 tries of 0\.25 s: nothing came"):
            card.read(1, "watchdog")
        with pytest.raises(
            CardError, match=r"^message 3: the program sends TimeRequest\(id=3\), recorded is ReadRequest\("
        ):
            card.now()


def recorded(file: Path, *bursts: tuple[float, bool, bytes]) -> str:
    """A session of our own."""
    times = iter([0.0, *(at for at, _, _ in bursts)])
    writer = SessionWriter(file, "x", lambda: next(times))
    for _, sent, data in bursts:
        writer.note(data, sent=sent)
    writer.close()
    return f"replay://{file}"


def opened(url: str, timeout: float | None = 1.0) -> serial.SerialBase:
    return serial.serial_for_url(url, timeout=timeout)


ASKED = wrap(encode(m.ReadRequest(5, 3, 2)))


def test_time_is_the_recorded_one(tmp_path: Path) -> None:
    url = recorded(tmp_path / "s", (0.5, True, ASKED), (2.0, False, b"ab"), (9.0, False, b"c"), (9.5, True, ASKED))
    with opened(url) as line:
        assert line.monotonic() == 0
        assert line.read(1) == b""
        assert line.monotonic() == 1
        line.write(ASKED)
        assert (line.monotonic(), line.in_waiting) == (1, 0)
        assert line.read(5) == b"ab"
        assert line.monotonic() == 2
        line.timeout = 6.5
        assert line.read(1) == b""
        assert line.monotonic() == 8.5
        assert line.read(1) == b"c"
        assert line.monotonic() == 9
        line.write(ASKED)
        assert line.monotonic() == 9.5
        line.timeout = None
        with pytest.raises(serial.SerialException, match="message 3: the program waits for ever, the recording ends"):
            line.read(1)


def test_what_came_before_a_request_is_there_when_it_is_sent_early(tmp_path: Path) -> None:
    url = recorded(tmp_path / "s", (1, True, b"\0"), (2, False, b"event"), (3, True, ASKED), (4, False, b"answer"))
    with opened(url, 0.1) as line:
        line.write(ASKED)
        assert line.in_waiting == 5
        assert line.read(100) == b"event"
        line.timeout = 2
        assert line.read(100) == b"answer"


def test_pieces_and_zero_bytes_between_messages_do_not_matter(tmp_path: Path) -> None:
    url = recorded(tmp_path / "s", (1, True, ASKED[:5]), (2, True, ASKED[5:] + ASKED), (3, False, b"x"))
    with opened(url, 5) as line:
        line.write(b"\0\0\0")
        for byte in ASKED * 2:
            assert line.in_waiting == 0
            assert line.read(1) == b"" or byte == 0
            line.write(bytes([byte]))
        assert line.read(1) == b"x"


def test_an_answer_is_not_there_before_its_request_is_whole(tmp_path: Path) -> None:
    with opened(recorded(tmp_path / "s", (0, True, ASKED), (0, False, b"x"))) as line:
        line.write(ASKED[:-1])
        assert line.read(1) == b""
        line.write(ASKED[-1:])
        assert line.read(1) == b"x"


@pytest.mark.parametrize(
    ("recorded_", "sent", "said"),
    [
        (
            [ASKED, wrap(encode(m.CensusRequest(6)))],
            [ASKED, ASKED],
            r"message 2: the program sends ReadRequest\(id=5, gpu=3, address=2\), recorded is CensusRequest\(id=6\)",
        ),
        ([ASKED], [ASKED, ASKED], r"message 2: the program sends ReadRequest\(.*\), the recording ends after 1"),
        ([], [b"ab"], "message 1: the program sends b'ab', which is not COBS, the recording ends after 0"),
        ([ASKED], [b"\0\2ab"], "message 1: the program sends b'.*', which .*, recorded is ReadRequest"),
        (
            [b"info\r"],
            [b"in", b"fi"],
            r"message 1, byte 4: the program sends b'infi', recorded is b'info\\r', and noth",
        ),
        ([b"in"], [b"info"], r"message 1, byte 3: the program sends b'info', recorded is b'in', and nothing after it"),
        ([b"in\0"], [b"i\0"], r"message 1, byte 2: the program sends b'i', recorded is b'in'"),
        ([b"in\0"], [ASKED], r"message 1, byte 1: the program sends ReadRequest\(.*\), recorded is b'in'"),
        (
            [wrap(encode(m.SendRequest(1, 2, 3, bytes(500))))],
            [wrap(encode(m.SendRequest(1, 2, 3, bytes(499))))],
            r"message 1: the program sends SendRequest\(.*\.\.\., recorded is another one that begins so",
        ),
    ],
)
def test_what_is_not_as_recorded_is_told(tmp_path: Path, recorded_: list[bytes], sent: list[bytes], said: str) -> None:
    with opened(recorded(tmp_path / "s", *((0.0, True, each) for each in recorded_))) as line:

        def play() -> None:
            for each in sent:
                line.write(each)
            line.read(1)

        with pytest.raises(serial.SerialException, match=f"^{said}") as first:
            play()
        again: list[Callable[[], object]] = [lambda: line.write(ASKED), lambda: line.read(1)]
        for call in again:
            with pytest.raises(serial.SerialException) as error:
                call()
            assert str(error.value) == str(first.value)


@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=30)), max_size=6), st.data())
def test_any_bytes_are_replayed_in_any_pieces(
    folder: Path, bursts: list[tuple[bool, bytes]], data: st.DataObject
) -> None:
    url = recorded(folder / "any", *((float(n), sent, each) for n, (sent, each) in enumerate(bursts)))
    sent, came = (b"".join(each for to, each in bursts if to == way) for way in (True, False))
    with opened(url, 100) as line:
        while sent:
            piece = data.draw(st.integers(1, len(sent)))
            line.write(sent[:piece])
            sent = sent[piece:]
        assert line.read(10_000) == came


def test_commands_work_on_a_session_and_wrong_ones_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    done = ringhil("card", "--record", "s.jsonl", "emulated:///s.yaml", "census", "--json", cwd=tmp_path)
    again = ringhil("card", "replay://s.jsonl", "census", "--json", cwd=tmp_path)
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert json.loads(done.stdout)["count"] == 4
    said = refusal("card", "replay:///s.jsonl", "read", 3, "weight", cwd=tmp_path)
    assert said == (
        "ringhil: message 2: the program sends ReadRequest(id=2, gpu=3, address=2), recorded is CensusRequest(id=2)"
    )
    said = refusal("card", "replay://s.yaml", "info", cwd=tmp_path)
    assert said.startswith("ringhil: s.yaml, line 1: found 'server: ")
    said = refusal("card", "replay://no.jsonl", "info", cwd=tmp_path)
    assert said == "ringhil: no.jsonl: cannot be read: No such file or directory"
    assert "allowed is replay://PATH" in refusal("card", "replay://s.jsonl?speed=2", "info", cwd=tmp_path)


def test_a_session_that_is_cut_off_is_read_up_to_there_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    ringhil("card", "--record", "s.jsonl", "emulated:///s.yaml", "census", cwd=tmp_path)
    (tmp_path / "s.jsonl").write_bytes((tmp_path / "s.jsonl").read_bytes()[:-5])
    notice = "ringhil: s.jsonl, line 7: it is cut off; what stands before it is read\n"
    done = ringhil("card", "replay://s.jsonl", "info", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, notice)
    further = ringhil("card", "replay://s.jsonl", "census", cwd=tmp_path)
    ended = "ringhil: message 3: the program sends CensusRequest(id=2), the recording ends after 2\n"
    assert (further.returncode, further.stderr) == (2, notice + ended)
    asked = ringhil("card", "emulated:///s.yaml", "compare", "s.yaml", "--session", "s.jsonl", cwd=tmp_path)
    assert (asked.returncode, asked.stderr) == (0, notice)
