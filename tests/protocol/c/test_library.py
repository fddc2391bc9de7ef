"""The C library against the Python one: the same bytes, the same messages, nothing read or written beyond a buffer."""

import ctypes
import random
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.line.drawn import values

from ringhil.protocol.generate.tables import parts
from ringhil.protocol.line.codec import MessageError, decode, encode
from ringhil.protocol.line.framing import CRC_BYTES, LONGEST, Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import MESSAGES, Type
from ringhil.protocol.line.messages import BY_TYPE

from . import library as c

every_type = pytest.mark.parametrize("kind", list(Type))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return c.shared(tmp_path_factory.mktemp("library"))


# -------------------------------------------------------------------------------------------------- how it is built


@pytest.mark.rest
def test_it_needs_no_more_than_memcpy(tmp_path: Path) -> None:
    """Built as for a machine without an operating system."""
    for source in c.SOURCES:
        done = c.compile_c(*c.STRICT, "-ffreestanding", "-O2", "-c", source, "-o", tmp_path / f"{source.stem}.o")
        assert (done.returncode, done.stderr) == (0, "")
    names = subprocess.run(["nm", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in names.splitlines() if line and not line.endswith(":")]
    defined = {word[-1] for word in words if word[-2] in "TtDdBbRr"}
    missing = {word[-1] for word in words if word[-2] == "U"} - defined
    assert missing <= {"memcpy"}
    assert not {word[-1] for word in words if word[-2] in "DdBb"}, "it keeps nothing of its own"
    assert all(word[-1].startswith(("rh_", "rhf_", "rhw_")) for word in words if word[-2] == "T")


@pytest.mark.rest
def test_the_analyzer_of_the_compiler_finds_nothing(tmp_path: Path) -> None:
    probe = tmp_path / "probe.c"
    probe.write_text("int probe;\n")
    if c.compile_c("-fanalyzer", "-c", probe, "-o", tmp_path / "probe.o").returncode:
        pytest.skip("this compiler has no -fanalyzer; gcc 10 and later have")
    for source in c.SOURCES:
        done = c.compile_c(*c.STRICT, "-fanalyzer", "-O1", "-c", source, "-o", tmp_path / "x.o")
        assert (done.returncode, done.stderr) == (0, "")


def test_the_example_of_the_page_is_built(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "howto" / "hil.md").read_text()
    example = tmp_path / "example.c"
    example.write_text(page.split("```c\n")[1].split("```")[0])
    done = c.compile_c(*c.STRICT, f"-I{c.INCLUDE}", "-c", example, "-o", tmp_path / "example.o")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_example_of_the_driver_is_built(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "howto" / "sharing.md").read_text()
    example = tmp_path / "example.c"
    example.write_text(page.split("```c\n")[1].split("```")[0])
    done = c.compile_c(*c.STRICT, f"-I{c.INCLUDE}", "-c", example, "-o", tmp_path / "example.o")
    assert (done.returncode, done.stderr) == (0, "")


def test_cpp_takes_its_headers(tmp_path: Path) -> None:
    program = tmp_path / "x.cpp"
    program.write_text('#include "ringhil_driver.h"\nint main() { return rh_id(0, 0); }\n')
    done = c.compile_c("-x", "c++", "-Wall", "-Werror", f"-I{c.INCLUDE}", "-fsyntax-only", program)
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------------------------------------- framing

MESSAGE = st.one_of(
    st.binary(min_size=1, max_size=600),
    st.integers(1, 1100).map(lambda length: b"\x01" * length),
    st.lists(st.sampled_from([b"\0", b"\1", b"\xff", b"ab" * 127, b"x" * 254]), min_size=1).map(b"".join),
)


def wrapped(built: ctypes.CDLL, message: bytes, room: int | None = None) -> bytes:
    room = len(message) + len(message) // 100 + 20 if room is None else room
    out = ctypes.create_string_buffer(b"\xaa" * (room + 8), room + 8)
    used = built.rh_wrap(message, ctypes.c_size_t(len(message)), out, ctypes.c_size_t(room))
    assert out.raw[max(used, 0) :][-8:] == b"\xaa" * 8
    return out.raw[:used]


def received(built: ctypes.CDLL, stream: bytes, room: int = LONGEST + CRC_BYTES) -> tuple[list[bytes], int]:
    """Messages, and what was none."""
    buffer = ctypes.create_string_buffer(room)
    receiver = c.Receiver()
    built.rh_receiver_init(ctypes.byref(receiver), buffer, ctypes.c_size_t(room))
    found = []
    for byte in stream:
        length = built.rh_receive(ctypes.byref(receiver), ctypes.c_uint8(byte))
        if length:
            found.append(buffer.raw[:length])
    return found, int(receiver.damaged)


@pytest.mark.rest
@given(MESSAGE)
def test_both_wrap_alike(built: ctypes.CDLL, message: bytes) -> None:
    assert wrapped(built, message) == wrap(message)
    assert received(built, wrap(message)) == ([message], 0)


@pytest.mark.parametrize("length", [LONGEST - 1, LONGEST])
def test_the_longest_message_goes_through(built: ctypes.CDLL, length: int) -> None:
    message = random.Random(length).randbytes(length)
    assert wrapped(built, message) == wrap(message)
    assert received(built, wrap(message)) == ([message], 0)


def test_what_is_empty_too_long_or_has_no_room_is_refused(built: ctypes.CDLL) -> None:
    assert wrapped(built, b"", 100) == wrapped(built, b"x" * (LONGEST + 1)) == b""
    assert wrapped(built, b"x" * 100, 100) == b""


@given(st.lists(st.one_of(MESSAGE.map(wrap), st.binary(max_size=40), st.just(b"\0")), max_size=8).map(b"".join))
def test_both_find_the_same_in_any_stream(built: ctypes.CDLL, stream: bytes) -> None:
    found = Unwrapper().feed(stream)
    assert received(built, stream) == (
        [message for message in found if isinstance(message, bytes)],
        sum(isinstance(message, Damaged) for message in found),
    )


@given(MESSAGE, st.data())
def test_a_changed_byte_spoils_one_message(built: ctypes.CDLL, message: bytes, data: st.DataObject) -> None:
    stream = bytearray(wrap(message))
    at = data.draw(st.integers(1, len(stream) - 2))
    stream[at] ^= data.draw(st.integers(1, 255))
    found, damaged = received(built, bytes(stream) + wrap(b"after"))
    assert found[-1:] == [b"after"]
    assert message not in found[:-1]
    assert damaged


def test_what_is_longer_than_the_buffer_is_damaged_and_the_next_is_not(built: ctypes.CDLL) -> None:
    for length, fits in ((96, True), (97, False)):
        found, damaged = received(built, wrap(b"x" * length) + wrap(b"after"), room=100)
        assert (found, damaged) == ([b"x" * length, b"after"] if fits else [b"after"], 0 if fits else 1)


# --------------------------------------------------------------------------------------------------------- messages


def packed(built: ctypes.CDLL, kind: Type, found: dict[str, Any], room: int = 5000) -> bytes:
    _, tail = parts(MESSAGES[kind])
    given_ = dict(found)
    if tail is not None:
        value = given_[tail[0]]
        given_["tail_size"] = len(value)
        given_[tail[0]] = value if tail[1] is bytes else struct.pack(f">{len(value)}Q", *value)
    out = ctypes.create_string_buffer(room)
    message = c.structure(kind)(**given_)
    used = getattr(built, f"rh_pack_{kind}")(ctypes.byref(message), out, ctypes.c_size_t(room))
    return out.raw[:used]


@every_type
@given(data=st.data())
def test_both_pack_alike(built: ctypes.CDLL, kind: Type, data: st.DataObject) -> None:
    found = data.draw(values(MESSAGES[kind]))
    right = encode(BY_TYPE[kind.code](**found))
    assert packed(built, kind, found) == right
    assert packed(built, kind, found, len(right)) == right
    assert packed(built, kind, found, len(right) - 1) == b""


def unpacked(built: ctypes.CDLL, kind: Type, data: bytes) -> dict[str, Any] | None:
    message, kept = c.structure(kind)(), ctypes.create_string_buffer(data, len(data)) if data else None
    if not getattr(built, f"rh_unpack_{kind}")(ctypes.byref(message), kept, ctypes.c_size_t(len(data))):
        return None
    fixed, tail = parts(MESSAGES[kind])
    found: dict[str, Any] = {name: getattr(message, name) for name, _ in fixed}
    if tail is not None:
        bytes_ = message.tail_size * (1 if tail[1] is bytes else 8)
        assert bytes_ <= len(data)
        raw = data[len(data) - bytes_ :]
        found[tail[0]] = raw if tail[1] is bytes else struct.unpack(f">{message.tail_size}Q", raw)
    return found


@pytest.mark.rest(but_one_in=3)
@every_type
@given(data=st.data())
def test_both_read_the_same_or_nothing(built: ctypes.CDLL, kind: Type, data: st.DataObject) -> None:
    sound = encode(BY_TYPE[kind.code](**data.draw(values(MESSAGES[kind]))))
    cut = data.draw(st.integers(0, len(sound)))
    for bytes_ in (sound, sound[:cut], sound + data.draw(st.binary(max_size=9)), b""):
        try:
            message = decode(bytes_)
            right = {name: getattr(message, name) for name in message.__slots__}
        except MessageError:
            right = None
        assert unpacked(built, kind, bytes_) == right
        for other in Type:
            if other is not kind:
                assert unpacked(built, other, bytes_) is None


# --------------------------------------------------------------------------------------------------------- any bytes


def inputs(count: int, seed: int) -> bytes:
    """Random bytes, messages and wrapped messages, some of them changed."""
    dice, out = random.Random(seed), bytearray()
    sizes = {kind: sum(size for _, size in parts(MESSAGES[kind])[0]) for kind in Type}
    for _ in range(count):
        kind = dice.choice(list(Type))
        data = bytearray([kind.code]) + dice.randbytes(sizes[kind] + dice.choice([0, 0, 1, 8, 16, dice.randrange(300)]))
        if dice.random() < 0.2:
            data = bytearray(dice.randbytes(dice.randrange(40)))
        if dice.random() < 0.5:
            data = bytearray(wrap(bytes(data)) if data else b"")
        for _ in range(dice.choice([0, 0, 0, 1, 3])):
            if data:
                data[dice.randrange(len(data))] = dice.choice([0, 1, 255, dice.randrange(256)])
        out += len(data).to_bytes(4) + data
    return bytes(out)


def fuzz(folder: Path, count: int, seed: int) -> tuple[int, int, int]:
    """Inputs, messages in them, wrapped ones: under the sanitizers for addresses and undefined behaviour."""
    program = c.program("fuzz", folder, *c.SANITIZED)
    total = [0, 0, 0]
    for block in range(0, count, 50_000):
        size = min(50_000, count - block)
        done = subprocess.run(
            [program], input=inputs(size, seed + block), capture_output=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        total = [a + int(b) for a, b in zip(total, done.stdout.split(), strict=True)]
    return total[0], total[1], total[2]


def test_no_bytes_make_it_read_or_write_beyond_what_is_there(tmp_path: Path) -> None:
    seen, found, framed = fuzz(tmp_path, 20_000, 1)
    assert seen == 20_000
    assert found > 5000
    assert framed > 3000


@pytest.mark.slow(part="benches")
def test_nor_do_a_million_inputs(tmp_path: Path) -> None:
    assert fuzz(tmp_path, 1_000_000, 10)[0] == 1_000_000
