"""Both decoders find the same in whatever comes: the same messages with the same fields, and the same damage.

The one in C runs under the sanitizers for addresses and undefined behaviour.
"""

import random
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ringhil.protocol.generate.tables import parts
from ringhil.protocol.line.codec import MessageError, decode
from ringhil.protocol.line.framing import CRC_BYTES, LONGEST, Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import MESSAGES, Type

from . import library as c

_BLOCK = 20_000  # inputs at a time
_MOST_HELD = LONGEST + CRC_BYTES + LONGEST // 254 + 2  # bytes: a message as it is encoded
_SIZES = {kind: sum(size for _, size in parts(MESSAGES[kind])[0]) for kind in Type}
_KINDS = tuple(Type)


def printer() -> str:
    """In C: prints a message of any type; 0 when it is of none."""
    out = ["static int show(const uint8_t *message, size_t length) {"]
    for kind in Type:
        fixed, last = parts(MESSAGES[kind])
        out += [f"    struct rh_{kind} {kind}_;", f"    if (rh_unpack_{kind}(&{kind}_, message, length)) {{"]
        out += [f'        printf("{kind}");', *(f"        field({kind}_.{name});" for name, _ in fixed)]
        if last is not None:
            count = f"8 * {kind}_.{last[0]}_count" if last[1] is int else f"{kind}_.{last[0]}_length"
            out.append(f"        tail({kind}_.{last[0]}, {count});")
        out += ["        return 1;", "    }"]
    return "\n".join([*out, "    return 0;", "}", ""])


def in_c(folder: Path) -> Path:
    """The program."""
    (folder / "fields.inc").write_text(printer())
    return c.program("decoded", folder, *c.SANITIZED, f"-I{folder}")


@cache
def _of(code: int) -> tuple[str, tuple[str, ...], tuple[str, type] | None]:
    kind = Type.of(code)
    fixed, last = parts(MESSAGES[kind])
    return str(kind), tuple(name for name, _ in fixed), last


def shown(found: bytes | Damaged) -> str:
    """As the program prints it."""
    if isinstance(found, Damaged):
        return "damaged;"
    try:
        message = decode(found)
    except MessageError:
        return "none;"
    kind, names, last = _of(found[0])
    words = [kind, *(f"{getattr(message, name):x}" for name in names)]
    if last is not None:
        value = getattr(message, last[0])
        words.append(value.hex() if last[1] is bytes else "".join(f"{word:016x}" for word in value))
    return " ".join(words) + ";"


# --------------------------------------------------------------------------------------------------------- any bytes


def inputs(seed: int) -> Iterator[bytes]:
    """Messages of every type, mutated before and after they are wrapped, and bytes that are nothing."""
    dice = random.Random(seed)
    while True:
        if dice.random() < 0.1:
            yield noise(dice)
            continue
        kind = dice.choice(_KINDS)
        more = dice.choice((0, 0, 1, 8, 16, dice.randrange(40), dice.randrange(300)))
        if dice.random() < 0.001:
            more = LONGEST - dice.randrange(-9, 60) - _SIZES[kind]
        message = bytes([kind.code]) + dice.randbytes(_SIZES[kind] + max(0, more))
        if dice.random() < 0.2:
            message = mutated(message, dice)
        encoded = wrap(message[:LONGEST])
        yield encoded if dice.random() < 0.3 else mutated(encoded, dice)


def noise(dice: random.Random) -> bytes:
    """Any bytes; few of them zero, often none."""
    length = dice.randrange(2 * LONGEST) if dice.random() < 0.003 else dice.randrange(80)
    data = dice.randbytes(length)
    return data.replace(b"\0", b"\1") if dice.random() < 0.5 else data


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Bits turned over, bytes lost, doubled, put in, and the end cut off: one to three times."""
    out = bytearray(data)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(out) + 1)
        match dice.randrange(5):
            case 0 if at < len(out):
                out[at] ^= 1 << dice.randrange(8)
            case 1:
                del out[at : at + 1]
            case 2:
                out[at:at] = out[at : at + dice.choice((1, 1, 8, 300))]
            case 3:
                out[at:at] = dice.choice((b"\0", b"\xff", dice.randbytes(dice.randrange(1, 9))))
            case 4:
                del out[at:]
    return bytes(out)


def compared(folder: Path, count: int, seed: int) -> dict[str, int]:
    """How often each thing was found: names of messages, `damaged`, `none`."""
    program, unwrapper, drawn = in_c(folder), Unwrapper(), inputs(seed)
    seen: dict[str, int] = {}
    for begun in range(0, count, _BLOCK):
        # What a block leaves begun is ended by a zero, as the program starts anew.
        given = [next(drawn) for _ in range(min(_BLOCK, count - begun))] + [b"\0"]
        ours = list[str]()
        for each in given:
            found = [shown(one) for one in unwrapper.feed(each)]
            assert len(unwrapper._begun) <= _MOST_HELD
            ours.append("".join(found))
            for one in found:
                name = one.partition(" ")[0].rstrip(";")
                seen[name] = seen.get(name, 0) + 1
        stream = b"".join(len(each).to_bytes(4) + each for each in given)
        done = subprocess.run([program], input=stream, capture_output=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        theirs = done.stdout.decode().splitlines()
        assert len(theirs) == len(ours)
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert one == other, f"input {begun + number} of seed {seed}: {given[number].hex()}"
    return seen


@pytest.mark.rest
def test_both_find_the_same_in_damaged_messages(tmp_path: Path) -> None:
    seen = compared(tmp_path, 20_000, 1)
    assert {*map(str, Type), "damaged", "none"} == {*seen}
    assert all(number > 20 for number in seen.values()), seen


@pytest.mark.slow(part="benches")
def test_both_find_the_same_in_a_million_inputs(tmp_path: Path) -> None:
    seen = compared(tmp_path, 1_000_000, 2)
    assert {*map(str, Type), "damaged", "none"} == {*seen}
    assert seen["damaged"] > 100_000
    print(seen)
