"""A bridge on a pty, in a thread of the test's process, and a line to it that may be a bad one."""

import ctypes
import os
import random
import select
import threading
import tty
from collections.abc import Callable
from typing import Self

from ringhil.emulator.loop.bridge.bridge import Bridge
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.node_loop import NodeMessage

Spoil = Callable[[bytes], bytes]
HELLO = 5  # its sequence number


def as_it_is(data: bytes) -> bytes:
    return data


class Noise:
    """Of all bytes this share is lost, doubled or changed."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share, self.struck = random.Random(seed), share, 0

    def __call__(self, data: bytes) -> bytes:
        return b"".join(self._struck(byte) for byte in data)

    def _struck(self, byte: int) -> bytes:
        if self._random.random() >= self._share:
            return bytes([byte])
        self.struck += 1
        return self._random.choice([b"", bytes([byte, byte]), bytes([byte ^ 1 << self._random.randrange(8)]), b"\0"])


class BridgeLine:
    """`fd`, and `path` for others: our end of a line, with a bridge at the other that has heard hello. `to`, `back`:
    what becomes of bytes on their way from then on. After `requests` reads the line ends, or what is there is only
    `instead`. `library`: of another bridge than ours."""

    def __init__(
        self,
        to: Spoil = as_it_is,
        back: Spoil = as_it_is,
        *,
        requests: int | None = None,
        instead: Spoil | None = None,
        library: ctypes.CDLL | None = None,
    ) -> None:
        self._ours, self.fd = os.openpty()
        tty.setraw(self.fd)
        self._to, self._back, self._left, self._instead = to, back, requests, instead
        self._bridge = Bridge(library or bridge_library())
        self._bridge.feed(wrap(bytes([NodeMessage.HELLO.code, HELLO])))
        self.reads = 0  # by the bridge
        self.path = os.ttyname(self.fd)
        self._ended, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while self._ended not in (ready := select.select([self._ours, self._ended], [], [])[0]):
            if self._ours in ready:
                try:
                    heard = self._to(os.read(self._ours, 4096))
                except OSError:  # nobody has it open any more
                    break
                self.reads += 1
                if self._left == 0:
                    if self._instead is None:
                        os.close(self._ours)
                        return
                    answer = self._instead(heard)
                else:
                    self._left = None if self._left is None else self._left - 1
                    answer = self._back(self._bridge.feed(heard))
                while answer:
                    answer = answer[os.write(self._ours, answer) :]
        os.close(self._ours)

    def close(self) -> None:
        os.write(self._wake, b".")
        self._thread.join()
        for descriptor in (self.fd, self._ended, self._wake):
            os.close(descriptor)
        self._bridge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
