"""One client's end of a management port: whatever comes, what it holds is bounded and what it says is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ROOM, ManagementPort, Outgoing, room_at
from ringhil.emulator.server import LiveServer
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import EventKind, Injection, LineFault, Refusal
from ringhil.protocol.registers import ADDRESS


def heard(port: ManagementPort) -> list[m.Message]:
    found = Unwrapper().feed(port.take(1 << 30))
    return [decode(each) for each in found if isinstance(each, bytes)]


def asked(port: ManagementPort, *requests: m.Message) -> list[m.Message]:
    port.receive(b"".join(wrap(encode(request)) for request in requests))
    return heard(port)


def test_each_request_has_its_answer_in_order(port: ManagementPort) -> None:
    answers = asked(port, m.TimeRequest(9), m.ReadRequest(8, 2, 3), m.ReadRequest(7, 4, 3), m.LineRequest(6))
    assert [type(a) for a in answers] == [m.TimeReply, m.ReadReply, m.RefusedReply, m.LineReply]
    assert [a.id for a in answers] == [9, 8, 7, 6]


def test_what_is_no_request_is_refused(port: ManagementPort) -> None:
    port.receive(wrap(b"\x41\0\1") + wrap(b"\x7f\0\2abc") + wrap(b"\x03\0\3\0") + wrap(b"\x83"))
    answers = heard(port)
    refusals = [Refusal.of(a.why) for a in answers if isinstance(a, m.RefusedReply)]
    assert refusals == [Refusal.UNKNOWN_TYPE, Refusal.UNKNOWN_TYPE, Refusal.BAD_LENGTH, Refusal.UNKNOWN_TYPE]
    assert port.counts.refused == 4


def test_the_same_request_again_is_answered_again_and_not_done_again(port: ManagementPort, server: LiveServer) -> None:
    request = m.InjectRequest(5, Injection.SET.code, LineFault.SLOW.code, 2, 0)
    first = asked(port, request)
    server.run_to(server.kernel.now + 100)
    assert asked(port, request) == first
    assert port.counts.requests == 1
    (other,) = asked(port, m.TimeRequest(5))  # another request under the same id is another request
    assert isinstance(other, m.TimeReply)
    assert other.now > first[0].now  # type: ignore[union-attr]


def test_a_write_is_answered_when_it_holds_and_what_comes_behind_it_waits(
    port: ManagementPort, server: LiveServer
) -> None:
    now, weight = server.kernel.now, ADDRESS["weight"]
    first, again = m.WriteRequest(5, 1, weight, 9), m.WriteRequest(5, 1, weight, 9)
    assert asked(port, first, again, m.ReadRequest(6, 1, weight), m.WriteRequest(7, 1, weight, 3)) == []
    assert asked(port, m.TimeRequest(8)) == []
    server.run_to(now + 3)
    written = m.WriteReply(5, now + 1)
    assert heard(port) == [
        written,
        written,
        m.ReadReply(6, 9, now + 1),
        m.WriteReply(7, now + 2),
        m.TimeReply(8, now + 2),
    ]
    assert server.engine.peek(1, "weight") == 3


def test_a_write_that_is_refused_holds_nothing_up(port: ManagementPort) -> None:
    refused, time = asked(port, m.WriteRequest(5, 9, 2, 9), m.TimeRequest(6))
    assert isinstance(refused, m.RefusedReply)
    assert isinstance(time, m.TimeReply)


def test_who_asks_on_and_on_behind_a_write_is_not_read_from(port: ManagementPort) -> None:
    port.receive(wrap(encode(m.WriteRequest(5, 1, 2, 9))) + wrap(encode(m.TimeRequest(6))) * 5000)
    assert port.full


def test_hello_begins_afresh(port: ManagementPort, server: LiveServer) -> None:
    before = asked(port, m.SubscribeRequest(1, EventKind.FRAMES), m.TimeRequest(2), m.TimeRequest(3))[-1]
    server.run_to(server.kernel.now + 10)
    (hello,) = asked(port, m.HelloRequest(2, 1, 0, b"x"))
    assert isinstance(hello, m.HelloReply)
    assert hello.gpus == 4
    (again,) = asked(port, m.TimeRequest(2))
    assert isinstance(again, m.TimeReply)
    assert asked(port, m.TimeRequest(3)) != [before]
    assert port._events == 0
    (refused,) = asked(port, m.HelloRequest(3, 1, 0, bytes(65)))
    assert isinstance(refused, m.RefusedReply)


def test_a_client_that_does_not_read_misses_events_and_costs_no_more(port: ManagementPort, server: LiveServer) -> None:
    port.receive(wrap(encode(m.SubscribeRequest(1, EventKind.FRAMES))))
    while not port.full:
        server.run_to(server.kernel.now + 20_000)
    held = port.waiting
    server.run_to(server.kernel.now + 100_000)
    assert port.waiting == held < ROOM + 1000
    missed = port.counts.missed
    assert missed > 10
    port.receive(wrap(encode(m.TimeRequest(2))) * 1000)  # nor are its requests taken
    assert port.waiting == held
    events = heard(port)
    assert len(events) > 1000
    assert heard(port) == [m.MissedEvent(0, missed)]
    server.run_to(server.kernel.now + 20_000)
    assert any(isinstance(event, m.FrameEvent) for event in heard(port))
    assert port.counts.missed == missed


@pytest.mark.parametrize(
    ("baud", "room"), [(None, ROOM), (115_200, 2880), (3_000_000, 75_000), (300, 64), (10**8, ROOM)]
)
def test_no_more_waits_than_a_line_carries_in_a_quarter_of_a_second(baud: int | None, room: int) -> None:
    assert room_at(baud) == room


def test_what_waits_on_a_slow_line_keeps_no_answer_waiting_for_long(server: LiveServer) -> None:
    """Events are left out as soon as there is no room for them, and told; answers stand behind those that wait."""
    port = ManagementPort(ManagedCard(server, 0), room=500)
    asked(port, m.SubscribeRequest(1, EventKind.FRAMES))
    server.run_to(server.kernel.now + 100_000)
    assert 500 <= port.waiting < 600
    assert port.full
    missed = port.counts.missed
    assert missed > 10
    port.take(200)
    assert not port.full
    port.receive(wrap(encode(m.TimeRequest(2))))
    found = heard(port)
    assert isinstance(found[-1], m.TimeReply)
    assert m.MissedEvent(0, missed) in [*found, *heard(port)]
    port.close()


def test_a_client_that_is_told_more_than_its_line_carries_is_answered(server: LiveServer) -> None:
    port = ManagementPort(ManagedCard(server, 0), room=500)
    asked(port, m.SubscribeRequest(1, EventKind.FRAMES))
    unwrapper, answered = Unwrapper(), False
    for _ in range(40):
        server.run_to(server.kernel.now + 5_000)
        if not port.full and not answered:
            port.receive(wrap(encode(m.TimeRequest(2))))
        found = [decode(each) for each in unwrapper.feed(port.take(30)) if isinstance(each, bytes)]
        answered |= any(isinstance(each, m.TimeReply) for each in found)
    assert answered
    port.close()


def test_who_says_hello_finds_nothing_of_what_waited_for_another(server: LiveServer) -> None:
    """But for the message that has begun to leave: half of it would damage the answer."""
    port = ManagementPort(ManagedCard(server, 0))
    asked(port, m.SubscribeRequest(1, EventKind.FRAMES))
    server.run_to(server.kernel.now + 100_000)
    begun = port.take(3)
    assert port.waiting > 1000
    port.receive(wrap(encode(m.HelloRequest(2, 1, 0, b"x"))))
    found = [decode(each) for each in Unwrapper().feed(begun + port.take()) if isinstance(each, bytes)]
    assert [type(each) for each in found] == [m.FrameEvent, m.HelloReply]
    port.close()


def test_a_census_under_way_does_not_answer_what_is_asked_under_its_id_later(server: LiveServer) -> None:
    port = ManagementPort(ManagedCard(server, 0))
    read = m.ReadRequest(5, 1, ADDRESS["weight"])
    assert asked(port, m.CensusRequest(5)) == []
    (first,) = asked(port, read)
    server.run_to(server.kernel.now + 2000)
    (counted,) = heard(port)
    assert isinstance(counted, m.CensusReply)
    assert asked(port, read) == [first]
    port.close()


def test_a_census_under_way_is_not_answered_to_who_has_said_hello_since(server: LiveServer) -> None:
    port = ManagementPort(ManagedCard(server, 0))
    assert asked(port, m.CensusRequest(5)) == []
    asked(port, m.HelloRequest(6, 1, 0, b"x"))
    server.run_to(server.kernel.now + 2000)
    assert heard(port) == []
    port.close()


def test_what_another_has_missed_is_not_told_to_who_says_hello(server: LiveServer) -> None:
    port = ManagementPort(ManagedCard(server, 0), room=500)
    asked(port, m.SubscribeRequest(1, EventKind.FRAMES))
    server.run_to(server.kernel.now + 100_000)
    assert port.counts.missed
    port.take(200)
    asked(port, m.HelloRequest(2, 1, 0, b"x"))
    assert asked(port, m.TimeRequest(3))[0].id == 3
    assert heard(port) == []
    port.close()


def test_what_was_asked_last_is_remembered_longest(port: ManagementPort) -> None:
    """64 requests: an id that is used again is as new as any."""
    asked(port, *(m.TimeRequest(number) for number in range(1, 65)), m.LineRequest(1))
    asked(port, *(m.TimeRequest(number) for number in range(65, 128)))
    done = port.counts.requests
    asked(port, m.LineRequest(1), m.TimeRequest(127))
    assert port.counts.requests == done
    asked(port, m.TimeRequest(64))
    assert port.counts.requests == done + 1


def test_who_has_gone_is_told_nothing(port: ManagementPort, server: LiveServer) -> None:
    asked(port, m.SubscribeRequest(1, EventKind.FRAMES), m.CensusRequest(2))
    port.close()
    server.run_to(server.kernel.now + 20_000)
    assert port.waiting == 0


@given(st.lists(st.one_of(st.binary(max_size=50), st.binary(min_size=3, max_size=40).map(wrap)), max_size=20))
def test_whatever_comes_it_answers_or_is_silent(server: LiveServer, pieces: list[bytes]) -> None:
    port = ManagementPort(ManagedCard(server, 0))
    port.receive(b"".join(pieces))
    for message in heard(port):
        assert encode(message)
    port.close()
    assert port.waiting < ROOM


def test_no_more_requests_are_remembered_than_may_be_asked_again(port: ManagementPort) -> None:
    for number in range(1, 1000):
        asked(port, m.TimeRequest(number))
    assert len(port._asked) == 64


def test_two_clients_have_nothing_of_each_other(server: LiveServer) -> None:
    card = ManagedCard(server, 0)
    one, two = ManagementPort(card), ManagementPort(card)
    asked(one, m.SubscribeRequest(1, EventKind.COUNTS))
    assert [type(a) for a in asked(two, m.TimeRequest(1))] == [m.TimeReply]
    server.run_to(server.kernel.now + 20_000)
    assert heard(two) == []
    assert any(isinstance(event, m.CountEvent) for event in heard(one))


def test_a_client_has_so_many_censuses_under_way_and_takes_none_from_others(server: LiveServer) -> None:
    card = ManagedCard(server, 0)
    greedy, other = ManagementPort(card), ManagementPort(card)
    refused = asked(greedy, *(m.CensusRequest(number) for number in range(1, 12)))
    assert [(each.id, type(each)) for each in refused] == [(number, m.RefusedReply) for number in (9, 10, 11)]
    assert {each.why for each in refused} == {Refusal.BUSY.code}  # type: ignore[union-attr]
    assert asked(other, m.CensusRequest(1)) == []
    server.run_to(server.kernel.now + 2000)
    counted = [*heard(greedy), *heard(other)]
    assert [each.id for each in counted] == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert len({each.sequence for each in counted}) == 1  # type: ignore[union-attr]  # one round for all
    assert asked(greedy, m.CensusRequest(12)) == []  # and again
    for port in (greedy, other):
        port.close()


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
