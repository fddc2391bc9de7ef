"""At any moment the picture is what registers and CPU say; and so is what is told of it without playing the run."""

import random
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.debug.looking import SteppedRun
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.replaying import run_again
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.server.node_choice import NodeChoice
from ringhil.emulator.trace.recording import RecordedEvent, Recording
from ringhil.emulator.view.messages import CardAbout
from ringhil.emulator.view.pictures import ToldPicture, drawn
from ringhil.protocol.registers import TURN_CONTEXT, ControlBit, StatusBit, TurnBit

from .asking import asking
from .conftest import SERVER

MOMENTS = 100
FAULTS = SERVER.replace("fault: dead, gpu: a.0", "fault: hang, gpu: a.0").replace(
    "until:",
    "- {at: 31000, fault: flap, gpu: b.1, period: 3000}\n"
    "- {at: 32000, fault: keepalive_loss, gpu: a.1, count: 9}\nuntil:",
)
LENT = """
server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}
workload: {units: 40, size: 600}
timeline:
- {at: 9000, lend: a.3}
- {at: 20000, take_back: a.3}
- {at: 26000, lend: a.0}
until: 40000
"""
SHARED = """
server:
  cards: {a: {gpus: 3, host_links: [0]}}
  settings: {device_memory: 1000}
until: 30000
sharing:
  applications:
    one: {gpu: a.1, memory: 400, wants: 0, slice: 200, priority: 3, state: 70, steps: 9, host: 100, compute: 900}
    two: {gpu: a.1, memory: 300, wants: 0, slice: 300, priority: 3, state: 70, steps: 9, host: 100, compute: 900}
"""
RUNS = {"cuts": SERVER, "faults": FAULTS, "loans": LENT}


def by(name: str, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each[name]: each for each in found}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "moments"),
    [
        *((name, 6) for name in RUNS),
        *(pytest.param(name, MOMENTS, marks=pytest.mark.slow(part="views")) for name in RUNS),
    ],
)
def test_a_picture_is_what_registers_and_cpu_say(name: str, moments: int, tmp_path: Path) -> None:
    path, chance = tmp_path / "r", random.Random(name)
    record_run(path, loads(RUNS[name]), cells_library())
    with asking(path) as asked, Recording(path) as recording:
        run = SteppedRun(run_again(recording, cells_library(), OURS, NodeChoice()))
        for cycle in sorted(chance.sample(range(recording.last_cycle + 1), moments)):
            run.go(cycle + 1)
            told, played = asked.get("picture", cycle=cycle), asked.get("picture", cycle=cycle, exact=1)
            for gpu in recording.gpus:
                _same_gpu(by("gpu", told["gpus"])[gpu], by("gpu", played["gpus"])[gpu], run.ask("registers", gpu))
            for card in ("a", "b") if name != "loans" else ("a",):
                knows = run.ask("card", card)
                cpu, about = by("card", played["cards"])[card]["cpu"], by("card", told["cards"])[card]
                assert (cpu["count"], cpu["members"]) == (knows["count"], list(knows["members"]))
                assert (cpu["share"], cpu["completed"]) == (knows["share"], knows["completed"])
                rank = knows["rank"]
                assert cpu["entry"] == about["entry"] == (None if rank is None else f"{card}.{knows['host'][rank]}")
                lent = [gpu["gpu"] for gpu in told["gpus"] if gpu["lent"] and gpu["gpu"].startswith(f"{card}.")]
                assert lent == [f"{card}.{gpu}" for gpu in sorted(knows["lent"])]


def _same_gpu(told: dict[str, Any], played: dict[str, Any], registers: dict[str, int]) -> None:
    roles = [("boundary", ControlBit.BOUNDARY), ("entry", ControlBit.ENTRY)]
    if not told["failed"]:
        assert told["roles"] == played["roles"] == [role for role, bit in roles if registers["control"] & bit]
    assert played["bypassed"] == bool(registers["status"] & (StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW))
    assert told["lent"] == bool(registers["lent"])


@pytest.mark.parametrize("kind", ["FirmwareStopped", "FirmwareLost", "NodeLost"])
def test_a_gpu_that_has_failed_has_no_roles(kind: str) -> None:
    told = ToldPicture()
    for number, (what, cell) in enumerate((("Elected", "a.0"), ("Elected", "a.1"), (kind, "a.0")), 1):
        event = RecordedEvent(number, number, int(cell[-1]), what, "{}")
        assert told.take(event, {"role": "entry"}, cell, "a")
    cards = [CardAbout(name="a", gpus=["a.0", "a.1"], host=["a.0"])]
    assert [gpu.roles for gpu in drawn(told, ["a.0", "a.1"], cards, 3, 3, 3).gpus] == [[], ["entry"]]


def test_turns_and_memory_of_contexts_are_those_of_the_registers(tmp_path: Path) -> None:
    path, chance = tmp_path / "r", random.Random(2)
    record_run(path, loads(SHARED), cells_library())
    with asking(path) as asked, Recording(path) as recording:
        run, seen = SteppedRun(run_again(recording, cells_library(), OURS, NodeChoice())), set[object]()
        for cycle in sorted(chance.sample(range(recording.last_cycle + 1), MOMENTS)):
            run.go(cycle + 1)
            registers = run.ask("registers", "a.1")
            told = by("gpu", asked.get("picture", cycle=cycle)["gpus"])["a.1"]
            turn = registers["turn"]
            assert told["turn"] == (turn & TURN_CONTEXT if turn & TurnBit.TAKEN else None)
            assert told["switching"] == bool(turn & TurnBit.SWITCHING)
            assert (told["pages"] or 0) == registers["memory_held"]
            seen.add(told["turn"])
        assert len(seen) > 2


def test_until_then_nothing_changes(asked: Any, session: DebugSession) -> None:
    cycle, pictures = 0, []
    while cycle <= session.recording.last_cycle:
        found = asked.get("picture", cycle=cycle)
        assert found["until"] >= cycle
        between = asked.get("picture", cycle=random.Random(cycle).randint(cycle, found["until"]))
        for picture in (found, between):
            picture["row"] = picture["cycle"] = picture["until"] = 0
        assert found == between
        pictures.append(found)
        cycle = asked.get("picture", cycle=cycle)["until"] + 1
    assert len({str(picture) for picture in pictures}) > 10


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("apart", [1, 64])
def test_a_picture_is_the_same_however_many_are_kept(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, apart: int
) -> None:
    with asking(recorded) as asked:
        plain = [asked.get("picture", cycle=cycle) for cycle in range(0, 40000, 500)]
    monkeypatch.setattr("ringhil.emulator.view.pictures._STEP", apart)
    monkeypatch.setattr("ringhil.emulator.view.pictures.KEPT", 4)
    monkeypatch.setattr("ringhil.emulator.view.pictures._CHUNK", 7)
    with asking(recorded) as asked:
        found = [asked.get("picture", cycle=cycle) for cycle in range(0, 40000, 500)]
    for one, other in zip(plain, found, strict=True):
        one["until"] = other["until"] = 0
        assert one == other
