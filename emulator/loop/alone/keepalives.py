"""What is promised of keepalives: when they leave, by which ways, what they say, and how they are answered."""

from itertools import pairwise

from ringhil.emulator.loop.alone.leader import Leader
from ringhil.emulator.loop.alone.neighbour import RING, Neighbour
from ringhil.emulator.loop.alone.servers import BOTH_ROLES, CARDS, THREE, TWO, Stages
from ringhil.emulator.loop.alone.stage import NotKept, NotShown, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.firmware.election import STATE_BITS, GroupConfig
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import NO_HOLDER, MemberFlag, MemberState, Operation, Port

_ROUNDS = 16
_BOOTED = 2  # a later boot
_DAMAGES = (  # how, whether its receiver's hardware marks it as bad, whether it is whole
    ("that is whole", False, True),
    ("marked as damaged", True, False),
    ("of a wrong end-to-end CRC", False, False),
)


def go_both_ways_round(stages: Stages) -> None:
    """A round each interval: to each other one of its side by both ways, and a member's to its grantor, under one
    number that rises."""
    stage = stages.of(THREE, "a.1")
    uplink, others = _follower(stage)
    _rounds(stage, uplink.group, others, uplink)


def go_both_ways_round_of_a_warden(stages: Stages) -> None:
    """The same of a warden, whose rounds go to the other wardens."""
    stage = stages.of(CARDS, "b.2")
    group = Leader(stage).group
    other = Neighbour(stage, group, 1)
    stage.start()
    other.speak()
    _rounds(stage, group, [other], None)


def differ_in_length(stages: Stages) -> None:
    """Intervals are shorter by a jitter: another one for each GPU and seed, the same in each run and after a boot."""
    again, later, another, other_seed = "again", "after a later boot", "of a.2", "with another seed"
    first = _gaps(stages.of(THREE, "a.1"))
    for what, stage in (
        (again, stages.of(THREE, "a.1")),
        (later, stages.of(THREE, "a.1", boots=_BOOTED)),
        (another, stages.of(THREE, "a.2")),
        (other_seed, stages.of(f"seed: 5\n{THREE}", "a.1")),
    ):
        same = _gaps(stage) == first
        if same != (what in (again, later)):
            found = f"the intervals of a.1, and {what}, are {'the same' if same else 'others'}"
            wanted = "they should differ, so that nobody falls into step" if same else "they should be the same"
            raise NotKept(stage.now, found, f"{wanted}: they come from seed, GPU and number alone")


def _gaps(stage: Stage) -> list[int]:
    """Intervals of a follower, of which some are shorter by more than half of the jitter."""
    uplink, _ = _follower(stage)
    group = uplink.group
    stage.wait(_ROUNDS * group.interval)
    gaps = [late - early for (early, _), (late, _) in pairwise(uplink.keepalives())]
    shortest, longest = group.interval - group.jitter, group.interval
    if len(set(gaps)) < 2 or not shortest <= min(gaps) < longest - group.jitter // 2 or max(gaps) > longest:
        said = f"{len(gaps)} intervals in a row" + (f" are {min(gaps):,} to {max(gaps):,} cycles" if gaps else "")
        raise NotKept(stage.now, said, f"{_ROUNDS - 1} should differ, and be {shortest:,} to {longest:,} cycles")
    return gaps


def say_what_is(stages: Stages) -> None:
    """State, uplink, highest epoch, and whom it hears."""
    stage = stages.of(TWO, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    other = Neighbour(stage, stage.boot.entry, 1)
    other.epoch = 0
    stage.start()
    other.speak()
    uplink.wait_for_role(2 * uplink.group.interval)
    own, both = 1, 3
    said = _next(stage, other)
    _is(stage, "state", said.state & STATE_BITS, MemberState.HOLDER.code, "it holds the role")
    _is(stage, "epoch", said.epoch, 1, "it knows of epoch 1")
    _is(stage, "members", said.members, both, "it hears a.1")
    uplink.grantor.on_expire(stage.now)
    _is(stage, "uplink", bool(_next(stage, other).state & MemberFlag.UPLINK), True, "its grantor answers")
    answered = len(uplink.keepalives())
    stage.wait_for(lambda: len(uplink.keepalives()) > answered, uplink.group.interval)
    stage.wait(2 * uplink.delay)
    uplink.silent = other.silent = True
    for lost in range(uplink.group.multiplier):
        why = f"its grantor has answered all but the last {lost} keepalives"
        _is(stage, "uplink", bool(_next(stage, other).state & MemberFlag.UPLINK), True, why)
    stage.wait(uplink.group.lease + 4 * uplink.group.interval)
    said = _next(stage, other)
    _is(stage, "state", said.state & STATE_BITS, MemberState.FOLLOWER.code, "nobody answers it")
    _is(stage, "uplink", bool(said.state & MemberFlag.UPLINK), False, "its grantor is silent for a detection time")
    _is(stage, "members", said.members, own, "a.1 is silent for a detection time")


def say_whom_another_number_reaches(stages: Stages) -> None:
    """Also what comes by the ring for another number: its hardware may take that for its own (`duplicate_id`)."""
    stage = stages.of(THREE, "a.1")
    other = Neighbour(stage, stage.boot.entry, 2)
    other.destination = 0
    stage.start()
    other.say()
    _is(stage, "members", _next(stage, other).members, 0b110, "it hears a.2, whose keepalive is for a.0")


def say_whether_the_leader_is_heard(stages: Stages) -> None:
    """A warden's, to the others."""
    stage = stages.of(CARDS, "b.2")
    leader, other = Leader(stage), Neighbour(stage, stage.boot.boundary, 1)
    stage.start()
    group = leader.group
    for _ in range(group.multiplier):
        stage.wait(group.interval)
        leader.keepalive(MemberState.FOLLOWER, 0)
    why = "its leader is heard"
    _is(stage, "uplink", bool(_next(stage, other).state & MemberFlag.UPLINK), True, why)
    stage.wait(group.multiplier * group.interval + group.slack + 1)
    why = "its leader is silent for a detection time"
    _is(stage, "uplink", bool(_next(stage, other).state & MemberFlag.UPLINK), False, why)


def are_answered(stages: Stages) -> None:
    """By a warden: each one in time, by the name of that one, with the holder and the highest epoch."""
    stage = stages.of(CARDS, "b.2")
    leader = Leader(stage)
    stage.start()
    stage.until(leader.group.lease)
    _answered(stage, leader, 7, MemberState.FOLLOWER, 0, NO_HOLDER)
    other = Neighbour(stage, leader.group, 1)
    other.epoch, other.granting = 2, True
    other.say()
    _answered(stage, leader, 8, MemberState.FOLLOWER, 2, 1)
    other.granting = False
    other.say()
    leader.must_be_granted(3, "nothing is against it")
    for sequence in (9, 40, 39, 0x9000):
        stage.wait(50)
        _answered(stage, leader, sequence, MemberState.HOLDER, 3, leader.group.rank)


def say_who_is_reluctant(stages: Stages) -> None:
    """A warden's answers, while its GPU is its card's entry GPU."""
    stage = stages.of(BOTH_ROLES, "b.2")
    leader, uplink = Leader(stage), Uplink(stage, stage.boot.entry)
    uplink.silent = True
    stage.start()
    _reluctant(stage, leader, False)
    uplink.silent = False
    uplink.wait_for_role(2 * uplink.group.interval)
    _reluctant(stage, leader, True)
    uplink.silent = True
    stage.wait(uplink.group.lease + uplink.group.interval)
    _reluctant(stage, leader, False)


_OVERTAKEN = (("a keepalive of before", 1, 0), ("a keepalive of a boot before", -5, 1))  # what, late by, of which boot


def are_the_newest(stages: Stages) -> None:
    """What was overtaken on the way, or comes again, changes nothing: of a holder, and of who is silent."""
    for what, late, boots in _OVERTAKEN:
        stage = stages.of(TWO, "a.0")
        uplink, other = Uplink(stage, stage.boot.entry), Neighbour(stage, stage.boot.entry, 1)
        other.state, other.epoch = MemberState.HOLDER, 2
        stage.start()
        other.boot()
        other.speak()
        stage.wait(2 * uplink.group.interval + uplink.group.skew)
        since = stage.now
        other.state = MemberState.FOLLOWER
        other.arrive(late=late, boots=boots)
        stage.wait(uplink.group.interval // 4)
        if claims := uplink.elections(Operation.CLAIM, since):
            found = f"it claims the role; {what} has come, in which a.1 was no holder yet"
            raise NotKept(claims[0][0], found, "a.1 has said since then that it is")
    stage = stages.of(TWO, "a.0")
    uplink, other = Uplink(stage, stage.boot.entry), Neighbour(stage, stage.boot.entry, 1)
    stage.start()
    uplink.wait_for_role(2 * uplink.group.interval)
    other.say()
    for _ in range(uplink.group.multiplier + 2):
        stage.wait(uplink.group.interval)
        other.arrive()
    if any(said.members & 2 for _, said in uplink.keepalives()[-1:]):
        found = "it still says that it hears a.1, of which only copies of one keepalive have come for a detection time"
        raise NotKept(stage.now, found, "a copy is no sign of life")


def are_the_newest_of_a_warden(stages: Stages) -> None:
    """What was overtaken on the way changes nothing of a warden that grants."""
    for what, late, boots in _OVERTAKEN:
        stage = stages.of(CARDS, "b.2")
        leader, other = Leader(stage), Neighbour(stage, stage.boot.boundary, 1)
        stage.start()
        stage.until(leader.group.lease)
        other.boot()
        other.say()
        other.granting, other.epoch = True, 2
        other.say()
        other.granting = False
        other.arrive(late=late, boots=boots)
        leader.refused(3, f"b.1 has told of a lease; {what}, which comes later, had none yet")


def are_the_newest_answers(stages: Stages) -> None:
    """A warden's that was overtaken by a later one: it said that its GPU is the entry GPU, which it isn't any more."""
    stage = stages.of(CARDS, "a.3")
    uplink, other = Uplink(stage, stage.boot.boundary), Neighbour(stage, stage.boot.boundary, 1)
    stage.start()
    other.speak()
    uplink.wait_for_role(4 * uplink.group.interval)
    uplink.silent, begin = True, len(uplink.keepalives())
    stage.wait_for(lambda: len(uplink.keepalives()) >= begin + 2, 3 * uplink.group.interval)
    said = [message for _, message in uplink.keepalives()[begin:]]
    if len(said) < 2:
        raise NotKept(stage.now, "no keepalive to its warden", "one should leave each interval")
    early, late, *_ = said
    for message, reluctant in ((late, 0), (early, MemberFlag.RELUCTANT)):
        uplink.reluctant = reluctant
        answer = uplink.answer(message)
        assert answer is not None
        stage.hear(answer, uplink.group.uplink)
    if not uplink.held:
        found = "it has handed the link over: an answer in which its warden said that it is reluctant has come late"
        raise NotKept(stage.now, found, "a later answer had come before, and said that it isn't")


def are_intact(stages: Stages) -> None:
    """A keepalive that is damaged is believed by nobody, whether the hardware has seen it or only the frame's own CRC
    tells. It is new otherwise: the same one, whole, is believed."""
    for how, bad, whole in _DAMAGES:
        stage = stages.of(TWO, "a.0")
        uplink, other = Uplink(stage, stage.boot.entry), Neighbour(stage, stage.boot.entry, 1)
        stage.start()
        other.speak()
        uplink.wait_for_role(2 * uplink.group.interval)
        other.epoch, other.sequence = 9, other.sequence + 1
        stage.hear_bytes(_damaged(codec.encode(other.message(Port.CW)), bad=bad, whole=whole), Port.CW, bad=bad)
        if whole and uplink.held:
            raise NotShown(
                "the role is held after a whole keepalive has told of epoch 9, so a damaged one shows nothing"
            )
        if not whole and not uplink.held:
            found = f"the role is given up; a keepalive {how} has told of epoch 9"
            raise NotKept(stage.now, found, "it should not be believed")


def claims_are_intact(stages: Stages) -> None:
    """The same of a claim that a warden hears."""
    for how, bad, whole in _DAMAGES:
        stage = stages.of(CARDS, "b.2")
        leader = Leader(stage)
        stage.start()
        stage.until(leader.group.lease)
        claim = codec.encode(leader.message(Operation.CLAIM, 1))
        stage.hear_bytes(_damaged(claim, bad=bad, whole=whole), Port.BOUNDARY, bad=bad)
        if whole and not leader.granted:
            raise NotShown("a whole claim isn't granted, so a damaged one shows nothing")
        if not whole and leader.granted:
            raise NotKept(stage.now, f"a claim {how} is granted", "it should not be believed")


def are_of_this_boot(stages: Stages) -> None:
    """Answers to what it said before its last boot, with numbers of this one, are no sign of its uplink, and renew no
    lease."""
    stage = stages.of(TWO, "a.0", boots=_BOOTED)
    uplink, other = Uplink(stage, stage.boot.entry), Neighbour(stage, stage.boot.entry, 1)
    uplink.boots_before, uplink.hears_claims = 1, False
    stage.start()
    other.speak()
    for _ in range(6):
        uplink.refuses(1 << 16 | 1)
        stage.wait(uplink.group.interval)
    if any(said.state & MemberFlag.UPLINK for _, _, said in other.heard()):
        found = "it says that it hears its uplink, by which only answers to its last boot have come"
        raise NotKept(stage.now, found, "they are no sign that this boot is heard")
    stage = stages.of(TWO, "a.0", boots=_BOOTED)
    uplink = Uplink(stage, stage.boot.entry)
    stage.start()
    uplink.wait_for_role(4 * uplink.group.interval)
    stage.wait(uplink.group.interval)
    uplink.boots_before, uplink.hears_claims = 1, False
    begin = stage.now
    stage.wait(uplink.group.lease + 2 * uplink.delay)
    if uplink.held:
        found = f"the role is held; since cycle {begin:,} only answers to its last boot have come"
        raise NotKept(stage.now, found, "they should renew nothing")


def _damaged(frame: bytes, *, bad: bool, whole: bool) -> bytes:
    """A frame that its receiver can tell is damaged; what the hardware has marked may be whole."""
    return frame if bad or whole else bytes([*frame[:30], frame[30] ^ 0x10, *frame[31:]])


def _follower(stage: Stage) -> tuple[Uplink, list[Neighbour]]:
    """Started, with a better one that holds the role."""
    group = stage.boot.entry
    uplink = Uplink(stage, group)
    assert group is not None
    others = [Neighbour(stage, group, rank) for rank in range(len(group.members)) if rank != group.rank]
    others[0].state = MemberState.HOLDER
    stage.start()
    for other in others:
        other.speak()
    return uplink, others


def _rounds(stage: Stage, group: GroupConfig, others: list[Neighbour], uplink: Uplink | None) -> None:
    stage.wait(_ROUNDS * group.interval)
    ways = {
        f"{other.gpu} by port {port}": [(at, said.sequence) for at, way, said in other.heard() if way is port]
        for other in others
        for port in RING
    }
    regular = [] if uplink is None else [(at, said.sequence) for at, said in uplink.keepalives()]
    named = {**ways, **({"its grantor": regular} if uplink else {})}
    for name, sent in named.items():
        for (early, before), (late, after) in pairwise(sent):
            if after <= before:
                found = f"keepalives to {name} have the numbers {before} and {after}"
                raise NotKept(late, found, "each should be higher than the last")
            if late - early > group.interval:
                found = f"{late - early:,} cycles lie between two keepalives to {name}"
                raise NotKept(late, found, f"{group.interval:,} are an interval")
        if len(sent) < _ROUNDS:
            found = f"{len(sent)} keepalives to {name} in {_ROUNDS} intervals"
            raise NotKept(stage.now, found, "there should be one each interval")
    for (early, _), (late, _) in pairwise(regular):
        if late - early < group.interval - group.jitter:
            found = f"{late - early:,} cycles lie between two keepalives to its grantor"
            raise NotKept(late, found, f"an interval is {group.interval - group.jitter:,} at least")
    for at, sequence in regular[:-1]:
        for name, sent in ways.items():
            if sequence not in (number for _, number in sent):
                found = f"a round has the number {sequence} to its grantor, and none to GPU {name}"
                raise NotKept(at, found, "all of a round should have one number")


def _next(stage: Stage, other: Neighbour) -> Keepalive:
    """The next that it says to that one."""
    begin = len(other.heard())
    stage.wait_for(lambda: len(other.heard()) > begin, 10**5)
    if len(other.heard()) == begin:
        raise NotKept(stage.now, "it says nothing to a co-member", "it should each interval")
    return other.heard()[-1][2]


def _is(stage: Stage, what: str, found: int, wanted: int, why: str) -> None:
    if found != wanted:
        raise NotKept(stage.now, f"{what} of its keepalive is {found:d}", f"{why}: it should be {wanted:d}")


def _answers(stage: Stage, leader: Leader, sequence: int, state: MemberState, epoch: int) -> list[Keepalive]:
    begin = len(stage.sent)
    leader.keepalive(state, epoch, sequence=sequence)

    def answers() -> list[Keepalive]:
        return [
            sent.message
            for sent in stage.sent[begin:]
            if sent.port is Port.BOUNDARY and isinstance(sent.message, Keepalive)
        ]

    at = stage.now
    if not stage.wait_for(lambda: bool(answers()), leader.group.skew):
        found = f"keepalive {sequence} of its leader isn't answered"
        raise NotKept(at, found, f"it should be within a skew, {leader.group.skew} cycles")
    return answers()


def _answered(stage: Stage, leader: Leader, sequence: int, state: MemberState, epoch: int, holder: int) -> None:
    (answer, *_) = _answers(stage, leader, sequence, state, epoch)
    _is(stage, "echo", answer.echo, sequence, f"it answers keepalive {sequence}")
    _is(stage, "epoch", answer.epoch, epoch, "the highest epoch is in each answer")
    _is(stage, "holder", answer.holder, holder, "it names who holds a lease")
    grants = holder == leader.group.rank
    _is(stage, "granting", bool(answer.state & MemberFlag.GRANTING), grants, "it says whether it has granted a lease")
    _is(
        stage, "your_discriminator", answer.your_discriminator, leader.group.uplink_home << 16 | 1, "it names who asked"
    )


def _reluctant(stage: Stage, leader: Leader, wanted: bool) -> None:
    stage.wait(100)
    (answer, *_) = _answers(stage, leader, 0, MemberState.FOLLOWER, 0)
    why = "its GPU is the entry GPU" if wanted else "its GPU is not the entry GPU"
    _is(stage, "reluctant", bool(answer.state & MemberFlag.RELUCTANT), wanted, why)
