"""The judge's own account of the work that the CPU has out: read off its frames, and off what it knows of its cards.

A unit goes out again only when its time is up, its GPU is no longer counted, its entry GPU was replaced, or it was
refused or computed wrongly; then as the next attempt, not to a GPU that failed at it while there is another, and before
any unit that nobody has begun. No GPU has more of them than its window, and none has fewer while there is one for it
(with work in proportion). One that was wrong three times in a row gets nothing for a while. Frames come before what the
CPU has made of the message that they follow from: they are judged when that is known.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import CpuSaid, SharedOut
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.work.accepting import WorkCount
from ringhil.emulator.host.work.workload import WorkUnits
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.oracle import LoanTruth, digest
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, CpuLooked, NothingTaken, ReportTaken
from ringhil.emulator.scenario import Settings
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import FLIT_BYTES


class Turns:
    """Feed it in the order in which units go out. The circle goes by card, and by number within one."""

    def __init__(self) -> None:
        self._last: Gpu = (-1, -1)

    def next(self, members: frozenset[Gpu]) -> Gpu | None:
        """Who is next of those that are known now; None: nobody is known."""
        return min((gpu for gpu in members if gpu > self._last), default=min(members, default=None))

    def passed(self, to: Gpu, members: frozenset[Gpu]) -> list[Gpu]:
        """A unit goes to a GPU: those whose turn it was before, in their order."""
        last, self._last = self._last, to
        ahead = sorted(gpu for gpu in members if gpu > last) + sorted(gpu for gpu in members if gpu <= last)
        return ahead[: ahead.index(to)] if to in ahead else []


@dataclass
class Recount:
    """The numbers that the judge knows of itself, under the CPU's names."""

    resent: int = 0
    refused: int = 0
    wrong: int = 0
    late: int = 0
    crossed: int = 0

    def differs(self, books: WorkCount) -> Iterator[str]:
        """Where the CPU's books say something else."""
        for name in (field.name for field in fields(self)):
            said, happened = getattr(books, name), getattr(self, name)
            if said != happened:
                yield say("the CPU's books say {} {}; it was {expected}", said, name, expected=happened)


STRIKES, BARRED = 3, 20_000  # wrong results in a row, and the cycles without work after them
_MOST = 8  # times the time of a first attempt
_HEADER_AND_TRAILER, _SEGMENT = 5, 256  # flits; bytes


@dataclass(slots=True)
class _Out:
    gpu: Gpu
    attempt: int
    via: int
    due: int


@dataclass(frozen=True, slots=True)
class _Sent:
    unit: int
    attempt: int
    gpu: Gpu
    via: int
    window: int
    due: int
    barred: bool
    others: frozenset[Gpu]


class Ledger:
    """`views`, `bounds`: by card. `work`: the units, None where there are none. `half`: every so many cycles the CPU
    looks whether its cards still report. `wake`: cycles that a unit may wait for a GPU that slept. `loans`: who gets no
    work."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        bounds: Sequence[Bounds],
        settings: Settings,
        work: WorkUnits | None,
        half: int,
        wake: int = 0,
        loans: LoanTruth | None = None,
    ) -> None:
        self._views, self._settings, self._work, self._half = views, settings, work, half
        self._wake, self._loans = wake, LoanTruth() if loans is None else loans
        self._units = 0 if work is None else work.units
        self._turns = Turns() if settings.policy == "round_robin" else None
        slowest = max(b.times.timeout + b.times.ring_time for b in bounds)
        self._patience = 4 * slowest + 2 * settings.host_latency + settings.allowance_period
        self._out: dict[int, _Out] = {}
        self._waiting: dict[int, int] = {}  # units that are to go out again, and since when
        self._attempts: dict[int, int] = {}  # of units that have failed
        self._failed: dict[int, list[Gpu]] = {}  # where each unit was, the last one last
        self._done: set[int] = set()
        self._due: list[tuple[int, int, int]] = []
        self._load: dict[Gpu, int] = {}
        self._free = [0] * len(views)  # by card: when what was sent to it has left the CPU
        self._strikes: dict[Gpu, int] = {}
        self._barred: dict[Gpu, int] = {}
        self._timed_at = 0  # cycle of the last thing that the CPU has done by its clock
        self._known = [_known(view) for view in views]
        self._fruitless = [0] * len(views)  # by card: times in a row that it was lost with units, without a result
        self._judged: list[tuple[int, _Sent]] = []
        self._shares: tuple[int, ...] | None = None
        self._since_split: dict[Gpu, int] = {}
        self._first_sent = 0  # units that have been begun
        self._begun: list[int] = []  # by card: units that were begun since the last split
        self.count = Recount()
        self.wrong = FindingList()
        self.too_soon = FindingList()
        self.idle = FindingList()  # who was left without work, and when
        if work is None:
            return
        stream.listen(FromCpu, self._frame)
        stream.listen(SharedOut, self._split)
        stream.listen(AnswerTaken, self._taken)
        stream.listen(ReportTaken, self._something)
        stream.listen(NothingTaken, self._something)
        stream.listen(CpuLooked, self._something)
        stream.listen(CpuSaid, self._something)

    def _something(self, o: ReportTaken | NothingTaken | CpuLooked | CpuSaid) -> None:
        self._other(o.cycle)

    def _taken(self, o: AnswerTaken) -> None:
        if not isinstance(o.message, Result):
            self._refused(o.message, o.cycle)
        elif not o.of_work:
            self._other(o.cycle)
        elif o.booked:
            self._booked(o.message.unit, (o.message.source_card, o.message.source), o.cycle)
        else:
            self._wrong_result(o.message, o.cycle)

    def sent(self, card: int, gpu: int) -> int:
        """Units that a GPU was sent since the last split, further attempts included."""
        return self._since_split.get((card, gpu), 0)

    def units_at(self, gpu: Gpu, now: int) -> int:
        """Units that a GPU has by now."""
        if self._work is not None:
            self._look(now)
        return self._load.get(gpu, 0)

    def share(self, card: int) -> int:
        """Units that a card got by the last split; by a policy that splits nothing, its share when work began."""
        return self._views[card].share if self._shares is None else self._shares[card]

    def _split(self, o: SharedOut) -> None:
        """The CPU has split the work."""
        self._shares = o.shares
        self._since_split = {}
        self._begun = [0] * len(o.shares)

    # ------------------------------------------------------------------------------------------------- what is seen

    def _frame(self, o: FromCpu) -> None:
        """The CPU sends a frame to a GPU; of a unit of work only the first one is of interest."""
        frame, now = o.frame, o.cycle
        if frame[0] != Work.KIND:
            return
        _, card, _, _, gpu, _, unit, _, attempt, segment, _, length, compute, via, _ = Work.HEAD.unpack_from(frame)
        if segment and not compute:
            return
        self._look(now)
        if compute:  # a command, judged by isolation.py: what comes behind it on the link leaves later
            self._free[via] = max(self._free[via], now) + len(frame) // FLIT_BYTES
            return
        where = (card, gpu)
        self.count.crossed += via != card
        self._since_split[where] = self._since_split.get(where, 0) + 1
        if self._shares is not None and attempt == 1:
            self._begun[card] += 1
            if self._begun[card] > self._shares[card]:
                what = say("unit {} was sent to {} at cycle {}", unit, self._name(where), now)
                self._tell(now, say("{}, and the share of its card is {} of those not begun", what, self._shares[card]))
        self._free[via] = max(self._free[via], now) + _flits(length)
        slow = gpu in self._views[card].degraded
        s = self._settings
        if now == self._barred.get(where, -2) + 1 or now % self._half == 0:
            self._timed_at = now
        compute = (s.compute_setup + self._wake + -(-length // 8) * s.compute_per_flit) * (4 if slow else 1)
        allowed = self._patience + 4 * (self._free[via] - now) + (s.window + 1) * compute
        others = self._workers()
        sent = _Sent(
            unit,
            attempt,
            where,
            via,
            1 if slow else s.window,
            now + allowed * min(attempt, _MOST),
            now < self._barred.get(where, 0),
            others,
        )
        self._judged.append((now, sent))

    def _booked(self, unit: int, gpu: Gpu, now: int) -> None:
        """A result has been booked."""
        self._look(now)
        # It may have gone out again in this very cycle, before the result was read.
        before = [(at, sent) for at, sent in self._judged if sent.unit == unit]
        self._judged = [(at, sent) for at, sent in self._judged if sent.unit != unit]
        for at, sent in before:
            self._one(sent, at)
        self._done.add(unit)
        self._release(unit)
        self._waiting.pop(unit, None)
        self._strikes.pop(gpu, None)
        self._fruitless[gpu[0]] = 0
        self._judge(now)
        self._left_idle(now)

    def _refused(self, answer: Acknowledgement, now: int) -> None:
        """A refusal was heard."""
        self._look(now)
        self.count.refused += self._fail(answer, now)
        self._judge(now)

    def _wrong_result(self, result: Result, now: int) -> None:
        """A result was heard that wasn't booked."""
        self._look(now)
        if result.unit in self._done:
            self.count.late += 1
            self._judge(now)
            return
        self.count.wrong += 1
        begun = result.unit in self._attempts or result.unit in self._out
        if begun and self._work is not None and result.digest == digest(self._work.read(result.unit)):
            self.wrong.tell(now, "a right result of unit {} was not accepted at cycle {}", result.unit, now)
        self._fail(result, now)
        gpu = (result.source_card, result.source)
        self._strikes[gpu] = self._strikes.get(gpu, 0) + 1
        if self._strikes[gpu] >= STRIKES:
            self._barred[gpu] = now + BARRED
            if self._timed_at < now:  # then all that was sent in this cycle follows from this result
                self._judged = [(at, replace(sent, barred=sent.barred or sent.gpu == gpu)) for at, sent in self._judged]
        self._judge(now)

    def _other(self, now: int) -> None:
        """Something else has been taken in, or a lease has begun or ended."""
        self._look(now)
        self._judge(now)

    # ------------------------------------------------------------------------------------------ why it goes out again

    def _look(self, now: int) -> None:
        """What the CPU knows of its cards has changed, or a time is up; and what was sent in an earlier cycle is
        judged."""
        if self._judged and self._judged[0][0] < now:
            self._judge(now)
        for card, view in enumerate(self._views):
            known, before = _known(view), self._known[card]
            if known == before:
                continue
            self._known[card] = known
            replaced = known[1:] != before[1:]
            if not view.reachable:
                self._fruitless[card] += any(gpu[0] == card for gpu in self._on_their_way())
            if known[1:3] != before[1:3]:
                self._free[card] = 0
            gone = [
                unit
                for unit, out in self._out.items()
                if (replaced and out.via == card) or (out.gpu[0] == card and out.gpu[1] not in view.members)
            ]
            for unit in gone:
                self._again(unit, now)
        while self._due and self._due[0][0] <= now:
            due, unit, attempt = heapq.heappop(self._due)
            self._timed_at = due
            out = self._out.get(unit)
            if out is not None and out.attempt == attempt:
                self._again(unit, due)

    def _fail(self, answer: Result | Acknowledgement, now: int) -> bool:
        """Whether it is an answer to what is out."""
        out = self._out.get(answer.unit)
        if out is None or (*out.gpu, out.attempt) != (answer.source_card, answer.source, answer.attempt):
            return False
        self._again(answer.unit, now)
        return True

    def _again(self, unit: int, now: int) -> None:
        out = self._release(unit)
        if out is None:
            return
        self.count.resent += 1
        self._attempts[unit] = out.attempt
        self._failed.setdefault(unit, []).append(out.gpu)
        self._waiting[unit] = now

    def _release(self, unit: int) -> _Out | None:
        out = self._out.pop(unit, None)
        if out is not None:
            self._load[out.gpu] -= 1
        return out

    # ------------------------------------------------------------------------------------------------------- judging

    def _judge(self, now: int) -> None:
        judged, self._judged = self._judged, []
        for at, sent in judged:
            self._one(sent, at)

    def _one(self, sent: _Sent, now: int) -> None:
        unit, gpu = sent.unit, sent.gpu
        name = say("unit {} was sent to {} at cycle {}", unit, self._name(gpu), now)
        if unit in self._done:
            self._tell(now, say("{}, and was done", name))
        out = self._out.get(unit)
        if out is not None and out.gpu[1] not in self._views[out.gpu[0]].members:
            self._again(unit, now)  # its card was lost in the cycle in which it was sent
            out = None
        if out is not None:
            self._tell(now, say("{}, {} cycles before its time at {} was up", name, out.due - now, self._name(out.gpu)))
            self._release(unit)
        last = self._attempts.get(unit, 0) if out is None else out.attempt
        if sent.attempt != (last + 1) % 2**16:
            self._tell(now, say("{} as attempt {}, after attempt {}", name, sent.attempt, last))
        failed = self._failed.get(unit, [])
        # When all have failed at it the CPU begins anew: of the others it can't be told who counts.
        if failed[-1:] == [gpu] and not sent.others <= set(failed):
            self._tell(now, say("{}, which has failed at it; others have not", name))
        if self._turns is not None:
            self._in_turn(self._turns, sent, name, now)
        if not last:
            self._first_sent += 1
            overdue = [u for u, since in self._waiting.items() if since < now and gpu not in self._failed.get(u, [])]
            if overdue:
                self._tell(now, say("{} before unit {}, which was to go out again", name, overdue[0]))
        load = self._load.get(gpu, 0)
        window = 1 if self._fruitless[gpu[0]] > 1 else sent.window
        if load >= window:
            what = say("{}, which had {found} units; at most {expected} at a time", name, found=load, expected=window)
            self._tell(now, what)
        if sent.barred:
            self.too_soon.tell(now, "{}, which was wrong {} times in a row", name, STRIKES)
        self._waiting.pop(unit, None)
        self._load[gpu] = load + 1
        self._out[unit] = _Out(gpu, sent.attempt, sent.via, sent.due)
        heapq.heappush(self._due, (sent.due, unit, sent.attempt))

    def _in_turn(self, turns: Turns, sent: _Sent, name: str, now: int) -> None:
        """As long as there is a unit that nobody has begun, a GPU is passed over only when it is barred."""
        passed = turns.passed(sent.gpu, sent.others)
        over = [gpu for gpu in passed if now > self._barred.get(gpu, -2) + 1]
        if over and self._first_sent < self._units:
            self._tell(now, say("{}, and it was the turn of {}", name, self._name(over[0])))

    def _left_idle(self, now: int) -> None:
        """The CPU has just given every GPU what it could: who has room has it as there is nothing for it."""
        if self._turns is not None and self._first_sent < self._units:
            waits = self._turns.next(self._workers())
            if waits is not None and self._has_room(waits, now):
                self.idle.tell(now, "{} has room at cycle {}, and it is its turn", self._name(waits), now)
        if self._shares is None:
            return
        for view in self._views:
            left = self._shares[view.number] - self._begun[view.number]
            for gpu in view.members:
                where = (view.number, gpu)
                if not self._has_room(where, now):
                    continue
                if left > 0 or any(where not in self._failed.get(unit, []) for unit in self._waiting):
                    text = say("{} has room at cycle {} for work that is there, and gets none", self._name(where), now)
                    self.idle.tell(now, text)

    def _workers(self) -> frozenset[Gpu]:
        """GPUs that may be given work."""
        return frozenset((v.number, g) for v in self._views for g in v.members if self._loans.gets_work((v.number, g)))

    def _has_room(self, where: Gpu, now: int) -> bool:
        card, gpu = where
        if not self._loans.gets_work(where):
            return False
        one = gpu in self._views[card].degraded or self._fruitless[card] > 1
        return self._load.get(where, 0) < (1 if one else self._settings.window) and now > self._barred.get(where, -1)

    def _on_their_way(self) -> Iterator[Gpu]:
        """The GPU of each unit that is out, those sent in this cycle included."""
        yield from (out.gpu for out in self._out.values())
        yield from (sent.gpu for _, sent in self._judged)

    def _name(self, gpu: Gpu) -> str:
        return Name(f"{self._views[gpu[0]].name}.{gpu[1]}")

    def _tell(self, now: int, what: str) -> None:
        self.wrong.tell(now, what)

    def finish(self, now: int) -> None:
        """The run is over."""
        self._look(now)
        self._judge(now)


def _known(view: CardView) -> tuple[object, ...]:
    """What a unit that is out depends on: the members, then the entry GPU."""
    return view.members, view.rank, view.epoch, view.reachable


def _flits(length: int) -> int:
    """On the link from the CPU: frames of 256 bytes, each with header and trailer."""
    full, rest = divmod(length, _SEGMENT)
    whole = full * (_HEADER_AND_TRAILER + _SEGMENT // 8)
    return whole + (_HEADER_AND_TRAILER + -(-rest // 8) if rest else 0)
