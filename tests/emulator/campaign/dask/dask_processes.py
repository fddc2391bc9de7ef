"""A real Dask scheduler and real workers, each a process with a home and a build cache of its own: two machines, as far
as one machine can be two."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.processes import alive

from ringhil.emulator.build.cache import cache_dir

DASK = [sys.executable, "-m", "dask"]


class Machines:
    """A scheduler at `address`, and workers below `folder`. `protocol`: tcp or tls."""

    def __init__(self, folder: Path, protocol: str = "tcp") -> None:
        self._folder, self._all = folder, list[subprocess.Popen[bytes]]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"{protocol}://127.0.0.1:{port}"
        self.scheduler = self._start(
            "scheduler",
            [*DASK, "scheduler", "--host", f"{protocol}://127.0.0.1", "--port", str(port), "--no-dashboard"],
        )

    def worker(
        self,
        name: str,
        *,
        preload: str = "",
        site: str = "",
        built: bool = True,
        threads: int = 1,
        files: Sequence[Path] = (),
    ) -> subprocess.Popen[bytes]:
        """One more. `preload`: code that its Dask runs first; `site`: code that each of its Pythons runs first;
        `built`: its cache has the engine; `files`: copies of these lie where it is started."""
        home = self._folder / name
        home.mkdir()
        for file in files:
            shutil.copy(file, home)
        if built:
            entries = home / "cache" / "entries"
            entries.mkdir(parents=True)
            for entry in (cache_dir() / "entries").iterdir():
                (entries / entry.name).symlink_to(entry)
        command = [*DASK, "worker", self.address, "--name", name, "--nthreads", str(threads), "--no-dashboard"]
        command += ["--local-directory", str(home), "--death-timeout", "60"]
        if preload:
            (home / "preload.py").write_text(preload)
            command += ["--preload", str(home / "preload.py")]
        more = {}
        if site:
            (home / "site").mkdir()
            (home / "site" / "sitecustomize.py").write_text(site)
            more = {"PYTHONPATH": os.pathsep.join([str(home / "site"), os.environ.get("PYTHONPATH", "")])}
        return self._start(name, command, **more)

    def _start(self, name: str, command: list[str], **more: str) -> subprocess.Popen[bytes]:
        home = self._folder / name
        home.mkdir(exist_ok=True)
        environment = {**os.environ, "HOME": str(home), "RINGHIL_CACHE": str(home / "cache"), **more}
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, start_new_session=True, cwd=home
            )
        self._all.append(process)
        return process

    def close(self) -> None:
        """End them all, with those that they look after."""
        for process in self._all:
            if alive(-process.pid):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def machines(folder: Path, protocol: str = "tcp") -> Iterator[Machines]:
    """Those of a test."""
    made = Machines(folder, protocol)
    try:
        yield made
    finally:
        made.close()


def played_by(nanny: subprocess.Popen[bytes]) -> int | None:
    """The process id of the worker that a `dask worker` looks after."""
    for pid in _children(nanny.pid):
        if "spawn_main" in command_of(pid):
            return pid
    return None


def marked(mark: str) -> list[int]:
    """Processes with this in their environment."""
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and mark in _text(p / "environ")]


def command_of(pid: int) -> str:
    """Its words."""
    return _text(Path(f"/proc/{pid}/cmdline"))


def gone(mark: str, seconds: float = 10) -> bool:
    """Whether no such process is left, after a moment."""
    until = time.monotonic() + seconds
    while marked(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _children(pid: int) -> list[int]:
    return [int(word) for file in Path(f"/proc/{pid}/task").glob("*/children") for word in _text(file).split()]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""
