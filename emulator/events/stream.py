"""What happens in a run, told to whoever listens, in the order in which it happens.

Each kind of observation is a frozen class with the cycle in which it happened. Who tells it makes it only while
somebody listens to that very kind:

    seen = kernel.observations.listeners(ToCpu)     # once; the list is live
    if seen:
        kernel.observations.tell(ToCpu(now, cell, port, frame, bad))

Listeners are called at once, in the order in which they came. They look; they never act on the run.

| kind | from | is told |
|---|---|---|
| `ToFirmware`, `ToCpu` | engine | when a frame has arrived, before it is delivered |
| `FromFirmware`, `FromCpu` | firmware, CPU | when a frame is handed to the hardware |
| `RegisterChanged` | engine | of registers that somebody has the engine watch (`Engine.watch_register`) |
| `NodeDiffered` | engine | of GPUs whose hardware is outside, when it did otherwise than ours |
| `Advanced` | engine | when it has run on, before anything else of that run |
| `FirmwareSaid` | firmware | what it wants known (`ringhil.firmware.observations`) |
| the kinds of `server.py` | CPU, timeline | |
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from ringhil.emulator.events.hardware import FRAMES, FrameSeen

E = TypeVar("E")


class Stream:
    """The stream of one run."""

    def __init__(self) -> None:
        self._listeners: defaultdict[type[Any], list[Callable[[Any], None]]] = defaultdict(list)

    def listen(self, kind: type[E], listener: Callable[[E], None]) -> None:
        """Have `listener` called with every observation of exactly this kind, from now on."""
        self._listeners[kind].append(listener)

    def listen_to_frames(self, listener: Callable[[FrameSeen], None]) -> None:
        """Have `listener` called with every frame, whichever way it goes."""
        for kind in FRAMES:
            self.listen(kind, listener)

    def listeners(self, kind: type[E]) -> list[Callable[[E], None]]:
        """Who listens to a kind: a list that stays the same object, empty while nobody does."""
        return self._listeners[kind]

    def tell(self, observation: object) -> None:
        """Something has happened."""
        for listener in self._listeners[type(observation)]:
            listener(observation)
