"""Commands to contexts as the judge reads them off the frames that the CPU sends: once, for all its parts that ask.

The fields: docs/reference/contexts.md. Names and numbers come from the protocol, none from the CPU's software,
which is judged.
"""

import struct
from typing import NamedTuple

from ringhil.emulator.host.contexts.command import Gpu
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import COMMAND_FLITS, FIRST_COMMAND, FLIT_BYTES, AckStatus, Compute

Place = tuple[int, int, int]  # card, number and context

MANAGER = 0  # the key of whoever manages the GPU
REACHED_NOBODY = {each.code: str(each) for each in (AckStatus.BUSY, AckStatus.INCOMPLETE)}  # asked for again
# Why it isn't known what there is in a GPU.
TWINS = "a GPU has answered by another one's number"
SPOKEN = "a driver outside has spoken to a context of its tasks"
MANY_ATTEMPTS = 20  # of thirty: some may have gone to nobody, as the card had no entry GPU

# The fields of the frame and of `wire.Command`, whose own parser takes 40 times as long.
_FIELDS = struct.Struct(f"{Work.HEAD.format}IIII")
_COMPUTE = {each.code: each for each in Compute}
_DATA_AT = COMMAND_FLITS * FLIT_BYTES  # of the payload
_PRIORITY_AT = 24  # bit of the last word, above the state


class SeenCommand(NamedTuple):
    """`compute` None: one that doesn't exist. `amount`: pages or cycles, or what a query asks for; `slice`, `state`:
    cycles; `data_bytes`: those that a copy brings."""

    unit: int
    attempt: int
    gpu: Gpu
    context: int
    compute: Compute | None
    key: int
    amount: int
    slice: int
    priority: int
    state: int
    data_bytes: int

    @property
    def place(self) -> Place:
        """The context that it is for."""
        return (*self.gpu, self.context)


def seen_command(frame: bytes) -> SeenCommand | None:
    """The command that begins with this frame; None: none does, or it is too short for its fields. Further
    segments only carry on what a copy brings."""
    if len(frame) < _FIELDS.size or frame[0] != Work.KIND:
        return None
    _, card, _, _, gpu, _, unit, _, attempt, segment, here, length, code, _, context, key, amount, cycles, last = (
        _FIELDS.unpack_from(frame)
    )
    if unit < FIRST_COMMAND or segment or here < _DATA_AT:
        return None
    priority, state = divmod(last, 1 << _PRIORITY_AT)
    compute, data_bytes = _COMPUTE.get(code), length - _DATA_AT
    return SeenCommand(unit, attempt, (card, gpu), context, compute, key, amount, cycles, priority, state, data_bytes)
