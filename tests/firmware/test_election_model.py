"""Elections, explored exhaustively: every order of faults within a budget, on the classes that ship.

Safety is checked in every state: see `World.check`, `World.check_grant`. Progress: from every state, once faults have
stopped, there is one holder for good within `Setup.recovery`, if there can be one. That the exploration finds
something when there is something to find is shown with machines that are broken on purpose.
"""

from typing import Any

import pytest

from ringhil.firmware.election import GroupConfig
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.member import Member
from ringhil.firmware.warden import Warden
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import Role

from .explorer import Explored, Setup, Violation, explore

_ALL = ("lose", "delay", "copy", "crash", "cut", "swap")


def passes(setup: Setup) -> Explored:
    """Explore; a violation is reported with what led to it. `-s` shows the numbers."""
    try:
        found = explore(setup)
    except Violation as violation:
        pytest.fail("\n".join([violation.what, *violation.trace]))
    print(setup.role, setup.members, setup.budget, setup.faults, found, "at most", setup.recovery)
    assert found.judged > 0
    return found


def fails(setup: Setup, what: str) -> None:
    with pytest.raises(Violation, match=what) as caught:
        explore(setup)
    assert caught.value.trace[-1].endswith(f"VIOLATION: {caught.value.what}"), "the trace does not lead there"
    print("\n".join(caught.value.trace))


SLOW = pytest.mark.slow(part="models")


@pytest.mark.parametrize(("role", "members"), [(Role.ENTRY, 1), (Role.ENTRY, 2), (Role.ENTRY, 3), (Role.BOUNDARY, 2)])
def test_without_faults_the_first_is_elected_and_stays(role: Role, members: int) -> None:
    found = passes(Setup(role, members, budget=0))
    assert found.states < 100


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(("role", "members"), [(Role.ENTRY, 1), (Role.ENTRY, 2), (Role.ENTRY, 3), (Role.BOUNDARY, 2)])
def test_any_one_fault(role: Role, members: int) -> None:
    passes(Setup(role, members, budget=1, faults=(*_ALL, "reluctant") if role == Role.BOUNDARY else _ALL))


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("budget", "faults"),
    [
        (3, ("lose",)),
        pytest.param(3, ("delay", "copy", "swap"), marks=SLOW),
        (2, ("lose", "delay", "copy", "swap")),
        pytest.param(2, ("crash",), marks=SLOW),
    ],
)
def test_several_faults_at_the_cpu(budget: int, faults: tuple[str, ...]) -> None:
    passes(Setup(Role.ENTRY, 2, budget, faults))


LONG = pytest.param(Role.BOUNDARY, 2, marks=SLOW)


@pytest.mark.rest
@pytest.mark.parametrize(("role", "wait_to_restore"), [(Role.ENTRY, 0), pytest.param(Role.ENTRY, 2, marks=SLOW), LONG])
def test_a_member_that_cannot_renew_its_lease_leaves_the_role_to_one_that_it_cannot_hear(
    role: Role, wait_to_restore: int
) -> None:
    passes(Setup(role, 2, budget=2, faults=("mute", "part"), wait_to_restore=wait_to_restore))


@SLOW
def test_a_pair_alone_through_crashes_of_both_ends() -> None:
    passes(Setup(Role.BOUNDARY, 2, 2, ("crash",), dead=(("member", 1), ("warden", 1))))


@pytest.mark.slow(part="models")
@pytest.mark.parametrize(
    ("role", "members", "budget", "faults"),
    [
        (Role.ENTRY, 2, 2, _ALL),
        (Role.ENTRY, 3, 2, ("lose", "crash")),
        (Role.BOUNDARY, 2, 2, ("lose", "delay", "copy", "swap")),
        (Role.BOUNDARY, 2, 2, ("crash",)),
        (Role.BOUNDARY, 2, 2, ("reluctant", "lose")),
    ],
)
def test_more_faults(role: Role, members: int, budget: int, faults: tuple[str, ...]) -> None:
    # Four machines that may come back at any time would make millions of states: soon, or when all know of it.
    passes(Setup(role, members, budget, faults, restarts=(2, 14) if role == Role.BOUNDARY else ()))


# ------------------------------------------------------------------------------------------------ broken on purpose


class Unfenced(Grantor):
    """Does not mind epochs."""

    def _objection(self, rank: int, epoch: int, now: int) -> int | None:
        return super()._objection(rank, max(epoch, self.highest + 1), now)


class Impatient(Grantor):
    """Grants although another's lease runs."""

    def _left(self, rank: int, now: int) -> int:
        return 0


class Amnesiac(Warden):
    """Forgets at a crash what it has granted."""

    def __init__(self, config: GroupConfig, remembered: int) -> None:
        super().__init__(config, 0)


class Hasty(Warden):
    """Grants at once after a boot."""

    def start(self, now: int) -> list[Any]:
        actions = super().start(now)
        self.grantor.quiet_until = now
        return actions


class Optimist(Member):
    """Takes any answer that names it for a renewal of its lease."""

    def on_keepalive(self, message: Keepalive, port: str, now: int) -> list[Any]:
        self._sent = {sequence: (at, self.held_epoch) for sequence, (at, _) in self._sent.items()}
        return super().on_keepalive(message, port, now)


class Stubborn(Member):
    """Goes on when its lease has not been renewed."""

    def _end_stale(self, now: int) -> list[Any]:
        if self.held_epoch is not None:
            self.lease_until = max(self.lease_until, now + 1)
        return super()._end_stale(now)


class Greedy(Member):
    """Has lost the lease, hears of nobody who could have it, and asks again at once."""

    def _patience(self, now: int) -> int:
        self._losses, kept = 0, self._losses
        patience = super()._patience(now)
        self._losses = kept
        return patience


class Resigned(Member):
    """Asks once, and never again."""

    def _tick(self, now: int) -> list[Any]:
        asked = self._asked
        actions = super()._tick(now)
        self._asked = asked
        return actions


def test_without_a_fence_an_epoch_is_granted_twice() -> None:
    fails(Setup(Role.ENTRY, 2, 1, grantor=Unfenced), "granted twice|granted after")


def test_without_waiting_for_the_lease_two_hold_it() -> None:
    fails(Setup(Role.ENTRY, 2, 1, grantor=Impatient), "all hold the lease|does not know")


@pytest.mark.rest
def test_a_warden_without_memory_grants_an_epoch_twice() -> None:
    setup = Setup(Role.BOUNDARY, 2, 2, ("crash",), dead=(("member", 1), ("warden", 1)), warden=Amnesiac)
    fails(setup, "granted twice")


@SLOW
def test_a_warden_that_does_not_wait_after_a_boot_grants_beside_another() -> None:
    fails(Setup(Role.BOUNDARY, 2, 2, ("crash", "part"), restarts=(2,), warden=Hasty), "running for long|side by side")


@pytest.mark.rest
def test_a_member_that_takes_any_answer_for_a_renewal_is_ahead_of_its_grantor() -> None:
    fails(Setup(Role.ENTRY, 2, 2, ("crash", "swap"), member=Optimist), "does not know")


def test_a_member_that_ignores_the_end_of_its_lease_is_caught() -> None:
    fails(Setup(Role.ENTRY, 2, 1, ("cut",), member=Stubborn), "does not know|all hold")


def test_a_member_that_gives_up_is_caught() -> None:
    fails(Setup(Role.ENTRY, 1, 1, ("lose",), member=Resigned), "one holder for good")


@SLOW
def test_a_member_that_asks_again_at_once_takes_the_role_for_ever() -> None:
    """Each time under a higher epoch, so that there is no end of states; with members that wait there is."""
    with pytest.raises(RuntimeError, match="states"):
        explore(Setup(Role.ENTRY, 2, 2, ("mute", "part"), member=Greedy), most=40_000)
