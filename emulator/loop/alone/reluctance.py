"""What is promised of reluctance (R7): an entry GPU is a boundary GPU only if no other GPU can be."""

from ringhil.emulator.loop.alone.neighbour import Neighbour
from ringhil.emulator.loop.alone.servers import BOTH_ROLES, CARDS, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.protocol.wire import MemberFlag, MemberState, Operation


def lets_others_ask(stages: Stages) -> None:
    """The entry GPU, and one whose warden is that, don't ask while another one can have the link."""
    for who in ("it is the entry GPU", "its warden is on an entry GPU"):
        stage = stages.of(BOTH_ROLES if who == "it is the entry GPU" else CARDS, "a.3")
        uplink = Uplink(stage, stage.boot.boundary)
        if stage.boot.entry is not None:
            Uplink(stage, stage.boot.entry)
        else:
            uplink.reluctant = MemberFlag.RELUCTANT
        other = Neighbour(stage, uplink.group, 1)
        stage.start()
        other.speak()
        stage.wait(8 * uplink.group.interval)
        if claims := uplink.elections(Operation.CLAIM):
            found = f"it claims the boundary role; {who}"
            raise NotKept(claims[0][0], found, "a.4 is up and can hold it, so it should not ask")
        told = [message for _, _, message in other.heard()]
        if not told or not told[-1].state & MemberFlag.RELUCTANT:
            raise NotKept(stage.now, f"it doesn't tell a.4 that it is reluctant; {who}", "its keepalives should say so")
        other.uplink = False
        uplink.wait_for_claim(4 * uplink.group.interval, "a.4 can't hold the link any more")


def goes_last(stages: Stages) -> None:
    """A candidate that is reluctant itself is no better one, whatever its rank."""
    stage = stages.of(CARDS, "a.4")
    uplink = Uplink(stage, stage.boot.boundary)
    other = Neighbour(stage, uplink.group, 0)
    other.state, other.reluctant = MemberState.CANDIDATE, True
    stage.start()
    other.speak()
    group = uplink.group
    uplink.wait_for_claim(6 * group.skew, "a.3 is a candidate, and reluctant, so that others go first")


def hands_over(stages: Stages) -> None:
    """To one that is up, hears its uplink and isn't reluctant itself; it gives its lease back."""
    stage = stages.of(CARDS, "a.3")
    uplink, _ = _holder(stage)
    uplink.reluctant = MemberFlag.RELUCTANT
    stage.wait_for(lambda: not uplink.held, 2 * uplink.group.interval)
    if uplink.held or not uplink.elections(Operation.RELEASE):
        found = "it holds the link" if uplink.held else "it has laid the link down without a release"
        raise NotKept(stage.now, f"its warden is on an entry GPU, and {found}", "it should hand over to a.4")
    at, release = uplink.elections(Operation.RELEASE)[0]
    if release.epoch != uplink.grantor.epoch:
        found = f"it releases epoch {release.epoch}"
        raise NotKept(at, found, f"it should release the lease that it held, {uplink.grantor.epoch}")
    uplink.reluctant = 0
    group = uplink.group
    patience = group.multiplier * group.interval + group.slack
    uplink.skip_claims()
    when, _ = uplink.wait_for_claim(patience + 4 * group.interval)
    if when < at + patience:
        found = f"it claims again {when - at:,} cycles after it has handed over"
        raise NotKept(when, found, f"others should go first for a detection time, {patience:,} cycles")


def keeps_what_nobody_better_can_have(stages: Stages) -> None:
    """Nobody is heard, or who is heard can't hold the link or is reluctant itself."""
    for who in ("nobody else is heard", "a.4 doesn't hear its warden", "a.4 is reluctant, too"):
        stage = stages.of(CARDS, "a.3")
        uplink, other = _holder(stage, heard=who != "nobody else is heard")
        other.uplink = who != "a.4 doesn't hear its warden"
        other.reluctant = who == "a.4 is reluctant, too"
        stage.wait(2 * uplink.group.interval)
        uplink.reluctant = MemberFlag.RELUCTANT
        stage.wait(3 * uplink.group.interval)
        if not uplink.held:
            found = f"it has given the link up; {who}"
            raise NotKept(stage.now, found, "it should keep what nobody better can have")


def _holder(stage: Stage, *, heard: bool = True) -> tuple[Uplink, Neighbour]:
    """Started, and elected."""
    uplink = Uplink(stage, stage.boot.boundary)
    other = Neighbour(stage, uplink.group, 1)
    other.silent = not heard
    stage.start()
    other.speak()
    uplink.wait_for_role(4 * uplink.group.interval)
    return uplink, other
