"""A command in every cycle of a round of two contexts and a plain unit: the very cycles in which turns begin and end,
too.
"""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.protocol.wire import Compute, Port, Query

from .judged import judge
from .programs import Order, frames, payload
from .ring import START, Change, Program, Sent, play

FIRST, SECOND = 3, 4
KEY, SLICE, SWITCH, PLAIN = 5, 16, 4, 9
ROUND = 2 * (SLICE + SWITCH) + SWITCH + PLAIN + 4
AT = START + 400  # the first cycle of all
ARRIVES = 12  # cycles until the command has reached the engine
COMMANDS = {
    "cancel": (Compute.CANCEL, SECOND, 0),
    "destroy": (Compute.DESTROY, SECOND, 0),
    "configure": (Compute.CONFIGURE, FIRST, 7),
    "launch": (Compute.LAUNCH, FIRST, 0),
    "query": (Compute.QUERY, SECOND, Query.LAUNCH.code),
}


def order(unit: int, compute: Compute, context: int, amount: int, priority: int = 0, slice_: int = SLICE) -> Order:
    """A command with the key of both contexts; who configures one manages the GPU."""
    key = 0 if compute is Compute.CONFIGURE else KEY
    return Order(compute, context, unit, payload(key, amount, slice_, priority))


def program(compute: Compute, context: int, amount: int, cycle: int, length: int) -> Program:
    """Both contexts run launches of `length` cycles, with plain units in between; then the command, then questions."""
    orders = [(0, order(1, Compute.CREATE, FIRST, 9)), (20, order(1, Compute.CREATE, SECOND, 9, 1))]
    orders += [(AT - START - 40, order(2, Compute.LAUNCH, FIRST, length))]
    orders += [(AT - START - 30, order(2, Compute.LAUNCH, SECOND, length + 5))]
    sent = [Sent(START + at, Port.CW, (*frames(Port.CW, one),)) for at, one in orders]
    for i in range(4):
        sent.append(Sent(AT - 35 + 8 * i, Port.CPU, (*frames(Port.CPU, Order(Compute.DIGEST, 0, 90 + i, bytes(8))),)))
    last = [order(3, compute, context, amount, 2, 24)]
    sent.append(Sent(cycle, Port.CCW, tuple(f for one in last for f in frames(Port.CCW, one))))
    for i, asked in enumerate((Query.RUN_TIME, Query.COUNTS, Query.LAUNCH)):
        for there in (FIRST, SECOND):
            one = order(4 + i, Compute.QUERY, there, asked.code)
            sent.append(Sent(cycle + 400 + 20 * i, Port.CW, (*frames(Port.CW, one),)))
    setup = {"heartbeat": 0, "context_switch": SWITCH, "compute_setup": PLAIN, "compute_per_flit": 0}
    return Program(setup, sent)


QUICK = [*((what, "none") for what in COMMANDS), ("cancel", "slow"), ("cancel", "hang"), ("destroy", "hang")]
ALL = [(what, fault) for what in COMMANDS for fault in ("none", "slow", "hang")]


def checked(what: str, fault: str, cycle: int, length: int) -> None:
    """One program. A GPU that hangs does so when the command has come in and isn't carried out yet."""
    one = program(*COMMANDS[what], cycle, length)
    if fault == "slow":
        one.changes.append(Change(START, fault, 1))
        one.setup["compute_setup"] = PLAIN // 4
    if fault == "hang":
        one.changes += [Change(cycle + ARRIVES + 1, fault, 1), Change(cycle + ARRIVES + 40, fault, 0)]
    verdict = judge(one, play(cells_library(), one, 600))
    assert not verdict.wrong, f"{what} in cycle {cycle}, launches of {length}: {verdict.wrong}"
    assert len(verdict.answers) > 12


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize(("what", "fault"), QUICK)
def test_a_command_in_each_cycle_of_a_round(what: str, fault: str) -> None:
    for cycle in range(AT, AT + ROUND):
        checked(what, fault, cycle, 70)


@pytest.mark.slow(part="contexts")
@pytest.mark.parametrize(("what", "fault"), ALL)
def test_a_command_in_each_cycle_of_two_rounds(what: str, fault: str) -> None:
    for cycle in range(AT, AT + 2 * ROUND):
        for length in (0, 16, 20, 70):
            checked(what, fault, cycle, length)
