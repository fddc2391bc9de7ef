"""Every card reaches every other one of its group, without circles, and up before down (rtl/data_route.sv)."""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from ringhil.emulator.server.routing import Hop, hops

Links = list[tuple[int, int]]
CW, CCW = "cw", "ccw"


def bits(*cards: int) -> int:
    return sum(1 << card for card in cards)


def test_a_chain() -> None:
    assert hops(3, [(0, 1), (1, 2)]) == {
        (0, 1): Hop(bits(1, 2), False),
        (1, 0): Hop(bits(0), True),
        (1, 2): Hop(bits(2), False),
        (2, 1): Hop(bits(0, 1), True),
    }


def test_the_order_of_a_link_in_the_file_does_not_matter() -> None:
    assert hops(3, [(1, 0), (2, 1)]) == hops(3, [(0, 1), (1, 2)])


def test_a_star_around_the_first_card() -> None:
    found = hops(4, [(0, 1), (0, 2), (0, 3)])
    for leaf in (1, 2, 3):
        assert found[0, leaf] == Hop(bits(leaf), False)
        assert found[leaf, 0] == Hop(bits(0, 1, 2, 3) & ~bits(leaf), True)


def test_a_star_around_another_card_has_its_root_at_the_first_one_all_the_same() -> None:
    found = hops(4, [(3, 0), (3, 1), (3, 2)])
    assert found[0, 3] == Hop(bits(1, 2, 3), False)
    assert found[3, 0] == Hop(bits(0), True)
    assert found[3, 1] == Hop(bits(1), False)
    assert found[1, 3] == Hop(bits(0, 2, 3), True)


def test_the_link_that_closes_a_ring_of_cards_carries_frames_for_its_ends_only() -> None:
    found = hops(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    # Breadth first from card 0: 1 and 3 hang from it, 2 from 1. The link 2-3 is beside the tree.
    assert found[0, 1] == Hop(bits(1, 2), False)
    assert found[0, 3] == Hop(bits(3), False)
    assert found[2, 3] == Hop(bits(3), True)
    assert found[3, 2] == Hop(bits(2), True)
    assert found[3, 0] == Hop(bits(0, 1, 2), True)


def test_groups_know_nothing_of_each_other() -> None:
    found = hops(5, [(0, 2), (4, 3)])
    assert found == {
        (0, 2): Hop(bits(2), False),
        (2, 0): Hop(bits(0), True),
        (3, 4): Hop(bits(4), False),
        (4, 3): Hop(bits(3), True),
    }


def test_cards_without_links() -> None:
    assert hops(3, []) == {}


# ---------------------------------------------------------------------------------------------------- any server


@st.composite
def servers(draw: st.DrawFn) -> tuple[int, Links]:
    """Cards, and links between them in any order and direction; at most one joins two cards."""
    cards = draw(st.integers(1, 9))
    pairs = [(a, b) for a in range(cards) for b in range(a)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return cards, [(b, a) if draw(st.booleans()) else (a, b) for a, b in chosen]


def distances(cards: int, links: Links, start: int) -> dict[int, int]:
    """Of the cards in the group of `start`, by the links alone."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        card = waiting.popleft()
        for a, b in links:
            for one, other in ((a, b), (b, a)):
                if one == card and other not in found:
                    found[other] = found[card] + 1
                    waiting.append(other)
    return found


def ways(found: dict[tuple[int, int], Hop], start: int, target: int) -> Iterator[list[tuple[int, str]]]:
    """Every way that the hardware may take, as (card, lane in its ring): whichever boundary GPU comes first.

    A frame begins clockwise. From another card it goes counter-clockwise where it ends or has come from above, and
    from that lane it does not leave by a link from above.
    """
    waiting = [[(start, CW)]]
    while waiting:
        way = waiting.pop()
        card, lane = way[-1]
        if card == target:
            yield way
            continue
        out = [b for (a, b), hop in found.items() if a == card and hop.cards >> target & 1]
        out = [b for b in out if not (lane == CCW and found[card, b].from_above)]
        assert out, f"stuck in card {card} on lane {lane}: {way}"
        for other in out:
            assert other not in [c for c, _ in way], f"circle: {way} to {other}"
            down = other == target or found[other, card].from_above
            waiting.append([*way, (other, CCW if down else CW)])


RING = (6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])


@given(servers())
@example(RING)
def test_a_card_reaches_its_group_and_nobody_else(server: tuple[int, Links]) -> None:
    cards, links = server
    found = hops(cards, links)
    assert set(found) == {pair for a, b in links for pair in ((a, b), (b, a))}
    for card in range(cards):
        reached = 0
        for (own, other), hop in found.items():
            if own == card:
                assert hop.cards >> other & 1
                reached |= hop.cards
        assert reached == bits(*(set(distances(cards, links, card)) - {card}))


@given(servers())
@example(RING)
def test_every_way_leads_there_without_a_card_twice_and_never_from_ccw_to_cw(server: tuple[int, Links]) -> None:
    cards, links = server
    found = hops(cards, links)
    for start in range(cards):
        for target in set(distances(cards, links, start)) - {start}:
            taken = list(ways(found, start, target))
            assert taken
            for way in taken:
                assert len({card for card, _ in way}) == len(way)
                lanes = [lane for _, lane in way]
                assert (CCW, CW) not in pairwise(lanes)
                assert lanes[-1] == CCW


@given(servers())
def test_the_links_of_the_tree_have_one_end_above_and_no_more_than_needed(server: tuple[int, Links]) -> None:
    cards, links = server
    found = hops(cards, links)
    tree = [(a, b) for a, b in links if found[a, b].from_above != found[b, a].from_above]
    groups = {frozenset(distances(cards, links, card)) for card in range(cards)}
    assert len(tree) == cards - len(groups)
    for card in range(cards):
        assert set(distances(cards, tree, card)) == set(distances(cards, links, card))
        root = min(distances(cards, links, card))
        # Breadth first: no way to the root is shorter than the tree's.
        assert distances(cards, tree, card)[root] == distances(cards, links, card)[root]
    for a, b in set(links) - set(tree):
        assert found[a, b] == Hop(bits(b), True)
        assert found[b, a] == Hop(bits(a), True)
