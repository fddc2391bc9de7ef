"""Real guests: QEMU without KVM, and the kernel of examples/guest."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.once import built_once

from ringhil.emulator.children import Child

QEMU = "qemu-system-x86_64"
NODE = "i-0000002d"
_ROOT = Path(__file__).resolve().parents[3]
_MACHINE = ("-M", "pc", "-accel", "tcg", "-m", "128", "-nodefaults", "-no-user-config", "-display", "none")
_LIMIT = 30.0  # seconds


def needs_qemu() -> None:
    """Skips the test without it."""
    if shutil.which(QEMU) is None:
        pytest.skip(f"no {QEMU}: apt-get install qemu-system-x86")


def kernel(factory: pytest.TempPathFactory) -> Path:
    """That of the example."""
    return built_once(factory, "guest", _make) / "guest.elf"


def _make(folder: Path) -> None:
    command = ["make", "-s", "-C", str(_ROOT / "examples" / "guest"), f"BUILD={folder}", "CFLAGS=-Werror"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class Guest:
    """One that runs. `said`: by the first word of each line that it has printed, the others and when it came."""

    def __init__(self, process: "Child") -> None:
        self.process = process
        self.said: dict[str, tuple[list[str], float]] = {}
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, word: str) -> list[str]:
        """The rest of the line that begins with it."""
        with self._more:
            self._more.wait_for(lambda: word in self.said or "failed" in self.said or "" in self.said, _LIMIT)
            assert word in self.said, self.said
            return self.said[word][0]

    def at(self, word: str) -> float:
        """Seconds."""
        self.wait_for(word)
        return self.said[word][1]

    def _read(self) -> None:
        for line in self.process.stdout:
            self._note(line.split() or ["?"])
        self._note([""])

    def _note(self, words: list[str]) -> None:
        with self._more:
            self.said[words[0]] = words[1:], time.monotonic()
            self._more.notify_all()


@contextmanager
def guest(
    elf: Path, folder: Path, *options: str, node: str = NODE, api: str = "", **settings: object
) -> Iterator[Guest]:
    """A guest with a QMP socket in the folder; `settings` are those of the example. `api`: where its first serial port
    goes, HOST:PORT."""
    told = folder / f"{node}.settings"
    told.write_text("".join(f"{name}={value}\n" for name, value in {"node": node, **settings}.items()))
    debug = ("-debugcon", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4")
    control = ("-qmp", f"unix:{folder}/{node}.qmp,server=on,wait=off")
    line: tuple[str, ...] = ()
    if api:
        host, _, port = api.rpartition(":")
        line = ("-chardev", f"socket,id=api,host={host},port={port}", "-serial", "chardev:api")
    command = [QEMU, *_MACHINE, "-kernel", elf, "-initrd", told, *debug, *control, *line, *options]
    process = Child(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    shown = Guest(process)
    try:
        yield shown
    except BaseException as error:
        error.add_note(f"the guest: exit code {process.poll()}, it said {shown.said}")
        raise
    finally:
        process.end()
        process.stdout.close()
        for file in (told, folder / f"{node}.qmp"):
            file.unlink(missing_ok=True)


class Relay:
    """Copies what comes by a serial port of a guest into a GPU's memory, as a server would that carries all data.
    `carried`: bytes."""

    def __init__(self, path: Path) -> None:
        self.path, self.carried = path, 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()

    @property
    def options(self) -> tuple[str, ...]:
        """Of QEMU."""
        serial = ("-device", "virtio-serial-pci,disable-modern=on", "-device", "virtserialport,nr=1,chardev=relay")
        return ("-chardev", f"socket,id=relay,path={self.path}", *serial)

    def begin(self, memory: memoryview, piece: int) -> None:
        """From now on, to the first `piece` bytes of it, again and again."""
        self._carrier = threading.Thread(target=self._carry, args=(memory, piece), daemon=True)
        self._carrier.start()

    def end(self) -> None:
        """Of a guest that has gone: the memory is let go, so that its card may be closed."""
        self._carrier.join(_LIMIT)

    def _carry(self, memory: memoryview, piece: int) -> None:
        line, _ = self._listener.accept()
        with line, memory, self._listener:
            while size := line.recv_into(memory[self.carried % piece : piece]):
                self.carried += size


def pattern(seed: int, size: int) -> bytes:
    """What the example computes with."""
    data = bytearray()
    for _ in range(size):
        seed = (seed * 1664525 + 1013904223) % 2**32
        data.append(seed >> 24)
    return bytes(data)


def digest(data: bytes) -> str:
    """The oracle's: CRC-32/AUTOSAR, bit by bit, and the sum of the words, of whole flits."""
    data += bytes(-len(data) % 8)
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC8DF352F if crc & 1 else 0)
    total = sum(int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4))
    return f"{crc ^ 0xFFFFFFFF:08x}{total % 2**32:08x}"
