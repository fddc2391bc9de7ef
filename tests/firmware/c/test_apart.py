"""Firmware in C has processes of its own: what becomes of one costs its GPU the firmware, and nobody else anything."""

import gc
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import ringhil, started
from tests.protocol.c.library import INCLUDE, SOURCES, compile_c

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.server import FirmwareLost
from ringhil.emulator.forks import fork, forked
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.alone.servers import TWO, boot_of
from ringhil.emulator.loop.library import firmware_in
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.foreign import FirmwareError, Maker
from ringhil.emulator.trace.recording import Recording
from ringhil.firmware.commands import SetTimer
from ringhil.firmware.program import Firmware

from .library import processes_of, troubled

HERE = Path(__file__).parent
SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 30000\n"
SHORT = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 4000\n"
LINES = {
    line.partition("/* ")[2].partition(" */")[0]: number
    for number, line in enumerate((HERE / "trouble.c").read_text().splitlines(), 1)
}
WAYS = {
    "read": f"it has crashed: SIGSEGV at trouble.c:{LINES['READS']}, ends",
    "divide": f"it has crashed: SIGFPE at trouble.c:{LINES['DIVIDES']}, ends",
    "abort": f"it has crashed: SIGABRT at trouble.c:{LINES['ABORTS']}, ends",
    "library": f"it has crashed: SIGSEGV at trouble.c:{LINES['LIBRARIES']}, ends",
    "jump": f"it has crashed: SIGSEGV at trouble.c:{LINES['JUMPS']}, ends",
    "deep": "it has crashed: SIGSEGV, its stack is full",
    "thread": f"it has crashed: SIGSEGV at trouble.c:{LINES['THREADS']}, writes",
    "exit": "it has ended its process with exit code 3",
    "loop": "no answer in 0.3 s",
    "wait": "no answer in 0.3 s",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return troubled(tmp_path_factory.mktemp("c"))


def gone(library: Path, seconds: float = 2) -> bool:
    """Whether no process of it is there after so long."""
    gc.collect()  # of runs of this process
    end = time.monotonic() + seconds
    while processes_of(library) and time.monotonic() < end:
        time.sleep(0.02)
    return not processes_of(library)


def recorded(path: Path, given: str) -> tuple[list[FirmwareLost], str]:
    firmware, lost = firmware_of([given]), list[FirmwareLost]()
    run = Run(loads(SERVER), cells_library(), firmware=firmware)
    run.observations.listen(FirmwareLost, lost.append)
    with RunRecorder(path, run, firmware=firmware.given) as recorder:
        outcome = run.run()
        recorder.end(outcome)
    run.close()
    return lost, outcome.verdict


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("at", [2, 4, 25])
@pytest.mark.parametrize("how", WAYS)
def test_an_end_is_an_event_of_a_run_that_goes_on(
    library: Path, tmp_path: Path, how: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first power-up, too; the recording of it is whole, and replays."""
    monkeypatch.setenv("TROUBLE", f"{how} {at}")
    given = f"a.0={library},limit=0.3"
    (lost,), verdict = recorded(tmp_path / "r", given)
    where, _, why = lost.why.partition(": ")
    assert (lost.cell, verdict) == (0, "pass")
    assert why == WAYS[how]
    assert f"cycle {lost.cycle}" in where or at < 4
    with Recording(tmp_path / "r") as recording:
        replayed = RunReplay(recording, cells_library(), firmware=firmware_of([given])).run()
    assert (replayed.difference, replayed.complete, replayed.verdict) == (None, True, "pass")
    assert gone(library)


COUNTS = """
#include "ringhil_firmware_messages.h"
size_t rhf_size(void) { return 8; }
size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room) {
    static uint32_t starts;
    uint8_t actions[64];
    struct rhf_attach_reply reply = {rh_id(request, length), RHF_MAJOR, RHF_MINOR, RH_LONGEST, 0, 0};
    struct rhf_done done = {rh_id(request, length), actions, 0};
    struct rhf_set_timer counted = {0, 0};
    if (rh_type(request, length) == RHF_TYPE_ATTACH)
        return rhf_pack_attach_reply(&reply, answer, room);
    if (rh_type(request, length) == RHF_TYPE_START) {
        counted.delay = ++starts + 100 * ++*(uint32_t *)state;
        done.actions_length = 2 + rhf_pack_set_timer(&counted, actions + 2, sizeof actions - 2);
        actions[0] = 0;
        actions[1] = (uint8_t)(done.actions_length - 2);
    }
    return rhf_pack_done(&done, answer, room);
}
"""


@pytest.fixture(scope="module")
def boots(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Firmware that counts its starts in its state and beside it, and tells both."""
    folder = tmp_path_factory.mktemp("counts")
    (folder / "counts.c").write_text(COUNTS)
    done = compile_c(f"-I{INCLUDE}", "-shared", "-fPIC", folder / "counts.c", *SOURCES, "-o", folder / "counts.so")
    assert done.returncode == 0, done.stderr
    return firmware_in(folder / "counts.so")


@given(path=st.lists(st.sampled_from(["ask", "fork", "back", "boot"]), max_size=24))
@settings(max_examples=20, deadline=None)
def test_a_fork_goes_on_from_the_same_memory_and_is_not_seen(boots: Maker, path: list[str]) -> None:
    """Nor is one boot seen by another."""

    def walk(firmware: Firmware, count: int, left: list[str]) -> list[str]:
        """In a process and its forks, until the path leads back."""
        while left:
            step, *left = left
            if step == "back":
                break
            if step == "fork":
                left = forked(partial(walk, firmware, count, left), 20)
            elif step == "boot":
                firmware, count = boots(boot_of(TWO, "a.1")), 0
            else:
                count += 1
                assert firmware.start(0) == [SetTimer("0", 101 * count)]
        return left

    walk(boots(boot_of(TWO, "a.1")), 0, path)


def test_one_that_is_killed_from_outside_is_no_verdict_on_it(library: Path) -> None:
    run = Run(loads(SERVER), cells_library(), firmware=firmware_of([f"a.0={library}"]))
    run.start()
    for process in processes_of(library):
        os.kill(process, signal.SIGKILL)
    with pytest.raises(FirmwareError, match=r"firmware of a.0 .*: its process was killed \(out of memory\?\)"):
        run.run_to(20_000)


@pytest.mark.rest
def test_a_process_that_was_stopped_has_not_used_its_time_up(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that it has started, as by Ctrl-Z."""

    def played() -> int:
        lost = list[FirmwareLost]()
        run = Run(loads(SERVER), cells_library(), firmware=firmware_of([f"a.0={library},limit=2"]))
        run.observations.listen(FirmwareLost, lost.append)
        run.run()
        return len(lost)

    monkeypatch.setenv("TROUBLE", "nap 25")
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        os.write(writing, bytes([played()]))
        os._exit(0)
    try:
        while len(processes_of(library)) < 2:
            time.sleep(0.01)
        time.sleep(0.3)
        stopped = [pid, *processes_of(library)]
        for each in stopped:
            os.kill(each, signal.SIGSTOP)
        time.sleep(2.5)
        for each in stopped:
            os.kill(each, signal.SIGCONT)
        assert os.read(reading, 1) == b"\0"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing)


@contextmanager
def looping(library: Path, here: Path, *words: str) -> "Iterator[subprocess.Popen[str]]":
    """A command whose firmware does not come back."""
    (here / "s.yaml").write_text(SERVER)
    env = {**os.environ, "TROUBLE": "loop 25"}
    pipe = subprocess.PIPE
    with started(*words, cwd=here, env=env, stdout=pipe, stderr=pipe, start_new_session=True) as running:
        try:
            while not any(busy(each) for each in processes_of(library)):
                assert running.poll() is None, running.stderr.read() if running.stderr else ""
                time.sleep(0.02)
            yield running
        finally:
            running.kill()


def busy(process: int) -> bool:
    """Whether it has computed for a while."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(words[11]) > 20  # hundredths of a second


COMMANDS = {
    "run": ("run", "s.yaml", "--firmware"),
    "verify": ("verify", "s.yaml", "--firmware"),
    "explore": ("explore", "s.yaml", "--faults", "dead", "--phases", "1", "--firmware"),
    "serve": ("serve", "s.yaml", "--listen", "tcp://127.0.0.1:0", "--firmware"),
    "step": ("step", "s.yaml", "--script", "-", "--firmware"),
    "check": ("firmware", "check"),
}


@pytest.mark.rest(but_one_in=14)
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda ends: ends.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_firmware_loops_ends_when_it_is_told_to(
    library: Path, tmp_path: Path, command: str, ends: signal.Signals
) -> None:
    words = COMMANDS[command]
    given = [str(library)] if command == "check" else [f"a.0={library}"]
    with looping(library, tmp_path, *words, *given) as running:
        began = time.monotonic()
        running.send_signal(ends)
        running.communicate(timeout=20)
        assert time.monotonic() - began < 3
        served = command == "serve" and ends != signal.SIGKILL
        assert running.returncode == (0 if served else -ends if ends == signal.SIGKILL else 128 + ends)
        assert gone(library)


def test_what_it_prints_is_in_nobody_s_document(library: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    env = {**os.environ, "TROUBLE": "print 25"}
    done = ringhil("run", "s.yaml", "--json", "--firmware", f"a.0={library}", cwd=tmp_path, env=env)
    assert json.loads(done.stdout)["verdict"] == "pass"
    assert "it says something" in done.stderr.splitlines()


def test_in_this_process_and_apart_is_one_run(library: Path, tmp_path: Path) -> None:
    for how in ("", ",here", ",limit=5"):
        assert recorded(tmp_path / f"r{how}", f"a.0={library}{how}") == ([], "pass")
    for was in ("", ",here"):
        for now in ("", ",here"):
            with Recording(tmp_path / f"r{was}") as recording:
                played = RunReplay(recording, cells_library(), firmware=firmware_of([f"a.0={library}{now}"])).run()
            assert (played.difference, played.verdict) == (None, "pass")


@pytest.mark.parametrize(
    "how",
    ["there", "limit", "limit=", "limit=0", "limit=-1", "limit=1e9", "limit=nan", "here=1", "gdb", "gdb=-1", "gdb=1.5"],
)
def test_how_it_runs_is_one_of_three(library: Path, how: str) -> None:
    with pytest.raises(
        FirmwareError, match=r"allowed are (,here, ,limit=SECONDS and ,gdb=CYCLE|0.1 to 86,400 seconds)"
    ):
        firmware_of([f"a.0={library},{how}"])


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("trouble", ["any 100", "read 2", "exit 4", "loop 6"])
def test_a_check_goes_on_behind_a_promise_that_ends_it(library: Path, tmp_path: Path, trouble: str) -> None:
    env = {**os.environ, "TROUBLE": trouble}
    rules = ("lease.from_claim", "lease.renewed", "registers", "election.first", "election.waits")
    done = ringhil("firmware", "check", f"{library},limit=0.2", *rules, cwd=tmp_path, env=env)
    *lines, last = done.stdout.splitlines()
    judged = [line.split()[:2] for line in lines if not line.startswith(" ")]
    broken = [line for line in lines if line.startswith("FAIL ")]
    assert done.returncode == 1
    assert len(judged) > len(rules)
    assert last.endswith(f" kept, {len(broken)} broken, 0 not judged")
    assert any("it is gone: " in line for line in broken)
    if trouble != "any 100":
        assert len(broken) == len(judged)
        assert all("it is gone: " in line for line in broken)


@pytest.mark.slow(part="outside")
@pytest.mark.parametrize("first", range(0, 10_000, 250))
def test_ten_thousand_runs_with_random_ends_all_have_verdicts(
    library: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call in 200 crashes, ends its process or loops, on both GPUs that may be entry GPU."""
    monkeypatch.setenv("TROUBLE", "any 200")
    firmware, lost, verdicts = firmware_of([f"*={library},limit=0.2"]), list[FirmwareLost](), Counter[str]()
    for seed in range(first, first + 250):
        run = Run(loads(f"seed: {seed}\n{SHORT}"), cells_library(), firmware=firmware)
        run.observations.listen(FirmwareLost, lost.append)
        verdicts[run.run().verdict] += 1
        run.close()
    firmware.close()
    ends = Counter(seen.why.partition(": ")[2].split(" at ")[0] for seen in lost)
    assert verdicts.keys() <= {"pass", "fail"}
    assert verdicts.total() == 250
    assert ends.keys() == {why.split(" at ")[0].replace("0.3", "0.2") for why in WAYS.values()}
    del firmware, run
    assert gone(library)


@pytest.mark.parametrize("changed", [False, True])
def test_what_runs_can_t_be_edited_and_step_says_so(library: Path, tmp_path: Path, changed: bool) -> None:
    mine = tmp_path / "mine.so"
    mine.write_bytes(library.read_bytes())
    choice = firmware_of([f"a.0={mine}"])
    recorded(tmp_path / "r", f"a.0={mine}")
    with DebugSession(tmp_path / "r", cells_library(), firmware=choice) as session:
        session.go(2000)
        if changed:
            mine.write_bytes(library.read_bytes() + b" ")
        with pytest.raises(DebugError, match=r"mine.so: .*a library can't be exchanged in a run"):
            session.edit(tmp_path / "new")
    assert not (tmp_path / "new").exists()
