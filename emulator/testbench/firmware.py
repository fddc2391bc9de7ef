"""Runs firmware (sans I/O) on a GPU inside cocotb: its actions become mail, register writes and timers."""

from collections.abc import Callable, Iterable

import cocotb
from cocotb.task import Task
from cocotb.triggers import Timer

from ringhil.emulator.testbench.mailbox import Mail, Mailbox
from ringhil.emulator.testbench.monitor import PERIOD, Cycle
from ringhil.emulator.testbench.register_port import RegisterPort
from ringhil.firmware.actions import Action
from ringhil.firmware.commands import CancelTimer, Send, SetTimer, Write
from ringhil.firmware.program import Firmware
from ringhil.protocol.wire import Port

_CODES = Port.codes()


class FirmwareDriver:
    """One GPU's processor, which runs `firmware`. `latency` is the time (cycles) from a frame's end to the reaction to
    it.

    Every action is shown to the functions in `observers` before it is done.
    """

    def __init__(
        self, firmware: Firmware, mailbox: Mailbox, registers: RegisterPort, cycle: Cycle, *, latency: int = 20
    ) -> None:
        self.firmware = firmware
        self.observers: list[Callable[[Action], None]] = []
        self._mailbox, self._registers, self._cycle, self._latency = mailbox, registers, cycle, latency
        self._timers: dict[str, Task[None]] = {}
        self._writes: list[Write] = []
        self._writing: Task[None] | None = None
        self._tasks: list[Task[None]] = []
        for reader in mailbox.readers:
            reader.on_mail.append(self._mail)

    def start(self) -> None:
        """Boot."""
        self._do(self.firmware.start(self._cycle()))

    def fail(self) -> None:
        """The GPU is dead or hangs: nothing that the firmware had planned will happen."""
        for task in (*self._timers.values(), *self._tasks):
            task.cancel()
        self._timers.clear()
        self._tasks.clear()

    def _mail(self, mail: Mail) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(cocotb.start_soon(self._read(mail)))

    async def _read(self, mail: Mail) -> None:
        await Timer(PERIOD * self._latency, "step")
        self._do(self.firmware.on_frame(mail.data, mail.port, mail.bad, self._cycle()))

    async def _timer(self, name: str, delay: int) -> None:
        await Timer(PERIOD * max(delay, 1), "step")
        del self._timers[name]
        self.firmware.on_status(await self._registers.read("status"))
        self._do(self.firmware.on_timer(name, self._cycle()))

    def _do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            for observe in self.observers:
                observe(action)
            if isinstance(action, Send):
                self._mailbox.send_nowait(_CODES[action.port], action.frame)
            elif isinstance(action, Write):
                self._writes.append(action)
            elif isinstance(action, SetTimer):
                self._cancel(action.name)
                self._timers[action.name] = cocotb.start_soon(self._timer(action.name, action.delay))
            elif isinstance(action, CancelTimer):
                self._cancel(action.name)
        if self._writes and (self._writing is None or self._writing.done()):
            self._writing = cocotb.start_soon(self._write())

    def _cancel(self, name: str) -> None:
        task = self._timers.pop(name, None)
        if task is not None:
            task.cancel()

    async def _write(self) -> None:
        while self._writes:
            action = self._writes.pop(0)
            await self._registers.write(action.register, action.value)
