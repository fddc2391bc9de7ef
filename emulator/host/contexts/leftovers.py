"""Contexts that the CPU has given up, and that may still be in their GPUs.

A GPU that no census finds may be well, and only cut off: then it has them, with all their memory, when it is found
again. So what was made there is remembered, with its key, until a GPU has said that it isn't there any more.
"""

from ringhil.emulator.host.contexts.command import ContextRef, Gpu, Reply
from ringhil.protocol.wire import AckStatus, Compute

_NOT_OURS = (AckStatus.NO_CONTEXT, AckStatus.FOREIGN)  # it is gone, and may be somebody else's by now


class Leftovers:
    """Tell it of contexts as they are made, go and are given up."""

    def __init__(self) -> None:
        self._made: dict[ContextRef, int] = {}  # keys
        self._left: dict[Gpu, dict[ContextRef, int]] = {}

    def made(self, place: ContextRef, key: int) -> None:
        """It has been created; or may have been, and nobody will hear of it."""
        self._made[place] = key

    def answered(self, place: ContextRef, compute: Compute, key: int, answer: Reply) -> None:
        """A GPU has answered a command with this key."""
        if compute is Compute.CREATE and answer.done:
            self.made(place, key)
        elif answer.status is AckStatus.NO_CONTEXT or (compute is Compute.DESTROY and answer.done):
            self._made.pop(place, None)

    def give_up(self, place: ContextRef) -> None:
        """Nobody uses it any more."""
        if place in self._made:
            self._left.setdefault(place.on, {})[place] = self._made.pop(place)

    def on(self, gpu: Gpu) -> dict[ContextRef, int]:
        """Those that this GPU may still have, and their keys."""
        return self._left.get(gpu, {})

    def held(self, gpu: Gpu) -> list[ContextRef]:
        """Those in use there, and those that it may still have."""
        return [*(place for place in self._made if place.on == gpu), *self.on(gpu)]

    def cleared(self, place: ContextRef, answer: Reply) -> bool:
        """What a GPU says to the command that destroys one. Whether it has none that was left any more."""
        if answer.done or answer.status in _NOT_OURS:
            left = self._left[place.on]
            del left[place]
            if not left:
                del self._left[place.on]
        return place.on not in self._left
