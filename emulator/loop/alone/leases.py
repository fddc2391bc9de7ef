"""What is promised of the lease that a member holds."""

from dataclasses import replace

from ringhil.emulator.loop.alone.neighbour import Neighbour
from ringhil.emulator.loop.alone.servers import BOTH_ROLES, CARDS, THREE, TWO, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.firmware.election import STATE_BITS, GroupConfig
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.wire import MemberState, Operation, Port

_BOOTED = 2  # a later boot


def counts_from_claim(stages: Stages) -> None:
    """Grants take half an interval to come, and no keepalive is answered."""
    stage = stages.of(TWO, "a.0")
    group = _entry(stage)
    uplink = Uplink(stage, group, delay=group.interval // 4)
    uplink.hears_keepalives = False
    stage.start()
    left, _ = uplink.wait_for_claim(group.interval)
    uplink.hears_claims = False  # what has left is on its way
    uplink.wait_for_role(group.interval)
    _ends(uplink, left, "its claim")


def renews_from_keepalive(stages: Stages) -> None:
    """Answers to keepalives take half an interval; the last two come the other way round, or the last one is lost."""
    for lost in (False, True):
        stage = stages.of(TWO, "a.0")
        uplink = _elected(stage)
        group = uplink.group
        uplink.silent = True
        early, late = _as_holder(uplink), _as_holder(uplink)
        answers = [uplink.answer(message) for _, message in ((early,) if lost else (early, late))]
        stage.wait(group.interval // 4)
        for answer in reversed(answers):
            assert answer is not None
            stage.hear(answer, group.uplink)
        _ends(uplink, (early if lost else late)[0], "the last keepalive that was answered")


def renews_as_holder(stages: Stages) -> None:
    """The grant is slow: meanwhile the member has said once more that it is none, and is answered that it is."""
    stage = stages.of(TWO, "a.0")
    uplink = Uplink(stage, _entry(stage))
    uplink.silent = True
    group = uplink.group
    stage.start()
    left, claim = uplink.wait_for_claim(group.interval)
    stage.wait(uplink.delay)
    grant, asked = uplink.answer(claim), len(uplink.asked)
    assert grant is not None
    stage.wait_for(lambda: bool(uplink.keepalives(left + 1)), 2 * group.interval)
    later = [message for _, message in uplink.asked[asked:] if not isinstance(message, Election)]
    answers = [uplink.answer(message) for message in later]
    stage.hear(grant, group.uplink)
    uplink.wait_for_role(0)
    for answer in answers:
        assert answer is not None
        stage.hear(answer, group.uplink)
    _ends(uplink, left, "its claim")


def is_fenced(stages: Stages) -> None:
    """It hears of a higher epoch from a co-member, and in an answer."""
    for epoch in (2, 9):  # that of the next member, and one far above
        stage = stages.of(TWO, "a.0")
        uplink = _elected(stage)
        neighbour = Neighbour(stage, uplink.group, 1)
        neighbour.epoch = epoch
        neighbour.say()
        _fenced(uplink, epoch, "a co-member")
        stage = stages.of(TWO, "a.0")
        uplink = _elected(stage)
        uplink.grantor.highest = epoch
        begin = stage.now
        while uplink.held and stage.now < begin + uplink.group.interval + 2 * uplink.delay:
            stage.wait(uplink.delay)
        _fenced(uplink, epoch, "an answer")


def is_fenced_by_its_warden(stages: Stages) -> None:
    """It hears of a higher epoch from its warden, in a keepalive that answers nothing."""
    for epoch in (2, 9):
        stage = stages.of(CARDS, "a.3")
        uplink = _elected(stage, stage.boot.boundary)
        uplink.says(epoch)
        _fenced(uplink, epoch, "its warden")


def minds_own_epochs(stages: Stages) -> None:
    """A GPU in two groups: the epochs of the one are no business of the other."""
    stage = stages.of(BOTH_ROLES, "a.3")
    across = Uplink(stage, stage.boot.boundary)
    uplink = _elected(stage)
    neighbour = Neighbour(stage, across.group, 1)
    neighbour.epoch = 50
    neighbour.say()
    if not uplink.held:
        raise NotKept(
            stage.now, "the entry role is given up: an epoch of the boundary role was heard", "it should be kept"
        )


def gives_back_what_it_does_not_know(stages: Stages) -> None:
    """It has booted, and its grantor still counts the lease of before."""
    stage = stages.of(THREE, "a.1", boots=_BOOTED)
    group = _entry(stage)
    uplink = Uplink(stage, group)
    epoch = group.rank + 1
    claim = Election(0, 0, 9, 0, epoch, 1 << 16 | 1, group.me, Operation.CLAIM.code, group.role.code, group.lease, 0)
    uplink.answer(claim)
    stage.start()
    begin = stage.now
    stage.wait_for(lambda: bool(uplink.elections(Operation.RELEASE)), 2 * group.interval)
    given_back = [message.epoch for _, message in uplink.elections(Operation.RELEASE)]
    if given_back[:1] != [epoch]:
        found = (
            f"answers name it the holder of epoch {epoch} since cycle {begin + 2 * uplink.delay}, and it has released "
        )
        found += f"epoch {given_back[0]}" if given_back else "nothing"
        raise NotKept(stage.now, found, f"it doesn't know of that lease, and should release epoch {epoch}")
    if uplink.held:
        raise NotKept(stage.now, "it has taken the role up without a claim", "it should be granted it first")


def takes_only_what_is_granted_to_it(stages: Stages) -> None:
    """Grants that come too late, by the ring, before any claim or under a higher epoch that was heard, and refusals."""
    for what in (
        "by the ring",
        "after as long as the lease lasts",
        "of an epoch that it hasn't claimed",
        "after a co-member has told of epoch 8",
        "refused",
    ):
        stage = stages.of(TWO, "a.0")
        group = _entry(stage)
        uplink, neighbour = Uplink(stage, group), Neighbour(stage, group, 1)
        uplink.silent = True
        stage.start()
        left, claim = uplink.wait_for_claim(group.interval)
        answer = uplink.answer(claim)
        assert isinstance(answer, Election)
        port = group.uplink
        match what:
            case "by the ring":
                port = Port.CW
            case "after as long as the lease lasts":
                stage.until(left + group.lease)
            case "of an epoch that it hasn't claimed":
                answer = replace(answer, epoch=claim.epoch + 2 * len(group.members))
            case "after a co-member has told of epoch 8":
                neighbour.epoch = 8
                neighbour.say()
            case _:
                answer = replace(answer, operation=Operation.REFUSE.code)
        begin = len(neighbour.heard())
        stage.hear(answer, port)
        said = [message.state & STATE_BITS for _, _, message in neighbour.heard()[begin:]]
        if uplink.held or MemberState.HOLDER.code in said:
            found = f"a grant of epoch {answer.epoch}, {what}, is taken; the claim left in cycle {left:,}"
            raise NotKept(stage.now, found, "the role should not be taken up")


def claims_its_own_epochs(stages: Stages) -> None:
    """Of m members, member i claims the epochs e with (e - 1) mod m = i, the lowest above all that it knows of."""
    stage = stages.of(THREE, "a.1")
    group = _entry(stage)
    uplink = Uplink(stage, group)
    stage.start()
    stage.wait(2 * uplink.delay)
    uplink.grantor.highest = 7  # its keepalive was answered before
    _claims(uplink, 2, "nobody has told of an epoch")
    first = stage.now
    stage.wait(2 * uplink.delay)
    uplink.silent = True  # the refusal has come, and says 7
    _claims(uplink, 8, "it was refused, as 7 is the highest epoch")
    if stage.now > first + 2 * group.interval:
        found = f"it asks again {stage.now - first:,} cycles after the claim that was refused for its epoch"
        raise NotKept(stage.now, found, f"it should do so at its next keepalive, {group.interval:,} later at most")
    neighbour = Neighbour(stage, group, 2)
    neighbour.epoch = 20
    neighbour.say()
    uplink.skip_claims()
    _claims(uplink, 23, "a co-member has told of epoch 20")


def leaves_the_other_holder_be(stages: Stages) -> None:
    """Its warden grants while another member says that it holds the link."""
    stage = stages.of(CARDS, "a.4")
    uplink = Uplink(stage, stage.boot.boundary)
    group = uplink.group
    uplink.silent = True
    stage.start()
    _, claim = uplink.wait_for_claim(6 * group.skew + group.interval)
    stage.wait(uplink.delay)
    grant = uplink.answer(claim)
    other = Neighbour(stage, group, 0)
    other.state = MemberState.HOLDER
    other.epoch = 1
    other.speak()
    assert grant is not None
    stage.hear(grant, group.uplink)
    if uplink.held:
        raise NotKept(
            stage.now, "it takes the link up, and has heard that a.3 holds it", "it should leave a.3 the link"
        )
    uplink.silent, begin = False, stage.now
    stage.wait(4 * group.interval)
    if not uplink.elections(Operation.RELEASE, begin):
        found = f"its warden counts a lease of epoch {claim.epoch} that it doesn't want, and nothing is released"
        raise NotKept(stage.now, found, "it should give that lease back")
    if claims := uplink.elections(Operation.CLAIM, begin):
        raise NotKept(claims[0][0], "it asks again while a.3 says that it holds the link", "it should not ask")


def _entry(stage: Stage) -> GroupConfig:
    assert stage.boot.entry is not None
    return stage.boot.entry


def _elected(stage: Stage, group: GroupConfig | None = None) -> Uplink:
    """Started, and elected."""
    uplink = Uplink(stage, group or _entry(stage))
    stage.start()
    uplink.wait_for_role(uplink.group.interval + 8 * uplink.group.skew)
    return uplink


def _as_holder(uplink: Uplink) -> tuple[int, Keepalive]:
    """When its next keepalive as the holder leaves, and what it is."""
    begin = len(uplink.keepalives())
    if not uplink.stage.wait_for(lambda: len(uplink.keepalives()) > begin, 2 * uplink.group.interval):
        raise NotKept(uplink.stage.now, "no keepalive to the grantor", "one should leave each interval")
    return uplink.keepalives()[begin]


def _ends(uplink: Uplink, left: int, what: str) -> None:
    """Its lease lasts from then on, and not longer."""
    stage, group = uplink.stage, uplink.group
    lost = left + group.multiplier * group.interval
    stage.until(lost)
    if not uplink.held:
        found = f"the {group.role} role is given up; {what} left in cycle {left:,}"
        raise NotKept(stage.now, found, f"it should be held for {group.multiplier} intervals at least")
    stage.until(left + group.lease)
    if uplink.held:
        found = f"the {group.role} role is still held; {what} left in cycle {left:,}"
        raise NotKept(stage.now, found, f"a lease lasts {group.lease:,} cycles from then on")


def _fenced(uplink: Uplink, higher: int, who: str) -> None:
    if uplink.held:
        found = f"the {uplink.group.role} role is held under an older epoch; {who} has told of epoch {higher}"
        raise NotKept(uplink.stage.now, found, "it should be given up at once")


def _claims(uplink: Uplink, epoch: int, why: str) -> None:
    at, claim = uplink.wait_for_claim(3 * uplink.group.interval)
    if claim.epoch != epoch:
        raise NotKept(at, f"it claims epoch {claim.epoch}", f"{why}, so it should be {epoch}")
