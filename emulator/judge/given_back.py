"""Whether tasks that have ended give everything back: each context that was created is destroyed (docs/sharing.md, S4;
docs/switching.md, `clean`).

Read off commands and answers. A GPU that was hit by a fault, or wasn't found by a census, has lost
its contexts; what is created there when it is found again must be destroyed like any other.
"""

from collections.abc import Collection, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.commands_seen import MANY_ATTEMPTS, Gpu, Place, SeenCommand
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import Compute, ResultStatus


class GivenBack:
    """`places`: contexts of the tasks. `views`: what the CPU knows of its cards."""

    def __init__(self, views: Sequence[CardView], places: Collection[Place]) -> None:
        self._views, self._places = views, frozenset(places)
        self._asked: dict[tuple[Gpu, int], SeenCommand] = {}  # by unit
        self._there: set[Place] = set()
        self._lost: set[Gpu] = set()
        self._struck: set[Gpu] = set()  # it isn't known what is there
        self.wrong: list[tuple[str, int]] = []

    def sent(self, command: SeenCommand) -> None:
        """The CPU sends a command."""
        if not self._places:
            return
        if command.compute in (Compute.CREATE, Compute.DESTROY):
            self._asked[command.gpu, command.unit] = command
        if command.attempt >= MANY_ATTEMPTS:
            self.lost(command.gpu)

    def heard(self, message: Result | Acknowledgement) -> None:
        """The CPU has taken in what a GPU has answered."""
        if isinstance(message, Acknowledgement):
            return
        asked = self._asked.pop(((message.source_card, message.source), message.unit), None)
        if asked is not None and message.status == ResultStatus.DONE.code and asked.place in self._places:
            (self._there.add if asked.compute is Compute.CREATE else self._there.discard)(asked.place)

    def counted(self, card: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        members = self._views[card].members
        for place in self._places if members else ():
            if place[0] == card and place[1] not in members:
                self._lost.add(place[:2])
                self._there.discard(place)
        self._asked = {key: asked for key, asked in self._asked.items() if not members or self._counts(key[0], card)}

    def _counts(self, gpu: Gpu, card: int) -> bool:
        return gpu[0] != card or gpu[1] in self._views[card].members

    def lost(self, gpu: Gpu | None) -> None:
        """A fault of this GPU begins or ends, or it doesn't answer; None: any of them may be."""
        lost = {place[:2] for place in self._places if gpu is None or place[:2] == gpu}
        self._lost |= lost
        self._struck |= lost

    def finish(self, now: int, *, ended: bool) -> None:
        """The run is over. `ended`: so are all tasks."""
        for place in sorted(self._there) if ended else ():
            if place[:2] not in self._struck:
                what = f"context {place[2]} of GPU {place[1]}, card {place[0]}"
                self.wrong.append((f"{what} was not destroyed when its task had ended", now))

    def is_lost(self, gpu: Gpu) -> bool:
        """Whether anything was seen that may have cost this GPU its contexts."""
        return gpu in self._lost
