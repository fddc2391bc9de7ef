"""The file of a session: what is written is read again, a cut is survived, and anything else is one line."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.session import format as session
from ringhil.emulator.serial.session.format import Burst, SessionError, in_words, load_session, message_in
from ringhil.emulator.serial.session.recording import SessionWriter
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap

HEADER = b'{"ringhil": "session", "format": 1, "url": "x", "clock": "line"}\n'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("session") / "s.jsonl"


def read(file: Path, text: bytes) -> session.Session:
    file.write_bytes(text)
    return load_session(file)


def read_or_said(file: Path, text: bytes) -> session.Session | str:
    try:
        return read(file, text)
    except SessionError as error:
        return str(error)


STEPS = st.lists(
    st.tuples(st.floats(0, 10).map(lambda t: round(t, 6)), st.booleans(), st.binary(min_size=1, max_size=40)),
    max_size=8,
)


def written(file: Path, steps: list[tuple[float, bool, bytes]]) -> list[Burst]:
    now, told = 5.0, list[Burst]()

    def monotonic() -> float:
        return now

    writer = SessionWriter(file, "emulated://\udcff/\0", monotonic)
    for wait, sent, data in steps:
        now += wait
        writer.note(data, sent=sent)
        told.append(Burst(round(now - 5.0, 9), sent, data))
    writer.close()
    return told


@given(STEPS)
def test_what_is_written_is_read_again(file: Path, steps: list[tuple[float, bool, bytes]]) -> None:
    told = written(file, steps)
    found = load_session(file)
    assert (found.bursts, found.notice, found.clock) == (tuple(told), None, "line")
    assert found.url == "emulated://\\udcff/\0"


@given(STEPS, st.integers(0, 1000))
def test_a_file_that_is_cut_anywhere_is_read_up_to_there(
    file: Path, steps: list[tuple[float, bool, bytes]], at: int
) -> None:
    told = written(file, steps)
    whole = file.read_bytes()
    header = whole.index(b"\n") + 1
    cut = whole[: header + at]
    found = read(file, cut)
    lines = cut[header:].split(b"\n")
    complete = len(lines) - 1 + (lines[-1].endswith(b"}") and lines[-1] != b"")
    assert found.bursts == tuple(told[:complete])
    torn = lines[-1] != b"" and complete < len(lines)
    assert found.notice == (
        f"{file}, line {complete + 2}: it is cut off; what stands before it is read" if torn else None
    )


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_session_or_one_line(file: Path, data: bytes, headed: bool) -> None:
    found = read_or_said(file, HEADER * headed + data)
    if isinstance(found, str):
        assert found.startswith(f"{file}, line ")
        assert "allowed" in found or "JSON" in found
        assert len(found.splitlines()) == 1
    else:
        assert headed
        assert all(burst.data and burst.at >= 0 for burst in found.bursts)


@given(st.data())
def test_a_byte_that_is_changed_is_seen_or_is_what_is_read(file: Path, data: st.DataObject) -> None:
    written(file, [(0.5, True, b"\0ab\0"), (0.25, False, b"\0cd\0")])
    whole = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    found = read_or_said(file, bytes(whole))
    if isinstance(found, str):
        assert f"{file}, line " in found
    else:
        assert len(found.bursts) == 2 or found.notice


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "line 1: found nothing; allowed is the header of a session, {"),
        (b'{"format":"ringhil recording","version":1}\n', 'line 1: found \'{"format":"ringhil recording"'),
        (b"\x7fELF\n", "line 1: found '\\x7fELF'; allowed is the header of a session, {"),
        (HEADER.replace(b"1,", b"2,"), "line 1: found format 2; allowed is 1"),
        (b'{"ringhil": "session", "format": 3, "speed": 9}\n', "line 1: found format 3; allowed is 1"),
        (HEADER.replace(b"line", b"wall"), "line 1: found '{"),
        (HEADER + b"{}\n", "line 2: the file: found []; needed is 't' as well"),
        (HEADER + b'{"t": 1, "to": "00", "from": "00"}\n', "line 2: found '{"),
        (HEADER + b'{"t": 1}\n', "allowed is one of to and from"),
        (HEADER + b'{"t": -1, "to": "00"}\n', "line 2: t: found -1; allowed is greater than or equal to 0"),
        (HEADER + b'{"t": NaN, "to": "00"}\n', "line 2: "),
        (HEADER + b'{"t": 1, "to": "0"}\n', "line 2: to: found '0'; allowed are pairs of hexadecimal digits"),
        (HEADER + b'{"t": 1, "from": "0A"}\n', "line 2: from: found '0A'; allowed are pairs"),
        (HEADER + b'{"t": 1, "to": "00 11"}\n', "line 2: to: found '00 11'; allowed are pairs"),
        (HEADER + b'{"t": 1, "to": ""}\n', "line 2: to: found ''; allowed are pairs"),
        (HEADER + b'{"t": 1, "to": "00", "at": 3}\n', "line 2: the file: found a key 'at'; no such key is allowed"),
        (
            HEADER + b'{"t": 2, "to": "00"}\n{"t": 1, "to": "00"}\n',
            "line 3: t: found 1.0; allowed is 2.0 or more, as before it",
        ),
        (HEADER + b'{"t": 1, "to": "' + b"0" * 140_000, "line 2: is longer than allowed, 131,172 bytes"),
    ],
)
def test_what_is_wrong_is_one_line(file: Path, text: bytes, said: str) -> None:
    with pytest.raises(SessionError) as error:
        read(file, text)
    assert str(error.value).startswith(f"{file}, line ")
    assert said in str(error.value)


def test_what_is_no_file_is_not_waited_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = file.with_name("pipe")
    os.mkfifo(pipe)
    for path, said in (
        (pipe, "it is no file"),
        (file.parent, "it is a folder; name a file"),
        (file.with_name("n"), "No such file"),
    ):
        with pytest.raises(SessionError, match=f"^{path}: cannot be read: {said}"):
            load_session(path)
    monkeypatch.setattr(session, "MOST", 70)
    with pytest.raises(SessionError, match=r"s\.jsonl: 86 bytes; allowed are 70"):
        read(file, HEADER + b'{"t": 1, "to": "00"}\n')


def test_messages_are_decoded_on_demand(file: Path) -> None:
    read_ = wrap(encode(m.ReadRequest(5, 3, 2)))
    lines = [(1, read_[:4]), (2, read_[4:] + b"abc\0" + wrap(b"\x7f\0\1"))]
    found = read(file, HEADER + b"".join(b'{"t": %d, "to": "%s"}\n' % (t, d.hex().encode()) for t, d in lines))
    assert list(found.messages(sent=False)) == []
    sent = list(found.messages(sent=True))
    assert [at for at, _ in sent] == [2, 2, 2]
    assert [message_in(data) for _, data in sent] == [m.ReadRequest(5, 3, 2), None, None]
    assert in_words(sent[0][1]) == "ReadRequest(id=5, gpu=3, address=2)"
    assert isinstance(sent[1][1], Damaged)
    assert in_words(sent[1][1]) == "b'abc', which is not COBS"
    assert in_words(sent[2][1]) == "b'\\x7f\\x00\\x01': type 0x7F is not known"
    assert len(in_words(encode(m.SendRequest(1, 2, 3, bytes(9000))))) == 300
