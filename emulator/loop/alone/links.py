"""What is promised of links by what records say: which one is called noisy or slow, from when on, and for how long."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ringhil.emulator.loop.alone.ring import HOME, Ring, in_turn, tagged
from ringhil.emulator.loop.alone.servers import ONE, Stages
from ringhil.emulator.loop.alone.stage import NotKept
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.firmware.timing import BYPASS_HOP, HEALTHY_HOP
from ringhil.protocol.frames import Record, Statistics
from ringhil.protocol.wire import NO_CARD, GpuState, Port, RecordFlag

_LINK = 4  # that it is about: from this GPU to the next
_LATE = 5  # cycles
_LATE_ROUNDS = 4  # in a row, after which a link is slow
_QUIET_ROUNDS = 16  # after which a link is noisy no more
_NOBODY = 0xFFFF
Counts = Callable[[int], int]  # by the number of the round


def noisy_for_some_rounds(stages: Stages) -> None:
    """From when a record has shown an error until 16 rounds have passed without another, by either way round."""
    for way in (Port.CW, Port.CCW):
        ring = _counted(stages, _QUIET_ROUNDS + 5, errors=lambda number: int(number >= 2), way=way)
        for number in (1, 2, 2 + _QUIET_ROUNDS - 1, 2 + _QUIET_ROUNDS + 1):
            at, report = ring.reports[number]
            why = f"the records of one way round have shown an error in round 3, this is {number + 1}"
            _blames(at, "noisy", report.noisy_link, 2 <= number < 2 + _QUIET_ROUNDS, why)


def slow_after_some_rounds(stages: Stages) -> None:
    """When four rounds in a row are late by as much, and as long as they are."""
    for late in (_LATE_ROUNDS - 1, _LATE_ROUNDS + 1):
        last = 2 + late - 1
        ring = _counted(stages, 12, late=partial(_late_from_to, 2, last))
        why = f"{late} rounds in a row were {_LATE} cycles late"
        _blames(*_slow(ring, last), late >= _LATE_ROUNDS, why)
        _blames(*_slow(ring, last + 2), False, f"{why}, and no later one")


def slow_at_the_entry_gpu(stages: Stages) -> None:
    """Of the link that messages leave the entry GPU by, which is compared with its own quickest time."""
    for link, way in ((0, Port.CW), (7, Port.CCW)):
        ring = _counted(stages, 12, late=partial(_late_from_to, 2, 7), link=link, way=way)
        why = f"{_LATE_ROUNDS + 2} rounds in a row came over the link behind GPU {link} {_LATE} cycles late"
        for number, wanted in ((1, False), (6, True), (9, False)):
            _blames(*_slow(ring, number), wanted, f"{why}, this is {number + 1}", link)


def slow_by_as_much(stages: Stages) -> None:
    """Late rounds of which three are late by as much, and none by less: four don't do, the fifth makes the third."""
    by = {2: _LATE, 3: _LATE, 4: _LATE + 2, 5: _LATE + 4, 6: _LATE}
    ring = _counted(stages, 9, late=lambda number: by.get(number, 0))
    why = "rounds 3 to 6 were late by 5, 5, 7 and 9 cycles"
    _blames(*_slow(ring, 5), False, f"{why}, of which two are quickest")
    _blames(*_slow(ring, 6), True, f"{why}, and round 7 by 5: three are quickest")


def slow_by_a_bypass(stages: Stages) -> None:
    """Who passes a bypassed GPU takes the time of that, and no link is slow."""
    ring = _counted(stages, 2 * _LATE_ROUNDS, bypassed=_LINK + 2)
    for number in (_LATE_ROUNDS, 2 * _LATE_ROUNDS - 1):
        at, report = ring.reports[number]
        _blames(at, "slow", report.slow_link, False, f"GPU {_LINK + 2} is bypassed, and nothing is late")


def _late_from_to(first: int, last: int, number: int) -> int:
    return _LATE if first <= number <= last else 0


def _slow(ring: Ring, number: int) -> tuple[int, str, int]:
    at, report = ring.reports[number]
    return at, "slow", report.slow_link


def _counted(
    stages: Stages,
    rounds: int,
    *,
    late: Counts = lambda number: 0,
    errors: Counts = lambda number: 0,
    bypassed: int | None = None,
    link: int = _LINK,
    way: Port = Port.CW,
) -> Ring:
    """So many rounds of a ring in which all GPUs work but one, and this link is late, or by one way damages, as the
    number says."""
    stage = stages.of(ONE, "a.0")
    uplink = Uplink(stage, stage.boot.entry)
    ring = Ring(
        stage,
        in_turn([(HOME, HOME)]),
        lambda message, port, number: _all(
            message, port, link, late(number), errors(number) if port is way else 0, bypassed
        ),
    )
    stage.start()
    uplink.wait_for_role(2 * uplink.group.interval)
    stage.wait(rounds * stage.boot.census.period)
    if len(ring.reports) < rounds:
        found = f"{len(ring.reports)} counts are reported in {rounds} periods"
        raise NotKept(stage.now, found, "there should be one in each")
    return ring


def _all(message: Statistics, port: Port, link: int, late: int, errors: int, bypassed: int | None) -> Statistics:
    """As it comes home when every other GPU has counted itself, but for one that may be bypassed."""
    size, ccw = message.expected, port is Port.CCW
    records, stamp = [*message.records], message.sent_at
    for step in range(1, size):
        gpu = (message.origin + (size - step if ccw else step)) % size
        if gpu == bypassed:
            stamp += BYPASS_HOP
            continue
        behind = gpu == (link if ccw else link + 1)
        stamp += HEALTHY_HOP + (late if behind else 0)
        flags = RecordFlag.PORT2 if ccw else 0
        seen = errors if behind else 0
        plain = (gpu, len(records) + 1, GpuState.WORKING.code, flags, 0, stamp % 256, 1, seen, NO_CARD, 0)
        records.append(tagged(message, Record(*plain)))
    return replace(message, count=len(records), records=tuple(records))


def _blames(at: int, what: str, found: int, wanted: bool, why: str, link: int = _LINK) -> None:
    if found != (link if wanted else _NOBODY):
        said = "no link" if found == _NOBODY else f"the link behind GPU {found}"
        should = f"it should be the link behind GPU {link}" if wanted else "it should be none"
        raise NotKept(at, f"{said} is reported {what}", f"{why}: {should}")
