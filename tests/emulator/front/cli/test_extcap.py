"""Wireshark's tools list a recording as something to capture from, and get its packets while it is still written."""

import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.export import write_capture
from ringhil.emulator.trace.recording import Recording

# Some 14,000 messages and events; the writer has batches of 8,192.
SERVER = """
server:
  cards: {a: {gpus: 8, host_links: [0, 1]}, b: {gpus: 6}}
  boundary_links: [{from: [a.2, a.3], to: [b.2, b.3]}]
  settings: {census_period: 400}
workload: {units: 600, size: 2048, across: 25}
until: 120000
"""
_LIMIT = 60  # seconds
_PROGRAM = "from ringhil.emulator.front.cli.extcap import main; main()"
# As root, Wireshark's tools look for such programs in the system's folder alone; so be nobody, with the same files.
_NOBODY = ["unshare", "--user"] if os.getuid() == 0 else []


def _nobody_can_be() -> bool:
    return not _NOBODY or subprocess.run([*_NOBODY, "true"], capture_output=True, check=False).returncode == 0


needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None or not _nobody_can_be(),
    reason="tshark is not installed, or root can't be anybody else here",
)


@contextmanager
def recording(path: Path, text: str = SERVER) -> Iterator[tuple[Run, RunRecorder]]:
    """A run that has not begun."""
    run = Run(loads(text), cells_library())
    try:
        with RunRecorder(path, run) as recorder:
            yield run, recorder
    finally:
        run.close()


def finish(run: Run, recorder: RunRecorder) -> None:
    recorder.end(run.finish())


@contextmanager
def capturing(path: Path, fifo: Path) -> Iterator["subprocess.Popen[bytes]"]:
    os.mkfifo(fifo)
    words = ["--extcap-interface", "ringhil", "--capture", "--fifo", str(fifo), "--recording", str(path)]
    process = subprocess.Popen([sys.executable, "-c", _PROGRAM, *words], stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def numbers(packets: bytes) -> list[int]:
    """Of the messages and events of a capture, from its blocks."""
    found, at = [], 0
    while at < len(packets):
        kind, length = (int.from_bytes(packets[at + i : at + i + 4], "little") for i in (0, 4))
        if kind == 6:
            found.append(int.from_bytes(packets[at + 28 + 8 : at + 28 + 16], "big"))
        at += length
    return found


class Reader:
    """Of a FIFO; it doesn't wait for ever."""

    def __init__(self, fifo: Path) -> None:
        self.file = os.fdopen(os.open(fifo, os.O_RDONLY), "rb", buffering=0)
        self._left = b""

    def more(self) -> bool:
        """Whether there was more before the end."""
        ready, _, _ = select.select([self.file], [], [], _LIMIT)
        assert ready, "nothing comes"
        got = self.file.read(1 << 16)
        self._left += got
        return bool(got)

    def take(self, size: int) -> bytes:
        """So many bytes."""
        while len(self._left) < size:
            assert self.more(), "it ends too early"
        found, self._left = self._left[:size], self._left[size:]
        return found

    def block(self) -> bytes:
        """The next one."""
        head = self.take(8)
        return head + self.take(int.from_bytes(head[4:8], "little") - 8)

    def close(self) -> None:
        """Read no more."""
        self.file.close()

    def rest(self) -> bytes:
        """Up to the end."""
        while self.more():
            pass
        return self._left


def blocks(capture: bytes) -> bytes:
    """All of it but its head, which says how the run ended."""
    return capture[int.from_bytes(capture[4:8], "little") :]


def until_a_batch(run: Run, path: Path) -> None:
    """Play on until the first one is in the file."""
    for cycle in range(10_000, 120_000, 10_000):
        run.run_to(cycle)
        with Recording(path) as written:
            if written.last_number:
                return
    raise AssertionError("there is none")


@pytest.mark.rest
def test_packets_come_while_the_run_goes_on_and_the_capture_ends_with_it(tmp_path: Path) -> None:
    path, fifo = tmp_path / "r", tmp_path / "fifo"
    with recording(path) as (run, recorder):
        run.start()
        until_a_batch(run, path)
        with Recording(path) as written:
            early = written.last_number
            assert not written.complete
        with capturing(path, fifo) as process, closing(Reader(fifo)) as there:
            first, found, packets = there.block(), b"", 0
            while packets < early:
                each = there.block()
                found += each
                packets += each[:4] == b"\6\0\0\0"
            assert process.poll() is None
            finish(run, recorder)
            found += there.rest()
            assert process.wait(_LIMIT) == 0
    assert b"not at its end" in first
    with Recording(path) as whole:
        write_capture(whole, tmp_path / "whole")
        assert numbers(found) == list(range(1, whole.last_number + 1))
    assert found == blocks((tmp_path / "whole").read_bytes())


@pytest.fixture(scope="module")
def killed(whole: Path) -> Path:
    """A recording whose writer is gone."""
    path = whole.with_name("killed")
    path.write_bytes(whole.read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE about SET outcome = NULL")
    return path


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("how", ["terminated", "interrupted", "nobody reads"])
def test_a_capture_of_a_run_that_never_ends_is_ended(killed: Path, tmp_path: Path, how: str) -> None:
    path, fifo = killed, tmp_path / "fifo"
    with capturing(path, fifo) as process:
        with closing(Reader(fifo)) as there:
            with Recording(path) as written:
                packets = written.last_number
            while packets:  # all that there is: it waits for more now
                packets -= there.block()[:4] == b"\6\0\0\0"
            if how != "nobody reads":
                process.send_signal(signal.SIGTERM if how == "terminated" else signal.SIGINT)
                there.rest()
        assert process.wait(_LIMIT) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "a recording; $(touch x)"
    with recording(path, SERVER.replace("120000", "2000")) as (run, recorder):
        recorder.end(run.run())
    return path


@pytest.fixture
def tshark(tmp_path: Path) -> Any:
    folder = tmp_path / "extcap"
    folder.mkdir()
    program = folder / "ringhil-extcap"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{_PROGRAM}' \"$@\"\n")
    program.chmod(0o755)

    def call(*arguments: str) -> str:
        done = subprocess.run(
            [*_NOBODY, "tshark", *arguments],
            env={**os.environ, "WIRESHARK_EXTCAP_DIR": str(folder), "HOME": str(tmp_path)},
            capture_output=True, text=True, timeout=_LIMIT, check=True,
        )  # fmt: skip
        return done.stdout + done.stderr

    return call


@pytest.mark.slow(part="benches")  # not every machine lets root be somebody else
@needs_tshark
def test_tshark_lists_it_and_its_link_type(tshark: Any) -> None:
    assert ". ringhil (ringhil: a run that is recorded)" in tshark("-D")
    assert "USER0 (ringhil)" in tshark("-i", "ringhil", "-L")


@pytest.mark.slow(part="benches")  # not every machine lets root be somebody else
@needs_tshark
def test_tshark_captures_all_of_a_recording(tshark: Any, whole: Path) -> None:
    said = tshark("-i", "ringhil", "-o", f"extcap.ringhil.recording:{whole}", "-T", "fields", "-e", "frame.time_epoch")
    times = [line for line in said.splitlines() if line[:1].isdigit() and "." in line]
    with Recording(whole) as recording:
        assert times == [f"{each.cycle / 10**9:.9f}" for each in recording.all()]
    assert not (whole.parent / "x").exists()


def test_its_one_option_is_the_recording() -> None:
    done = ringhil("extcap", "--extcap-interface", "ringhil", "--extcap-config", "--extcap-version=4.0")
    assert done.stdout.startswith("arg {number=0}{call=--recording}{display=Recording}")
    assert "{type=fileselect}" in done.stdout


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--extcap-interface: found ''; there is 'ringhil'"),
        (["--extcap-interface", "eth0", "--extcap-dlts"], "--extcap-interface: found 'eth0'; there is 'ringhil'"),
        (
            ["--extcap-interface", "ringhil"],
            "wanted is one of --extcap-interfaces, --extcap-dlts, --extcap-config",
        ),
        (["--extcap-interface", "ringhil", "--capture"], "--capture: wanted are --fifo FIFO and --recording FILE"),
        (
            ["--capture", "--fifo", "{t}/f", "--recording", "{w}", "--extcap-capture-filter", "udp"],
            "found 'udp'",
        ),
        (["--capture", "--fifo", "{t}/f", "--recording", "{t}/none"], "{t}/none: cannot be read: No such file"),
        (["--capture", "--fifo", "{t}/f", "--recording", "pyproject.toml"], "pyproject.toml: is no recording"),
        (["--capture", "--fifo", "{t}/f", "--recording", "{w}"], "--fifo {t}/f: is no FIFO"),
        (["--capture", "--fifo", "{w}", "--recording", "{w}"], "is no FIFO"),
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, whole: Path, arguments: list[str], says: str) -> None:
    before = whole.read_bytes()
    words = [each.replace("{t}", str(tmp_path)).replace("{w}", str(whole)) for each in arguments]
    interface = ["--extcap-interface", "ringhil"] if words[:1] == ["--capture"] else []
    assert says.replace("{t}", str(tmp_path)) in refusal("extcap", *interface, *words)
    assert whole.read_bytes() == before
    assert not list(tmp_path.iterdir())
