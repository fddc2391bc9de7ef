"""In a closed ring what a GPU answers comes back over the other lane."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import FromCpu, ToCpu
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.run import Run
from ringhil.emulator.judge.work.routes import Routes
from ringhil.emulator.scenario import PartKind, loads
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement
from ringhil.protocol.wire import Compute, Flag

from .playing import violations

SCENARIO = loads("server: {cards: {a: {gpus: 6}}}\nworkload: {units: 9, size: 8}\nuntil: 2000\n")


@pytest.fixture(scope="module")
def run() -> Run:
    """Its CPU knows the card."""
    run = Run(SCENARIO, cells_library())
    run.start()
    run.run_to(2000)
    return run


class Judged:
    """What is found of frames between the CPU and GPU 0."""

    def __init__(self, run: Run) -> None:
        self._stream, truths = Stream(), [card.truth for card in run.watch.cards]
        self.wrong = Routes(self._stream, run.server.wiring, run.server.cpu.cards, truths, 0).wrong

    def sent(self, frame: bytes, now: int) -> None:
        self._stream.tell(FromCpu(now, 0, 0, frame))

    def answered(self, frame: bytes, now: int) -> None:
        self._stream.tell(ToCpu(now, 0, 1, frame))


def work(run: Run, gpu: int, *, ccw: bool, attempt: int = 1) -> bytes:
    (view,) = run.server.cpu.cards
    assert isinstance(view, CardView)
    route = segments.Route(0, 0, 0, gpu, ccw, 7, view.epoch)
    return next(iter(segments.segments(3, attempt, bytes(8), route)))


def answer(gpu: int, *, ccw: bool, attempt: int = 1) -> bytes:
    flags = Flag.TO_HOST | (Flag.CCW if ccw else 0)
    return codec.encode(Acknowledgement(0, flags, 7, 0, 1, 3, gpu, attempt, 1, 0, 0))


@pytest.mark.parametrize("ccw", [False, True])
def test_over_the_same_lane_is_named(run: Run, ccw: bool) -> None:
    judged = Judged(run)
    judged.sent(work(run, 2, ccw=ccw), 2000)
    said = len(judged.wrong)
    judged.answered(answer(2, ccw=not ccw), 2100)
    assert judged.wrong[said:] == []
    judged.answered(answer(2, ccw=ccw), 2100)
    assert [str(each) for each in judged.wrong[said:]] == [
        f"unit 3 was answered {'counter-' if ccw else ''}clockwise at cycle 2100, as it was sent"
    ]


def test_another_attempt_or_the_entry_gpu_itself_is_not(run: Run) -> None:
    judged = Judged(run)
    judged.sent(work(run, 2, ccw=False), 2000)
    judged.answered(answer(2, ccw=False, attempt=2), 2100)
    judged.sent(work(run, 0, ccw=False), 2200)
    judged.answered(answer(0, ccw=False), 2300)
    assert [str(each) for each in judged.wrong if "answered" in str(each)] == []


def test_nor_is_a_ring_that_has_been_cut_since(run: Run) -> None:
    judged, truth = Judged(run), run.watch.cards[0].truth
    judged.sent(work(run, 2, ccw=False), 2000)
    truth.change((PartKind.LINK, 4), "link_cut", True, "link_cut", 2050)
    truth.change((PartKind.LINK, 4), "link_cut", False, "link_cut", 2060)
    judged.answered(answer(2, ccw=False), 2100)
    assert [str(each) for each in judged.wrong if "answered" in str(each)] == []


COMMANDS_AND_WORK = """
seed: 9
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3}}
  boundary_links: [{from: a.2, to: b.1}]
  settings: {device_memory: 4096}
workload: {units: 40, size: 700, across: 50}
sharing:
  applications:
    p: {gpu: a.3, steps: 5, compute: 900, input: 900}
    q: {gpu: b.2, steps: 5, compute: 900}
timeline:
  - {at: 7000, fault: dead, gpu: a.0}
"""


def test_commands_beside_work_go_as_they_must() -> None:
    """They have a computation and a context, and don't go across; neither is said to be wrong."""
    assert violations(COMMANDS_AND_WORK) == ()


def test_a_command_on_the_wrong_lane_is_named(run: Run) -> None:
    judged = Judged(run)
    (view,) = run.server.cpu.cards
    sent = segments.segments(1 << 31, 1, bytes(16), segments.Route(0, 0, 0, 2, True, 7, view.epoch), Compute.QUERY, 3)
    judged.sent(next(iter(sent)), 2000)
    assert [str(each) for each in judged.wrong] == [
        "unit 2147483648 was sent at cycle 2000: attempt 1 goes counter-clockwise from GPU 0 to GPU 2"
    ]
