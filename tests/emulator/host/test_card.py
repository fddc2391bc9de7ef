"""What a report makes of the CPU's view of a card."""

import pytest

from ringhil.emulator.host.card import CardView
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.frames import Report
from ringhil.protocol.wire import CensusVerdict, Role


def words(gpus: set[int], size: int) -> tuple[int, ...]:
    return tuple(sum(1 << gpu - first for gpu in gpus if first <= gpu < first + 64) for first in range(0, size, 64))


@pytest.mark.parametrize("size", [3, 64, 65, 129, 1024])
def test_members_slow_and_boundary_gpus_of_a_card_of_any_size(size: int) -> None:
    members, slow, boundary = set(range(size)) - {1}, {0, size - 1}, {size // 2, size - 1} - {1}
    sets = words(members, size) + words(slow, size) + words(boundary, size)
    head = (0, 0, 1, 0, 1, 1, 0, len(members), size, CensusVerdict.RING.code, 0, 0, 0, 0, 0, 0xFFFF, 0xFFFF, 0xFFFF)
    card = CardView("a", 0, size, (0,), (0,), Grantor(Role.ENTRY, 1000, 100))
    card.update(Report(*head, 4 * len(members), 0, sets), 77)
    assert set(card.members) == members
    assert card.degraded == slow
    assert set(card.boundaries) == boundary
