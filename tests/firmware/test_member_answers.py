"""What a member makes of answers that are none, come late or were overtaken, and of a holder without a link."""

from dataclasses import replace
from typing import Any

import pytest

from ringhil.firmware.election import CLAIM, GRANT, GRANTING, HOLDER, RELEASE, UPLINK
from ringhil.firmware.observations import Elected
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.wire import Port, Role

from .member_bench import INTERVAL, LEASE, Bench
from .timed import told


def asking(**changes: Any) -> Bench:
    """A member whose first claim is on the way."""
    bench = Bench(**changes)
    while not bench.claims():
        bench.wait(1)
    return bench


@pytest.mark.parametrize("operation", [CLAIM, RELEASE, 9])
def test_only_a_grant_or_a_refusal_is_an_answer(operation: int) -> None:
    bench = asking()
    epoch = bench.claims()[-1].epoch
    bench.reply(operation, epoch, LEASE)
    assert bench.member.held_epoch is None
    assert Elected(Role.ENTRY, epoch) in bench.reply(GRANT, epoch, LEASE)


def test_a_grant_that_came_too_late_is_given_back_when_the_grantor_names_it() -> None:
    bench = asking()
    claim = bench.claims()[-1]
    bench.now += LEASE
    bench.step(bench.member.on_election(replace(claim, operation=GRANT, flags=0), Port.CPU, bench.now))
    assert bench.member.held_epoch is None
    released = told(bench.answer(holder=0, epoch=claim.epoch, state=GRANTING), Election)
    assert [(m.operation, m.epoch) for m in released] == [(RELEASE, claim.epoch)]


def test_an_answer_that_was_overtaken_says_nothing_of_the_holder() -> None:
    bench = Bench(rank=1)
    first = told(bench.actions, Keepalive, "cpu")[-1].sequence
    bench.wait(INTERVAL)
    bench.answer(holder=0, epoch=3, state=GRANTING)
    bench.answer(epoch=2, echo=first)
    before = len(bench.claims())
    bench.wait(2 * INTERVAL)
    assert len(bench.claims()) == before


@pytest.mark.parametrize(("state", "claims"), [(HOLDER | UPLINK, 0), (HOLDER, 1)])
def test_a_holder_without_a_link_is_none(state: int, claims: int) -> None:
    """Whoever has lost its link can't speak for the card, whatever it still holds."""
    bench = Bench(rank=2)
    bench.peer(1, state, 1)
    bench.answer(epoch=1)
    for _ in range(3):
        bench.wait(INTERVAL)
        bench.peer(1, state, 1)
        bench.answer(epoch=1)
    assert min(len(bench.claims()), 1) == claims
