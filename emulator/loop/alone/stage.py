"""One GPU's firmware alone: frames, timers and the status go in, frames and writes to registers come out.

No hardware runs here. What the firmware hears is said by whoever plays it, in the cycle in which it is to arrive; its
timers run out by themselves when time passes; what is due at one cycle happens in the order in which it was asked for.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.server.foreign import FirmwareError, FirmwareMissing, ForeignFirmware, Maker
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot
from ringhil.firmware.commands import CancelTimer, Send, SetTimer, Write
from ringhil.protocol import codec
from ringhil.protocol.frames import Frame
from ringhil.protocol.registers import REGISTERS, ControlBit
from ringhil.protocol.wire import Port


class NotKept(RinghilError):
    """When, what was found, and what should be: one line."""

    def __init__(self, at: int, found: str, wanted: str) -> None:
        super().__init__(f"cycle {at:,}: {found}; {wanted}")


class NotShown(RinghilError):
    """Why what was played shows nothing of the promise: one line."""


@dataclass(frozen=True)
class FrameOut:
    """A frame that the firmware has sent, and what the register `memory` held by then. `message`: None for what is
    none."""

    at: int
    port: Port
    message: Frame | None
    memory: int


class Stage:
    """What the firmware does from its start on. `registers` are those of its node that it may write; `on_sent` is
    called with each frame in the cycle in which it leaves. What lets the firmware act raises FirmwareError."""

    def __init__(self, name: str, maker: Maker, boot: Boot, registers: Mapping[str, int], *, board: bool) -> None:
        self.boot, self.now, self.status = boot, 0, 0
        self.registers = {each.name: each.reset for each in REGISTERS if each.access == "rw"} | {**registers}
        self.registers["memory"] = boot.memory
        self.sent = list[FrameOut]()
        self.on_sent = list[Callable[[FrameOut], None]]()
        self._queue = list[tuple[int, int, Callable[[], None]]]()
        self._order = 0
        self._timers = dict[str, int]()  # name -> the setting that counts
        self._lost = ""
        self._firmware = ForeignFirmware(name, maker, boot, self._is_lost, board=board)
        if self._lost:
            raise FirmwareMissing(f"{name}: {self._lost}")

    def start(self) -> None:
        """Power-up."""
        self._do(self._firmware.start(self.now))

    def hear(self, message: Frame, port: Port, *, bad: bool = False) -> None:
        """A frame is in the mailbox."""
        self.hear_bytes(codec.encode(message), port, bad=bad)

    def hear_bytes(self, frame: bytes, port: Port, *, bad: bool = False) -> None:
        """The same, of any bytes."""
        self._do(self._firmware.on_frame(frame, port.code, bad, self.now))

    def count_now(self) -> None:
        """Somebody wants a count."""
        self._do(self._firmware.count_now(self.now))

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """Call back."""
        self._order += 1
        heapq.heappush(self._queue, (self.now + delay, self._order, act))

    def until(self, cycle: int) -> None:
        """Let time pass up to this cycle, and all happen that is due in it."""
        while self._queue and self._queue[0][0] <= cycle:
            self.now, _, act = heapq.heappop(self._queue)
            act()
        self.now = max(self.now, cycle)

    def wait(self, cycles: int) -> None:
        """Let time pass."""
        self.until(self.now + cycles)

    def wait_for(self, what: Callable[[], bool], most: int) -> bool:
        """Let time pass until that is so, from event to event, for this long at most; whether it is."""
        end = self.now + most
        while not what() and self._queue and self._queue[0][0] <= end:
            self.until(self._queue[0][0])
        if not what():
            self.until(end)
        return what()

    def has(self, bit: ControlBit) -> bool:
        """Whether this bit of `control` is set."""
        return bool(self.registers["control"] & bit)

    def _is_lost(self, why: str) -> None:
        self._lost = why

    def _check(self) -> None:
        if self._lost:
            raise FirmwareError(f"it is gone: {self._lost}")

    def _timer(self, name: str, setting: int) -> None:
        if self._timers.get(name) == setting:
            del self._timers[name]
            self._firmware.on_status(self.status)
            self._do(self._firmware.on_timer(name, self.now))

    def _do(self, actions: list[Action]) -> None:
        self._check()
        for action in actions:
            match action:
                case SetTimer(name, delay):
                    setting = self._timers[name] = self._order + 1
                    self.after(delay, partial(self._timer, name, setting))
                case CancelTimer(name):
                    self._timers.pop(name, None)
                case Write(register, value):
                    self.registers[register] = value
                case Send(port, frame):
                    self._send(port, frame)

    def _send(self, port: Port, frame: bytes) -> None:
        try:
            message = codec.decode(frame, link=False)
        except codec.FrameError:
            message = None
        self.sent.append(FrameOut(self.now, port, message, self.registers["memory"]))
        for listens in self.on_sent:
            listens(self.sent[-1])
