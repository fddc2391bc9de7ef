"""Why a port can't be opened, in one line: nothing in brackets that Python or pyserial says."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import refusal

from ringhil.emulator.serial.client import CardError, opened_port
from ringhil.emulator.serial.line.reasons import said_by_system
from ringhil.emulator.serial.server.lines import ListenError
from ringhil.emulator.serial.server.listening import RealPort


@pytest.fixture
def nobody() -> int:
    """A TCP port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
    return number


@pytest.fixture
def silent() -> Iterator[int]:
    """One at which somebody listens, who says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def why_not(url: str) -> str:
    with pytest.raises(CardError) as error:
        opened_port(url)
    prefix = f"{url}: cannot be opened: "
    assert str(error.value).startswith(prefix)
    return str(error.value).removeprefix(prefix)


@pytest.mark.parametrize("scheme", ["socket", "rfc2217", "RFC2217"])
def test_a_connection_that_is_refused(scheme: str, nobody: int) -> None:
    url = f"{scheme}://127.0.0.1:{nobody}"
    assert refusal("card", url, "info") == f"ringhil: {url}: cannot be opened: Connection refused"
    assert why_not(url) == "Connection refused"


@pytest.mark.parametrize("scheme", ["socket", "rfc2217"])
@pytest.mark.parametrize(
    "rest", ["", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "[::1:3", "127.0.0.1:1?speed=3"]
)
def test_a_url_without_host_and_port(scheme: str, rest: str) -> None:
    assert why_not(f"{scheme}://{rest}") == f"allowed is {scheme}://HOST:PORT[?OPTION&...], PORT up to 65535"


def test_somebody_who_does_not_speak_rfc_2217(silent: int) -> None:
    assert why_not(f"rfc2217://127.0.0.1:{silent}?timeout=0.2") == "who answers there doesn't speak RFC 2217"


def test_what_is_no_serial_port() -> None:
    assert why_not("/dev/null") == "it is no serial port"
    with pytest.raises(ListenError, match=r"^/dev/null: cannot be opened: it is no serial port$"):
        RealPort(Path("/dev/null"), 9600)


def test_a_port_that_another_program_has() -> None:
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    port = RealPort(Path(name), 9600)
    with pytest.raises(ListenError, match=f"^{name}: cannot be opened: another program has it$"):
        RealPort(Path(name), 9600)
    port.close()
    os.close(ours)
    os.close(theirs)


def test_what_was_wrong_before_is_no_reason() -> None:
    """A program that tries a port because something else isn't there."""
    try:
        Path("/dev/nothing").read_bytes()
    except FileNotFoundError:
        found = why_not("hwgrep://nothing")
    assert found == "no ports found matching regexp 'nothing'"


def test_what_the_network_says() -> None:
    assert said_by_system(socket.gaierror(socket.EAI_NONAME, "Name or service not known")) == (
        "Name or service not known"
    )
    assert said_by_system(TimeoutError("timed out")) == "Connection timed out"
    # socket.create_server writes the address into the text.
    bound = OSError(errno.EADDRINUSE, "Address already in use (while attempting to bind on address)")
    assert said_by_system(bound) == "Address already in use"
    for other in (None, ValueError("x"), OSError("x")):
        assert said_by_system(other) is None
