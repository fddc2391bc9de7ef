"""GPUs and links are read as they are printed; any other text is refused in one line."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef

card = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]*", fullmatch=True)
gpu = st.builds(GpuRef, card, st.integers(0, 1023))
anything = st.text() | st.lists(st.sampled_from(["a", "b-c", ".", "-", "0", "01", "17"]), max_size=8).map("".join)


@given(gpu)
def test_a_gpu_is_read_as_it_is_printed(ref: GpuRef) -> None:
    assert GpuRef.parse(str(ref)) == ref


@given(card, st.integers(2, 1024), st.data())
def test_a_ring_link_is_read_as_it_is_printed(name: str, gpus: int, data: st.DataObject) -> None:
    ref = LinkRef(name, data.draw(st.integers(0, gpus - 1)), gpus)
    assert LinkRef.parse(str(ref), gpus) == ref
    with pytest.raises(ValueError, match="is no link of a ring"):
        LinkRef.parse(str(ref), gpus - 1 if ref.after.index == 0 else ref.index)


@given(gpu, gpu)
def test_a_link_between_cards_is_read_as_it_is_printed(first: GpuRef, second: GpuRef) -> None:
    if first.card != second.card:
        assert CrossRef.parse(f"{first}-{second}") == CrossRef(first, second)
    else:
        with pytest.raises(ValueError, match="is no link between two cards"):
            CrossRef.parse(f"{first}-{second}")


@given(anything)
def test_any_text_is_a_name_or_one_clear_error(text: str) -> None:
    try:
        assert str(GpuRef.parse(text)) == text
    except ValueError as refused:
        problem = str(refused)
        assert re.search("; allowed is a GPU name", problem)
    try:
        link = CrossRef.parse(text)
    except ValueError as refused:
        problem = str(refused)
        assert re.search("; allowed is a link|is no link between", problem)
    else:
        assert str(link) == text
