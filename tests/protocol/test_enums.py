"""Every enumeration of the protocol: one name for each value, and what is printed can be read again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.protocol import registers, wire
from ringhil.protocol.enums import Bits, Coded

CODED = sorted((c for c in vars(wire).values() if isinstance(c, type) and issubclass(c, Coded) and len(c)), key=str)
BITS = sorted(
    (
        c
        for module in (wire, registers)
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Bits) and len(c)
    ),
    key=str,
)
every_coded = pytest.mark.parametrize("words", CODED)
every_bits = pytest.mark.parametrize("bits", BITS)


def test_there_are_some() -> None:
    assert {wire.Kind, wire.CensusVerdict, wire.GpuType} <= set(CODED)
    assert {wire.Flag, wire.LinkBit, registers.StatusBit} <= set(BITS)


@every_coded
def test_a_word_and_its_number_are_each_others_only(words: type[Coded]) -> None:
    assert len(words.__members__) == len(words) == len(set(words.codes().values()))
    assert [words.of(word.code) for word in words] == [words.parse(str(word)) for word in words] == list(words)


@every_coded
def test_a_word_is_written_as_text(words: type[Coded]) -> None:
    assert [json.loads(json.dumps(word)) for word in words] == [f"{word}" for word in words] == list(words.codes())


@every_coded
@given(text=st.text(), code=st.integers())
def test_any_other_text_or_number_is_refused(words: type[Coded], text: str, code: int) -> None:
    if text not in words.codes():
        with pytest.raises(ValueError, match=f"^{words.__name__} .*allowed are"):
            words.parse(text)
    if code not in words.codes().values():
        with pytest.raises(ValueError, match=f"^{words.__name__} .*allowed are"):
            words.of(code)


@every_bits
def test_every_name_is_one_bit_of_its_own(bits: type[Bits]) -> None:
    assert len(bits.__members__) == len(bits)
    assert all(bit.value.bit_count() == 1 for bit in bits)
    assert all(1 << bits.places()[word] == value for word, value in bits.codes().items())


@every_bits
@given(data=st.data())
def test_bits_are_read_as_they_are_shown(bits: type[Bits], data: st.DataObject) -> None:
    value = sum(data.draw(st.sets(st.sampled_from(bits))))
    assert bits.parse(bits.show(value)) == value
    assert bits.show(value | 1 << 40).endswith("0x10000000000")


@every_bits
@given(data=st.data())
def test_any_text_gives_bits_or_one_clear_error(bits: type[Bits], data: st.DataObject) -> None:
    text = data.draw(st.text() | st.lists(st.sampled_from([*bits.codes(), "", "none", "?"])).map("|".join))
    words = text.split("|")
    if text == "none" or (set(words) <= bits.codes().keys() and len(set(words)) == len(words)):
        assert set(bits.show(bits.parse(text)).split("|")) == set(words)
    else:
        with pytest.raises(ValueError, match=f"^{bits.__name__} .*: allowed are none, or some of"):
            bits.parse(text)
