"""What is promised of a warden: one lease at a time, each epoch once, and only to the leader that it is wired to."""

from ringhil.emulator.loop.alone.leader import Leader
from ringhil.emulator.loop.alone.neighbour import Neighbour
from ringhil.emulator.loop.alone.servers import CARDS, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.wire import MemberFlag, MemberState, Operation, Port

_WARDEN, _OTHER = "b.2", 1
_BOOTED = 2  # a later boot


def grants_higher_epochs_only(stages: Stages) -> None:
    """Above all that it has granted, that its node has kept, and that another warden has told of."""
    stage = stages.of(CARDS, _WARDEN, boots=_BOOTED, memory=5)
    leader = _settled(stage)
    for epoch, why in ((3, "it is not above 5, which memory has kept"), (5, "memory has kept it")):
        _says_highest(stage, leader.refused(epoch, why), 5)
    leader.must_be_granted(7, "nothing is against it")
    leader.elect(Operation.RELEASE, 7)
    _says_highest(stage, leader.refused(7, "it was granted before"), 7)
    other = Neighbour(stage, leader.group, _OTHER)
    other.epoch = 10
    other.say()
    _says_highest(stage, leader.refused(9, "another warden has told of epoch 10"), 10)
    leader.must_be_granted(11, "nothing is against it")
    at = stage.now
    stage.until(at + leader.group.lease)
    leader.refused(11, "it was granted before, and has run out")
    leader.must_be_granted(13, "nothing is against it")


def remembers_first(stages: Stages) -> None:
    """The register holds the epoch when the grant leaves."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    leader.must_be_granted(1, "nothing is against it")
    for sent in stage.sent:
        message = sent.message
        grants = isinstance(message, Election) and message.operation == Operation.GRANT.code
        if grants and sent.memory != 1:
            found = f"the grant of epoch 1 leaves, and memory holds {sent.memory}"
            raise NotKept(sent.at, found, "memory should hold 1 by then")


def counts_from_arrival(stages: Stages) -> None:
    """A lease lasts from when its claim has arrived, or a keepalive of its holder."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    lease = leader.group.lease
    arrived = leader.must_be_granted(1, "nothing is against it")
    _lasts(leader, stage, arrived, "its claim")
    arrived = leader.must_be_granted(3, "nothing is against it")
    stage.until(arrived + lease // 2)
    renewed = stage.now
    leader.keepalive(MemberState.HOLDER, 3)
    _lasts(leader, stage, renewed, "the last keepalive of its holder")


def renewed_by_holder_only(stages: Stages) -> None:
    """Not by who says that it is none, holds another epoch, or speaks by another way."""
    for state, epoch, port in (
        (MemberState.CANDIDATE, 3, Port.BOUNDARY),
        (MemberState.FOLLOWER, 3, Port.BOUNDARY),
        (MemberState.HOLDER, 1, Port.BOUNDARY),
        (MemberState.HOLDER, 3, Port.CW),
    ):
        stage = stages.of(CARDS, _WARDEN)
        leader = _settled(stage)
        arrived = leader.must_be_granted(3, "nothing is against it")
        stage.until(arrived + leader.group.lease // 2)
        leader.keepalive(state, epoch, port=port)
        stage.until(arrived + leader.group.lease)
        if leader.granted:
            found = f"the lease of cycle {arrived:,} still runs; since then it has heard a keepalive of a {state} with "
            found += f"epoch {epoch} by port {port}"
            raise NotKept(stage.now, found, "only one of its holder by the link between the cards renews it")


def released_by_its_epoch(stages: Stages) -> None:
    """At once, and by no other."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    leader.must_be_granted(3, "nothing is against it")
    leader.elect(Operation.RELEASE, 1)
    if not leader.granted:
        raise NotKept(stage.now, "a release of epoch 1 has ended the lease of epoch 3", "it should run on")
    leader.elect(Operation.RELEASE, 3)
    if leader.granted:
        raise NotKept(stage.now, "a lease still runs that was released", "it should be over at once")


def listens_to_its_link_only(stages: Stages) -> None:
    """Claims that come round the ring, or from the CPU, whoever they say they are from."""
    for port in (Port.CW, Port.CCW, Port.CPU):
        stage = stages.of(CARDS, _WARDEN)
        leader = _settled(stage)
        answer = leader.claim(1, port)
        if leader.granted or (answer is not None and answer.operation == Operation.GRANT.code):
            found = f"a claim that came by port {port} is granted"
            raise NotKept(stage.now, found, f"only what comes by port {Port.BOUNDARY} is its leader's")
        leader.must_be_granted(1, f"the same claim has come by port {Port.BOUNDARY}")


def sits_a_boot_out(stages: Stages) -> None:
    """It may have forgotten a lease."""
    stage = stages.of(CARDS, _WARDEN, boots=_BOOTED)
    leader = Leader(stage)
    group = leader.group
    stage.start()
    epoch, end = 1, group.lease + group.guard
    why = f"it has booted in cycle 0, and grants nothing for lease and guard, {end:,} cycles"
    for cycle in (0, 2 * group.skew, group.lease - 1, end - 1):
        stage.until(cycle)
        _says_wait(stage, leader.refused(epoch, why), end - cycle)
        epoch += 2
    stage.until(end)
    leader.must_be_granted(epoch, "it has sat out what it may have forgotten")


def settles_at_power_up(stages: Stages) -> None:
    """Wardens of two links and more grant nothing for 2 skews."""
    stage = stages.of(CARDS, _WARDEN)
    leader = Leader(stage)
    stage.start()
    for cycle in (0, 2 * leader.group.skew - 1):
        stage.until(cycle)
        leader.refused(1, f"at power-up nothing is granted for 2 skews, {2 * leader.group.skew} cycles")
    stage.until(2 * leader.group.skew)
    leader.must_be_granted(1, "2 skews have passed")


def is_fenced(stages: Stages) -> None:
    """Another warden tells of a higher epoch: the lease is over, and the leader is told."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    leader.must_be_granted(1, "nothing is against it")
    stage.wait(100)
    other = Neighbour(stage, leader.group, _OTHER)
    other.epoch, other.granting = 2, True
    begin = stage.now
    other.say()
    if leader.granted:
        found = "the lease of epoch 1 runs on, and another warden has told of epoch 2"
        raise NotKept(stage.now, found, "it should be over at once")
    told = [sent.message for sent in stage.sent if sent.at >= begin and sent.port is Port.BOUNDARY]
    if not any(isinstance(message, Keepalive) and message.epoch >= 2 for message in told):
        raise NotKept(stage.now, "the leader is not told that its lease is over", "it should be, with epoch 2")


def refuses_beside_another(stages: Stages) -> None:
    """While another warden tells of a lease, and as long after that as it may still run."""
    for after, why in (
        ("ends", "another warden has told of a lease"),
        ("is silent", "another warden has told of a lease, and fallen silent"),
        ("boots", "another warden has told of a lease, and booted since then"),
    ):
        stage = stages.of(CARDS, _WARDEN)
        leader = _settled(stage)
        group = leader.group
        other = Neighbour(stage, group, _OTHER)
        other.epoch, other.granting = 2, True
        other.say()
        told, most = stage.now, group.multiplier * group.interval + group.slack + group.interval
        _says_wait(stage, leader.refused(3, why), most)
        stage.wait(group.interval)
        other.granting = False
        if after == "ends":
            other.say()
            leader.must_be_granted(3, "the other warden has said that its lease is over")
            continue
        if after == "boots":
            other.boot()
            other.say()
        stage.until(told + most - 1)
        leader.refused(5, f"{why}; it may run for a detection time and an interval, {most:,} cycles")
        stage.until(told + most)
        leader.must_be_granted(7, "the other lease can't run any more")


def grants_its_holder_anew(stages: Stages) -> None:
    """Who holds its lease and asks anew has lost the grant, or its memory: no lease of another one's is in the way. The
    lease counts from the later claim."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    leader.must_be_granted(1, "nothing is against it")
    stage.wait(leader.group.lease // 2)
    at = leader.must_be_granted(3, "it asks anew, and only its own lease runs")
    _lasts(leader, stage, at, "its second claim")


def tells_at_once(stages: Stages) -> None:
    """The other wardens hear of a lease that begins, and that it is over."""
    stage = stages.of(CARDS, _WARDEN)
    leader = _settled(stage)
    other = Neighbour(stage, leader.group, _OTHER)
    at = leader.must_be_granted(1, "nothing is against it")
    _told(other, at, True)
    stage.wait(100)
    at = stage.now
    leader.elect(Operation.RELEASE, 1)
    _told(other, at, False)
    at = leader.must_be_granted(3, "nothing is against it")
    stage.until(at + leader.group.lease)
    _told(other, at + 1, False)


def _settled(stage: Stage) -> Leader:
    """Started, and past all that a boot has it wait for."""
    leader = Leader(stage)
    stage.start()
    stage.until(leader.group.lease + leader.group.guard)
    return leader


def _says_highest(stage: Stage, answer: Election, highest: int) -> None:
    if (answer.epoch, answer.lease) != (highest, 0):
        found = f"the refusal says that the highest epoch is {answer.epoch}, and to wait for {answer.lease} cycles"
        raise NotKept(stage.now, found, f"it should say {highest} and 0: only the epoch is too low")


def _says_wait(stage: Stage, answer: Election, most: int) -> None:
    if not 0 < answer.lease <= most:
        found = f"the refusal says to wait for {answer.lease:,} cycles"
        raise NotKept(stage.now, found, f"it should say how long nothing is granted, {most:,}")


def _lasts(leader: Leader, stage: Stage, arrived: int, what: str) -> None:
    stage.until(arrived + leader.group.lease - 1)
    if not leader.granted:
        found = f"the lease is over; {what} has arrived in cycle {arrived:,}"
        raise NotKept(stage.now, found, f"it should last {leader.group.lease:,} cycles")
    stage.until(arrived + leader.group.lease)
    if leader.granted:
        found = f"the lease still runs; {what} has arrived in cycle {arrived:,}"
        raise NotKept(stage.now, found, f"it should last {leader.group.lease:,} cycles")


def _told(other: Neighbour, since: int, granting: bool) -> None:
    told = [message for _, _, message in other.heard(since)]
    if not told or bool(told[-1].state & MemberFlag.GRANTING) != granting:
        found = f"the other warden isn't told that a lease {'has begun' if granting else 'is over'}"
        raise NotKept(since, found, "it should be at once")
