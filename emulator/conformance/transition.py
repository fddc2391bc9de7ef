"""Judges frames while a node's state changes: each good frame that arrives goes on exactly once, as one of the states
that the node may be in has it. Of a frame that the switch cuts one marked remainder may leave besides."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import control
from ringhil.emulator.testbench.reference.control import IN, OUT, ControlOutcome, Leaving
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.scoreboard import difference
from ringhil.emulator.testbench.stimulus import Post, Stimulus
from ringhil.emulator.trace.naming import described

SETTLE = 400  # cycles after which a frame that is on its way has come out, whatever the switch did meanwhile
KEPT = 64  # flits: a frame up to this length survives a hang
Views = Callable[[RingFrame], Sequence[NodeView]]


@dataclass
class _Due:
    """A frame that arrived, and what may become of it."""

    frame: RingFrame
    ways: list[ControlOutcome]
    must: bool
    seen: int = 0

    def leaves_as(self, found: RingFrame) -> bool:
        return any(difference(leaving, found) is None for way in self.ways for leaving in way.leaving)

    def delivered_as(self, data: bytes) -> bool:
        return any(mail.data[:-4] == data[:-4] for way in self.ways for mail in way.mail if not mail.bad)

    def begins_as(self, found: RingFrame) -> bool:
        return any(_begins(leaving, found) for way in self.ways for leaving in way.leaving)


@dataclass(frozen=True)
class Moves:
    """What the stimulus lets happen. `views`: the states in which the node may treat a frame; `cuts`: how many times
    per lane its switch may cut a frame; `lossy`: frames may be lost while it stands where it shouldn't."""

    views: Views
    cuts: int = 0
    lossy: bool = False


@dataclass
class _Lane:
    rule: str
    number: int
    breaches: list[Breach] = field(default_factory=list)

    def wrong(self, cycle: int, what: str) -> None:
        self.breaches.append(Breach(self.rule, cycle, what))


def judge_moving(rule: str, stimulus: Stimulus, observed: Observed, moves: Moves) -> list[Breach]:
    """Both lanes and their mailbox ports; the node's ring ports must be in use all the time."""
    breaches = []
    for number in (0, 1):
        lane = _Lane(rule, number)
        _judge_lane(lane, stimulus, observed, moves)
        breaches += lane.breaches
    return sorted(breaches, key=lambda b: b.cycle)


def _judge_lane(lane: _Lane, stimulus: Stimulus, observed: Observed, moves: Moves) -> None:
    dues, spoilt = _arrivals(lane.number, observed, moves)
    own = [_own(post, lane.number, moves) for post in _posts(stimulus, lane.number)]
    link, remainders, last = OUT[lane.number], 0, -1
    for found in observed.left[link]:
        if found.channel != "control":
            continue
        if not found.good:
            remainders += 1
            _judge_remainder(lane, link, found, [*dues, *own], spoilt > 0)
            continue
        place = next((i for i, due in enumerate(dues) if not due.seen and due.leaves_as(found)), None)
        if place is None:
            mine = next((d for d in own if not d.seen and d.leaves_as(found)), None)
            if mine is None:
                again = any(due.seen and due.leaves_as(found) for due in dues)
                why = "that had gone on already" if again else "as none that arrived may leave"
                lane.wrong(found.ended, f"{link}: a {found.kind} frame left {why} ({found.title})")
            else:
                mine.seen = 1
            continue
        if place < last:
            lane.wrong(found.ended, f"{link}: a {found.kind} frame was overtaken by a later one")
        last = max(last, place)
        dues[place].seen = 1
    if remainders > moves.cuts + spoilt:
        text = f"{link}: {remainders} marked frames left, at most {moves.cuts + spoilt} may"
        lane.wrong(stimulus.cycles, text)
    _judge_mail(lane, observed, dues, spoilt)
    for due in dues:
        if due.must and not due.seen and due.frame.ended + SETTLE < stimulus.cycles:
            text = f"{link}: a {due.frame.kind} frame of {len(due.frame.data) // 8} flits was lost"
            lane.wrong(due.frame.ended, f"{text} ({described(due.frame.data)})")


def _judge_mail(lane: _Lane, observed: Observed, dues: Sequence[_Due], spoilt: int) -> None:
    for mail in observed.mail:
        if mail.port != lane.number:
            continue
        if mail.bad:
            spoilt -= 1
            if spoilt < 0:
                lane.wrong(mail.ended, f"mailbox {mail.port}: a frame marked bad that arrived good")
            continue
        due = next((d for d in dues if d.delivered_as(mail.data) and not d.seen), None)
        if due is None or not mail.whole:
            twice = any(d.delivered_as(mail.data) for d in dues)
            why = "has gone on already" if twice else "is none that arrived"
            lane.wrong(mail.ended, f"mailbox {mail.port}: a frame handed over {why} ({described(mail.data)})")
        else:
            due.seen = 1


def _judge_remainder(lane: _Lane, link: str, found: RingFrame, dues: Sequence[_Due], spoilt: bool) -> None:
    if not (found.sof and found.eof and found.err):
        lane.wrong(found.ended, f"{link}: a frame left damaged and without the mark ({found.title})")
    elif not spoilt and not any(due.begins_as(found) for due in dues):
        lane.wrong(found.ended, f"{link}: a marked frame left that begins as none that was there")


def _arrivals(lane: int, observed: Observed, moves: Moves) -> tuple[list[_Due], int]:
    """The good frames that arrived by a lane, and how many others began there."""
    dues: list[_Due] = []
    spoilt, errors, cut = 0, 0, False
    for frame in observed.arrived[IN[lane]]:
        if frame.channel != "control" or not frame.sof:
            continue
        if frame.good:
            # The beginning that cuts another frame may be spent on ending that one.
            dues.append(_due(frame, lane, moves, errors, cut))
        else:
            spoilt += 1
            errors += not frame.err
        cut = not frame.eof
    return dues, spoilt + ((IN[lane], "control") in observed.unfinished)


def _posts(stimulus: Stimulus, port: int) -> list[Post]:
    posts = (action for action in stimulus.actions if isinstance(action, Post))
    return [post for post in posts if post.port == port and post.finished and post.begun]


def _due(frame: RingFrame, lane: int, moves: Moves, errors: int, cut: bool) -> _Due:
    ways = []
    for view in moves.views(frame):
        ways.append(ControlOutcome(counters=Counter({f"rx_bad_port{lane + 1}": errors})))
        control.arrive(frame, lane, view, ways[-1])
    must = not cut and len(frame.data) <= 8 * KEPT and not moves.lossy and all(way.leaving or way.mail for way in ways)
    return _Due(frame, ways, must)


def _own(post: Post, lane: int, moves: Moves) -> _Due:
    """A frame of the GPU's own: leaves once or, when the GPU falls out of the ring, never."""
    outcome = ControlOutcome()
    sample = RingFrame(post.data, "control", began=post.at, ended=post.at)
    views = [view for view in moves.views(sample) if not view.bypassed]
    if views:
        control.originate(post.data, lane, post.at, views[0], outcome)
    return _Due(sample, [outcome], False)


def _begins(leaving: Leaving, found: RingFrame) -> bool:
    """All but the last flit, which was put there to end it, are those of `leaving` (up to a record)."""
    length = len(found.data) - 8
    if leaving.record_at is not None:
        length = min(length, leaving.record_at)
    return found.data[: max(length, 0)] == leaving.data[: max(length, 0)]
