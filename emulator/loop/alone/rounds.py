"""What is promised of census rounds that fail: tried again with a new number, three times in all, and then told.

All other GPUs of the ring are bypassed here, so a message comes home as it has left: the entry GPU counts itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ringhil.emulator.loop.alone.ring import (
    DAMAGED,
    HOME,
    LOST,
    TURNED,
    TWICE,
    Fate,
    Passes,
    Ring,
    RoundBegun,
    in_turn,
    unchanged,
)
from ringhil.emulator.loop.alone.servers import HASTY, HEAVY, ONE, SOMETIMES, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.protocol.frames import Report, Statistics
from ringhil.protocol.registers import StatusBit
from ringhil.protocol.wire import CensusVerdict, GpuState, Port, RecordFlag

_ATTEMPTS = 3
_QUARTERS = 4  # of a weight
_FAILS: tuple[Fate, ...] = (
    *((DAMAGED, DAMAGED), (LOST, LOST), (DAMAGED, LOST), (LOST, DAMAGED)),
    *((TURNED, LOST), (LOST, TURNED), (TURNED, HOME), (HOME, TURNED)),
)


def are_tried_again(stages: Stages) -> None:
    """Whatever comes home instead of a count."""
    for fails in _FAILS:
        for good in range(_ATTEMPTS + 1):
            fates = (*(fails,) * good, (HOME, HOME))
            stage, ring = elected(stages, in_turn(fates))
            stage.wait(3 * stage.boot.census.period)
            judge(stage, ring, 0)


def always_end(stages: Stages) -> None:
    """Also after other rounds, after a count on demand, when the next period begins meanwhile, and under the next
    lease."""
    mixed = (
        *_FAILS,
        (HOME, HOME),
        (LOST, LOST),
        (HOME, LOST),
        (LOST, HOME),
        (DAMAGED, HOME),
        (LOST, LOST),
        (LOST, LOST),
    )
    stage, ring = elected(stages, in_turn(mixed))
    stage.wait(12 * stage.boot.census.period)
    judge(stage, ring, 0)
    stage.wait(stage.boot.census.period // 3)
    stage.count_now()
    stage.wait(2 * stage.boot.census.period)
    judge(stage, ring, 0)
    stage, ring = elected(stages, in_turn([(LOST, LOST)]), HASTY)
    stage.wait(12 * stage.boot.census.period)
    judge(stage, ring, 0)
    stage = stages.of(ONE, "a.0")
    uplink, ring = Uplink(stage, stage.boot.entry), Ring(stage, in_turn([(LOST, LOST)]))
    stage.start()
    uplink.wait_for_role(2 * uplink.group.interval)
    uplink.silent = True
    stage.wait_for(lambda: not uplink.held, 2 * uplink.group.lease)
    uplink.silent = False
    uplink.wait_for_role(4 * uplink.group.lease)
    begin = len(ring.rounds)
    stage.wait(2 * stage.boot.census.period)
    judge(stage, ring, begin - 1)


def one_way_is_enough(stages: Stages) -> None:
    """The other message is lost, or damaged, or the same comes twice: a count; and two that were turned round are."""
    single, ring_, arms = CensusVerdict.SINGLE, CensusVerdict.RING, CensusVerdict.ARMS
    fates = {(HOME, HOME): ring_, (TURNED, TURNED): arms, (TWICE, LOST): single, (LOST, TWICE): single}
    fates |= {(HOME, LOST): single, (LOST, HOME): single, (HOME, DAMAGED): single, (DAMAGED, HOME): single}
    for fate, wanted in fates.items():
        stage, ring = elected(stages, in_turn([fate]))
        stage.wait(stage.boot.census.period // 2)
        if not ring.reports:
            found = f"no count is reported; clockwise its message was {fate[0]}, counter-clockwise {fate[1]}"
            raise NotKept(stage.now, found, f"the verdict should be {wanted}")
        at, report = ring.reports[0]
        if (report.verdict, report.count) != (wanted.code, 1):
            found = f"it reports a count of {report.count}, verdict {report.verdict}; "
            found += f"clockwise its message was {fate[0]}, counter-clockwise {fate[1]}"
            raise NotKept(at, found, f"the count should be 1, the verdict {wanted}, {wanted.code}")


def look_when_a_count_changes(stages: Stages) -> None:
    """Rounds that only count: one that differs from the last, or comes home as arms where that was a ring, is not
    counted, and one with records follows."""
    one_more, arms = "counted one GPU more than those before", "come home turned round, and those before had not"
    as_it_is = (HOME, HOME)
    for how, third, passes in ((one_more, as_it_is, _one_more_in_the_third), (arms, (TURNED, TURNED), unchanged)):
        stage = stages.of(SOMETIMES, "a.0")
        uplink = Uplink(stage, stage.boot.entry)
        ring = Ring(stage, in_turn([as_it_is, as_it_is, third, *[as_it_is] * 9]), passes)
        stage.start()
        uplink.wait_for_role(2 * uplink.group.interval)
        stage.wait(3 * stage.boot.census.period + stage.boot.census.period // 2)
        _looked_into(stage, ring, f"the third round has {how}")


def _one_more_in_the_third(message: Statistics, port: Port, number: int) -> Statistics:
    return replace(message, count=2) if number == 2 else message


def _looked_into(stage: Stage, ring: Ring, third: str) -> None:
    told = [sent.message for sent in stage.sent if isinstance(sent.message, Statistics)]
    with_records = {message.sequence for message in told if message.records}
    sequences = [each.sequence for each in ring.rounds]
    for each in ring.rounds[1:3]:
        if each.sequence in with_records:
            found = f"round {each.sequence} has records, and the one before it was a count"
            raise NotKept(each.at, found, "it should only count: records are wanted sometimes")
    if len(sequences) < 4 or sequences[3] not in with_records:
        raise NotKept(stage.now, f"{third}, and no round with records has followed", "it should be looked into")
    for at, report in ring.reports:
        if report.count != 1:
            found = f"a count of {report.count} is reported, of which no records have told"
            raise NotKept(at, found, "one that differs from the last should not be")


def name_the_latest(stages: Stages) -> None:
    """Three vain attempts of which nothing comes home name nobody, whatever was named in the period before."""
    fates = (*((DAMAGED, DAMAGED),) * _ATTEMPTS, *((LOST, LOST),) * _ATTEMPTS)
    stage, ring = elected(stages, in_turn(fates))
    stage.wait(2 * stage.boot.census.period - stage.boot.census.timeout)
    if len(ring.reports) < 2:
        found = f"{len(ring.reports)} reports in two periods whose rounds all fail"
        raise NotKept(stage.now, found, "one should leave in each")
    at, report = ring.reports[1]
    if report.suspects:
        found = f"{report.suspects} suspects are reported, the first is GPU {report.first_suspect}"
        raise NotKept(at, found, "nothing has come home in this period, so nobody should be suspected")


def tell_how_it_is(stages: Stages) -> None:
    """An entry GPU that computes slowly says so in its own record."""
    stage, _ = elected(stages, in_turn([(HOME, HOME)]))
    stage.wait(stage.boot.census.period // 2)
    stage.status = StatusBit.DEGRADED
    begin = len(stage.sent)
    stage.wait(2 * stage.boot.census.period)
    states = [
        record.state
        for sent in stage.sent[begin:]
        if isinstance(sent.message, Statistics)
        for record in sent.message.records
    ]
    if not states or set(states) != {GpuState.DEGRADED.code}:
        found = f"its own records say {sorted(set(states))}, and its status says that it is degraded"
        raise NotKept(stage.now, found, f"they should say {GpuState.DEGRADED}, {GpuState.DEGRADED.code}")


def tell_who_it_is(stages: Stages) -> None:
    """An entry GPU's own record has its type, its weight, and that it may be the entry GPU."""
    stage, ring = elected(stages, in_turn([(HOME, HOME)]), HEAVY)
    stage.wait(stage.boot.census.period)
    census = stage.boot.census
    wanted = (census.gpu_type, census.weight, bool(RecordFlag.ENTRY_CAPABLE))
    for sent in stage.sent:
        for record in sent.message.records if isinstance(sent.message, Statistics) else ():
            found = (record.gpu_type, record.weight, bool(record.flags & RecordFlag.ENTRY_CAPABLE))
            if found != wanted:
                told = f"its own record has type {found[0]}, weight {found[1]}, entry_capable {found[2]:d}"
                raise NotKept(sent.at, told, f"they should be {wanted[0]}, {wanted[1]} and {wanted[2]:d}")
    for at, report in ring.reports:
        if report.weight != _QUARTERS * census.weight:
            told = f"a weight of {report.weight} is reported of a ring in which only a.0 works"
            raise NotKept(at, told, f"it should be {_QUARTERS * census.weight} quarters")


def elected(
    stages: Stages, fate: Callable[[int], Fate], server: str = ONE, passes: Passes = unchanged
) -> tuple[Stage, Ring]:
    """An entry GPU, elected."""
    stage = stages.of(server, "a.0")
    uplink, ring = Uplink(stage, stage.boot.entry), Ring(stage, fate, passes)
    stage.start()
    uplink.wait_for_role(2 * uplink.group.interval)
    return stage, ring


def judge(stage: Stage, ring: Ring, begin: int) -> None:
    """Every round but the last, which may still be under way: it ends in time, with another one or with a report."""
    most = 2 * stage.boot.census.timeout
    rounds = ring.rounds[max(0, begin) :]
    if not rounds or stage.now - rounds[-1].at > 2 * stage.boot.census.period:
        last = f"since cycle {rounds[-1].at:,}" if rounds else "at all"
        raise NotKept(stage.now, f"no round has begun {last}", "one should in each period")
    failed = 0
    for number, this in enumerate(rounds[:-1]):
        after = rounds[number + 1]
        _told_both_ways(this)
        reports = [(at, report) for at, report in ring.reports if this.at <= at and is_of(report, this)]
        failed = failed + 1 if this.fails else 0
        what = f"round {this.sequence} of epoch {this.epoch}, {_fate(this.fate)}"
        if this.fails and failed < _ATTEMPTS and after.epoch == this.epoch:
            if reports or after.at > this.at + most:
                found = f"{what}, is followed by " + ("a report" if reports else "nothing")
                raise NotKept(this.at, found, f"it should be tried again, {_ATTEMPTS} times in all")
            continue
        if after.epoch != this.epoch:  # the role was lost meanwhile
            continue
        failed = 0
        if not reports or reports[0][0] > this.at + most:
            found = f"{what}, isn't reported within {most:,} cycles"
            raise NotKept(this.at, found, "the CPU should be told how it has ended")
        at, report = reports[0]
        if this.fails != (report.verdict == CensusVerdict.NONE.code):
            found = f"{what}, is reported with verdict {report.verdict}"
            wanted = f"{CensusVerdict.NONE.code}: nothing was counted" if this.fails else "that of a count"
            raise NotKept(at, found, f"the verdict should be {wanted}")


def _told_both_ways(this: RoundBegun) -> None:
    if this.messages != 2:
        found = f"round {this.sequence} of epoch {this.epoch} has sent {this.messages} messages"
        raise NotKept(this.at, found, "one should leave each way, and a further round have a new number")


def is_of(report: Report, this: RoundBegun) -> bool:
    """Whether it tells how that one has ended."""
    return (report.epoch, report.sequence) == (this.epoch, this.sequence)


def _fate(fate: Sequence[str]) -> str:
    return f"whose message was {fate[0]} clockwise and {fate[1]} counter-clockwise"
