"""The two sums of a frame: which CRC they are, what they cover and what they see."""

import random
from collections.abc import Callable

import fastcrc
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import codec, crc, wire
from ringhil.protocol.codec import FrameError
from ringhil.protocol.fields import fixed_fields

from .strategies import (
    KINDS,
    Values,
    built,
    crc32_autosar,
    e2e_reference,
    flipped,
    quick,
    sample,
    valid,
)

every_kind = pytest.mark.parametrize("kind", KINDS)


def test_check_value_of_crc_32_autosar() -> None:
    assert crc.crc32(b"123456789") == 0x1697D06A


@quick
@given(st.binary(max_size=300))
def test_crc32_equals_the_bitwise_reference(data: bytes) -> None:
    assert crc.crc32(data) == crc32_autosar(data)


@pytest.mark.rest(but_one_in=7)
@every_kind
@quick
@given(data=st.data())
def test_both_sums_equal_their_definition(kind: str, data: st.DataObject) -> None:
    values = data.draw(valid(kind))
    frame = built(kind, values)
    assert crc.e2e_crc(frame) == e2e_reference(kind, values)
    assert crc.link_crc(frame) == crc32_autosar(frame[:-4])


# -- what a hop may change -------------------------------------------------------------------------------


def mutable_bits(kind: str) -> set[int]:
    """Bits of the header that a hop may change, by `wire.MUTABLE`; bit 0 is the first on the wire."""
    mutable, result, offset = wire.MUTABLE["*"] | wire.MUTABLE.get(kind, {}), set(), 0
    for name, size in fixed_fields(wire.FRAMES[kind]):
        bits = f"{mutable.get(name, 0):0{size * 8}b}"
        result |= {offset + i for i, bit in enumerate(bits) if bit == "1"}
        offset += size * 8
    return result


@pytest.mark.rest(but_one_in=7)
@every_kind
@quick
@given(data=st.data())
def test_a_hops_legal_edits_leave_the_e2e_crc_unchanged(kind: str, data: st.DataObject) -> None:
    before = data.draw(valid(kind))
    after = edited(kind, before, data)
    assert crc.e2e_crc(built(kind, after)) == crc.e2e_crc(built(kind, before))


def edited(kind: str, values: Values, data: st.DataObject) -> Values:
    """`values` as a hop may leave them."""
    result = dict(values)
    for name, bits in (wire.MUTABLE["*"] | wire.MUTABLE.get(kind, {})).items():
        if name != "records_count":  # follows the records
            new = data.draw(st.integers(0, 0xFFFF), label=name)
            result[name] = (values[name] & ~bits) | (new & bits)
    if kind == "statistics":
        result["records"] = data.draw(valid(kind), label="records of")["records"]
    return result


@every_kind
def test_every_other_bit_of_header_and_payload_changes_the_e2e_crc(kind: str) -> None:
    values = sample(kind)
    frame = built(kind, values)
    covered = 32 if kind == "statistics" else len(frame) - 8  # bytes: records have their tags
    unchanged = {bit for bit in range(covered * 8) if crc.e2e_crc(flipped(frame, bit)) == crc.e2e_crc(frame)}
    assert unchanged == mutable_bits(kind)


def test_a_records_tag_changes_with_every_bit_of_the_record_and_with_its_message() -> None:
    record = random.Random(1).randbytes(16)
    tag = crc.record_tag(7, 9, record)
    assert tag == crc32_autosar(bytes([0, 0, 0, 7, 0, 0, 0, 9]) + record[:12])
    others = {crc.record_tag(7, 9, flipped(record, bit)) for bit in range(12 * 8)}
    others |= {crc.record_tag(7 ^ 1 << i, 9, record) for i in range(32)}
    others |= {crc.record_tag(7, 9 ^ 1 << i, record) for i in range(32)}
    assert tag not in others
    assert len(others) == 12 * 8 + 32 + 32


# -- how many wrong bits are seen ----------------------------------------------------------------------------
# A sum misses an error exactly if the syndromes of the wrong bits (what each does to "sum that was sent" xor
# "sum that is computed") cancel out. When every syndrome has odd parity, no odd number of them cancels; when,
# too, no two triples are equal, no 2, 4 or 6 of them do.


def syndromes(frame: bytes, mismatch: Callable[[bytes], int], bits: list[int]) -> npt.NDArray[np.uint32]:
    clean = mismatch(frame)
    return np.array([mismatch(flipped(frame, bit)) ^ clean for bit in bits], dtype=np.uint32)


def triples(single: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Exclusive-or of any three, ordered by the third's index, then by that of the pair (see `members`)."""
    i, j = pairs(len(single))
    pair = single[i] ^ single[j]
    return np.concatenate([pair[: k * (k - 1) // 2] ^ single[k] for k in range(2, len(single))])


def pairs(count: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Indices of all pairs i < j, ordered by j: those below k come first, k(k-1)/2 of them."""
    j, i = np.tril_indices(count, -1)
    return i, j


def members(count: int, index: int) -> set[int]:
    """Which three items of `count` make up entry `index` of `triples`."""
    k, rest = 2, index
    while rest >= k * (k - 1) // 2:
        rest -= k * (k - 1) // 2
        k += 1
    i, j = pairs(count)
    return {int(i[rest]), int(j[rest]), k}


def equal_pairs(values: npt.NDArray[np.uint32]) -> int:
    ordered = np.sort(values)
    return int((ordered[1:] == ordered[:-1]).sum())


def odd_parity(values: npt.NDArray[np.uint32]) -> bool:
    return all(int(v).bit_count() % 2 == 1 for v in values)


def e2e_mismatch(frame: bytes) -> int:
    return crc.e2e_crc(frame) ^ int.from_bytes(frame[-8:-4], "big")


def link_mismatch(frame: bytes) -> int:
    return crc.link_crc(frame) ^ int.from_bytes(frame[-4:], "big")


def test_seven_wrong_bits_in_what_no_hop_may_change_are_always_seen() -> None:
    frame = built("statistics", sample("statistics", count=0))
    # Not the first byte: another kind is another frame, and the sum covers other bytes of it.
    covered = [bit for bit in range(8, 36 * 8) if bit not in mutable_bits("statistics")]
    single = syndromes(frame, e2e_mismatch, covered)
    assert odd_parity(single)
    assert equal_pairs(triples(single)) == 0


@pytest.mark.parametrize("other", [fastcrc.crc32.iso_hdlc, fastcrc.crc32.iscsi], ids=["Ethernet", "Castagnoli"])
def test_other_polynomials_miss_six_wrong_bits_at_the_length_of_the_header(
    other: Callable[[bytes], int],
) -> None:
    frame = bytes(36)
    single = syndromes(frame, lambda f: other(f[:32]) ^ int.from_bytes(f[32:], "big"), list(range(36 * 8)))
    assert equal_pairs(triples(single)) > 0


def test_seven_wrong_bits_in_a_statistics_frame_are_never_accepted() -> None:
    frame = built("statistics", sample("statistics", count=0))
    every_bit = list(range(len(frame) * 8))
    single = syndromes(frame, link_mismatch, every_bit)
    assert odd_parity(single)
    i, j = pairs(len(single))
    assert equal_pairs(single[i] ^ single[j]) == 0  # so what the link CRC misses are 6 wrong bits at least

    three = triples(single)
    order = np.argsort(three)
    same = np.flatnonzero(three[order][1:] == three[order][:-1])
    missed = {frozenset(members(len(single), int(order[n])) | members(len(single), int(order[n + 1]))) for n in same}
    assert missed  # the frame is longer than the 274 bits up to which one sum alone would do
    for error in missed:
        damaged = frame
        for bit in error:
            damaged = flipped(damaged, bit)
        assert link_mismatch(damaged) == 0
        with pytest.raises(FrameError):  # by the end-to-end CRC, or as a kind that it can't be
            codec.decode(damaged)
