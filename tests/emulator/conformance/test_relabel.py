"""Smaller numbers in the frames of a stimulus: check sums follow, wrong ones stay wrong, frames that belong together
still do."""

import random
from dataclasses import fields, replace

import pytest

from ringhil.emulator.conformance import relabel
from ringhil.emulator.conformance.data_frames import Place
from ringhil.emulator.conformance.frames import control_frame, statistics
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import Poke, Post, Send, Stimulus
from ringhil.protocol import codec, crc
from ringhil.protocol.frames import Record, Statistics, Work

STRAPS = {"card": 5, "node": 3, "size": 8}


def played(*frames: RingFrame) -> Stimulus:
    return Stimulus.of([Send(9 * i, "p1", frame) for i, frame in enumerate(frames)], **STRAPS)


def small(stimulus: Stimulus) -> Stimulus:
    return relabel.with_numbers(stimulus, relabel.numbers(stimulus))


def sent(stimulus: Stimulus) -> list[RingFrame]:
    return [frame for _, frame in relabel.frames(stimulus)]


@pytest.mark.parametrize("seed", range(5))
def test_each_frame_is_as_good_or_as_bad_as_before(seed: int) -> None:
    rng = random.Random(seed)
    before = played(*(control_frame(rng, damage=0.5, **STRAPS) for _ in range(30)))
    for change in (small, lambda s: relabel.with_card(s, 0), lambda s: relabel.with_gpu(s, 0)):
        after = change(before)
        assert after != before
        for old, new in zip(sent(before), sent(after), strict=True):
            assert len(new.data) == len(old.data)
            assert new.kind == old.kind or not old.sof
            assert (new.good, new.err, new.sof, new.eof) == (old.good, old.err, old.sof, old.eof)
            if old.sof and old.eof and len(old.data) >= 16:
                wrong = [crc.link_crc(f.data) ^ int.from_bytes(f.data[-4:], "big") for f in (old, new)]
                assert wrong[0] == wrong[1]


def test_numbers_become_small_and_stay_different() -> None:
    rng = random.Random(1)
    place = Place(rng, 5, 3, 8, {})
    units = [frame for _ in range(3) for frame in place.unit(600)]
    after = [codec.decode(frame.data) for frame in sent(small(played(*units)))]
    assert all(isinstance(frame, Work) for frame in after)
    works = [frame for frame in after if isinstance(frame, Work)]
    assert [work.unit for work in works] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [work.segment for work in works] == [0, 1, 2] * 3
    assert not any(any(work.payload) for work in works)
    assert relabel.numbers(small(played(*units))) == []


def test_numbers_change_places_where_a_small_one_is_taken() -> None:
    frames = [RingFrame.of(codec.encode(Statistics(5, 0, 4, 1, 0, n, 1, 8, 1024, 0))) for n in (7, 0, 7)]
    stimulus = played(*frames)
    (seven, _) = [n for n in relabel.numbers(stimulus) if n.name == "sequence"]
    after = [codec.decode(f.data) for f in sent(relabel.with_numbers(stimulus, [seven]))]
    assert [f.sequence for f in after if isinstance(f, Statistics)] == [0, 7, 0]


def test_tags_of_records_are_right_again() -> None:
    data = statistics(random.Random(1), records=3)
    (frame,) = sent(small(played(RingFrame.of(data))))
    message = codec.decode(frame.data)
    assert isinstance(message, Statistics)
    for record in message.records:
        packed = Record.HEAD.pack(*(getattr(record, field.name) for field in fields(Record)))
        assert record.tag == crc.record_tag(message.epoch, message.sequence, packed)


def test_a_card_changes_its_number_everywhere() -> None:
    place = Place(random.Random(1), 5, 3, 8, {})
    work = place.work(5, 1)
    actions = [Poke(2, "crossings", 1 << 5 | 1 << 2), Poke(3, "boundary_peer", 0), Post(4, 0, work.data)]
    after = relabel.with_card(Stimulus.of(actions, **STRAPS), 0)
    assert after.card == 0
    assert after.actions[:2] == (Poke(2, "crossings", 1 | 1 << 2), Poke(3, "boundary_peer", 5))
    post = after.actions[2]
    assert isinstance(post, Post)
    assert replace(codec.decode(post.data), card=5, source_card=5) == codec.decode(work.data)


def test_a_card_without_a_place_in_the_sets_takes_none_there() -> None:
    """Sets have 16 bits, cards 8: what is written stays within what the register takes."""
    stimulus = Stimulus.of([Poke(2, "crossings", 0xFFFF)], card=85, node=1, size=4)
    assert relabel.with_card(stimulus, 0).actions == (Poke(2, "crossings", 0xFFFE),)
