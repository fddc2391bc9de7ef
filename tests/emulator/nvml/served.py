"""A server with two applications on one GPU, served to programs that ask NVML."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.command import RINGHIL
from tests.emulator.serial.served import Served

MIB = 1 << 20
HELD = {"one": 6144 * 9 // 10, "two": 4096 * 9 // 10}  # MiB: what it wants of what it is told of

# A GPU of 22 GiB; one application was given 6 of them. Two cards, so that GPUs aren't numbered as they are in a card.
TEXT = """
server:
  cards: {a: {gpus: 3}, b: {gpus: 3, types: {1: H200}}}
  settings: {device_memory: 22528, host_latency: 16, firmware_latency: 16}
  power: {H200: {run_power: 7000, idle_power: 900}}
sharing:
  applications:
    one: {gpu: b.1, memory: 6144, steps: 4000000000, host: 2000, compute: 2000}
    two: {gpu: b.1, memory: 4096, steps: 4000000000, host: 9000, compute: 1000, priority: 1}
"""


class Monitored(Served):
    """Until the end of `with`; programs see its GPUs by `run`."""

    def __init__(self, folder: Path, text: str = TEXT, *options: str) -> None:
        # Other users' processes find it, too.
        self._open = tempfile.TemporaryDirectory(prefix="ringhil")
        Path(self._open.name).chmod(0o755)
        self.socket = Path(self._open.name) / "nvml"
        super().__init__(folder, text, "--nvml", str(self.socket), *options)

    def __exit__(self, *why: object) -> None:
        super().__exit__(*why)
        self._open.cleanup()

    def command(self, *words: str, name: str | None = None) -> list[str]:
        inside = [] if name is None else ["--as", name]
        return [*RINGHIL, "nvml", "--socket", str(self.socket), *inside, "--", *words]

    def run(
        self, *words: str, name: str | None = None, user: int | None = None, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*words, name=name),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            user=user,
            env=os.environ | (env or {}),
        )

    @contextmanager
    def halting(self, seconds: float) -> Iterator[None]:
        """The machine does something else half of the time, so many seconds at once."""
        over = threading.Event()

        def halt() -> None:
            while not over.wait(seconds):
                self.process.send_signal(signal.SIGSTOP)
                over.wait(seconds)
                self.process.send_signal(signal.SIGCONT)

        beside = threading.Thread(target=halt)
        beside.start()
        try:
            yield
        finally:
            over.set()
            beside.join()

    def python(self, code: str, name: str | None = None) -> Any:
        """What a program that asks by pynvml (`n`) prints as JSON."""
        start = "import json, os, sys\nimport pynvml as n\n"
        done = self.run(sys.executable, "-c", start + code, name=name)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)
