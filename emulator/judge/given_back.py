"""Whether tasks that have ended give everything back: each context that was created is destroyed (docs/sharing.md, S4;
docs/switching.md, `clean`).

Read off commands and answers. A GPU that was hit by a fault, or wasn't found by a census, has lost its contexts.
"""

from collections.abc import Collection, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.protocol.frames import Acknowledgement, Result, Work

# As docs/contexts.md has them: the judge shares no tables with what it judges.
_CREATE, _DESTROY = 0x10, 0x11
_DONE = 0
_NO_CONTEXT = 4  # as a reason: it has been down, and is back already
_FIRST_COMMAND = 1 << 31
_MOST = 20  # attempts: some of thirty may have gone to nobody, as the card had no entry GPU
_Gpu = tuple[int, int]  # card and number
_Place = tuple[int, int, int]  # card, number and context


class GivenBack:
    """`places`: contexts of the tasks. `views`: what the CPU knows of its cards."""

    def __init__(self, views: Sequence[CardView], places: Collection[_Place]) -> None:
        self._views, self._places = views, frozenset(places)
        self._asked: dict[tuple[_Gpu, int], tuple[int, int]] = {}  # by unit: context, command
        self._there: set[_Place] = set()
        self._lost: set[_Gpu] = set()
        self.wrong: list[tuple[str, int]] = []

    def sent(self, frame: bytes) -> None:
        """The CPU sends a frame; of a command only the first segment is looked at."""
        if not self._places or frame[0] != Work.KIND or frame[20:22] != b"\0\0":
            return
        _, card, _, _, gpu, _, unit, _, attempt, _, _, _, compute, _, context = Work.HEAD.unpack_from(frame)
        if unit >= _FIRST_COMMAND and compute in (_CREATE, _DESTROY):
            self._asked[(card, gpu), unit] = (context, compute)
        if unit >= _FIRST_COMMAND and attempt >= _MOST:
            self._lost.add((card, gpu))

    def heard(self, message: Result | Acknowledgement) -> None:
        """The CPU has taken in what a GPU has answered."""
        gpu = (message.source_card, message.source)
        if isinstance(message, Acknowledgement):
            if message.unit >= _FIRST_COMMAND and message.status == _NO_CONTEXT:
                self._lost.add(gpu)
            return
        asked = self._asked.pop((gpu, message.unit), None)
        if asked is not None and message.status == _DONE and (*gpu, asked[0]) in self._places:
            place = (*gpu, asked[0])
            (self._there.add if asked[1] == _CREATE else self._there.discard)(place)

    def counted(self, card: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        members = self._views[card].members
        for place in self._places if members else ():
            if place[0] == card and place[1] not in members:
                self.lost(place[:2])

    def lost(self, gpu: _Gpu | None) -> None:
        """A fault of this GPU begins or ends, or it isn't found; None: any of them may be."""
        self._lost.update(place[:2] for place in self._places if gpu is None or place[:2] == gpu)

    def finish(self, now: int, *, ended: bool) -> None:
        """The run is over. `ended`: so are all tasks."""
        for place in sorted(self._there) if ended else ():
            if place[:2] not in self._lost:
                what = f"context {place[2]} of GPU {place[1]}, card {place[0]}"
                self.wrong.append((f"{what} was not destroyed when its task had ended", now))

    def is_lost(self, gpu: _Gpu) -> bool:
        """Whether anything was seen that may have cost this GPU its contexts."""
        return gpu in self._lost
