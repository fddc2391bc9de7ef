"""A line in trouble at the end of a pseudo terminal, in this machine's time."""

import os
import pty
import select
import threading
import time
import tty
from typing import Self

from .lines import PulledOut, TroubledLine


class PtyEnd:
    """`name`: what to open."""

    def __init__(self, line: TroubledLine) -> None:
        self._line = line
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        self.name = os.ttyname(self._theirs)
        self._ended, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        began = time.monotonic()
        try:
            while True:
                due = self._line.due
                left = None if due is None else max(0.0, began + due - time.monotonic())
                ready, _, _ = select.select([self._ours, self._ended], [], [], left)
                if self._ended in ready:
                    return
                self._line.time = time.monotonic() - began
                if self._ours in ready:
                    self._line.say(os.read(self._ours, 4096))
                answer = self._line.hear(0)
                while answer:
                    if self._ended in select.select([self._ended], [self._ours], [])[0]:
                        return
                    answer = answer[os.write(self._ours, answer[:1024]) :]
        except PulledOut:
            pass
        finally:
            os.close(self._ours)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._wake)
        self._thread.join()
        for each in (self._theirs, self._ended):
            os.close(each)
