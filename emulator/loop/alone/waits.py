"""What is promised of when a member asks."""

from ringhil.emulator.loop.alone.neighbour import Neighbour
from ringhil.emulator.loop.alone.servers import BRISK, CARDS, LONE_LINK, PATIENT, SWIFT, THREE, TWO, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.firmware.election import STATE_BITS, GroupConfig
from ringhil.protocol.frames import Election
from ringhil.protocol.wire import MemberState, Operation

_BOOTED = 2  # a later boot
_HELD_LONG = 8  # times wait_to_restore: a lease that doesn't run out soon
_MOST_DOUBLINGS = 6
_LOSSES = 5  # of which the last two are followed by a detection time
_FORGIVEN_AFTER = 8  # times the wait
_OTHER = 1 << 1  # a.1 in a set of members
_OF_ANOTHER = 2  # an epoch that only a.1 may claim


def for_better_ones(stages: Stages) -> None:
    """At power-up one skew for each that goes first."""
    stage = stages.of(THREE, "a.2")
    uplink = Uplink(stage, stage.boot.entry)
    stage.start()
    _asks(uplink, 0, 2 * uplink.group.skew, "two go first, a skew each")


def for_who_is_up(stages: Stages) -> None:
    """Later a skew for each better one that is up and hears its uplink, and for no other."""
    for who, ahead in (("is up", 1), ("is down", 0), ("doesn't hear the CPU", 0)):
        stage = stages.of(THREE, "a.2")
        uplink = Uplink(stage, stage.boot.entry)
        first, second = (Neighbour(stage, uplink.group, rank) for rank in (0, 1))
        first.state, first.epoch, second.uplink = MemberState.HOLDER, 1, who != "doesn't hear the CPU"
        stage.start()
        first.speak()
        second.speak()
        stage.wait(6 * uplink.group.interval - 1)
        first.silent, second.silent = True, who == "is down"
        group = uplink.group
        heard = stage.now - stage.now % group.interval
        down = heard + _detection(group)
        uplink.skip_claims()
        at, _ = uplink.wait_for_claim(_detection(group) + 4 * group.skew + group.interval)
        if not ahead * group.skew <= at - down <= (ahead + 1) * group.skew:
            found = f"it claims the role in cycle {at:,}; its holder is down since {down:,}, and a.1 {who}"
            wanted = f"it should wait for {ahead} skew, {ahead * group.skew} cycles" if ahead else "nobody goes first"
            raise NotKept(at, found, wanted)


def at_power_up_between_cards(stages: Stages) -> None:
    """3 skews; and it says that it is a candidate one skew before it claims."""
    stage = stages.of(CARDS, "a.3")
    uplink = Uplink(stage, stage.boot.boundary)
    other = Neighbour(stage, uplink.group, 1)
    stage.start()
    at = _asks(uplink, 0, 4 * uplink.group.skew, "3 skews at power-up, and one as a candidate")
    said = [when for when, _, told in other.heard() if told.state & STATE_BITS == MemberState.CANDIDATE.code]
    if not said or said[0] > at - uplink.group.skew:
        found = "it claims, and has not said that it is a candidate" if not said else f"it claims {at - said[0]} cycles"
        found += "" if not said else " after it has said that it is a candidate"
        raise NotKept(at, found, f"a skew, {uplink.group.skew} cycles, should lie between")


def for_nobody_at_power_up(stages: Stages) -> None:
    """Between cards, whose group is one GPU: no other one could be first."""
    stage = stages.of(LONE_LINK, "a.3")
    uplink = Uplink(stage, stage.boot.boundary)
    stage.start()
    at, _ = uplink.wait_for_claim(2 * uplink.group.interval)
    if at >= 2 * uplink.group.skew:
        found = f"it claims {at:,} cycles after power-up, and is the only one of its group"
        raise NotKept(at, found, f"it should before 2 skews, {2 * uplink.group.skew:,}")


def for_a_better_candidate(stages: Stages) -> None:
    """Between cards; one whose uplink is silent is none."""
    stage = stages.of(CARDS, "a.4")
    uplink = Uplink(stage, stage.boot.boundary)
    other = Neighbour(stage, uplink.group, 0)
    other.state = MemberState.CANDIDATE
    stage.start()
    other.speak()
    _asks_nothing(uplink, 8 * uplink.group.interval, "a.3, which goes first, is a candidate")
    other.uplink = False
    uplink.wait_for_claim(3 * uplink.group.interval)


def while_another_holds(stages: Stages) -> None:
    """Whatever epoch that one names."""
    stage = stages.of(TWO, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    other = Neighbour(stage, stage.boot.entry, 1)
    other.state, other.epoch = MemberState.HOLDER, 2
    stage.start()
    other.speak()
    stage.wait(2 * uplink.group.interval)
    _asks_nothing(uplink, 6 * uplink.group.interval, "a.1 says that it holds the role", since=stage.now)
    other.state = MemberState.FOLLOWER
    uplink.skip_claims()
    uplink.wait_for_claim(3 * uplink.group.interval)


def while_the_grantor_tells_of_a_holder(stages: Stages) -> None:
    """Of one that it has never heard; it asks when the answers name nobody any more, or that one says that it holds
    nothing."""
    uplink = _told_of_another(stages)
    uplink.wait_for_claim(4 * uplink.group.interval, "the lease of a.1 is over")
    uplink = _told_of_another(stages)
    other = Neighbour(uplink.stage, uplink.group, 1)
    other.epoch = _OF_ANOTHER
    other.speak()
    uplink.wait_for_claim(
        uplink.group.skew, f"a.1 says that it holds nothing any more, and knows of epoch {other.epoch}"
    )


def _told_of_another(stages: Stages) -> Uplink:
    """Started, while its grantor says that a.1 holds the role."""
    stage = stages.of(TWO, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    group, grantor = uplink.group, uplink.grantor
    grantor.on_election(1, _claim_of(group, _OF_ANOTHER, 1), 0)
    stage.start()
    stage.wait(2 * uplink.delay)
    grantor.until = 8 * group.interval  # it renews its lease
    _asks_nothing(
        uplink, 6 * group.interval, "its grantor says that a.1 holds the role, until then", since=2 * uplink.delay + 1
    )
    uplink.skip_claims()
    return uplink


def _claim_of(group: GroupConfig, epoch: int, rank: int) -> Election:
    head = (group.card, 0, group.ring_size + 1, 0, epoch, 1 << 16 | 1, group.members[rank])
    return Election(*head, Operation.CLAIM.code, group.role.code, group.lease, 0)


def after_a_later_boot(stages: Stages) -> None:
    """It lets another one that can hold the role go first, and asks if that one doesn't."""
    stage = stages.of(TWO, "a.0", boots=_BOOTED)
    uplink, _ = _with_another(stage)
    group = uplink.group
    wait = min(group.wait_to_restore, group.interval + _detection(group))
    _asks(uplink, 0, wait, f"after a later boot others go first for wait_to_restore, {group.wait_to_restore:,} cycles")


def after_a_later_boot_between_cards(stages: Stages) -> None:
    """It listens for a detection time."""
    stage = stages.of(CARDS, "a.3", boots=_BOOTED)
    uplink = Uplink(stage, stage.boot.boundary)
    stage.start()
    _asks(uplink, 0, _detection(uplink.group), "after a later boot it listens for a detection time")


def for_nobody(stages: Stages) -> None:
    """After a later boot, when nobody else can hold the role: it has listened for an interval."""
    stage = stages.of(TWO, "a.0", boots=_BOOTED)
    uplink, other = _with_another(stage, uplink=False)
    group = uplink.group
    at = _asks(uplink, 0, group.interval, "after a later boot it listens for an interval")
    if at > 2 * group.interval + group.skew * len(group.members):
        found = f"it asks {at:,} cycles after its boot, and a.{other.gpu} says that it can't hold the role"
        raise NotKept(at, found, "it should ask once it has listened")


def longer_after_each_loss(stages: Stages) -> None:
    """Twice as long at each further lease that runs out soon; but when nobody has asked for a detection time it is
    needed."""
    stage = stages.of(PATIENT, "a.0")
    uplink, _ = _with_another(stage)
    group = uplink.group
    for losses in range(_LOSSES):
        lost = _loses(uplink, losses)
        wait = min(group.wait_to_restore << losses, _detection(group))
        why = f"lease {losses + 1} in a row has run out in cycle {lost:,}"
        _asks(uplink, lost, wait, f"{why}, so that others go first for {wait:,} cycles")


def no_longer_after_a_long_lease(stages: Stages) -> None:
    """A lease that was held for eight times the wait is no loss in a row; one that was held for less is."""
    for long in (True, False):
        stage = stages.of(PATIENT, "a.0")
        uplink, _ = _with_another(stage)
        group = uplink.group
        wait = group.wait_to_restore
        _loses(uplink)
        uplink.wait_for_role(2 * _detection(group) + 8 * wait)
        since = stage.now
        if long:  # it is lost a lease after the last answer, at the latest
            stage.until(since + _HELD_LONG * wait + group.interval - group.lease + 2 * uplink.delay)
        lost = _loses(uplink)
        times = (lost - since) / wait
        why = f"its lease has run out in cycle {lost:,}, which it had for {times:.1f} times {wait:,} cycles"
        at = _asks(uplink, lost, wait if long else 2 * wait, why)
        if long and at >= lost + 2 * wait:
            found = f"it claims {at - lost:,} cycles later; {why}"
            raise NotKept(at, found, f"it should wait as after a first loss, {wait:,} cycles")


def a_turn_after_a_loss(stages: Stages) -> None:
    """Even if it hears of nobody; and where wait_to_restore is less, also if it hears of others."""
    stage = stages.of(THREE, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    stage.start()
    lost, group = _loses(uplink), uplink.group
    said = stage.wait_for(lambda: bool(uplink.keepalives(lost)), 2 * group.interval)
    heard = uplink.keepalives(lost)[0][0] + 2 * uplink.delay if said else lost  # that the CPU is there again
    _a_turn(uplink, lost, heard)
    stage = stages.of(BRISK, "a.0")
    uplink, _ = _with_another(stage)
    lost = _loses(uplink)
    _a_turn(uplink, lost, lost)


def _a_turn(uplink: Uplink, lost: int, since: int) -> None:
    group = uplink.group
    turn = 2 * group.guard + (len(group.members) + 1) * group.skew
    why = f"its lease has run out in cycle {lost:,}; in 2 guards and {len(group.members) + 1} skews all others can ask"
    _asks(uplink, since, turn, why)


def after_a_refusal(stages: Stages) -> None:
    """As long as it says, and a guard."""
    stage = stages.of(TWO, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    group, wait = uplink.group, 1000
    uplink.grantor.quiet_until = wait
    stage.start()
    _, claim = uplink.wait_for_claim(group.interval)
    stage.wait(2 * uplink.delay)
    refused, left = stage.now, wait - uplink.delay
    why = f"its claim of epoch {claim.epoch} was refused for {left} cycles, and a guard lasts {group.guard}"
    _asks(uplink, refused, left + group.guard, why)


def after_a_refusal_though_told_of_a_holder(stages: Stages) -> None:
    """It says how long that one's lease lasts: what answers have said of it before counts no more."""
    stage = stages.of(TWO, "a.0")
    uplink, wait = Uplink(stage, stage.boot.entry), 300
    uplink.silent = True
    stage.start()
    _, claim = uplink.wait_for_claim(uplink.group.interval)
    uplink.grantor.on_election(1, _claim_of(uplink.group, _OF_ANOTHER, 1), 0)
    uplink.grantor.until = stage.now + wait
    for answer in (uplink.answer(uplink.keepalives()[-1][1]), uplink.answer(claim)):
        assert answer is not None
        stage.hear(answer, uplink.group.uplink)
    why = f"an answer named a.1 as the holder, and then its claim was refused for {wait} cycles"
    _asks(uplink, stage.now, wait + uplink.group.guard, why)


def for_who_comes_back(stages: Stages) -> None:
    """A GPU that was silent is up again once it was heard for wait_to_restore, twice as long after each failure, and 64
    times at most."""
    stage = stages.of(SWIFT, "a.0")
    uplink, other = _with_another(stage)
    group = uplink.group
    uplink.wait_for_role(group.interval)
    for failures in range(_MOST_DOUBLINGS + 3):
        _fails(other, stage, group)
        begin, wait = stage.now, group.wait_to_restore << min(failures, _MOST_DOUBLINGS)
        took = _up_after(uplink, wait + 4 * group.interval)
        if took is None or took < wait:
            found = f"a.1 is heard again since cycle {begin:,}, after failure {failures + 1}, and up "
            found += "not yet" if took is None else f"after {took:,} cycles"
            raise NotKept(stage.now, found, f"it should be after {wait:,}")


def less_for_who_behaves(stages: Stages) -> None:
    """Eight times the last wait without a failure wipe out those of before; less doesn't."""
    for long in (True, False):
        stage = stages.of(TWO, "a.0")
        uplink, other = _with_another(stage)
        group = uplink.group
        uplink.wait_for_role(group.interval)
        for failures in range(2):
            _fails(other, stage, group)
            stage.wait((group.wait_to_restore << failures) + 2 * group.interval)
        last = group.wait_to_restore << 1
        well = _FORGIVEN_AFTER * last + 2 * group.interval if long else _FORGIVEN_AFTER * last - 4 * group.interval
        stage.wait(well)
        _fails(other, stage, group)
        begin, wait = stage.now, group.wait_to_restore if long else last << 1
        took = _up_after(uplink, wait + 3 * group.interval)
        if took is None or took < wait:
            found = f"a.1 is heard again since cycle {begin:,}, after {well:,} cycles without a failure, and up "
            found += "not yet" if took is None else f"after {took:,} cycles"
            wanted = f"it should be after {wait:,}, as after a {'first' if long else 'third'} failure"
            raise NotKept(stage.now, found, wanted)


def _fails(other: Neighbour, stage: Stage, group: GroupConfig) -> None:
    """Silent for so long that it is down, and heard again."""
    other.silent = True
    stage.wait(_detection(group) + 3 * group.interval)
    other.silent = False


def _up_after(uplink: Uplink, most: int) -> int | None:
    """How long it takes from now on until the member says that it hears a.1; None: longer than that."""
    stage, begin = uplink.stage, uplink.stage.now
    heard = stage.wait_for(lambda: any(said.members & _OTHER for _, said in uplink.keepalives(begin)), most)
    return stage.now - begin if heard else None


def _with_another(stage: Stage, *, uplink: bool = True) -> tuple[Uplink, Neighbour]:
    """Started, beside one that doesn't ask, and says whether it hears the CPU."""
    own, other = Uplink(stage, stage.boot.entry), Neighbour(stage, stage.boot.entry, 1)
    other.uplink = uplink
    stage.start()
    other.speak()
    return own, other


def _detection(group: GroupConfig) -> int:
    return group.multiplier * group.interval + group.slack


def _loses(uplink: Uplink, before: int = 3) -> int:
    """Elected, it loses its lease as nobody answers, until then; when. So many losses were before."""
    stage, group = uplink.stage, uplink.group
    uplink.wait_for_role(2 * _detection(group) + (group.wait_to_restore << min(before, _MOST_DOUBLINGS + 1)))
    uplink.silent = True
    if not stage.wait_for(lambda: not uplink.held, group.lease + group.interval):
        raise NotKept(stage.now, "it holds the role, and nobody answers it", "its lease should be over")
    uplink.silent = False
    uplink.skip_claims()
    return stage.now


def _asks(uplink: Uplink, since: int, wait: int, why: str) -> int:
    """When it does, which must not be before that, and not much later."""
    group = uplink.group
    most = since + wait + 2 * group.interval + group.skew * (len(group.members) + 1)
    at, _ = uplink.wait_for_claim(most - uplink.stage.now)
    if at < since + wait:
        found = f"it claims the {group.role} role {at - since:,} cycles after cycle {since:,}"
        raise NotKept(at, found, f"it should wait for {wait:,}: {why}")
    return at


def _asks_nothing(uplink: Uplink, cycles: int, why: str, since: int = 0) -> None:
    uplink.stage.wait(cycles)
    if claims := uplink.elections(Operation.CLAIM, since):
        raise NotKept(claims[0][0], f"it claims the {uplink.group.role} role", f"it should not: {why}")
