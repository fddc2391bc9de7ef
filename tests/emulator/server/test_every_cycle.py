"""Any fault at any cycle: no wrong count is ever accepted, and a right one is found within the bound.

Each kind of fault strikes each GPU or link of a ring of four at every cycle of a round of the census, from
before its message is sent until its count is with the CPU; and is taken away at every cycle of a round.
Beside the emulator's own judgement, what reaches the CPU is read by hand and held against sets in this file.
"""

from dataclasses import dataclass, replace

import pytest

from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.engine.library import Library
from ringhil.emulator.forks import forked
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.scenario import TimelineEvent, loads

SIZE = 4
EVERYBODY = frozenset(range(SIZE))
PERIOD = 400  # cycles from one round to the next
SERVER = f"server: {{cards: {{a: {{gpus: {SIZE}}}}}, settings: {{census_period: {PERIOD}}}}}"

SILENT = ("dead", "hang", "babble")  # the GPU is no longer counted
LIARS = ("corrupt", "skip_count", "double_count")  # it stays a member; its lies are rejected

# After so many cycles (and the round that was under way) the census must know nothing but the new truth.
# A GPU that is well again is let in when it has been so for RESTORE cycles; one that has babbled, when it has kept to
# its allowance for one whole period, and the period in which it stopped does not count.
RESTORE = 64
STRIKES = {"dead": 3, "hang": 0, "babble": 1024}
CLEARS = {"dead": 4 + RESTORE, "hang": 4 + RESTORE, "babble": 2 * 1024 + RESTORE + 4}

VERDICT_NONE, VERDICT_ARMS, NOBODY = 0, 3, 0xFFFF


@dataclass(frozen=True)
class Case:
    """One fault at a place (GPU, or the link after it); struck at `at`, or cleared then."""

    kind: str
    place: int
    at: int
    action: str

    @property
    def where(self) -> str:
        after = (self.place + 1) % SIZE
        return f"link: a.{self.place}-a.{after}" if self.kind == "link_cut" else f"gpu: a.{self.place}"

    @property
    def event(self) -> str:
        return f"{{at: {self.at}, {self.action}: {self.kind}, {self.where}}}"


@dataclass(frozen=True)
class Report:
    """A report as it reached the CPU at cycle `at`, read by hand (docs/reference/protocol.md)."""

    at: int
    frame: bytes

    def number(self, start: int, size: int) -> int:
        return int.from_bytes(self.frame[start : start + size], "big")

    @property
    def sent_at(self) -> int:
        """Cycle in which its round began."""
        return self.number(32, 8)

    @property
    def members(self) -> frozenset[int]:
        return frozenset(gpu for gpu in range(64) if self.number(56, 8) >> gpu & 1)

    @property
    def consistent(self) -> bool:
        """Nobody is slow, nobody speaks to another card, and everybody weighs four quarters."""
        assert len(self.frame) == 56 + 3 * 8 + 8
        plain = self.number(64, 8) == self.number(72, 8) == 0
        return plain and self.number(48, 4) == 4 * self.number(18, 2)

    @property
    def counts(self) -> bool:
        return self.number(22, 2) != VERDICT_NONE

    @property
    def names(self) -> bool:
        return not self.counts and self.number(40, 2) > 0


class Stem:
    """A server that advances through the cycles; at each, the cases that begin there go on from it in a process of
    their own. (tests/emulator/campaign/explore/test_warm.py: what comes of it is as in a run from power-up.)"""

    def __init__(self, library: Library, kind: str, place: int, action: str, work: str = "") -> None:
        self._first = Case(kind, place, 0, "fault")
        self._action = action
        struck = f"timeline:\n  - {self._first.event}" if action == "clear" else ""
        self._warm = Warm(loads("\n".join([SERVER, work, struck])), library, 0)
        self._reports: list[Report] = []
        kernel = self._warm.server.kernel
        deliver = kernel.on_cpu_mail

        def mail(cell: int, frame: bytes, port: int, bad: bool) -> None:
            if frame[0] == 0x17:
                self._reports.append(Report(kernel.now, frame))
            deliver(cell, frame, port, bad)

        kernel.on_cpu_mail = mail

    def play(self, at: int) -> tuple[Case, Outcome, list[Report]]:
        """The fault strikes, or is cleared, at this cycle."""
        case = replace(self._first, at=at, action=self._action)
        (event,) = loads(f"{SERVER}\ntimeline:\n  - {replace(case, action='fault').event}").timeline
        self._warm.run_to(at)
        return forked(lambda: self._end(case, replace(event, action=self._action)), 60)

    def _end(self, case: Case, event: TimelineEvent) -> tuple[Case, Outcome, list[Report]]:
        server = self._warm.server
        server.strike([event])
        server.run_to(event.at + 1)
        bound = server.watch.recoveries(server.kernel.now)[-1].bound
        if server.scenario.workload is None:
            server.end_at(event.at + bound + 3 * PERIOD)
        return case, server.finish(), self._reports

    def close(self) -> None:
        self._warm.close()


def truths(case: Case, report: Report) -> set[frozenset[int]]:
    """Who may rightly be found by a round: one answer, but while things change either of two."""
    if case.kind not in SILENT:
        return {EVERYBODY}
    without = EVERYBODY - {case.place}
    struck, cleared = case.action == "fault", case.action == "clear"
    before, after = (EVERYBODY, without) if struck else (without, EVERYBODY)
    if cleared and report.sent_at < STRIKES[case.kind]:
        return {EVERYBODY, without}  # the first round, in which the fault struck
    if report.at < case.at:
        return {before}
    if report.sent_at >= case.at + (STRIKES if struck else CLEARS)[case.kind]:
        return {after}
    return {before, after}


def check(case: Case, outcome: Outcome, reports: list[Report]) -> None:
    assert outcome.broken("wrong_count") == (), case
    assert outcome.failures == (), case
    for recovery in outcome.recoveries:
        # Nothing else happens after the last event: that one has to be over, in time.
        if recovery.action == case.action:
            assert not recovery.superseded, case
            assert recovery.recounted is not None, case
            assert recovery.recounted - recovery.at <= recovery.bound, case

    counted = [r for r in reports if r.counts]
    for report in counted:
        assert report.members in truths(case, report), (case, report.at)
        assert report.number(18, 2) == len(report.members), case
        assert report.consistent, case
        if report.number(22, 2) == VERDICT_ARMS:
            assert case.kind == "link_cut"
            assert report.number(24, 2) == case.place, case
            assert report.number(26, 2) == (case.place + 1) % SIZE, case
        else:
            assert (report.number(24, 2), report.number(26, 2)) == (NOBODY, NOBODY)

    struck = case.action == "fault"
    if case.kind in LIARS and struck:
        assert reports[-1].names, f"{case}: nobody named"
        return
    left = EVERYBODY - {case.place} if struck and case.kind in SILENT else EVERYBODY
    assert reports[-1].counts, case
    assert reports[-1].members == left, case
    assert (reports[-1].number(22, 2) == VERDICT_ARMS) == (struck and case.kind == "link_cut"), case


@pytest.fixture(scope="module")
def cycles(library: Library) -> range:
    """Every cycle of one round of a healthy ring: from sending to the CPU's having the count, and some around."""
    stem = Stem(library, "corrupt", 1, "fault")
    _, _, reports = stem.play(10 * PERIOD)
    stem.close()
    third = reports[2]
    assert [r.sent_at - reports[0].sent_at for r in reports[:3]] == [0, PERIOD, 2 * PERIOD]
    return range(third.sent_at - 5, third.at + 5)


EVERY = 29  # so many-th cycle, from another one on at each place
PLACES = [(kind, gpu) for kind in (*SILENT, *LIARS) for gpu in range(1, SIZE)]
PLACES += [("link_cut", link) for link in range(SIZE)]


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("action", ["fault", "clear"])
@pytest.mark.parametrize(("kind", "place"), PLACES, ids=[f"{k}-{p}" for k, p in PLACES])
@pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.slow(part="cycles"))])
def test_at_every_cycle_of_a_round(
    library: Library, cycles: range, kind: str, place: int, action: str, step: int
) -> None:
    """Some at each place; in `make soak` every one."""
    assert len(cycles) > 100
    stem = Stem(library, kind, place, action)
    for at in cycles[3 * place % step :: step]:
        check(*stem.play(at))
    stem.close()


@pytest.mark.slow(part="cycles")
@pytest.mark.parametrize("action", ["fault", "clear"])
@pytest.mark.parametrize(("kind", "place"), PLACES, ids=[f"{k}-{p}" for k, p in PLACES])
def test_and_all_work_is_done_once(library: Library, cycles: range, kind: str, place: int, action: str) -> None:
    """The same while the ring is full of work."""
    stem = Stem(library, kind, place, action, "workload: {units: 60, size: 300}")
    for at in cycles:
        case, outcome, reports = stem.play(at)
        assert outcome.broken("wrong_count") == (), case
        assert outcome.failures == (), case
        for report in reports:
            if report.counts:
                assert report.members in truths(case, report), (case, report.at)
        assert outcome.work["completed"] == 60
        assert (outcome.work["lost"], outcome.work["duplicated"]) == (0, 0)
    stem.close()
