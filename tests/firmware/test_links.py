"""Which link is slow, which one damages messages: from records as an honest ring would leave them."""

from collections.abc import Collection, Mapping

import pytest

from ringhil.firmware.links import FORGET, ROUNDS, LinkHealth
from ringhil.firmware.timing import BYPASS_HOP, HEALTHY_HOP
from ringhil.protocol import wire
from ringhil.protocol.frames import Record

NODE, SIZE = 2, 6
FIRST_HOP = 9  # out of the mailbox and over one link
PORT2 = wire.RecordFlag.PORT2
LINKS = range(SIZE)  # by the GPU that they follow clockwise
BOTH = (False, True)


class Ring:
    """A ring of which some GPUs are bypassed, and some links late; its rounds are looked at by `health`."""

    def __init__(self, node: int = NODE, size: int = SIZE, period: int = 997) -> None:
        self.health, self.period = LinkHealth(node, size), period
        self.node, self.size = node, size
        self.bypassed: Collection[int] = ()
        self.errors: dict[tuple[int, bool], int] = {}  # bad arrivals, by GPU and direction
        self.now = 1000

    def records(self, sent_at: int, ccw: bool, late: Mapping[int, int]) -> tuple[Record, ...]:
        """What the message of one direction brings home; `late`: by how much each link delays it."""
        step = -1 if ccw else 1
        records, arrived = [self._record(self.node, 1, 0, 0, 0)], sent_at
        for hop in range(1, self.size):
            gpu = (self.node + step * hop) % self.size
            before = (gpu - step) % self.size
            if hop == 1:
                arrived += FIRST_HOP
            else:
                arrived += BYPASS_HOP if before in self.bypassed else HEALTHY_HOP
            arrived += late.get(gpu if ccw else before, 0)
            if gpu not in self.bypassed:
                errors = self.errors.get((gpu, ccw), 0) % 256
                records.append(self._record(gpu, len(records) + 1, arrived % 256, errors, PORT2 * ccw))
        return tuple(records)

    @staticmethod
    def _record(gpu: int, hop: int, stamp: int, errors: int, flags: int) -> Record:
        return Record(gpu, hop, wire.GpuState.WORKING.code, flags, 0, stamp, 1, errors, wire.NO_CARD, 0)

    def round(
        self, late: Mapping[int, int] | None = None, *, directions: Collection[bool] = BOTH, records: bool = True
    ) -> LinkHealth:
        self.now += self.period  # the usual one begins anywhere in the range of a stamp
        for ccw in directions:
            if records:
                self.health.look(self.records(self.now, ccw, late or {}), self.now)
        self.health.round_over()
        return self.health

    def rounds(self, count: int, late: Mapping[int, int] | None = None, *, directions: Collection[bool] = BOTH) -> None:
        for _ in range(count):
            self.round(late, directions=directions)


def test_the_numbers_are_those_of_the_docs() -> None:
    """docs/howto/firmware.md: four rounds in a row, and 16 rounds."""
    assert (ROUNDS, FORGET) == (4, 16)


def test_nothing_is_named_on_a_healthy_ring() -> None:
    """Wherever the stamps wrap round."""
    ring = Ring()
    for _ in range(300):
        health = ring.round()
        assert (health.slow, health.noisy) == (None, None)


@pytest.mark.parametrize("begin", range(256))
def test_nothing_is_named_where_stamps_wrap_round_at_the_same_link_each_time(begin: int) -> None:
    """Nor when one direction comes home alone."""
    ring = Ring(period=1024)
    ring.now = begin
    ring.rounds(ROUNDS + 2, directions=(False,))
    assert ring.health.slow is None


# --------------------------------------------------------------------------------------------------- slow links


@pytest.mark.parametrize("directions", [BOTH, (False,), (True,)], ids=["both", "cw", "ccw"])
@pytest.mark.parametrize("late", [1, 16, 63])
@pytest.mark.parametrize("link", LINKS)
def test_a_slow_link_is_named_by_the_gpu_that_it_follows(link: int, late: int, directions: Collection[bool]) -> None:
    """The last hop, home to the origin, is in no record: that link is seen by the other direction only."""
    ring = Ring()
    ring.rounds(4, directions=directions)
    ring.rounds(ROUNDS - 1, {link: late}, directions=directions)
    assert ring.health.slow is None
    health = ring.round({link: late}, directions=directions)
    unseen = None if len(directions) == 2 else NODE if True in directions else NODE - 1
    assert health.slow == (None if link == unseen else link)
    assert health.noisy is None


def test_a_single_late_round_is_not_enough() -> None:
    """A message may have had to wait; only one that is late every time tells of its link."""
    ring = Ring()
    ring.rounds(3)
    for _ in range(10):
        for _ in range(ROUNDS - 1):
            assert ring.round({4: 30}).slow is None
        assert ring.round().slow is None


@pytest.mark.parametrize("waits", [[9, 4, 6, 7], [3, 14, 3, 6], [1, 2, 3, 4, 5, 6, 7], [8, 1, 8, 2, 8, 3, 8, 1]])
def test_other_frames_hold_messages_up_by_another_time_each_round(waits: list[int]) -> None:
    """On the first hop there is no other direction: a GPU's own keepalives may be before its messages each time, and as
    long twice."""
    ring = Ring()
    ring.rounds(3)
    for late in waits:
        assert ring.round({NODE: late}).slow is None


@pytest.mark.parametrize(
    "late", [[5, 5, 9, 5], [9, 5, 7, 5, 5], [7, 9, 5, 5, 8, 5], [3, 5, 8, 5, 6, 7, 9, 8, 5], [3, 3, 9, 5, 5, 5]]
)
def test_a_slow_link_is_named_although_messages_wait_there_now_and_then(late: list[int]) -> None:
    ring = Ring()
    ring.rounds(3)
    for number, cycles in enumerate(late, 1):
        assert ring.round({NODE: cycles}).slow == (NODE if number == len(late) else None)
    assert ring.round({NODE: 30}).slow == NODE, "it stays slow as long as it is late"
    assert ring.round().slow is None


def test_different_links_that_are_late_in_turn_are_none_of_them_slow() -> None:
    ring = Ring()
    ring.rounds(3)
    for number in range(30):
        assert ring.round({3 + number % 2: 5}).slow is None


def test_a_message_that_waited_in_one_direction_is_outvoted_by_the_other_one() -> None:
    """The link is as slow as the quicker of the two that passed it."""
    ring = Ring()
    for _ in range(10):
        ring.now += 500
        ring.health.look(ring.records(ring.now, False, {4: 8}), ring.now)
        ring.health.look(ring.records(ring.now, True, {}), ring.now)
        ring.health.round_over()
        assert ring.health.slow is None


def test_a_link_that_is_well_again_is_no_longer_named() -> None:
    ring = Ring()
    ring.rounds(5, {4: 8})
    assert ring.health.slow == 4
    assert ring.round().slow is None
    ring.rounds(ROUNDS - 1, {4: 8})
    assert ring.health.slow is None  # it starts from nothing again


def test_of_two_slow_links_one_is_named_and_then_the_other() -> None:
    ring = Ring()
    ring.rounds(5, {4: 8, 3: 1})
    assert ring.health.slow == 3
    ring.rounds(1, {4: 8})
    assert ring.health.slow == 4


@pytest.mark.parametrize("late", [1, 63])
@pytest.mark.parametrize(("link", "ccw"), [(NODE, False), (NODE - 1, True)])
def test_the_first_hop_is_compared_with_its_quickest_time(link: int, ccw: bool, late: int) -> None:
    """How long the mailbox takes isn't known; a delay from the very beginning can't be told from it."""
    ring = Ring()
    ring.rounds(10, {link: late}, directions=(ccw,))
    assert ring.health.slow is None
    ring.round(directions=(ccw,))
    ring.rounds(ROUNDS, {link: late}, directions=(ccw,))
    assert ring.health.slow == link


def test_a_first_hop_over_a_bypassed_gpu_has_a_time_of_its_own() -> None:
    """The neighbour goes: the way to the next but one is longer, and nothing is slow."""
    ring = Ring()
    ring.rounds(5)
    ring.bypassed = (NODE + 1, NODE - 1)
    for _ in range(6):
        assert ring.round().slow is None
    ring.bypassed = ()
    for _ in range(6):
        assert ring.round().slow is None


@pytest.mark.parametrize("bypassed", [(4,), (4, 5), (3, 5), (0, 1), (3, 4, 5, 0, 1)])
def test_bypassed_gpus_between_make_a_link_no_slower(bypassed: tuple[int, ...]) -> None:
    ring = Ring()
    ring.bypassed = bypassed
    for _ in range(20):
        assert ring.round().slow is None


@pytest.mark.parametrize(
    ("bypassed", "late", "named"),
    [
        ((4,), 3, 3),  # before the bypassed one
        ((4,), 4, 3),  # behind it: which of the two it is nobody has seen
        ((4, 5), 3, 3),
        ((4, 5), 5, 3),
        ((4, 5), 0, 0),
        ((0,), 5, 5),
        ((0,), 0, 5),
    ],
)
def test_a_slow_link_beside_bypassed_gpus_is_named_by_the_last_one_before_them(
    bypassed: tuple[int, ...], late: int, named: int
) -> None:
    for directions in (BOTH, (False,), (True,)):
        ring = Ring()
        ring.bypassed = bypassed
        ring.rounds(2, directions=directions)
        ring.rounds(ROUNDS, {late: 1}, directions=directions)
        assert ring.health.slow == named, directions


def test_the_largest_delay_with_stamps_that_wrap_round_on_the_way() -> None:
    ring = Ring(node=0, size=200)  # one time round takes longer than a stamp can hold
    ring.rounds(20)
    assert ring.health.slow is None
    ring.rounds(ROUNDS, {123: 63})
    assert ring.health.slow == 123


def test_rounds_without_records_say_nothing_of_links() -> None:
    ring = Ring()
    ring.rounds(ROUNDS, {4: 8})
    for _ in range(5):
        assert ring.round(records=False).slow == 4
    ring.rounds(1)
    ring.rounds(ROUNDS - 1, {4: 8})
    ring.round(records=False)
    assert ring.round({4: 8}).slow == 4  # the third one in a row that looked


def test_of_an_arm_the_links_on_this_side_of_the_cut_are_seen() -> None:
    """Between 4 and 5 the ring is cut: 3 and 4 are in one arm, 1, 0 and 5 in the other."""
    for late, named in ((3, 3), (0, 0), (5, 5), (4, None)):
        ring = Ring()
        for _ in range(ROUNDS):
            ring.now += 77
            ring.health.look(ring.records(ring.now, False, {late: 2})[:3], ring.now)
            ring.health.look(ring.records(ring.now, True, {late: 2})[:4], ring.now)
            ring.health.round_over()
        assert ring.health.slow == named


def test_of_an_arm_the_first_hop_is_left_out() -> None:
    """There a message that was turned round and comes home makes the other one wait."""
    ring = Ring()
    for late in (0, *[5] * ROUNDS):
        ring.now += 77
        ring.health.look(ring.records(ring.now, False, {NODE: late})[:3], ring.now, wrapped=True)
        ring.health.look(ring.records(ring.now, True, {NODE - 1: late})[:4], ring.now, wrapped=True)
        ring.health.round_over()
    assert ring.health.slow is None


# -------------------------------------------------------------------------------------------------- noisy links


@pytest.mark.parametrize("ccw", BOTH)
@pytest.mark.parametrize("gpu", [gpu for gpu in range(SIZE) if gpu != NODE])
def test_a_noisy_link_is_named_by_the_gpu_that_it_follows(gpu: int, ccw: bool) -> None:
    """Clockwise messages arrive from the GPU before, the others from the one after."""
    ring = Ring()
    ring.errors[gpu, ccw] = 254
    ring.rounds(2)
    assert ring.health.noisy is None  # who knows since when
    for _ in range(4):  # past 256
        ring.errors[gpu, ccw] += 1
        assert ring.round().noisy == (gpu if ccw else (gpu - 1) % SIZE)
        assert ring.health.slow is None
        ring.rounds(FORGET)
        assert ring.health.noisy is None  # so the next one counts for itself


def test_damage_at_one_port_is_not_laid_at_the_other_ones_door() -> None:
    ring = Ring()
    ring.errors.update({(4, False): 10, (4, True): 99})
    for _ in range(5):
        assert ring.round().noisy is None


def test_a_noisy_link_is_named_while_it_is_heard_of_and_for_some_rounds_more() -> None:
    ring = Ring()
    ring.rounds(2)
    for _ in range(3):
        ring.errors[4, False] = ring.errors.get((4, False), 0) + 1
        assert ring.round().noisy == 3
        for _ in range(FORGET - 1):
            assert ring.round().noisy == 3
    assert ring.round().noisy is None
    assert ring.round().noisy is None


def test_the_link_heard_of_last_is_named() -> None:
    ring = Ring()
    ring.rounds(2)
    ring.errors[4, False] = 1
    assert ring.round().noisy == 3
    ring.errors[0, True] = 1
    assert ring.round().noisy == 0


def test_a_gpu_that_was_away_meanwhile_is_asked_what_it_saw() -> None:
    ring = Ring()
    ring.rounds(2)
    ring.bypassed = (4,)
    ring.errors[4, False] = 3
    ring.rounds(2)
    assert ring.health.noisy is None
    ring.bypassed = ()
    assert ring.round().noisy == 3
