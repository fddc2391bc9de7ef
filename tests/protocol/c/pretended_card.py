"""A card at a pty whose GPUs answer commands as a test says."""

import os
import pty
import select
import threading
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import Refusal, Way
from ringhil.protocol.wire import AckStatus, Flag, ResultStatus

NOW, SIZE = 5000, 5
Status = ResultStatus | AckStatus


def event(work: Work, status: Status, *, unit: int | None = None, gpu: int | None = None) -> m.FrameEvent:
    """The answer to a command, as it is told."""
    unit, gpu = work.unit if unit is None else unit, work.destination if gpu is None else gpu
    head = (0, Flag.TO_HOST, SIZE + 1, work.source, work.epoch, unit, gpu, work.attempt, status.code, 0, 0)
    frame = Result(*head, 7, work.length, 3) if isinstance(status, ResultStatus) else Acknowledgement(*head)
    return m.FrameEvent(0, work.source, 1, Way.TO_CPU.code, 0, NOW, codec.encode(frame))


@dataclass
class PretendedCard:
    """`answers` says what follows from a command, by its number from 0. `entries`: the entry GPU and its epoch, as the
    censuses find them one after the other; the last one stays."""

    answers: Callable[[Work, int], list[m.Message]]
    entries: list[tuple[int, int]] = field(default_factory=lambda: [(0, 1)])
    frames: list[bytes] = field(default_factory=list)
    commands: list[Work] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._master, slave = pty.openpty()
        tty.setraw(slave)
        self.port, self._slave, self._over = os.ttyname(slave), slave, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self) -> None:
        unwrapper = Unwrapper()
        while not self._over:
            if not select.select([self._master], [], [], 0.02)[0]:
                continue
            for message in unwrapper.feed(os.read(self._master, 4096)):
                if isinstance(message, bytes):
                    for said in self._said(decode(message)):
                        os.write(self._master, wrap(encode(said)))

    def _said(self, request: m.Message) -> list[m.Message]:
        match request:
            case m.HelloRequest():
                return [m.HelloReply(request.id, 1, 0, 0, SIZE, 7, 16488, 0, 0, NOW, b"a")]
            case m.SubscribeRequest():
                return [m.SubscribeReply(request.id, request.events, NOW)]
            case m.LastCensusRequest():
                entry, epoch = self.entries.pop(0) if len(self.entries) > 1 else self.entries[0]
                return [m.LastCensusReply(request.id, epoch, 9, entry, 5, SIZE, 1, 0, 0, 1, 2, 3, 0, (0b11111,))]
            case m.SendRequest() if request.gpu != self.entries[-1][0]:
                return [m.RefusedReply(request.id, Refusal.NO_ENTRY_GPU.code, b"not now")]
            case m.SendRequest():
                self.frames.append(request.frame)
                work = codec.decode(request.frame)
                assert isinstance(work, Work)
                reply = m.SendReply(request.id, NOW)
                if not work.flags & Flag.LAST:
                    return [reply]
                self.commands.append(work)
                return [reply, *self.answers(work, len(self.commands) - 1)]
        return [m.RefusedReply(request.id, Refusal.CANNOT.code, b"no")]
