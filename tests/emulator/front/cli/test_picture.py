"""The picture of a ring says who works, who is bypassed, who is the entry, and where it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.front.cli.report import draw_ring


def test_a_small_ring() -> None:
    assert draw_ring(4, {0, 1, 3}, 0, {0}) == ["┌─[0*]X[1]──2──[3]─┐", "└──────────────────┘"]


def test_the_closing_link_can_be_cut() -> None:
    assert draw_ring(3, {0, 1, 2}, 1, {2})[-1] == "└─────────────X┘"


@given(st.integers(2, 200), st.data())
def test_every_working_gpu_and_every_cut_is_drawn_once(size: int, data: st.DataObject) -> None:
    members = data.draw(st.sets(st.integers(0, size - 1)))
    cuts = data.draw(st.sets(st.integers(0, size - 1), max_size=5))
    text = "".join(draw_ring(size, members, None, cuts))
    assert text.count("[") == len(members)
    assert text.count("X") == len(cuts)
