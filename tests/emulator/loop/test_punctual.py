"""Boards by the clock: what comes late is measured, and changes nothing."""

import json
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.line.test_pacing import Clock
from tests.emulator.serial.served import Served
from tests.firmware.c import library
from tests.firmware.c.boards import process, wire

from ringhil.emulator.loop.punctual import Punctuality, timed
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.line.pacing import Pacing
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.protocol.line.firmware_codec import cycle_of

from .trouble.boards import boarded
from .trouble.servers import Played, made, played

SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 3000\n"
LATENCY = 32


def by_the_clock(takes: Callable[[int], float], hertz: int) -> tuple[Played, dict[str, Punctuality], Clock, list[str]]:
    """A run with a board that takes so many seconds for what it is asked in a cycle."""
    clock, told = Clock(), list[str]()
    with boarded("a.1", (), random.Random(0)) as (firmware, _):
        board = firmware.boards["a.1"]
        exchange = board.exchange

        def slowly(request: bytes) -> bytes:
            cycle = cycle_of(request)
            if cycle is not None:
                clock.now += takes(cycle)
            return exchange(request)

        board.exchange = slowly  # type: ignore[method-assign]
        pacing = Pacing(hertz, clock, clock.sleep)
        choice, found = timed(
            firmware,
            hertz,
            LATENCY,
            pacing=pacing,
            monotonic=clock,
            on_late=lambda where, cycle, seconds: told.append(f"{where} {cycle} {seconds:.6f}"),
        )
        return played(made(loads(SERVER), choice)), found, clock, told


def without_a_clock() -> Played:
    with boarded("a.1", (), random.Random(0)) as (firmware, _):
        return played(made(loads(SERVER), firmware))


def test_a_board_in_time_is_not_late_and_the_ring_keeps_to_its_clock() -> None:
    """It takes all of the time that it may, and the last request is answered in the cycle that asks for it."""
    asked = list[int]()

    def takes(cycle: int) -> float:
        asked.append(cycle)
        return LATENCY / 1000 - 1e-9

    run, found, clock, told = by_the_clock(takes, 1000)
    assert run == without_a_clock()
    board = found["a.1"].to_json()
    assert board == {
        "clock": 1000,
        "latency": 32,
        "answers": len(asked),
        "late": 0,
        "median_late_us": None,
        "median_late_cycles": None,
        "worst_late_us": None,
        "worst_late_cycles": None,
    }
    assert len(asked) > 10
    assert told == []
    assert str(found["a.1"]) == f"{len(asked)} answers, none of them late; allowed are 32 cycles, 32,000 us"
    assert clock.now - 100 >= asked[-1] / 1000
    assert clock.now - 100 == pytest.approx(asked[-1] / 1000, abs=0.2)  # some are asked in one cycle


def test_late_answers_are_counted_and_change_nothing() -> None:
    """Every third one, by 1, 2, 3 ... milliseconds."""
    number, late = [0], list[int]()

    def takes(cycle: int) -> float:
        number[0] += 1
        if number[0] % 3:
            return 0.001
        late.append(cycle)
        return 0.032 + 0.001 * len(late)

    run, found, _, told = by_the_clock(takes, 1000)
    assert run == without_a_clock()
    n = len(late)
    assert n >= 5
    median = (n + 1) // 2
    assert found["a.1"].to_json() == {
        "clock": 1000,
        "latency": 32,
        "answers": number[0],
        "late": n,
        "median_late_us": 1000 * median,
        "median_late_cycles": median,
        "worst_late_us": 1000 * n,
        "worst_late_cycles": n,
    }
    assert told == [f"a.1 {late[0]} 0.033000"]
    assert str(found["a.1"]) == (
        f"{n} of {number[0]} answers were late; allowed are 32 cycles, 32,000 us; late by {1000 * median:,} us "
        f"({median} cycles) in the median, {1000 * n:,} us ({n} cycles) at worst"
    )


def test_what_is_kept_does_not_grow_with_the_run() -> None:
    board = Punctuality(1_000_000, 32)
    for n in range(100_000):
        board.took(1 + n / 100_000)
    assert len(board._lateness) <= 1000
    assert board.to_json()["median_late_us"] == pytest.approx(1.5e6, rel=0.01)


def test_who_takes_all_of_the_time_is_in_time_and_the_median_is_that_of_half_of_the_late_ones() -> None:
    board = Punctuality(1000, 32)
    assert not board.took(32 / 1000)
    for n in (3, 1, 2):
        assert board.took(0.032 + n)
    found = board.to_json()
    assert (found["answers"], found["late"], found["median_late_us"]) == (4, 3, 2e6)


def test_only_boards_are_timed() -> None:
    chosen = FirmwareChoice(("a.0=x",), {"a.0": Chosen("x", lambda boot: boot, "")})  # type: ignore[arg-type,return-value]
    same, found = timed(chosen, 1000, 32)
    assert (same.chosen["a.0"], found) == (chosen.chosen["a.0"], {})


# ------------------------------------------------------------------------------------------------ the command line


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return library.board(tmp_path_factory)


@pytest.fixture
def slow(program: str) -> Iterator[str]:
    """A board on a line that takes 5 milliseconds for each piece of bytes at least."""

    def spoil(data: bytes) -> bytes:
        time.sleep(0.005)
        return data

    with process(program) as port, wire(port, spoil) as name:
        yield name


@pytest.mark.rest
def test_run_says_which_boards_were_late(slow: str, tmp_path: Path) -> None:
    """By some milliseconds, where 32 us are allowed: whatever else this machine does, every answer is."""
    (tmp_path / "s.yaml").write_text(SERVER)
    board = ("--firmware", f"a.1={slow}")
    plain = json.loads(ringhil("run", "s.yaml", *board, "--json", cwd=tmp_path).stdout)
    done = ringhil("run", "s.yaml", *board, "--clock", "1000000", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    found = document.pop("boards").pop("a.1")
    assert document | {"engine": 0} == plain | {"engine": 0}
    assert (found["clock"], found["latency"]) == (1_000_000, 32)
    assert found["answers"] == found["late"] > 10
    assert found["worst_late_us"] >= found["median_late_us"] > 5000
    assert found["median_late_cycles"] == found["median_late_us"]
    n = found["late"]
    assert done.returncode == 0
    assert done.stderr.startswith(f"ringhil: a.1: {n} of {n} answers were late; allowed are 32 cycles, 32 us; late by ")
    assert done.stderr.count("\n") == 1


@pytest.mark.rest
def test_run_takes_as_long_as_its_clock_says(program: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER.replace("3000", "2100"))  # a keepalive is sent before that
    with process(program) as port:
        began = time.monotonic()
        done = ringhil("run", "s.yaml", "--firmware", f"a.1={port}", "--clock", "1000", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - began > 1


def test_serve_says_it_at_the_first_and_in_the_end(slow: str, tmp_path: Path) -> None:
    with Served(tmp_path, SERVER, "--firmware", f"a.1={slow}", "--clock", "1000000") as served:
        assert served.process.stderr is not None
        first = served.process.stderr.readline()
        served.process.send_signal(signal.SIGINT)
        out, errors = served.process.communicate(timeout=60)
    assert first.startswith("ringhil: a.1: cycle 0: the answer took ")
    found = json.loads(out)["boards"]["a.1"]
    assert found["late"] == found["answers"] >= 1
    assert errors.startswith(f"ringhil: a.1: {found['late']:,} of {found['answers']:,} answers were late; ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("given", ["0", "-1", "nan"])
def test_what_is_no_clock_is_one_line(given: str) -> None:
    said = refusal("run", "s.yaml", "--clock", given)
    assert f"--clock': found {given!r}; allowed is a whole number from 1 to 4294967295" in said


def test_a_clock_without_a_board_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    why = "--clock: paces boards, and there is none; wanted is --firmware GPU=URL"
    for firmware in ((), ("--firmware", "a.1=ringhil.firmware.boot:our_program")):
        assert why in refusal("run", "s.yaml", "--clock", "1000", *firmware, cwd=tmp_path)
