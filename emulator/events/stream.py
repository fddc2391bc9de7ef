"""What happens in a run, told to whoever listens, in the order in which it happens.

Each type of event is a frozen class with the cycle in which it happened. Who tells it makes it only while somebody
listens to that very type:

    seen = stream.listeners(ToCpu)     # once; the list is live
    if seen:
        stream.tell(ToCpu(now, cell, port, frame, bad))

Listeners are called at once, in the order in which they came. They look; they never act on the run. What one of them
tells while it is called is heard before the next one is called.

All types with their fields: docs/reference/events.md, generated from them.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from ringhil.emulator.events.hardware import FRAMES, FrameSeen

E = TypeVar("E")


class Stream:
    """Tells listeners the events of one run.

    The stream of one run.
    """

    def __init__(self) -> None:
        self._listeners: defaultdict[type[Any], list[Callable[[Any], object]]] = defaultdict(list)

    def listen(self, kind: type[E], listener: Callable[[E], object]) -> None:
        """Have `listener` called with every event of exactly this type, from now on."""
        self._listeners[kind].append(listener)

    def listen_to_frames(self, listener: Callable[[FrameSeen], object]) -> None:
        """Have `listener` called with every frame, whichever way it goes."""
        for kind in FRAMES:
            self.listen(kind, listener)

    def listeners(self, kind: type[E]) -> list[Callable[[E], object]]:
        """Who listens to a type: a list that stays the same object, empty while nobody does."""
        return self._listeners[kind]

    def tell(self, event: object) -> None:
        """Something has happened."""
        for listener in self._listeners[type(event)]:
            listener(event)
