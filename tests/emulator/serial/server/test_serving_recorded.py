"""`ringhil serve --record`: what is there of a session afterwards."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.management import LineFault


def test_a_session_is_recorded_until_the_end_and_replays(tmp_path: Path) -> None:
    record = tmp_path / "session"
    served = Served(tmp_path, ONE, "--record", str(record))
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        card.fault(LineFault.DEAD, 2)
        assert card.census(timeout=30).count == 3
    assert served.end(signal.SIGINT) == (0, "")
    with Recording(record) as recording:
        assert recording.outcome is not None
        assert recording.outcome["verdict"] == "pass"
    assert ringhil("replay", record).stdout.startswith("identical: ")


@pytest.mark.rest
def test_of_a_server_that_is_killed_the_session_is_there_up_to_a_second_before(tmp_path: Path) -> None:
    """What is there replays, is stepped and exported."""
    record = tmp_path / "session"
    served = Served(tmp_path, ONE, "--record", str(record))
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        assert card.census(timeout=30).count == 4
        while messages_in(record) < 20:  # they come when they are saved
            card.now()
    assert served.end(signal.SIGKILL)[0] == -signal.SIGKILL
    done = ringhil("replay", record)
    assert done.stdout.startswith("identical: ")
    assert done.stdout.endswith(f"; {record} breaks off there\n")
    script = tmp_path / "script"
    script.write_text("until kind == statistics\nstate a.1\n")
    stepped = ringhil("step", record, "--script", script)
    assert (stepped.returncode, stepped.stderr) == (0, "")
    assert "weight" in stepped.stdout
    exported = ringhil("export", record, "--format", "jsonl", "-o", "-")
    assert exported.returncode == 0
    assert exported.stdout.count("\n") > 10


def messages_in(record: Path) -> int:
    """Those that have been saved."""
    with Recording(record) as recording:
        return len(recording)


def test_a_session_with_somebody_s_firmware_replays_with_that(tmp_path: Path) -> None:
    record, firmware = tmp_path / "session", "*=ringhil.firmware.boot:our_program"
    served = Served(tmp_path, ONE, "--record", str(record), "--firmware", firmware)
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        assert card.census(timeout=30).count == 4
    assert served.end(signal.SIGINT) == (0, "")
    said = refusal("replay", record)
    assert said == f"ringhil: {record}: was recorded with --firmware {firmware}; found our firmware"
    assert ringhil("replay", record, "--firmware", firmware).stdout.startswith("identical: ")


@pytest.mark.rest
def test_a_disk_that_is_full_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "serve", "s.yaml", "--record", "session"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr in [
        f"ringhil: session: cannot be written: {why}\n" for why in ("database or disk is full", "disk I/O error")
    ]
    said = refusal("serve", "s.yaml", "--record", "/dev/full", cwd=tmp_path)
    assert said == "ringhil: /dev/full: cannot be written: it is no file; name a file"
    assert "-: a session goes to a file" in refusal("serve", "s.yaml", "--record", "-", cwd=tmp_path)
