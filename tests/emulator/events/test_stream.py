"""The stream: who listens to what, and in which order they are called."""

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.events.hardware import FRAMES, Advanced, ToCpu
from ringhil.emulator.events.server import CountAsked, LossOver
from ringhil.emulator.events.stream import Stream

KINDS = (CountAsked, LossOver)


@given(st.lists(st.sampled_from(KINDS), max_size=6), st.lists(st.sampled_from(KINDS), max_size=6))
def test_listeners_are_called_in_the_order_in_which_they_came(listened: list[type], told: list[type]) -> None:
    stream, heard = Stream(), list[tuple[int, object]]()
    for number, kind in enumerate(listened):
        stream.listen(kind, lambda event, number=number: heard.append((number, event)))
    events = [kind(cycle, 0) for cycle, kind in enumerate(told)]
    for event in events:
        stream.tell(event)
    assert heard == [(n, event) for event in events for n, kind in enumerate(listened) if kind is type(event)]


def test_what_a_listener_tells_is_heard_before_the_next_one_is_called() -> None:
    stream, heard = Stream(), list[str]()
    stream.listen(CountAsked, lambda event: stream.tell(LossOver(event.cycle, 3)))
    stream.listen(CountAsked, lambda event: heard.append("last"))
    stream.listen(LossOver, lambda event: heard.append("told on the way"))
    stream.tell(CountAsked(5, 0))
    assert heard == ["told on the way", "last"]


def test_the_list_of_listeners_shows_whoever_comes_later() -> None:
    stream = Stream()
    found = stream.listeners(Advanced)
    assert not found
    stream.listen(Advanced, print)
    assert found == [print]


def test_who_listens_to_frames_hears_all_four_ways() -> None:
    stream, heard = Stream(), list[object]()
    stream.listen_to_frames(heard.append)
    frames = [way(1, 2, 0, b"x", False) for way in FRAMES]
    for frame in (*frames, Advanced(1)):
        stream.tell(frame)
    assert heard == frames
    assert ToCpu in map(type, heard)
