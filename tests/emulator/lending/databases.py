"""Real servers of databases, each in a folder of its own, that can be stopped and started again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ringhil.emulator.lending.database import LendingDatabaseError, open_database

_READY = 20.0  # seconds


class DatabaseServer:
    """`command` runs it in the foreground, `crash` ends it at once; `url` leads to its database."""

    def __init__(self, url: str, command: Sequence[object], options: dict[str, Any], crash: int) -> None:
        self.url, self._crash = url, crash
        self._command, self._options = [*map(str, command)], options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Ready when it returns."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, **quiet, **self._options)  # type: ignore[call-overload]
        until = time.monotonic() + _READY
        while True:
            try:
                open_database(self.url, patience=2.0).close()
                return
            except LendingDatabaseError:
                assert self._process.poll() is None, self._command
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a loss of power would."""
        if self._process is not None:
            self._process.send_signal(self._crash)
            self._process.wait()
            self._process = None


def missing(kind: str) -> str:
    """What is missing for a server of this kind; "": nothing."""
    programs, package = _NEEDED[kind]
    found = [name for name in programs if shutil.which(name) is None]
    return ", ".join([*found, *([] if find_spec(package) else [f"the package {package}"])])


@contextmanager
def database_server(kind: str) -> Iterator[DatabaseServer]:
    """`mariadb` or `postgresql`, with an empty database, running."""
    folder = Path(tempfile.mkdtemp(prefix="ringhil-database-"))  # short: sockets are in it
    options: dict[str, Any] = {}
    if os.geteuid() == 0:  # neither of them likes to be root
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": folder}
    server = (_mariadb if kind == "mariadb" else _postgresql)(folder, options)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _mariadb(folder: Path, options: dict[str, Any]) -> DatabaseServer:
    data, socket = folder / "data", folder / "socket"
    install = ("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", f"--datadir={data}")
    subprocess.run(install, check=True, capture_output=True, **options)
    command = ("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking")
    return DatabaseServer(
        f"mariadb+pymysql://root@localhost/test?unix_socket={socket}", command, options, signal.SIGKILL
    )


def _postgresql(folder: Path, options: dict[str, Any]) -> DatabaseServer:
    data = folder / "data"
    subprocess.run(
        ("initdb", "-A", "trust", "-U", "root", "-N", "-D", data), check=True, capture_output=True, **options
    )
    command = ("postgres", "-D", data, "-k", folder, "-c", "listen_addresses=")
    return DatabaseServer(f"postgresql+psycopg://root@/postgres?host={folder}", command, options, signal.SIGQUIT)


_NEEDED = {
    "mariadb": (("mariadbd", "mariadb-install-db"), "pymysql"),
    "postgresql": (("postgres", "initdb"), "psycopg"),
}
