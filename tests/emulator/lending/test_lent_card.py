"""What a guest may do to a lent card, and what comes of bytes that are no messages."""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.work.segments import Route, segments
from ringhil.emulator.lending.card_server import DEVICE, VENDOR, CardServer
from ringhil.emulator.lending.lent_card import HOST_SETTINGS, MAX_STEP, CardRegister, LentCard
from ringhil.protocol.codec import decode
from ringhil.protocol.frames import Result
from ringhil.protocol.registers import ADDRESS, OF_METER

from .guests import digest

MEMORY = 1 << 16
CONTROL, STATUS = 4 * ADDRESS["control"], 4 * ADDRESS["status"]
POWER = {"run_power": 7, "idle_power": 2}
OFFSETS = st.one_of(st.sampled_from([*CardRegister, *(4 * at for at in ADDRESS.values())]), st.integers(0, 2**64 - 1))
WORDS = st.one_of(st.sampled_from([0, 1, 8, 256, MEMORY - 8, MAX_STEP]), st.integers(0, 2**64 - 1))
ACCESSES = st.lists(st.tuples(st.booleans(), OFFSETS, st.sampled_from([1, 2, 4, 8]), WORDS), max_size=40)


@pytest.fixture(scope="module")
def card(library: Library) -> Iterator[LentCard]:
    with closing(LentCard(library, MEMORY, POWER)) as found:
        yield found


def works(card: LentCard, data: bytes) -> None:
    """After a reset it computes what the oracle says."""
    card.reset()
    card.write(CONTROL, 4, 1)
    card.write(CardRegister.STEP, 4, 500)
    for frame in segments(5, 0, data, Route(card=0, via=0, entry=0, gpu=0, ccw=False, ttl=2, epoch=1)):
        card.bytes[: len(frame)] = frame
        card.write(CardRegister.SEND, 4, len(frame))
    card.write(CardRegister.TAKE_AT, 4, 1024)
    card.write(CardRegister.STEP, 4, MAX_STEP)
    size = card.read(CardRegister.TAKE, 4)
    answer = decode(bytes(card.bytes[1024 : 1024 + size]))
    assert isinstance(answer, Result)
    assert f"{answer.digest:016x}" == digest(data)
    assert card.read(CardRegister.REFUSED, 4) == 0
    before = card.meters
    card.reset()
    assert 0 < card.meters.busy == before.busy
    assert 0 <= card.meters.cycles - before.cycles < 10  # in which settings are written


@settings(max_examples=40)
@given(accesses=ACCESSES, data=st.binary(min_size=1, max_size=600))
def test_no_access_of_a_guest_does_harm(
    card: LentCard, accesses: list[tuple[bool, int, int, int]], data: bytes
) -> None:
    """Whatever it reads and writes: meters only rise, what the host has set stays, and a reset makes all well, and
    counts nothing twice."""
    for write, offset, size, value in accesses:
        before = card.meters
        if write:
            card.write(offset, size, value)
        else:
            assert 0 <= card.read(offset, size) < 2**32
        after = card.meters
        assert (before.busy, before.energy, before.cycles) <= (after.busy, after.energy, after.cycles)
        assert after.cycles - before.cycles <= MAX_STEP
    for name in POWER:
        assert card.read(4 * ADDRESS[name], 4) == POWER[name]
    works(card, data)


def test_a_guest_sets_nothing_that_the_host_meters_by(card: LentCard) -> None:
    """Those registers keep what they have."""
    for name in set(HOST_SETTINGS) & set(OF_METER):
        before = card.read(4 * ADDRESS[name], 4)
        card.write(4 * ADDRESS[name], 4, before + 1)
        assert card.read(4 * ADDRESS[name], 4) == before


def test_a_guest_takes_no_more_than_its_step(card: LentCard) -> None:
    """Who asks for the meters waits for it."""
    card.reset()
    before = card.meters.cycles
    for cycles in (MAX_STEP + 1, 2**32 - 1):
        card.write(CardRegister.STEP, 4, cycles)
    assert card.meters.cycles == before
    assert card.read(CardRegister.REFUSED, 4) == 2


def test_memory_is_kept_over_a_reset_and_gone_when_scrubbed(card: LentCard) -> None:
    """No byte of a guest's is left for the next one."""
    card.bytes[:] = bytes([0xA5]) * MEMORY
    card.reset()
    assert bytes(card.bytes) == bytes([0xA5]) * MEMORY
    assert card.scrub()
    assert bytes(card.bytes) == bytes(MEMORY)
    card.bytes[:] = bytes([0xA5]) * MEMORY
    card.renew_memory()
    assert bytes(card.bytes) == bytes(MEMORY)


# ------------------------------------------------------------------------------------------------------------ messages


def message(command: int, body: bytes) -> bytes:
    return struct.pack("=i4xQ", command, len(body)) + body


def asked(line: socket.socket, command: int, body: bytes) -> int:
    line.sendall(message(command, body))
    kind, size, value = struct.unpack("=i4xQQ", line.recv(24, socket.MSG_WAITALL))
    assert (kind, size) == (1, 8)
    return int(value)


def config(at: int, size: int, value: int = 0) -> bytes:
    return struct.pack("=IIi", at, value, size)


NOISE = st.one_of(
    st.binary(max_size=300),
    st.builds(message, st.integers(-2, 9), st.binary(max_size=200)),
    st.builds(message, st.sampled_from([2, 3]), st.builds(config, st.integers(0, 300), st.integers(-1, 9))),
    st.builds(lambda head, size: struct.pack("=i4xQ", head, size), st.integers(0, 7), st.integers(0, 2**64 - 1)),
)


@settings(max_examples=60)
@given(noise=st.lists(NOISE, max_size=6), files=st.integers(0, 9))
def test_bytes_that_are_no_messages_close_the_line_alone(card: LentCard, noise: list[bytes], files: int) -> None:
    """Files that come along are closed; and whoever is connected next finds the card as ever."""
    ours, theirs = socket.socketpair()
    before = len(list(Path("/proc/self/fd").iterdir()))
    server = CardServer(card, ours)
    with theirs:
        for data in noise:
            try:
                socket.send_fds(theirs, [data or b"\0"], [0] * files)
            except OSError:  # it is closed
                break
        theirs.shutdown(socket.SHUT_WR)
        theirs.settimeout(5)
        with suppress(ConnectionResetError):  # by bytes that nobody has read
            while theirs.recv(1 << 16):
                pass
    server.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    ours, theirs = socket.socketpair()
    again = CardServer(card, ours)
    with theirs:
        assert asked(theirs, 3, config(0, 4)) == DEVICE << 16 | VENDOR
    again.close()


def test_a_guest_maps_the_registers_where_it_likes(card: LentCard) -> None:
    """Its firmware asks how large they are, and gives them an address; a reset takes both back."""
    ours, theirs = socket.socketpair()
    server = CardServer(card, ours)
    with theirs:
        asked(theirs, 2, config(0x10, 4, 0xFFFFFFFF))
        assert asked(theirs, 3, config(0x10, 4)) == 0xFFFFF000
        asked(theirs, 2, config(0x10, 4, 0xC8000000))
        asked(theirs, 2, config(4, 2, 0xFFFF))
        assert asked(theirs, 3, config(4, 2)) == 6
        assert server.mapped
        for at, value in ((CardRegister.MAGIC, 0x474E4952), (CardRegister.MEMORY, MEMORY)):
            assert asked(theirs, 5, struct.pack("=QQI4x", 0xC8000000 + at, 0, 4)) == value
        asked(theirs, 7, b"")
        assert asked(theirs, 3, config(0x10, 4)) == 0
        assert asked(theirs, 3, config(4, 2)) == 0
        assert not server.mapped
    server.close()


@pytest.mark.parametrize("body", [message(3, config(0, 3)), message(9, b""), message(3, b"\0"), b"\0\0\0"])
def test_why_a_line_was_closed_is_told(card: LentCard, body: bytes) -> None:
    """In one line: what was found and what is allowed."""
    ours, theirs = socket.socketpair()
    server = CardServer(card, ours)
    with theirs:
        theirs.sendall(body)
        theirs.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):  # by bytes that nobody has read
            assert theirs.recv(100) == b""
    server.close()
    assert server.ended
    assert "\n" not in server.ended
