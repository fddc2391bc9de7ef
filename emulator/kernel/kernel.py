"""Runs the engine up to the next thing that Python has to do, does it, and so on."""

import heapq
from collections.abc import Callable, Sequence

from ringhil.emulator.engine.engine import FOREVER, FROM_RING, Engine

# A frame on its way between RTL and Python: cycle, cell, "to_firmware", "from_firmware", "to_cpu" or "from_cpu",
# port, bytes, arrived bad.
Tap = Callable[[int, int, str, int, bytes, bool], None]

Mail = Callable[[int, bytes, int, bool], None]  # cell, frame, port, arrived bad


class Kernel:
    """`firmware_latency` and `cpu_latency` are the cycles between a frame's arrival and the reaction to it.

    Because nobody reacts sooner, the engine may run on that far before it has to ask: frames that arrive
    close together are handed over together.
    """

    def __init__(self, engine: Engine, firmware_latency: int, cpu_latency: int) -> None:
        self.engine = engine
        self._latency = {True: firmware_latency, False: cpu_latency}
        self._lookahead = max(1, min(firmware_latency, cpu_latency))
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._stopped = False
        self.on_firmware_mail: Mail = _ignore
        self.on_cpu_mail: Mail = _ignore
        self.tap: Tap | None = None  # is shown every frame
        self.after_run: Callable[[], None] | None = None  # is called whenever the engine has run on

    @property
    def now(self) -> int:
        """The present cycle."""
        return self.engine.now

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done at a cycle that is not past."""
        self._order += 1
        heapq.heappush(self._agenda, (max(cycle, self.engine.now), self._order, act))

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """Have something done `delay` cycles from now."""
        self.at(self.engine.now + delay, act)

    def send_mail(self, cell: int, port: int, frame: bytes) -> None:
        """A GPU's firmware writes a frame into its mailbox now."""
        if self.tap is not None:
            self.tap(self.engine.now, cell, "from_firmware", port, frame, False)
        self.engine.send_mail(cell, port, frame, at=self.engine.now)

    def send_from_cpu(self, cell: int, frames: Sequence[bytes]) -> None:
        """The CPU sends frames to a GPU now."""
        if self.tap is not None:
            for frame in frames:
                self.tap(self.engine.now, cell, "from_cpu", 0, frame, False)
        self.engine.send_from_cpu(cell, frames, at=self.engine.now)

    def stop(self) -> None:
        """End `run` after what is being done at this moment."""
        self._stopped = True

    def run(self, until: int = FOREVER) -> None:
        """Go on to cycle `until`, or until `stop` is called."""
        self._stopped = False
        engine, agenda, pop = self.engine, self._agenda, heapq.heappop
        while not self._stopped:
            now = engine.now
            due = agenda[0][0] if agenda else FOREVER
            if due <= now:
                if now > until:
                    return
                pop(agenda)[2]()
            elif now >= until:
                return
            else:
                self._advance(due if due < until else until)

    def _advance(self, limit: int) -> None:
        events = self.engine.run(limit, lookahead=self._lookahead)
        if self.after_run is not None:
            self.after_run()
        if not events.raw:
            return
        for cycle, cell, kind, port, bad, _, offset, length in events:
            frame = bytes(events.buffer[offset : offset + length])
            ring = kind == FROM_RING
            if self.tap is not None:
                self.tap(cycle, cell, "to_firmware" if ring else "to_cpu", port, frame, bool(bad))
            deliver = self.on_firmware_mail if ring else self.on_cpu_mail
            self.at(cycle + self._latency[ring], _Delivery(deliver, cell, frame, port, bool(bad)))


class _Delivery:
    __slots__ = ("_bad", "_cell", "_deliver", "_frame", "_port")

    def __init__(self, deliver: Mail, cell: int, frame: bytes, port: int, bad: bool) -> None:
        self._deliver, self._cell, self._frame, self._port, self._bad = deliver, cell, frame, port, bad

    def __call__(self) -> None:
        self._deliver(self._cell, self._frame, self._port, self._bad)


def _ignore(cell: int, frame: bytes, port: int, bad: bool) -> None:
    """Nobody is there to read it."""
