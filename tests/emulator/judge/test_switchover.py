"""When the hardware has switched over is read off the engine's reports, in the cycle in which a look would find it."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.registers import ADDRESS, StatusBit

SERVER = "server: {cards: {a: {gpus: 4}}}\nuntil: 12000\ntimeline:\n  - {at: 6000, fault: "
BYPASSED = StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW


@pytest.mark.parametrize(
    ("event", "gpu", "bits"),
    [
        ("dead, gpu: a.2", 2, BYPASSED),
        ("link_cut, link: a.1-a.2", 2, StatusBit.WRAP_PORT1),
    ],
)
def test_it_is_noted_as_looking_in_every_cycle_finds_it(event: str, gpu: int, bits: int) -> None:
    text = f"{SERVER}{event}}}\n"
    (recovery,) = Run(loads(text), cells_library()).run().recoveries
    looked = Run(loads(text), cells_library())
    looked.start()
    looked.run_to(6001)
    while looked.engine.peek(gpu, "status") & bits != bits:
        looked.run_to(looked.kernel.now + 1)
        assert looked.kernel.now < 12_000
    assert recovery.switched == looked.kernel.now
    looked.close()


def test_what_another_register_reads_is_no_status() -> None:
    """Somebody may watch other registers of a GPU that is to leave the ring."""
    run = Run(
        loads("server: {cards: {a: {gpus: 4}}}\ntimeline: [{at: 10300, fault: dead, gpu: a.3}]\n"), cells_library()
    )
    run.start()
    run.run_to(10_301)
    (awaited,) = run.judge._switchovers._awaited
    before = dict(awaited.status)
    run.observations.tell(RegisterChanged(10_301, 3, ADDRESS["memory_held"], 3))
    assert awaited.status == before
    run.close()
