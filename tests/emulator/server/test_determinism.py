"""The same scenario gives the same run: every frame in every mailbox at the same cycle, byte for byte."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.events.hardware import ToCpu, ToFirmware
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

# A bit of everything: two cards and what joins them, elections, luck, work before, during and after.
SCENARIO = """
name: a busy day
seed: 11
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}, b: {gpus: 5, host_links: [2, 3]}}
  boundary_links: [{from: [a.4, a.3], to: [b.0, b.1]}]
  settings: {census_period: 1500}
workload: {units: 500, size: 700, across: 30}
timeline:
  - {at: 2100, fault: hang, gpu: a.3}
  - {at: 2105, fault: link_cut, link: b.3-b.4}
  - {at: 3333, fault: corrupt, gpu: a.1}
  - {at: 7777, clear: corrupt, gpu: a.1}
  - {at: 8000, clear: hang, gpu: a.3}
  - {at: 8000, fault: dead, gpu: b.2}
  - {at: 9100, fault: babble, gpu: a.5}
  - {at: 14000, clear: babble, gpu: a.5}
  - {at: 16000, clear: dead, gpu: b.2}
  - {at: 17000, clear: link_cut, link: b.3-b.4}
  - {at: 20000, fault: double_count, gpu: b.0}
  - {at: 26000, clear: double_count, gpu: b.0}
  - {at: 30000, fault: link_bit_errors, link: a.2-a.3, rate: 2000}
  - {at: 31000, fault: boundary_link_cut, link: a.4-b.0}
  - {at: 32000, fault: flap, gpu: b.4, period: 700}
  - {at: 33000, fault: keepalive_loss, gpu: a.0, count: 4}
  - {at: 34000, fault: link_delay, link: b.0-b.1, delay: 9}
  - {at: 40000, clear: flap, gpu: b.4}
  - {at: 41000, clear: link_bit_errors, link: a.2-a.3}
  - {at: 42000, clear: boundary_link_cut, link: a.4-b.0}
"""
TIMING = ("seconds", "cycles_per_second")  # of the host machine, not of the emulated one
EFFORT = ("evaluations", "busy_cycles")  # what skipping saves


def play(library: Library, *, skipping: bool = True) -> tuple[Outcome, bytes]:
    """The outcome, and every frame that anybody was handed."""
    server = Run(loads(SCENARIO), library, skipping=skipping)
    stream = frames_of(server.kernel)
    return server.run(), bytes(stream)


def frames_of(kernel: Kernel) -> bytearray:
    """Every frame that anybody is handed from now on, without anybody listening."""
    stream = bytearray()

    def record(kind: bytes, deliver: Any) -> Any:
        def mail(cell: int, frame: bytes, port: int, bad: bool) -> None:
            stream.extend(b"%s %d %d %d %d " % (kind, kernel.now, cell, port, bad) + frame + b"\n")
            deliver(cell, frame, port, bad)

        return mail

    kernel.on_firmware_mail = record(b"gpu", kernel.on_firmware_mail)
    kernel.on_cpu_mail = record(b"cpu", kernel.on_cpu_mail)
    return stream


def comparable(outcome: Outcome, *without: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(outcome.to_json()))
    for key in (*TIMING, *without):
        del document["engine"][key]
    return document


def print_run() -> None:
    """In another interpreter: the run as one line of JSON."""
    outcome, stream = play(cells_library())
    print(json.dumps([comparable(outcome), hashlib.sha256(stream).hexdigest()]))


@pytest.fixture(scope="module")
def reference(library: Library) -> tuple[Outcome, bytes]:
    return play(library)


def test_the_scenario_is_worth_it(reference: tuple[Outcome, bytes]) -> None:
    outcome, stream = reference
    assert outcome.failures == ()
    assert outcome.work["resent"] > 0
    assert outcome.work["crossed"] > 0
    assert outcome.cards["a"].rejected
    assert all(card.elections > 1 for card in outcome.cards.values())
    assert outcome.links[0].elections > 1
    assert len(stream) > 50_000


def test_two_runs_are_equal(library: Library, reference: tuple[Outcome, bytes]) -> None:
    outcome, stream = play(library)
    assert stream == reference[1]
    assert comparable(outcome) == comparable(reference[0])


def test_nobody_who_listens_changes_anything(library: Library, reference: tuple[Outcome, bytes]) -> None:
    outcome, judged = reference
    server = LiveServer(loads(SCENARIO), library)
    alone = frames_of(server.kernel)
    server.start()
    server.play_out(outcome.cycles)
    assert server.kernel.now == outcome.cycles
    assert alone == judged
    assert server.cpu.work.completed == outcome.work["completed"]
    assert server.engine.busy_cycles == outcome.engine["busy_cycles"]


def test_what_is_told_is_what_is_handed_over(library: Library) -> None:
    server = LiveServer(loads(SCENARIO), library)
    kernel = server.kernel
    told, handed = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for kind in (ToFirmware, ToCpu):
        kernel.observations.listen(kind, lambda o: told.update([(type(o), o.cell, o.frame, o.port, o.bad)]))
    firmware, cpu = kernel.on_firmware_mail, kernel.on_cpu_mail

    def to_firmware(cell: int, frame: bytes, port: int, bad: bool) -> None:
        handed[ToFirmware, cell, frame, port, bad] += 1
        firmware(cell, frame, port, bad)

    def to_cpu(cell: int, frame: bytes, port: int, bad: bool) -> None:
        handed[ToCpu, cell, frame, port, bad] += 1
        cpu(cell, frame, port, bad)

    kernel.on_firmware_mail, kernel.on_cpu_mail = to_firmware, to_cpu
    server.start()
    server.run_to(40_000)
    assert handed <= told
    assert (told - handed).total() < 5, "told, and on its way through the latency"
    assert any(bad for *_, bad in handed)


def test_leaping_over_quiet_time_changes_nothing(library: Library, reference: tuple[Outcome, bytes]) -> None:
    outcome, stream = play(library, skipping=False)
    assert stream == reference[1]
    assert comparable(outcome, *EFFORT) == comparable(reference[0], *EFFORT)
    assert outcome.engine["evaluations"] > reference[0].engine["evaluations"]


@pytest.mark.rest(but_one_in=3, start=2)
@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_another_interpreter_gives_the_same(reference: tuple[Outcome, bytes], hash_seed: str) -> None:
    """Nothing depends on the order of sets, or on what else this process has done."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": _python_path()}
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
    program += "import test_determinism; test_determinism.print_run()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcome, stream = reference
    assert json.loads(done.stdout) == [comparable(outcome), hashlib.sha256(stream).hexdigest()]


def _python_path() -> str:
    return os.pathsep.join(path for path in sys.path if path)
