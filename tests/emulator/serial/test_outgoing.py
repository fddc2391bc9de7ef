"""What waits for a client leaves in its order, whole; what hasn't begun to leave can be forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.outgoing import Outgoing

MESSAGES = st.lists(st.binary(min_size=1, max_size=20), max_size=20)


@given(MESSAGES, st.lists(st.integers(0, 50), max_size=20))
def test_it_leaves_in_order_in_pieces_of_any_size(messages: list[bytes], sizes: list[int]) -> None:
    out, left = Outgoing(), b"".join(messages)
    for message in messages:
        out.put(message)
    for size in sizes:
        assert len(out) == len(left)
        assert out.take(size) == left[:size]
        left = left[size:]
    assert out.take(1 << 20) == left
    assert len(out) == 0


@given(MESSAGES, st.integers(0, 200))
def test_what_has_begun_to_leave_is_not_forgotten(messages: list[bytes], size: int) -> None:
    out = Outgoing()
    for message in messages:
        out.put(message)
    taken = len(out.take(size))
    ends = [0]
    for message in messages:
        ends.append(ends[-1] + len(message))
    out.forget()
    begun = min(end for end in ends if end >= taken)
    out.put(b"new")
    assert len(out) == begun - taken + 3
    assert out.take(1 << 20) == b"".join(messages)[taken:begun] + b"new"
