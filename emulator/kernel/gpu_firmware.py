"""Runs one GPU's firmware: carries out its commands in virtual time, and tells what it wants known."""

from collections.abc import Callable

from ringhil.emulator.events.firmware import FirmwareCalled, FirmwareSaid
from ringhil.emulator.kernel.kernel import Kernel
from ringhil.firmware.actions import Action
from ringhil.firmware.commands import CancelTimer, Send, SetTimer, Write
from ringhil.firmware.observations import Observation
from ringhil.firmware.program import Firmware
from ringhil.protocol.registers import ControlBit
from ringhil.protocol.wire import Port

_CODES = Port.codes()


class GpuFirmware:
    """Runs firmware on a GPU of an engine.

    One GPU's processor. When the GPU fails, its firmware is gone; when it is well again, it boots afresh.

    `boot(n, memory)` makes the firmware of the n-th boot (from 1); `memory` is the switch's register of that name,
    which outlives a failure. `before_sending(cell, frame)` is called with every frame before it is sent: a fault may
    begin with it.
    """

    def __init__(
        self,
        kernel: Kernel,
        cell: int,
        boot: Callable[[int, int], Firmware],
        before_sending: Callable[[int, bytes], None] | None = None,
    ) -> None:
        self._kernel, self._cell, self._boot, self._before_sending = kernel, cell, boot, before_sending
        self._said = kernel.observations.listeners(FirmwareSaid)
        self._called = kernel.observations.listeners(FirmwareCalled)
        self._boots = 0
        self._timers: dict[str, int] = {}  # name -> the setting that counts; older ones are void
        self._settings = 0
        self.running: Firmware | None = None

    def power_up(self) -> None:
        """Boot."""
        self._boots += 1
        self.running = self._boot(self._boots, self._kernel.engine.peek(self._cell, "memory"))
        self._call("start")
        self._do(self.running.start(self._kernel.now))

    def fail(self) -> None:
        """The GPU is dead or hangs: nothing it had planned will happen."""
        self.running = None
        self._timers.clear()
        self._kernel.engine.forget_mail(self._cell)

    @property
    def counts(self) -> bool:
        """Whether it is the entry GPU's, and so runs a census."""
        control = self._kernel.engine.peek(self._cell, "control")
        return self.running is not None and bool(control & ControlBit.ENTRY)

    def count_now(self) -> None:
        """Somebody at the management port wants a census; firmware that takes no such wishes goes on as it is."""
        count_now = getattr(self.running, "count_now", None)
        if count_now is not None:
            self._call("count_now")
            self._do(count_now(self._kernel.now))

    def mail(self, frame: bytes, port: int, bad: bool) -> None:
        """A frame has been read from the mailbox."""
        if self.running is not None:
            self._call("on_frame", frame)
            self._do(self.running.on_frame(frame, port, bad, self._kernel.now))

    def _timer(self, name: str, setting: int) -> None:
        if self.running is not None and self._timers.get(name) == setting:
            del self._timers[name]
            self._call("on_status")
            self.running.on_status(self._kernel.engine.peek(self._cell, "status"))
            self._call("on_timer")
            self._do(self.running.on_timer(name, self._kernel.now))

    def _call(self, method: str, frame: bytes = b"") -> None:
        if self._called:
            self._kernel.observations.tell(FirmwareCalled(self._kernel.now, self._cell, method, frame))

    def _do(self, actions: list[Action]) -> None:
        kernel = self._kernel
        for action in actions:
            if isinstance(action, SetTimer):
                self._settings += 1
                setting = self._settings
                self._timers[action.name] = setting
                kernel.after(action.delay, _Timer(self, action.name, setting))
            elif isinstance(action, Send):
                if self._before_sending is not None:
                    self._before_sending(self._cell, action.frame)
                kernel.send_mail(self._cell, _CODES[action.port], action.frame)
            elif isinstance(action, Write):
                kernel.engine.poke(self._cell, action.register, action.value)
            elif isinstance(action, CancelTimer):
                self._timers.pop(action.name, None)
            elif self._said and isinstance(action, Observation):
                kernel.observations.tell(FirmwareSaid(kernel.now, self._cell, action))


class _Timer:
    __slots__ = ("_firmware", "_name", "_setting")

    def __init__(self, firmware: GpuFirmware, name: str, setting: int) -> None:
        self._firmware, self._name, self._setting = firmware, name, setting

    def __call__(self) -> None:
        self._firmware._timer(self._name, self._setting)
