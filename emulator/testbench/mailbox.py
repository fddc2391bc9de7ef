"""A node's mailbox: what its firmware writes and reads."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import Event, RisingEdge, ValueChange

from ringhil.emulator.testbench.arguments import flits, within
from ringhil.emulator.testbench.bus import Pin, Pins
from ringhil.emulator.testbench.monitor import Cycle
from ringhil.protocol.wire import Port

_VALID, _SOF, _EOF, _BAD = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Mail:
    """A frame for the firmware.

    A frame for the firmware: `data` that came by mailbox port `port` (`Port.code`) and ended in cycle `ended`;
    `bad`: its link CRC was wrong or it had the error mark; `whole`: it had a beginning.
    """

    port: int
    data: bytes
    bad: bool
    ended: int
    whole: bool = True


class MailReader:
    """Collects what the node hands to its firmware by one port; sleeps until something comes. `on_mail` is
    called with each Mail."""

    def __init__(self, pins: Pins, port: int, clock: Pin, cycle: Cycle, frames: Queue[Mail]) -> None:
        self._port, self._clock, self._cycle, self._frames = port, clock, cycle, frames
        self._log = pins.log("mailbox")
        self._data = pins.pin(f"mrx{port}_data_o", 64)
        self._ctl = pins.pin(f"mrx{port}_ctl_o", 4)
        self.on_mail: list[Callable[[Mail], None]] = []
        self._task = cocotb.start_soon(self._run())

    def stop(self) -> None:
        """End the reader's task."""
        self._task.cancel()

    async def _run(self) -> None:
        ctl, edge, change = self._ctl, RisingEdge(self._clock.handle), ValueChange(self._ctl.handle)
        frame, whole = bytearray(), True
        while True:
            await edge
            bits = ctl.read()
            if not bits & _VALID:
                await change
                continue
            if bits & _SOF or not frame:
                frame, whole = bytearray(), bool(bits & _SOF)
            frame += self._data.read().to_bytes(8, "big")
            if bits & _EOF:
                mail = Mail(self._port, bytes(frame), bool(bits & _BAD), self._cycle(), whole)
                self._log.info("RX by port %d%s: %s", mail.port, ", bad" if mail.bad else "", mail.data.hex())
                self._frames.put_nowait(mail)
                for call in self.on_mail:
                    call(mail)
                frame = bytearray()


class Mailbox:
    """The firmware's side of a node: frames to it and from it.

    `send_nowait` writes frames while the node is ready; what it hands over arrives in `frames`, a queue of Mail, by
    way of `readers`, one a port.

    The node has a single valid pin for all cells' firmware in a card's top; there it lies in `mtx_ctl_i`.
    """

    def __init__(self, pins: Pins, clock: Pin, cycle: Cycle) -> None:
        self._clock, self._log = clock, pins.log("mailbox")
        self._ready = pins.pin("mtx_ready_o", 1)
        self._data = pins.pin("mtx_data_i", 64)
        self._packed = pins.pin("mtx_ctl_i", 8) if hasattr(pins.dut, "mtx_ctl_i") else None
        names = ("mtx_valid_i", "mtx_sof_i", "mtx_eof_i")
        self._bits = [] if self._packed is not None else [pins.pin(n, 1) for n in names]
        self._port = None if self._packed is not None else pins.pin("mtx_port_i", 2)
        self._queue: deque[tuple[int, bytes, bool, bool]] = deque()
        self._wake, self._idle = Event(), Event()
        self._idle.set()
        self.frames: Queue[Mail] = Queue()
        self.readers = [MailReader(pins, port, clock, cycle, self.frames) for port in Port.codes().values()]
        self._drive(0, False, False, 0, 0)
        self._task = cocotb.start_soon(self._run())

    def send_nowait(self, port: int, frame: bytes, *, finished: bool = True, begun: bool = True) -> None:
        """Queue whole flits for a port (`Port.code`); without `finished`, the last one is no end; without `begun`, the
        first one no beginning. Raises KitError."""
        within("port", port, 0, len(Port) - 1)
        flits("frame", frame)
        self._queue.append((port, frame, finished, begun))
        self._idle.clear()
        self._wake.set()

    async def wait(self) -> None:
        """Wait until all has been written."""
        await self._idle.wait()

    @property
    def idle(self) -> bool:
        """No frame is being written or waits for it."""
        return self._idle.is_set()

    async def recv(self) -> Mail:
        """The next frame by any port."""
        return await self.frames.get()

    def clear(self) -> None:
        """Forget what has not been begun."""
        self._queue.clear()

    def stop(self) -> None:
        """End the mailbox's tasks."""
        self._task.cancel()
        for reader in self.readers:
            reader.stop()

    def _drive(self, valid: int, sof: bool, eof: bool, port: int, word: int) -> None:
        self._data.write(word)
        if self._packed is not None:
            self._packed.write(valid | sof << 1 | eof << 2 | port << 3)
            return
        assert self._port is not None
        for pin, value in zip(self._bits, (valid, int(sof), int(eof)), strict=True):
            pin.write(value)
        self._port.write(port)

    async def _run(self) -> None:
        edge = RisingEdge(self._clock.handle)
        while True:
            await self._wake.wait()
            self._wake.clear()
            await edge
            while self._queue:
                port, data, finished, begun = self._queue.popleft()
                self._log.info("TX by port %d: %s", port, data.hex())
                count = len(data) // 8
                for i in range(count):
                    last = i == count - 1 and finished
                    self._drive(1, i == 0 and begun, last, port, int.from_bytes(data[8 * i : 8 * i + 8], "big"))
                    await edge
                    while not self._ready.read():
                        await edge
            self._drive(0, False, False, 0, 0)
            self._idle.set()
