"""What one context costs another one: its share of the engine, whatever it does."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import Compute, Port, ResultStatus

from .programs import Order, frames, payload
from .ring import START, Flits, Program, Sent, play

ATTACKER, BABBLER, VICTIM = 1, 2, 9
MINE, ITS = 5, 6  # keys of the victim, of the other two
SLICE, SWITCH, STEPS = 500, 150, 10
STEP = STEPS * SLICE  # cycles of a launch
FLOOD = 2_000  # commands by each way
BEGIN = START + 200

# What the attacker sends, over and over: to its own context, to the victim's, to new ones and to one that isn't there.
FAR = 10**9
ATTACKS = {
    "full turns": ((Compute.ALLOCATE, ATTACKER, 1), (Compute.QUERY, ATTACKER, 0), (Compute.LAUNCH, ATTACKER, FAR)),
    "short turns": ((Compute.LAUNCH, ATTACKER, 1), (Compute.CANCEL, ATTACKER, 0)),
    "memory": ((Compute.ALLOCATE, ATTACKER, 50), (Compute.FREE, ATTACKER, 50), (Compute.ALLOCATE, ATTACKER, 51)),
    "itself": ((Compute.CONFIGURE, ATTACKER, FAR), (Compute.LAUNCH, ATTACKER, FAR), (Compute.ALLOCATE, ATTACKER, 101)),
    "another's": ((Compute.DESTROY, VICTIM, 0), (Compute.CANCEL, VICTIM, 0), (Compute.LAUNCH, 12, 5)),
    "new ones": ((Compute.CREATE, 3, 1), (Compute.CREATE, 4, 1), (Compute.DESTROY, 3, 0), (Compute.DESTROY, 4, 0)),
}


def command(compute: Compute, context: int, unit: int, amount: int, key: int) -> Order:
    """A command; the attacker's settings are the best that it may have without a longer slice, for which it asks."""
    slice_ = FAR if compute is Compute.CONFIGURE else SLICE
    return Order(compute, context, unit, payload(key, amount, slice_, 255 if key == ITS else 0))


def flood(way: Port, first: int, attack: tuple[tuple[Compute, int, int], ...]) -> Sent:
    """Commands without a pause, for longer than a step takes."""
    parts: list[bytes] = []
    for i in range(FLOOD):
        compute, context, amount = attack[i % len(attack)]
        parts += frames(way, command(compute, context, first + i, amount, ITS))
    return Sent(BEGIN, way, tuple(parts))


def said(out: list[Flits]) -> list[tuple[int, Result | Acknowledgement]]:
    """What leaves the GPU, and when."""
    messages = [(frame.cycles[0], codec.decode(frame.data, link=False)) for frame in out]
    return [(cycle, m) for cycle, m in messages if isinstance(m, Result | Acknowledgement)]


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_step_takes_no_longer_than_calculated(cells: Library, attack: str) -> None:
    """The attacker has a launch that never ends, at the highest priority. It and another context keep two ways in full
    of commands, so that there is one for each time that an answer takes.

    Calculated: every slice of the victim waits for one of the attacker and two switches, and no more.
    """
    start = [
        (Compute.CREATE, ATTACKER, 1, 100, ITS),
        (Compute.CREATE, BABBLER, 1, 100, ITS),
        (Compute.CREATE, VICTIM, 1, 100, MINE),
        (Compute.LAUNCH, ATTACKER, 2, FAR, ITS),
    ]
    sent = [Sent(START + 40 * i, Port.CPU, (*frames(Port.CPU, command(*one)),)) for i, one in enumerate(start)]
    sent.append(Sent(BEGIN, Port.CCW, (*frames(Port.CCW, command(Compute.LAUNCH, VICTIM, 2, STEP, MINE)),)))
    sent += [flood(Port.CW, 10, ATTACKS[attack]), flood(Port.CPU, 10, ((Compute.QUERY, BABBLER, 0),))]
    setup = {"heartbeat": 0, "context_switch": SWITCH, "device_memory": 200}
    calculated = 2 * STEPS * (SLICE + SWITCH)
    played = play(cells, Program(setup, sent), calculated + 500)
    (launch,) = played.into[Port.CCW]
    answers = said(played.out)
    assert len(answers) > 0.9 * calculated / (wire.DATA_FRAME_FLITS - wire.SEGMENT_FLITS + wire.COMMAND_FLITS)
    (end,) = ((c, m) for c, m in answers if isinstance(m, Result) and m.unit == 2 and m.cycles == STEP)
    assert int(end[1].status) == ResultStatus.DONE.code
    assert end[0] - launch.cycles[-1] <= calculated * 1.01
