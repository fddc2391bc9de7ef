"""Judges frames while a node's state doesn't change: everything that arrives must follow the reference model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import control
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.scoreboard import Scoreboard
from ringhil.emulator.testbench.stimulus import Carrier, Poke, Post, Stimulus

CONTROL_COUNTERS = (
    *("forwarded", "rx_bad_port1", "rx_bad_port2", "marked_port1", "marked_port2"),
    *("ttl_dropped", "purged", "trips", "mutes", "overflowed"),
)


def view_of(stimulus: Stimulus, view: NodeView | None = None) -> NodeView:
    """Straps and register settings of a stimulus whose writes come before its frames."""
    given = view if view is not None else NodeView()
    settings = {a.register: a.value for a in stimulus.actions if isinstance(a, Poke) and isinstance(a.register, str)}
    down = given.down & {a.link for a in stimulus.actions if isinstance(a, Carrier) and not a.up}
    return replace(given, card=stimulus.card, node=stimulus.node, size=stimulus.size, settings=settings, down=down)


def judge_control(rule: str, stimulus: Stimulus, observed: Observed, view: NodeView | None = None) -> list[Breach]:
    """Frames, mail and counters of the control channel against the reference model. `view`: what else holds from the
    first to the last frame (links that are down, a GPU that takes no part, faults)."""
    seen = view_of(stimulus, view)
    outcome = control.ControlOutcome()
    for lane, link in enumerate(control.IN):
        control.arrive_all(_on(observed.arrived[link], "control"), lane, seen, outcome)
    for action in stimulus.actions:
        if isinstance(action, Post) and action.finished and action.begun and action.port < 2:
            control.originate(action.data, action.port, action.at, seen, outcome)
    board = Scoreboard()
    board.expect(outcome.leaving, outcome.mail)
    breaches = []
    for link in control.OUT:
        for frame in _on(observed.left[link], "control"):
            complaint = board.saw(link, frame)
            if complaint is not None:
                breaches.append(Breach(rule, frame.ended, complaint))
    for mail in observed.mail:
        complaint = board.saw_mail(mail) if mail.port < 2 else None
        if complaint is not None:
            breaches.append(Breach(rule, mail.ended, complaint))
    stuck = [control.OUT[lane] for lane, link in enumerate(control.IN) if (link, "control") in observed.unfinished]
    breaches += [Breach(rule, stimulus.cycles, line) for line in board.missing(stuck)]
    # A frame whose end never came may have been counted at its beginning.
    sure = not (breaches or outcome.uncertain or stuck)
    for name in CONTROL_COUNTERS:
        if sure and observed.registers[name] != outcome.counters[name]:
            text = f"register {name} is {observed.registers[name]}, must be {outcome.counters[name]}"
            breaches.append(Breach(rule, stimulus.cycles, text))
    return sorted(breaches, key=lambda b: b.cycle)


def _on(frames: Sequence[RingFrame], channel: str) -> Iterable[RingFrame]:
    return (frame for frame in frames if frame.channel == channel)
