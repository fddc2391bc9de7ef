"""Names of a scenario become cells, groups and ways between cards."""

import pytest

from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.server.wiring import Crossing, Wiring

CHAIN = """
server:
  cards: {a: {gpus: 5}, b: {gpus: 6}, c: {gpus: 4}, lone: {gpus: 2}}
  boundary_links:
    - {from: [a.3, a.2], to: [b.2, b.3]}
    - {from: [c.1], to: [b.5]}
"""
TRIANGLE = """
server:
  cards: {a: {gpus: 4}, b: {gpus: 4}, c: {gpus: 4}}
  boundary_links:
    - {from: [a.1], to: [b.1]}
    - {from: [b.2], to: [c.2]}
    - {from: [c.3], to: [a.3]}
"""


@pytest.fixture(scope="module")
def chain() -> Wiring:
    return Wiring(loads(CHAIN).server)


def test_cells_are_numbered_through_card_by_card(chain: Wiring) -> None:
    assert [chain.number(name) for name in ("a", "b", "c", "lone")] == [0, 1, 2, 3]
    cells = [chain.cell(card, gpu) for card, described in enumerate(chain.cards) for gpu in range(described.gpus)]
    assert cells == list(range(5 + 6 + 4 + 2))
    assert chain.cell_of(GpuRef("b", 0)) == 5
    assert chain.cell_of(GpuRef("lone", 1)) == 16


def test_every_physical_link_is_wired_once(chain: Wiring) -> None:
    assert chain.topology.rings == (5, 6, 4, 2)
    assert chain.topology.crossings == ((3, 7), (2, 8), (12, 10))
    peers = chain.topology.peers
    assert {cell: peer for cell, peer in enumerate(peers) if peer is not None} == {
        3: 7,
        7: 3,
        2: 8,
        8: 2,
        12: 10,
        10: 12,
    }


def test_each_end_knows_its_group_rank_side_and_peer(chain: Wiring) -> None:
    assert chain.crossings == {
        3: Crossing(0, 0, True, (3, 2), 1, 2),
        2: Crossing(0, 1, True, (3, 2), 1, 3),
        7: Crossing(0, 0, False, (2, 3), 0, 3),
        8: Crossing(0, 1, False, (2, 3), 0, 2),
        12: Crossing(1, 0, True, (1,), 1, 5),
        10: Crossing(1, 0, False, (5,), 2, 1),
    }


def test_the_two_ends_of_a_link_speak_of_each_other(chain: Wiring) -> None:
    for cell, crossing in chain.crossings.items():
        far = chain.crossings[chain.cell(crossing.peer_card, crossing.peer_gpu)]
        assert chain.cell(far.peer_card, far.peer_gpu) == cell
        assert (far.group, far.rank, far.leads) == (crossing.group, crossing.rank, not crossing.leads)
        assert crossing.members[crossing.rank] == far.peer_gpu


def test_the_side_that_elects_comes_first(chain: Wiring) -> None:
    assert [chain.ends(link) for link in chain.links] == [(0, 1), (2, 1)]


def test_the_next_hop_along_a_chain(chain: Wiring) -> None:
    hops = {(card, target): chain.next_hop(card, target) for card in range(4) for target in range(4) if card != target}
    assert hops == {
        **{(0, 1): 1, (0, 2): 1, (1, 0): 0, (1, 2): 2, (2, 0): 1, (2, 1): 1},
        **{(card, 3): None for card in range(3)},
        **{(3, card): None for card in range(3)},
    }


def test_a_direct_link_is_the_next_hop_also_beside_the_tree() -> None:
    wiring = Wiring(loads(TRIANGLE).server)
    for card in range(3):
        for target in {0, 1, 2} - {card}:
            assert wiring.next_hop(card, target) == target
    assert set(wiring.hops) == {(a, b) for a in range(3) for b in range(3) if a != b}


def test_without_links_there_is_nobody_to_speak_to() -> None:
    wiring = Wiring(loads("server: {cards: {a: {gpus: 2}, b: {gpus: 3}}}").server)
    assert (wiring.crossings, wiring.hops, wiring.topology.crossings) == ({}, {}, ())
    assert wiring.next_hop(0, 1) is None
