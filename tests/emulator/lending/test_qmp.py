"""QEMU's monitor is another program's: whatever it says, an answer or an error of ours comes of it, and soon."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringhil.emulator.lending.attachment import AttachmentError
from ringhil.emulator.lending.qmp import Qmp

_GREETING = b'{"QMP": {}}\n'
_KEYS = st.sampled_from(["QMP", "return", "error", "event", "desc"]) | st.text(max_size=3)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_LINES = st.binary(max_size=30) | st.dictionaries(_KEYS, _JSON, max_size=3).map(lambda each: json.dumps(each).encode())


@contextmanager
def saying(path: Path, said: bytes) -> Iterator[None]:
    """Somebody at `path` who says this to the first who comes, and no more."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            line, _ = listener.accept()
            with line, suppress(OSError):  # who was told enough has gone
                line.sendall(said)
                line.shutdown(socket.SHUT_WR)
                while line.recv(1 << 16):  # its questions
                    pass

        teller = threading.Thread(target=answer)
        teller.start()
        try:
            yield
        finally:
            teller.join()


@given(st.booleans(), st.lists(_LINES, max_size=5))
@example(True, [b"[" * 100_000])
@example(True, [b'{"return": {}}', b'{"error": 3}'])
@example(True, [b'{"error": {"desc": "two\\nlines"}}'])
@example(False, [b'{"QMP": 1e999}', b'{"return": ' + b"9" * 5000 + b"}"])
def test_whatever_is_said_is_an_answer_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, greeted: bool, lines: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "monitor"
    with saying(path, (_GREETING if greeted else b"") + b"".join(line + b"\n" for line in lines)):
        refused = ""
        try:
            with Qmp(path) as monitor:
                monitor.ask("query-status")
        except AttachmentError as error:
            refused = str(error)
    assert "\n" not in refused
