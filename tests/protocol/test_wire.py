"""Rules that the definitions themselves keep."""

import pytest
from construct import Array, Bytes, Rebuild, Renamed
from construct.expr import ExprMixin

from ringhil.protocol import wire
from ringhil.protocol.fields import base_field, fixed_fields, variable_field
from ringhil.protocol.frames import BY_KIND

from .strategies import KINDS, built, sample

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_a_frame_is_whole_flits(kind: str) -> None:
    assert len(built(kind, sample(kind))) % wire.FLIT_BYTES == 0
    assert BY_KIND[wire.Kind.parse(kind).code].HEAD.size % wire.FLIT_BYTES == 0


@every_kind
def test_every_kind_begins_with_the_same_flit(kind: str) -> None:
    fields = fixed_fields(wire.FRAMES[kind])
    home = "origin" if kind == "statistics" else "destination"
    assert fields[:5] == [("kind", 1), ("card", 1), ("flags", 2), ("ttl", 2), (home, 2)]
    assert fields[5] == ("epoch", 4)


@every_kind
def test_every_kind_ends_with_both_crcs(kind: str) -> None:
    assert [sub.name for sub in wire.FRAMES[kind].subcons[-2:]] == ["e2e_crc", "link_crc"]


def test_kinds_are_distinct_and_of_version_1() -> None:
    assert len(set(wire.Kind.codes().values())) == len(wire.Kind.codes())
    assert {value >> 4 for value in wire.Kind.codes().values()} == {1}
    assert set(wire.Kind.codes()) == set(wire.FRAMES)
    assert {cls.KIND: cls for cls in BY_KIND.values()} == BY_KIND


def test_the_count_of_crossings_lies_in_flags_of_its_own_that_a_hop_may_set() -> None:
    bits = wire.MAX_CROSSINGS << wire.CROSSINGS_SHIFT
    assert bits & wire.MUTABLE_FLAGS == bits
    assert not bits & sum(wire.Flag.codes().values())


def test_the_state_of_a_member_leaves_room_for_its_flags() -> None:
    flags = sum(wire.MemberFlag.codes().values())
    assert all(value.bit_count() == 1 for value in wire.MemberFlag.codes().values())
    assert flags.bit_count() == len(wire.MemberFlag)
    assert not any(state & flags for state in wire.MemberState.codes().values())
    assert flags < 256


def test_every_signal_of_a_link_is_one_bit_of_a_byte() -> None:
    assert list(wire.LinkBit.places().values()) == list(range(8))


def test_the_statistics_header_is_256_bits_and_a_record_two_flits() -> None:
    assert BY_KIND[wire.Kind.STATISTICS.code].HEAD.size * 8 == 256
    assert wire.Record.sizeof() == 2 * wire.FLIT_BYTES


def test_the_longest_frames_are_as_long_as_announced() -> None:
    limits = {"statistics": wire.MAX_RING, "work": wire.SEGMENT_BYTES, "report": wire.MAX_RING}
    flits = {k: len(built(k, sample(k, count=limits.get(k, 0)))) // wire.FLIT_BYTES for k in KINDS}
    assert max(flits.values()) == wire.MAX_FRAME_FLITS
    assert max(flits[kind] for kind in wire.DATA_KINDS) == wire.DATA_FRAME_FLITS


@every_kind
def test_what_a_hop_may_change_are_fields_of_the_frame(kind: str) -> None:
    sizes = dict(fixed_fields(wire.FRAMES[kind]))
    for name, bits in (wire.MUTABLE["*"] | wire.MUTABLE.get(kind, {})).items():
        assert 0 < bits < 256 ** sizes[name]


@every_kind
def test_definitions_use_expressions_not_functions(kind: str) -> None:
    """Other tools' dissectors can be generated from an expression; from a function nothing can."""
    for sub in wire.FRAMES[kind].subcons:
        inner = sub.subcon if isinstance(sub, Renamed) else sub
        if isinstance(inner, Rebuild):
            assert isinstance(inner.func, ExprMixin)
        if isinstance(inner, Array):
            assert isinstance(inner.count, ExprMixin)
        if isinstance(inner, Bytes):
            assert isinstance(inner.length, ExprMixin)


@every_kind
def test_at_most_one_field_varies_in_length(kind: str) -> None:
    varying = [s.name for s in wire.FRAMES[kind].subcons if isinstance(base_field(s), Array | Bytes)]
    assert varying == [v for v in [variable_field(wire.FRAMES[kind])] if v]
