"""Whether a QEMU can have a card behind `x-pci-proxy-dev`: tried on a guest of its own, which is thrown away.

Some releases crash when they are asked to (10.0.2 does); no version number says which.
"""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.children import Child, temporary_folder
from ringhil.emulator.lending.attachment import AttachmentError
from ringhil.emulator.lending.card_server import CardServer
from ringhil.emulator.lending.lent_card import ALL_ONES
from ringhil.emulator.lending.qmp import Qmp, QmpGoneError

_PATIENCE = 10.0  # seconds
_STEP = 0.01


class _Nothing:
    def read(self, offset: int, size: int) -> int:
        return ALL_ONES

    def write(self, offset: int, size: int, value: int) -> None:
        pass

    def reset(self) -> None:
        pass


def why_no_proxy(program: str) -> str:
    """Nothing: it can. Otherwise the end of a sentence that begins with the program."""
    found = shutil.which(program)
    if found is None:
        return "there is no such program"
    with temporary_folder("ringhil-probe-") as folder, ExitStack() as stack:
        path = folder / "qmp"
        machine = ("-M", "pc", "-accel", "tcg", "-m", "32", "-nodefaults", "-no-user-config", "-display", "none", "-S")
        null = subprocess.DEVNULL
        quiet = {"stdin": null, "stdout": null, "stderr": null, "env": child_environment()}
        try:
            guest = Child([found, *machine, "-qmp", f"unix:{path},server=on,wait=off"], **quiet)
        except OSError as error:
            return f"it can't be started: {error.strerror or error}"
        stack.callback(guest.end)
        ours, theirs = socket.socketpair()
        server = CardServer(_Nothing(), ours)
        stack.callback(server.close)
        try:
            _plug(guest, path, theirs)
            _until(lambda: server.mapped, guest)  # its firmware has found the card, and reads and writes it
        except AttachmentError as error:
            code = guest.poll()
            if code is None:
                return str(error)
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return f"it crashes with a card behind x-pci-proxy-dev ({how})"
    return ""


def _plug(guest: Child, path: Path, theirs: socket.socket) -> None:
    """Before the firmware begins, which is what looks for cards."""
    with theirs, _connected(guest, path) as qmp:
        qmp.ask("getfd", files=[theirs.fileno()], fdname="card")
        theirs.close()
        qmp.ask("device_add", driver="x-pci-proxy-dev", id="card", fd="card", addr="0x10.0")
        qmp.ask("cont")


def _connected(guest: Child, path: Path) -> Qmp:
    """A socket is there a moment before anybody listens. Raises AttachmentError."""
    lines: list[Qmp] = []

    def connect() -> bool:
        with suppress(QmpGoneError):
            lines.append(Qmp(path, patience=_PATIENCE))
        return bool(lines)

    _until(connect, guest)
    return lines[0]


def _until(done: Callable[[], bool], guest: Child) -> None:
    """Raises AttachmentError."""
    until = time.monotonic() + _PATIENCE
    while not done():
        if guest.poll() is not None or time.monotonic() > until:
            raise AttachmentError(f"a card behind x-pci-proxy-dev is not found within {_PATIENCE:g} s")
        time.sleep(_STEP)
