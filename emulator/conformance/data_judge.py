"""Judges the data channel while a node's state doesn't change: every frame that arrives, every unit of work."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ringhil.emulator.conformance.answers import REACH, Answers
from ringhil.emulator.conformance.credit_check import INTO_RING, ONWARD, credits_left, early, given_back, overspent
from ringhil.emulator.conformance.data_board import DataBoard
from ringhil.emulator.conformance.steady import view_of
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import compute, data
from ringhil.emulator.testbench.reference.control import AHEAD
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Carrier, Fault, Hold, Stimulus
from ringhil.emulator.trace.naming import described

FIRST = 12  # cycle before which faults and cuts hold from the first frame on
_CALM = 400  # cycles within which something goes on, as long as there is something to be done, beside holds and units
_NEVER = 1 << 62
_OUT_OF_ORDER = frozenset({"dead", "switch_stuck_bypass"})


def standing(stimulus: Stimulus) -> NodeView:
    """The node as it is from the first frame on: settings, faults and dead links of the stimulus."""
    faults = frozenset(a.name for a in stimulus.actions if isinstance(a, Fault) and a.on and a.at < FIRST)
    down = frozenset(a.link for a in stimulus.actions if isinstance(a, Carrier) and not a.up and a.at < FIRST)
    return replace(view_of(stimulus), faults=faults, down=down, bypassed=bool(faults & _OUT_OF_ORDER))


@dataclass
class Judged:
    """What a play came to, for rules that look closer. `streams`: by link and cycle in which a frame began, where it
    came from ("own": the node's answers)."""

    view: NodeView
    outcome: data.DataOutcome
    board: DataBoard
    engine: compute.ComputeEngine
    answers: Answers
    streams: dict[str, dict[int, str]]
    breaches: list[Breach]


def judge_data(rule: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Breaches by the data channel's frames, credits, answers and counters. `enough` is for how many cycles the whole
    stimulus is played: after these all must be done, in a play that was cut short it needn't."""
    return sorted(judged_data(rule, enough, stimulus, observed).breaches, key=lambda b: b.cycle)


def judged_data(rule: str, enough: int, stimulus: Stimulus, observed: Observed, view: NodeView | None = None) -> Judged:
    """Like `judge_data`, with all that was found. `view` replaces what follows from the stimulus."""
    seen = replace(view if view is not None else standing(stimulus), contexts=observed.registers.get("contexts", 0))
    outcome = data.DataOutcome()
    for way, link in enumerate(data.WAYS):
        data.arrive_all((f for f in observed.arrived[link] if f.channel == "data"), way, seen, outcome)
    engine = compute.ComputeEngine(seen)
    found = [engine.take(t) for t in sorted(outcome.engine, key=lambda t: t.ended)]
    answers = Answers([a for a in found if a is not None], corrupt="corrupt" in seen.faults)
    board = DataBoard(outcome.leaving, seen.longest)
    judged = Judged(seen, outcome, board, engine, answers, {link: {} for link in data.WAYS}, [])
    judged.breaches += [Breach(rule, cycle, complaint) for cycle, complaint in _seen(judged, observed)]
    for link in data.WAYS:
        if link not in seen.down:
            judged.breaches += overspent(rule, observed, link, judged.streams[link])
            judged.breaches += early(rule, observed, link, _gone(board, link))
    holds = any(isinstance(a, Hold) for a in stimulus.actions)
    queue = [*answers.order_complaints(), *([] if holds else answers.queue_complaints(REACH))]
    judged.breaches += [Breach(rule, cycle, text) for cycle, text in queue]
    if stimulus.cycles >= _calm(judged, stimulus, observed):
        judged.breaches += _at_rest(rule, judged, stimulus, observed)
    elif stimulus.cycles >= enough:
        judged.breaches.append(Breach(rule, stimulus.cycles, "data frames still move when all must be done"))
    return judged


def _seen(judged: Judged, observed: Observed) -> Iterator[tuple[int, str]]:
    arriving = any((link, "data") in observed.unfinished for link in data.WAYS)
    for link in data.WAYS:
        for frame in observed.left[link]:
            if frame.channel != "data":
                continue
            if compute.own_answer(frame, judged.view) and not judged.board.awaits(link, frame):
                stream, complaint = "own", judged.answers.saw(link, frame)
            else:
                stream, complaint = judged.board.saw(link, frame)
            judged.streams[link][frame.began] = stream
            # One that is too long may have left cut short before all of it came.
            if complaint is not None and (stream or not arriving):
                yield frame.ended, complaint


def _gone(board: DataBoard, stream: str) -> dict[int, int]:
    """When each frame of a way in left, by the cycle in which it came; a late cycle if it is still there."""
    every = enumerate(board.streams.get(stream, []))
    return {one.since: board.gone.get((stream, i), _NEVER) for i, one in every if not one.optional}


def _calm(judged: Judged, stimulus: Stimulus, observed: Observed) -> int:
    """The cycle by which all that can be done is done, as nothing has happened for so long."""
    last = max([0, *(a.at for a in stimulus.actions)])
    for link in data.WAYS:
        frames = [*observed.arrived[link], *observed.left[link]]
        last = max([last, *(f.ended for f in frames), *observed.granted[link], *observed.credits[link]])
    holds = [a.cycles for a in stimulus.actions if isinstance(a, Hold) and a.cycles > 0]
    costs = [g.answer.cost for g in judged.answers.given if g.answer.result is not None]
    return last + _CALM + 4 * max([0, *holds]) + max([0, *costs])


# --------------------------------------------------------------------------------------------- when nothing moves


def _at_rest(rule: str, judged: Judged, stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    if any((link, "data") in observed.unfinished for link in data.WAYS):
        return  # the rest of a frame may still come, and others wait for it
    outcome, board, answers = judged.outcome, judged.board, judged.answers
    blocked: set[str] = set()
    lines = []
    for stream in sorted(board.streams):
        for leaving in board.missing(stream):
            if not _held(judged, observed, stream, leaving.link):
                text = f"{leaving.link}: a frame that came by {stream} never left ({described(leaving.data)})"
                lines.append(text)
                continue
            blocked.add(stream)
            break
    unanswered = [a for a in answers.missing() if a.link not in judged.view.down]
    if not blocked:
        held = {a.link for a in unanswered if _held(judged, observed, "own", a.link)}
        # There is one way out of the engine: an answer that has to wait holds up those behind it.
        lines += [
            f"{a.link}: no answer to unit 0x{a.head.unit:X}, whose last segment came by {data.WAYS[a.way]}"
            for a in unanswered
            if not held
        ]
    yield from (Breach(rule, stimulus.cycles, line) for line in lines)
    if lines or judged.breaches or blocked:
        return
    for name, least, most in _counters(judged, observed):
        found = observed.registers[name]
        if not least <= found <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            yield Breach(rule, stimulus.cycles, f"register {name} is {found}, must be {wanted}")
    dropped = outcome.counters["ttl_dropped"] + outcome.counters["data_dropped"] + outcome.either
    total = observed.registers["ttl_dropped"] + observed.registers["data_dropped"]
    if not any(f.channel == "control" for link in data.WAYS for f in observed.arrived[link]) and not (
        dropped <= total <= dropped + outcome.uncertain
    ):
        yield Breach(rule, stimulus.cycles, f"{total} data frames were counted as dropped, must be {dropped}")
    for link in data.WAYS:
        frames = [f for f in observed.arrived[link] if f.channel == "data"]
        taken = [f.began for f in frames if f.sof]
        lost = sum(f.sof and not f.eof for f in frames)
        if link not in judged.view.down:
            yield from given_back(rule, observed, link, taken, lost)


def _held(judged: Judged, observed: Observed, stream: str, link: str) -> bool:
    """A frame of this stream rightly waits for a credit."""
    if link in judged.view.down:
        return False
    came_round = AHEAD.get(link) == stream
    needed = INTO_RING if link in AHEAD and not came_round else ONWARD
    return credits_left(observed, link) < needed


def _counters(judged: Judged, observed: Observed) -> Iterator[tuple[str, int, int]]:
    """(register, least, most)."""
    outcome, engine, answers = judged.outcome, judged.engine, judged.answers
    if not any(f.channel == "control" for link in data.WAYS for f in observed.arrived[link]):
        least = outcome.counters["ttl_dropped"]
        yield "ttl_dropped", least, least + outcome.either + outcome.uncertain
    least = outcome.counters["data_dropped"]
    yield "data_dropped", least, least + outcome.either + outcome.uncertain
    least = engine.counters["data_bad"]
    yield "data_bad", least, least + engine.perhaps_bad
    yield "units_done", *answers.results
    yield "units_refused", *answers.refusals
    crossed, unheard = sum(f.channel == "data" for f in observed.left["boundary"]), 0
    if "boundary" in judged.view.down:  # what is thrown away there counts, too, answers that nobody sees among it
        crossed = sum(one.link == "boundary" for one in outcome.leaving)
        unheard = sum(given.answer.link == "boundary" for given in answers.given)
    yield "crossed", crossed, crossed + unheard
    yield "stalled", 0, 0
