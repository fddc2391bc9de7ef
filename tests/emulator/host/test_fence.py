"""The fence of the CPU: it believes only whoever holds the lease of that epoch."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringhil.firmware.election import GRANT, REFUSE
from ringhil.protocol.frames import Election

from .desk import LEASE, SIZE, A, B, Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("cell", "epoch"),
    [
        pytest.param(1, 3, id="another GPU"),
        pytest.param(0, 2, id="an earlier epoch"),
        pytest.param(0, 4, id="an epoch not granted yet"),
        pytest.param(SIZE, 3, id="the entry GPU of another card"),
    ],
)
def test_who_does_not_hold_the_lease_of_that_epoch_is_refused(desk: Desk, cell: int, epoch: int) -> None:
    desk.claim(A, 0, 3)
    desk.report(A, 0, 3)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1)
    unit = next(work for work in desk.work() if work.card == A)
    desk.result(unit, cell, epoch=epoch)
    assert (desk.cpu.work.fenced, desk.cpu.work.completed) == (1, 0)
    desk.refuse(replace(unit, source=cell, epoch=epoch) if cell < SIZE else replace(unit, source_card=B, epoch=epoch))
    assert (desk.cpu.work.fenced, desk.cpu.work.refused) == (2, 0)
    desk.result(unit)
    assert (desk.cpu.work.fenced, desk.cpu.work.completed) == (2, 1)


def test_a_report_without_the_lease_is_refused(desk: Desk) -> None:
    desk.report(A, 0, 1)
    assert (desk.cpu.work.fenced, desk.a.known) == (1, False)
    desk.claim(A, 0, 1)
    desk.report(A, 1, 1)
    desk.report(A, 0, 2)
    assert (desk.cpu.work.fenced, desk.a.known) == (3, False)
    desk.report(A, 0, 1)
    assert (desk.cpu.work.fenced, desk.a.count) == (3, SIZE)


def test_when_the_lease_has_run_out_its_holder_is_refused_from_that_cycle_on(desk: Desk) -> None:
    desk.count()
    one, two = (w for w in desk.work() if (w.card, w.destination) == (A, 2) and w.unit < 2 * SIZE)
    desk.kernel.run(LEASE - 1)
    desk.result(one)
    assert (desk.a.entry, desk.cpu.work.fenced, desk.cpu.work.completed) == (0, 0, 1)
    desk.kernel.run(LEASE)
    desk.result(two)
    assert (desk.a.entry, desk.cpu.work.fenced, desk.cpu.work.completed) == (None, 1, 1)


def test_a_lease_that_is_renewed_goes_on(desk: Desk) -> None:
    desk.count()
    desk.kernel.run(LEASE - 1)
    desk.renew(A, 0, 1)
    desk.kernel.run(2 * LEASE - 2)
    assert (desk.a.entry, desk.b.entry) == (0, None)
    desk.kernel.run(2 * LEASE - 1)
    assert desk.a.entry is None


def test_whoever_asks_is_answered_by_its_own_link(desk: Desk) -> None:
    desk.claim(A, 0, 1)
    desk.claim(A, 1, 2)
    desk.renew(A, 1, 2)
    desk.claim(B, 1, 1)
    answers = [(cell, frame.operation if isinstance(frame, Election) else None) for cell, frame in desk.sent]
    assert answers == [(0, GRANT), (1, REFUSE), (1, None), (SIZE + 1, GRANT)]
    assert (desk.a.entry, desk.b.entry) == (0, 1)


def test_damaged_mail_and_garbage_are_nothing(desk: Desk) -> None:
    desk.count()
    unit = desk.work()[0]
    desk.cpu.mail(0, b"\x15" + bytes(47), 0, False)
    desk.cpu.mail(0, b"", 0, False)
    before = desk.cpu.work.fenced
    desk.result(unit, bad=True)
    desk.report(A, 3, 1)  # from a GPU that has no link to the CPU
    assert (desk.cpu.work.fenced, desk.cpu.work.completed) == (before, 0)
    desk.result(unit)
    assert desk.cpu.work.completed == 1
