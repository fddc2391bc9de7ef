"""State of a link: carrier, remote fault, what becomes of frames when it goes and when it comes back."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from ringhil.emulator.conformance.credit_check import uses
from ringhil.emulator.conformance.data_board import DataBoard
from ringhil.emulator.conformance.data_frames import Place, roles
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.switch import foreign
from ringhil.emulator.conformance.steady import judge_control, view_of
from ringhil.emulator.conformance.timeline import Span, bit, readings, refused, setting, silent
from ringhil.emulator.documents import one
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import compute, control, data
from ringhil.emulator.testbench.reference.control import IN, OUT, OUTWARD, ControlOutcome
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.scoreboard import difference
from ringhil.emulator.testbench.stimulus import Action, Carrier, Mark, Peek, Poke, Post, Send, Stimulus
from ringhil.emulator.trace.naming import described
from ringhil.protocol import wire
from ringhil.protocol.wire import BY_PORT, DATA_SLOTS, LINKS

SOON = 10  # cycles within which the credits of a link that is used again are given
TOLD = 3  # cycles from the loss of the carrier to the remote-fault mark at the far end
BACK = 4  # cycles beyond link_restore
EARLY = 2  # cycles by which its time may seem shorter: it may run from the loss, and its end shows a cycle later
DOWN: dict[str, str] = dict(zip(LINKS, ("wrap_port1", "wrap_port2", "host_down", "boundary_down"), strict=True))


def _away(observed: Observed, link: str) -> list[Span]:
    """Cycles in which the far end gives the node cause not to use the link: no carrier, or marked as not used."""
    merged: list[Span] = []
    for span in sorted([*silent(observed, link), *refused(observed, link)], key=lambda s: s.begin):
        if merged and span.begin <= merged[-1].end:
            merged[-1] = Span(merged[-1].begin, max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


class _End:
    """What the node's own end of a link must say, cycle by cycle; None where it may say either: just after a change,
    and where a few cycles more or less decide how things go on."""

    def __init__(self, observed: Observed, link: str, restore: int, cycles: int) -> None:
        spans = silent(observed, link), refused(observed, link)
        self._runs = [_run(*spans, restore + late, cycles) for late in (-EARLY, BACK)]

    def _always(self, cycle: int, states: str) -> bool | None:
        """The state is among `states` all the time just before this cycle, or never."""
        seen = {run[c] in states for run in self._runs for c in range(max(cycle - TOLD, 0), cycle + 1)}
        return seen.pop() if len(seen) == 1 else None

    def fault(self, cycle: int) -> bool | None:
        """Its remote-fault mark: from the loss until the carrier has been back for link_restore cycles."""
        return self._always(cycle, "D")

    def down(self, cycle: int) -> bool | None:
        """It doesn't use the link: until both ends have said that they would."""
        return self._always(cycle, "DR")

    def losses(self) -> tuple[int, int]:
        """How many times it stopped using the link: at least, at most."""
        counts = [run[:end].count("AD") for run in self._runs for end in (len(run), len(run) - 2 * TOLD)]
        return min(counts), max(counts)


def _run(dark: Sequence[Span], marked: Sequence[Span], restore: int, cycles: int) -> str:
    """The state in each cycle, as fast as it may change: Active, Down, or Ready to be used again."""
    states, state, lit = [], "A", 0
    for cycle in range(cycles):
        states.append(state)
        up, refuses = not any(cycle in s for s in dark), any(cycle in s for s in marked)
        lit = lit + 1 if up and state == "D" else 0
        if not up or (state == "A" and refuses):
            state = "D"
        elif state == "D" and lit > restore:
            state = "R"
        elif state == "R" and not refuses:
            state = "A"
    return "".join(states)


def state_told(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Marks, status bits and the counter of wraps."""
    restore, breaches = setting(stimulus, "link_restore"), []
    fewest = most = 0
    for link in LINKS:
        end = _End(observed, link, restore, stimulus.cycles + 1)
        mark, changes = False, {cycle: fault for cycle, _up, fault in observed.levels[link]}
        for cycle in range(stimulus.cycles):
            mark = changes.get(cycle, mark)
            if end.fault(cycle) not in (None, mark):
                text = f"{link}: remote-fault mark is {'on' if mark else 'off'}, must be {'off' if mark else 'on'}"
                breaches.append(Breach(rule_name, cycle, f"{text} (link_restore is {restore})"))
                break
        for cycle, value in readings(observed, "status"):
            if end.down(cycle) not in (None, bit(value, DOWN[link])):
                text = f"status 0x{value:03X}: {DOWN[link]} must be {int(not bit(value, DOWN[link]))}"
                breaches.append(Breach(rule_name, cycle, text))
        breaches += [Breach(rule_name, c, f"{link}: carrier off") for c, up, _f in observed.levels[link] if not up]
        if link in OUT:
            few, many = end.losses()
            fewest, most = fewest + few, most + many
    if not fewest <= observed.registers["wraps"] <= most:
        text = f"register wraps is {observed.registers['wraps']}, ring ports went down {most} times"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    return breaches


@rule("link.down", "a link without carrier, or refused by the far end, is down at once; the far end is told", "R6")
def down(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(state_told, "link.down")
    for link in LINKS:
        for index in range(effort):
            actions: list[Action] = [*QUIET, Poke(5, "link_restore", rng.randrange(4, 30))]
            at = 20 + rng.randrange(20)
            actions += [Carrier(at, link, False)]
            # Hundreds of cycles later it is still down; then it comes back.
            actions += [Peek(at + i, "status") for i in (4, 5, 60)]
            back = at + 100 + rng.randrange(30)
            actions += [Carrier(back, link, True), Peek(back + 60, "status")]
            at = back + 80
            actions += [Mark(at, link, True), Peek(at + 4, "status"), Peek(at + 60, "status")]
            actions += [Mark(at + 80, link, False), Peek(at + 120, "status")]
            yield RuleCase(f"{link} {index}", Stimulus.of(actions, tail=30), judge)
    for first, second in (("p1", "p2"), ("p2", "p1"), ("host", "p1"), ("p2", "boundary")):
        # One goes while the other is gone, and comes back before it, with it or behind it.
        actions, at = [*QUIET, Poke(5, "link_restore", 8)], 20
        for goes, back in ((30, 60), (30, 80), (30, 100), (0, 80)):
            actions += [Carrier(at, first, False), Carrier(at + goes, second, False), Peek(at + goes + 5, "status")]
            actions += [Carrier(at + 80, first, True), Carrier(at + back, second, True), Peek(at + 70, "status")]
            actions += [Peek(at + 98, "status"), Peek(at + 130, "status")]
            at += 140
        yield RuleCase(f"{second} beside {first}", Stimulus.of(actions, tail=30), judge)


@rule("link.restore", "a link is used again when both ends have had carrier for link_restore cycles and say so", "R6")
def restore(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(state_told, "link.restore")
    for link in LINKS:
        for index in range(effort):
            wait = rng.choice([4, 40, 136])
            actions: list[Action] = [*QUIET, Poke(5, "link_restore", wait)]
            at = 20
            # The far end needs longer, then shorter than this one.
            for longer in (True, False):
                back = at + rng.randrange(1, 40)
                actions += [Carrier(at, link, False), Mark(at + 1, link, True), Carrier(back, link, True)]
                ready = back + wait + 20 if longer else back + wait // 2
                actions += [Peek(c, "status") for c in (back + wait - 2, ready - 3, back + wait + 10, ready + 12)]
                actions += [Mark(ready, link, False)]
                at = back + wait + 60
            # A carrier that comes and goes faster is no carrier.
            for _ in range(3):
                actions += [Carrier(at, link, False), Carrier(at + 3, link, True), Peek(at + 5, "status")]
                at += wait // 2 + 4
            actions += [Peek(at + wait + 30, "status")]
            # Ready, and waiting for the far end, it loses its carrier again.
            begin, ready = at + wait + 40, at + 2 * wait + 60
            actions += [Carrier(begin, link, False), Mark(begin + 1, link, True), Carrier(begin + 10, link, True)]
            actions += [Peek(ready - 1, "status"), Carrier(ready, link, False), Carrier(ready + 10, link, True)]
            actions += [Mark(ready + 20, link, False), Peek(ready + 26, "status"), Peek(ready + wait + 30, "status")]
            yield RuleCase(f"{link} {wait} {index}", Stimulus.of(actions, tail=30), judge)


# ------------------------------------------------------------------------------------------------------------- cut


def _cut(rule_name: str, lane: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The link into a lane is cut again and again: what arrived whole goes on once, nothing else does as good."""
    view, breaches = view_of(stimulus), []
    losses = len(_away(observed, IN[lane]))
    whole = [f for f in observed.arrived[IN[lane]] if f.channel == "control" and f.good]
    ways: list[ControlOutcome] = []
    for frame in whole:
        ways.append(ControlOutcome())
        control.arrive(frame, lane, view, ways[-1])
    waiting, spoilt = list(range(len(whole))), 0
    for found in observed.left[OUT[lane]]:
        if not found.good:
            spoilt += 1
            if not (found.sof and found.eof and found.err):
                text = f"{OUT[lane]}: a cut frame left damaged and without the mark ({found.title})"
                breaches.append(Breach(rule_name, found.ended, text))
            continue
        place = next((i for i in waiting if _same(ways[i], found)), None)
        if place is None:
            text = f"{OUT[lane]}: a good frame left that did not arrive as one ({found.title})"
            breaches.append(Breach(rule_name, found.ended, text))
        else:
            waiting.remove(place)
    for mail in observed.mail:
        if mail.port != lane:
            continue
        if mail.bad:
            spoilt += 1
            continue
        place = next((i for i in waiting if any(m.data[:-4] == mail.data[:-4] for m in ways[i].mail)), None)
        if place is None or not mail.whole:
            text = f"mailbox {lane}: a frame handed over as good that did not arrive so ({described(mail.data)})"
            breaches.append(Breach(rule_name, mail.ended, text))
        else:
            waiting.remove(place)
    if spoilt > losses:
        text = f"{spoilt} marked frames after {losses} losses of the link: one was counted whole, or another one cut"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    errors = observed.registers[f"rx_bad_port{lane + 1}"]
    if errors != spoilt:
        text = f"register rx_bad_port{lane + 1} is {errors}, {spoilt} cut frames were ended with the mark"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    for i in waiting:
        if whole[i].ended + 200 < stimulus.cycles:
            text = f"{OUT[lane]}: a {whole[i].kind} frame was lost that had arrived whole"
            breaches.append(Breach(rule_name, whole[i].ended, text))
    return breaches


def _same(way: ControlOutcome, found: RingFrame) -> bool:
    """Both frames are the same but for the record's error count, which rises with every cut."""
    for leaving in way.leaving:
        if difference(leaving, found) is None:
            return True
        at = leaving.record_at
        if at is not None and len(found.data) == len(leaving.data):
            errors = found.data[at + 10 : at + 11]
            if (
                difference(replace(leaving, data=leaving.data[: at + 10] + errors + leaving.data[at + 11 :]), found)
                is None
            ):
                return True
    return False


@rule("link.cut", "a frame cut by the loss of its link ends with the mark, in whatever cycle; no receiver accepts it")
def cut(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for lane, link in enumerate(IN):
        place = straps(rng)
        judge = partial(_cut, "link.cut", lane)
        actions: list[Action] = [*QUIET, Poke(5, "link_restore", 4)]
        at = 20
        for offset in list(range(16)) * effort:
            frames = [foreign(rng, place, rng.choice((5, 9, 13))) for _ in range(2)]
            if rng.random() < 0.4:
                frames[0] = RingFrame.of(other_control(rng, card=place["card"], home=place["node"], ttl=2))
            for frame in frames:
                actions.append(Send(at, link, frame))
            actions += [Carrier(at + offset, link, False), Carrier(at + offset + 3, link, True)]
            at += offset + 70
            actions.append(Send(at, link, foreign(rng, place)))
            at += 60
        yield RuleCase(f"{link}", Stimulus.of(actions, tail=300, **place), judge)


def _ends_alone(rule_name: str, link: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What came by one link, whole or cut, has gone where it had to, with an end."""
    view = view_of(stimulus)
    breaches = judge_control(rule_name, stimulus, observed, view)
    if link not in IN:
        came = [f for f in observed.arrived[link] if f.channel == "control" and f.sof]
        mails = [m for m in observed.mail if m.port == LINKS.index(link)]
        if [m.bad for m in mails] != [not f.good for f in came]:
            text = f"mailbox {LINKS.index(link)}: {len(mails)} frames were handed over, {sum(m.bad for m in mails)} of"
            text += f" them as bad; {len(came)} came by {link}, and {sum(not f.good for f in came)} lost their end"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    outcome, engine = data.DataOutcome(), compute.ComputeEngine(view)
    sent = (f for f in observed.arrived[link] if f.channel == "data")
    data.arrive_all(sent, LINKS.index(link), view, outcome)
    board = DataBoard(outcome.leaving, view.longest)
    for out in LINKS:
        for frame in (f for f in observed.left[out] if f.channel == "data"):
            complaint = None if compute.own_answer(frame, view) else board.saw(out, frame)[1]
            if complaint is not None:
                breaches.append(Breach(rule_name, frame.ended, complaint))
    for leaving in board.missing(link):
        text = f"{leaving.link}: a frame that came by {link} has not left, or not ended ({described(leaving.data)})"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    for taken in outcome.engine:
        engine.take(taken)
    least, found = engine.counters["data_bad"], observed.registers["data_bad"]
    if not breaches and not least <= found <= least + engine.perhaps_bad:
        breaches.append(Breach(rule_name, stimulus.cycles, f"register data_bad is {found}, must be {least}"))
    return sorted(breaches, key=lambda b: b.cycle)


@rule("link.alone", "a frame cut by the loss of its link is ended though nothing ever follows, on every port", "R6")
def alone(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for link in LINKS:
        judge = partial(_ends_alone, "link.alone", link)
        for index, offset in enumerate(rng.sample(range(1, 25), 6 * min(effort, 4))):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            straps = place.straps
            card, home = rng.choice(
                [(5, 0), (2, 1), (2, 4), (2, 4)] if link != "boundary" else [(2, 1), (2, 4), (2, 4)]
            )
            actions: list[Action] = [
                *QUIET,
                *(Poke(6 + i, name, v) for i, (name, v) in enumerate(place.settings.items())),
            ]
            control = foreign(rng, straps, rng.choice((5, 9, 13)))
            if rng.random() < 0.3:
                control = RingFrame.of(other_control(rng, card=2, home=1, ttl=2))
            # One alone, or a control frame between the flits of a data frame.
            if index % 3 != 1:
                actions.append(Send(20, link, place.work(card, home, ttl=4, flits=rng.choice((8, 20, 32)))))
            if index % 3 != 2:
                actions.append(Send(20 + rng.randrange(max(offset - 1, 1)), link, control))
            actions.append(Carrier(21 + offset, link, False))
            yield RuleCase(f"{link} {index}", Stimulus.of(actions, tail=120, **straps), judge)


# ------------------------------------------------------------------------------------------------------------ credits


def _fresh(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Nothing was sent: each time a link is used again the node gives a credit for each of its slots, and no others."""
    breaches = []
    for link in LINKS:
        spans = uses(observed, link)
        for use in spans:
            given = sum(use.first <= c <= use.last for c in observed.credits[link])
            wanted = DATA_SLOTS - use.credits
            if given != wanted and min(use.last, stimulus.cycles) - use.first > SOON:
                text = f"{link}: {given} credits given since cycle {use.first}, must be {wanted}"
                breaches.append(Breach("link.fresh", use.first, text))
    return breaches


@rule("link.fresh", "whenever a link is used again, a credit is given for each free slot, at once", "R6")
def fresh(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        actions: list[Action] = [*QUIET, Poke(5, "link_restore", rng.randrange(5, 30))]
        for link in LINKS:
            at = 20
            for _ in range(4):
                at += rng.randrange(60, 120)
                away = rng.choice([1, 2, rng.randrange(3, 60)])
                kind = rng.random() < 0.5
                actions += [Carrier(at, link, False) if kind else Mark(at, link, True)]
                actions += [Carrier(at + away, link, True) if kind else Mark(at + away, link, False)]
                at += away
        yield RuleCase(f"fresh {index}", Stimulus.of(actions, **straps(rng)), _fresh)


# ------------------------------------------------------------------------------------------------------- turned round


def _turn(rule_name: str, lane: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The link out of a lane goes and comes back under way: each frame goes on in one way or the other, at most once;
    only one that was on its way when the link changed may be lost."""
    here, there, breaches = OUT[lane], IN[lane], []
    straight, turned = view_of(stimulus), view_of(stimulus, NodeView(down=frozenset({here})))
    restore, changes = setting(stimulus, "link_restore"), []
    away = _away(observed, here)
    for span in away:
        changes += [(span.begin - 2, span.begin + 2), (span.end - 2, span.end + restore + BACK)]
    gone: set[int] = set()
    whole = [f for f in observed.arrived[there] if f.channel == "control" and f.good]
    on, back = [], []
    for frame in whole:
        outcomes = ControlOutcome(), ControlOutcome()
        control.arrive(frame, lane, straight, outcomes[0])
        control.arrive(frame, lane, turned, outcomes[1])
        on.append([leaving for leaving in outcomes[0].leaving if leaving.link == here])
        back.append([leaving for leaving in outcomes[1].leaving if leaving.link == there])
    wrapped = wire.Flag.WRAPPED
    for link, ways in ((here, on), (there, back)):
        for found in observed.left[link]:
            if not found.good:
                given_up = link == here and not found.eof and not _heard(observed, link, found.ended + 2)
                if not given_up and not (found.sof and found.eof and found.err):
                    breaches.append(
                        Breach(rule_name, found.ended, f"{link}: a frame left damaged and without the mark")
                    )
                continue
            if link == here and int.from_bytes(found.data[2:4], "big") & wrapped:
                if _heard(observed, link, found.began):
                    text = f"{link}: a frame left with the flag wrapped, by a link that both ends use"
                    breaches.append(Breach(rule_name, found.began, f"{text} ({found.title})"))
                continue  # else nobody hears it
            # No hop changes whose frame it is, and which: the costly comparison is for those alone.
            which = found.data[6:16]
            near = [(i, leaving) for i, way in enumerate(ways) for leaving in way if leaving.data[6:16] == which]
            matches = [i for i, leaving in near if difference(leaving, found) is None]
            if not matches or (link == there and matches[0] in gone):
                text = f"{link}: a good frame left that should not, or not again ({found.title})"
                breaches.append(Breach(rule_name, found.ended, text))
            gone.update(matches)
    for i, frame in enumerate(whole):
        steady = all(frame.ended + 80 < begin or end < frame.began for begin, end in changes)
        if steady and i not in gone and frame.ended + 200 < stimulus.cycles:
            text = f"{one(frame.kind)} frame was lost while {here} didn't change"
            breaches.append(Breach(rule_name, frame.ended, text))
    return breaches


def _heard(observed: Observed, link: str, cycle: int) -> bool:
    """What leaves in this cycle is heard: both ends have carrier, and had taken their marks off the cycle before."""
    own = False
    for changed, _up, fault in observed.levels[link]:
        own = fault if changed < cycle else own
    return not own and not any(cycle - 1 in span for span in _away(observed, link))


@rule("link.turn", "a frame under way when a link goes or comes back goes one way or the other, or is lost: never half")
def turn(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for lane, link in enumerate(OUT):
        place = straps(rng)
        actions: list[Action] = [*QUIET, Poke(5, "link_restore", 4)]
        at = 20
        for offset, later in product(list(range(16)) * effort, (False, True)):
            for i in range(2):
                actions.append(Send(at + 25 * i, IN[lane], foreign(rng, place, rng.choice((5, 9, 13)))))
            actions += [Carrier(at + offset, link, False)]
            at += 50 + offset
            for i in range(2):
                actions.append(Send(at + 25 * i, IN[lane], foreign(rng, place, rng.choice((5, 9, 13)))))
            if later:  # the far end is
                actions += [Mark(at - 20, link, True), Carrier(at - 15, link, True), Mark(at + offset, link, False)]
            else:
                actions += [Carrier(at + offset, link, True)]
            at += 90 + offset
        yield RuleCase(f"{link}", Stimulus.of(actions, tail=300, **place), partial(_turn, "link.turn", lane))


# ---------------------------------------------------------------------------------------------------- leaving ports


def _lost(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Frames for a dead host or boundary link are gone by the time it is back, and hold up nothing."""
    name, restore, breaches = "link.lost", setting(stimulus, "link_restore"), []
    heard = sum(isinstance(a, Post) for a in stimulus.actions) <= setting(stimulus, "allowance")
    for port, link in (*OUTWARD, *enumerate(OUT)):
        posts = [a for a in stimulus.actions if isinstance(a, Post) and a.port == port]
        spans = silent(observed, link)
        left = {frame.data[6:16]: frame for frame in observed.left[link]}
        for post in posts:
            frame = left.get(post.data[6:16])
            during = next((s for s in spans if s.begin <= post.at + 2 and post.at + 60 < s.end), None)
            touched = any(s.begin - 60 <= post.at <= s.end + restore + BACK for s in spans)
            if during is not None and frame is not None and frame.began > during.end:
                text = f"{link}: a frame of cycle {post.at} left in cycle {frame.began}, after the link had come back"
                breaches.append(Breach(name, frame.began, text))
            if heard and not touched and frame is None and post.at + 300 < stimulus.cycles:
                text = f"{link}: a frame of cycle {post.at} never left ({described(post.data)})"
                breaches.append(Breach(name, stimulus.cycles, text))
    for mail in observed.mail:
        breaches.append(Breach(name, mail.ended, f"mailbox {mail.port}: a frame was handed over that nobody sent"))
    return breaches


@rule("link.lost", "control frames for a dead link to the CPU or another card are lost, not queued for ever")
def lost(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for _, link in OUTWARD:
        for index in range(effort):
            place = straps(rng)
            actions: list[Action] = [*QUIET, Poke(5, "link_restore", 10), Carrier(30, link, False)]
            at = 20
            for _ in range(30):
                # More than the queue of a port holds.
                data = other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=2)
                other = rng.random() < 0.3
                port = rng.randrange(4) if other else BY_PORT.index(link)
                actions.append(Post(at, port, data))
                at += rng.randrange(5, 20)
            actions += [Carrier(at + 100, link, True)]
            for i in range(4):
                data = other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=2)
                actions.append(Post(at + 150 + 30 * i, i, data))
            yield RuleCase(f"{link} {index}", Stimulus.of(actions, tail=400, **place), _lost)
