"""`ringhil serve` in a process of its own."""

import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.command import started

ONE = "server: {cards: {a: {gpus: 4}}}\n"


class Served:
    """A server that is being served, until the end of `with`; `ports`: by card; `said`: after it
    has said that it is ready, known at its end."""

    def __init__(self, folder: Path, text: str, *options: str) -> None:
        (folder / "server.yaml").write_text(text)
        words = ("serve", folder / "server.yaml", *options, "--json")
        self.process = started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        document = json.loads(self.process.stdout.readline() or self.process.communicate()[1])
        assert document["ready"] is True
        self.said = ""
        self.ports: dict[str, list[str]] = document["ports"]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        self.said, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """What it has mounted goes with it, unless it doesn't end."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=30)
        self.process.kill()
        self.process.communicate()
