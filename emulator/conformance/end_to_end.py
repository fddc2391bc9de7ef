"""What is watched of end-to-end CRCs in every case: no hop changes them, and the GPU's own frames have right ones."""

from collections.abc import Iterator

from ringhil.emulator.conformance.standing import babbled, head_of, name_of
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Fault, Post, Stimulus
from ringhil.protocol import crc, wire

CHECKED = "link.e2e"
DEMANDS = {
    CHECKED: "every good frame leaves with a right end-to-end CRC, unless it came, or was written, with a wrong one"
}


def checked(stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    """Frames that left good on their link, whoever made them. A corrupt GPU damages control frames behind the back of
    both CRCs, and a babbling GPU's have no right one."""
    corrupt = any(isinstance(a, Fault) and a.name == "corrupt" for a in stimulus.actions)
    wrong = [
        (link, frame)
        for link, frames in observed.left.items()
        for frame in frames
        if not (right_end_to_end(frame) or babbled(frame) or (corrupt and frame.channel == "control")) and frame.good
    ]
    if not wrong:
        return
    came = [f for frames in observed.arrived.values() for f in frames if f.sof]
    came += [RingFrame(a.data, "control") for a in stimulus.actions if isinstance(a, Post)]
    as_it_was = {named(f) for f in came if not right_end_to_end(f) for named in (name_of, head_of)}
    for link, frame in wrong:
        if name_of(frame) not in as_it_was and head_of(frame) not in as_it_was:
            found, wanted = int.from_bytes(frame.data[-8:-4], "big"), crc.e2e_crc(frame.data)
            text = f"{link}: a {frame.kind} frame with end-to-end CRC 0x{found:08X}, must be 0x{wanted:08X}"
            yield Breach(CHECKED, frame.ended, text)


def right_end_to_end(frame: RingFrame) -> bool:
    """The end-to-end CRC is right."""
    data = frame.data
    return len(data) > wire.FLIT_BYTES and int.from_bytes(data[-8:-4], "big") == crc.e2e_crc(data)
