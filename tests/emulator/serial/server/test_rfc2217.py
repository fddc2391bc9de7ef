"""A client over RFC 2217: bytes pass unchanged, settings are answered, nonsense ends the connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import serial
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.server.listening import opened
from ringhil.emulator.serial.server.rfc2217 import Rfc2217Connection

IAC, SB, SE, COM = b"\xff", b"\xfa", b"\xf0", b"\x2c"


@contextmanager
def connection() -> Iterator[tuple[Rfc2217Connection, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(server.getsockname()[:2])
        line = Rfc2217Connection(server.accept()[0])
        with peer:
            peer.setblocking(False)
            yield line, peer
            line.close()


def came(peer: socket.socket) -> bytes:
    found = b""
    try:
        while piece := peer.recv(1 << 16):
            found += piece
    except BlockingIOError:
        pass
    return found


def test_a_client_of_pyserial_s_sets_its_port_up_and_bytes_pass_both_ways() -> None:
    every = bytes(range(256)) * 4
    listener = opened("rfc2217://127.0.0.1:0")
    lines = list[Rfc2217Connection]()
    ended = threading.Event()

    def echo() -> None:
        while not ended.is_set():
            if not lines:
                found = listener.accept()  # type: ignore[union-attr]
                if found is not None:
                    lines.append(found)
                continue
            data = lines[0].read()
            while data:
                data = data[lines[0].write(data) :]

    thread = threading.Thread(target=echo)
    thread.start()
    try:
        with serial.serial_for_url(listener.name, baudrate=57_600, timeout=20) as port:
            assert lines[0].baud == 57_600
            port.write(every)
            assert port.read(len(every)) == every
            port.baudrate = 9600
            assert lines[0].baud == 9600
            port.reset_input_buffer()
            assert (port.cts, port.dsr, port.cd, port.ri) == (True, True, True, False)
    finally:
        ended.set()
        thread.join()
        listener.close()
        for line in lines:
            line.close()


@given(st.binary(max_size=300))
def test_bytes_for_the_client_are_escaped(data: bytes) -> None:
    with connection() as (line, peer):
        came(peer)
        assert line.write(data) == len(data)
        assert came(peer) == data.replace(IAC, IAC + IAC)


@given(st.lists(st.binary(max_size=40) | st.sampled_from([IAC, IAC + SB, IAC + SE, IAC + SB + COM]), max_size=30))
def test_whatever_comes_nothing_breaks(pieces: list[bytes]) -> None:
    with connection() as (line, peer):
        for piece in pieces:
            peer.sendall(piece)
            if line.read() is None:
                break


@pytest.mark.parametrize(
    "nonsense",
    [
        IAC + SE,
        IAC + SB + COM + b"\x01" + b"12" + IAC + SE,
        IAC + SB + COM + b"\x03" + b"\x99" + IAC + SE,
        IAC + SB + COM + b"\x0a" + IAC + SE,
        IAC + SB + bytes(1000),
    ],
)
def test_what_no_client_says_ends_the_connection(nonsense: bytes) -> None:
    with connection() as (line, peer):
        peer.sendall(nonsense)
        assert line.read() is None


def test_a_client_that_only_asks_and_never_reads_is_left() -> None:
    with connection() as (line, peer):
        peer.setblocking(True)
        peer.settimeout(10)
        for _ in range(20_000):
            peer.sendall((IAC + SB + COM + b"\x01\0\0\0\0" + IAC + SE) * 100)
            if line.read() is None:
                break
        else:
            pytest.fail("it is still there")


def test_a_client_that_goes_is_gone() -> None:
    with connection() as (line, peer):
        peer.close()
        while (data := line.read()) == b"":
            pass
        assert data is None
