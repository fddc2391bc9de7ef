"""What is promised of what comes home of a round: only what is right is counted, and told whole."""

from ringhil.emulator.loop.alone.ring import (
    CHANGES,
    HOME,
    IN_RECORDS,
    LOST,
    TURNED,
    TWICE,
    Fate,
    Passes,
    Ring,
    counted,
    in_turn,
)
from ringhil.emulator.loop.alone.rounds import elected, is_of, judge
from ringhil.emulator.loop.alone.servers import NEVER, ONE, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.protocol.frames import Statistics
from ringhil.protocol.wire import GpuState, Port, RecordFlag

_DEGRADED, _BOUNDARY, _CARD = 5, 3, 1  # which GPUs, and to which card
_QUARTERS = 4  # of a weight
_RIGHT = [(HOME, HOME)] * 99


def what_is_right(stages: Stages) -> None:
    """What comes home changed, by both ways or by one, is not counted, and tried again."""
    _changed(stages, ONE, [*CHANGES])


def what_is_right_without_records(stages: Stages) -> None:
    """The same of rounds that only count, in which no tag of a record helps."""
    _changed(stages, NEVER, [what for what in CHANGES if what not in IN_RECORDS])


def _changed(stages: Stages, server: str, changes: list[str]) -> None:
    for what in changes:
        for fate in ((what, what), (what, LOST), (LOST, what)):
            stage, ring = elected(stages, in_turn([fate, *_RIGHT]), server)
            stage.wait(stage.boot.census.period // 2)
            judge(stage, ring, 0)
            _tried_again(stage, ring, f"the messages of round 1 came home {fate[0]} and {fate[1]}")


def what_fits(stages: Stages) -> None:
    """Two messages that don't fit each other are no count: other GPUs by the other way, or other numbers of them."""
    for server, fate, cw, ccw, what in (
        (ONE, (HOME, HOME), (1,), (2,), "the ways round have counted GPUs 0 and 1, and 0 and 2"),
        (ONE, (TURNED, TURNED), (1,), (1,), "both arms have counted GPUs 0 and 1"),
        (NEVER, (HOME, HOME), (1,), (2, 1), "the ways round have counted 2 GPUs and 3"),
    ):
        stage, ring = elected(stages, in_turn([fate, *_RIGHT]), server, _first_counts(cw, ccw))
        stage.wait(stage.boot.census.period // 2)
        _tried_again(stage, ring, what)


def _first_counts(cw: tuple[int, ...], ccw: tuple[int, ...]) -> Passes:
    def passes(message: Statistics, port: Port, number: int) -> Statistics:
        for gpu in () if number else cw if port is Port.CW else ccw:
            message = counted(message, port, gpu)
        return message

    return passes


def _tried_again(stage: Stage, ring: Ring, what: str) -> None:
    for at, report in ring.reports:
        if is_of(report, ring.rounds[0]):
            found = f"{what}, and a count of {report.count} is reported, verdict {report.verdict}"
            raise NotKept(at, found, "it should be tried again")
    if len(ring.rounds) < 2:
        raise NotKept(stage.now, f"{what}, and no other round has begun", "it should be tried again")


def each_once(stages: Stages) -> None:
    """A message that comes home once more is rejected, and the reports count it."""
    fates: dict[Fate, int] = {(HOME, HOME): 0, (TWICE, LOST): 1, (LOST, TWICE): 1}
    for fate, rejected in fates.items():
        stage, ring = elected(stages, in_turn([fate]))
        stage.wait(stage.boot.census.period // 2)
        if not ring.reports:
            raise NotKept(stage.now, f"no count is reported; messages came {fate[0]} and {fate[1]}", "one should be")
        at, report = ring.reports[0]
        if report.rejected != rejected:
            found = f"it reports that {report.rejected} messages were rejected; they came {fate[0]} and {fate[1]}"
            raise NotKept(at, found, f"it should be {rejected}")


def all_that_is_known(stages: Stages) -> None:
    """A report has the members, those of them that are degraded, the boundary GPUs, and the weight of all."""
    stage, ring = elected(stages, in_turn([(HOME, HOME)]), ONE, _all_count)
    stage.wait(stage.boot.census.period // 2)
    if not ring.reports:
        raise NotKept(stage.now, "no count is reported of a ring in which all GPUs work", "one should be")
    (at, report), size = ring.reports[0], stage.boot.gpus
    for name, found, wanted in (
        ("the ring's size", report.size, size),
        ("the count", report.count, size),
        ("the weight in quarters", report.weight, _QUARTERS * (size - 1) + 1),
        *zip(
            ("the set of members", "the set of degraded GPUs", "the set of boundary GPUs"),
            report.sets,
            ((1 << size) - 1, 1 << _DEGRADED, 1 << _BOUNDARY),
            strict=False,
        ),
    ):
        if found != wanted:
            why = f"GPUs 0 to {size - 1} work, {_DEGRADED} is degraded, {_BOUNDARY} a boundary GPU"
            raise NotKept(at, f"{name} in a report is {found:#x}", f"{why}: it should be {wanted:#x}")


def _all_count(message: Statistics, port: Port, number: int) -> Statistics:
    size = message.expected
    for step in range(1, size):
        gpu = size - step if port is Port.CCW else step
        flags = RecordFlag.PORT2 if port is Port.CCW else 0
        changes = {"state": GpuState.DEGRADED.code} if gpu == _DEGRADED else {}
        changes |= {"flags": flags | RecordFlag.BOUNDARY, "peer": _CARD} if gpu == _BOUNDARY else {}
        message = counted(message, port, gpu, **changes)
    return message
