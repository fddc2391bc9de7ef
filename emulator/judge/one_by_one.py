"""Whether each command of a task is asked for until it is answered, and the next one of its context not before (S3).

`busy` and `incomplete` say that it has reached nobody: it is to be asked for again. A task that ends early has a reason
that was seen: an answer that refused it something, a GPU that was lost, or thirty attempts without an answer. What a
GPU that the census hasn't found was asked is lost.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ringhil.emulator.host.card import CardView
from ringhil.protocol.frames import Acknowledgement, Result, Work

# As docs/contexts.md and docs/protocol.md have them: the judge shares no tables with what it judges.
_BUSY, _INCOMPLETE = 1, 2
_REACHED_NOBODY = {_BUSY: "busy", _INCOMPLETE: "incomplete"}
_DONE, _STARTED = 0, 6
_FIRST_COMMAND = 1 << 31
_MANAGER = 0  # the key of whoever manages the GPU
_MOST = 20  # of thirty attempts: some may have gone to nobody, as the card had no entry GPU
_Gpu = tuple[int, int]  # card and number
_Place = tuple[int, int, int]  # card, number and context


@dataclass(slots=True)
class _Command:
    unit: int
    attempt: int
    key: int
    refused: str | None = None  # why this attempt has reached nobody


class OneByOne:
    """`places`: contexts of the tasks. `views`: what the CPU knows of its cards."""

    def __init__(self, views: Sequence[CardView], places: Collection[_Place]) -> None:
        self._views, self._places = views, frozenset(places)
        self._open: dict[_Place, _Command] = {}
        self._answered: dict[_Place, set[int]] = {}
        # Commands that weren't answered yet when the next one went out, and when that was: an answer is told after what
        # the CPU does with it.
        self._overtaken: list[tuple[_Place, _Command, int]] = []
        self._excused: set[_Place] = set()  # whose task has a reason to end early
        self.wrong: list[tuple[str, int]] = []

    def sent(self, frame: bytes, now: int) -> None:
        """The CPU sends a frame; of a command only the first segment is looked at."""
        if not self._places or frame[0] != Work.KIND or frame[20:22] != b"\0\0":
            return
        _, card, _, _, gpu, _, unit, _, attempt, *_, context = Work.HEAD.unpack_from(frame)
        place = (card, gpu, context)
        if unit < _FIRST_COMMAND or place not in self._places:
            return
        self._look(now)
        if unit in self._answered.setdefault(place, set()):
            return  # a launch that is under way
        before = self._open.get(place)
        if before is not None and before.unit != unit:
            self._overtaken.append((place, before, now))
        self._open[place] = _Command(unit, attempt, int.from_bytes(frame[Work.HEAD.size :][:4]))
        if attempt >= _MOST:
            self._excused.add(place)

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self._look(now)
        for place, command, _ in [*self._overtaken, *((place, open_, 0) for place, open_ in self._open.items())]:
            if command.unit == message.unit and place[:2] == (message.source_card, message.source):
                self._hear(place, command, message, now)

    def _hear(self, place: _Place, command: _Command, message: Result | Acknowledgement, now: int) -> None:
        status = message.status
        if isinstance(message, Acknowledgement) and status in _REACHED_NOBODY:
            command.refused = _REACHED_NOBODY[status]
            if any(each[1] is command for each in self._overtaken):
                self._tell(place, command, now)
                self._answered.setdefault(place, set()).add(command.unit)
                self._overtaken = [each for each in self._overtaken if each[1] is not command]
            return
        if isinstance(message, Acknowledgement) or status not in (_DONE, _STARTED):
            self._excused.add(place)
        self._answered.setdefault(place, set()).add(command.unit)
        self._overtaken = [each for each in self._overtaken if each[1] is not command]
        if self._open.get(place) is command:
            del self._open[place]

    def counted(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        members = self._views[card].members
        for place in self._places if members else ():
            if place[0] == card and place[1] not in members:
                self._open.pop(place, None)
                self._excused.add(place)
                self._overtaken = [each for each in self._overtaken if each[0] != place]
        self._look(now)

    def struck(self, gpu: _Gpu | None) -> None:
        """A fault of this GPU begins or ends; None: one that may strike any of them."""
        self._excused.update(place for place in self._places if gpu is None or place[:2] == gpu)

    def excused(self, place: _Place) -> bool:
        """Whether its task has a reason to end early."""
        return place in self._excused

    def _look(self, now: int) -> None:
        """What was overtaken in an earlier cycle is judged."""
        late = [each for each in self._overtaken if each[2] < now]
        self._overtaken = [each for each in self._overtaken if each[2] >= now]
        for place, command, at in late:
            self._tell(place, command, at)

    def _tell(self, place: _Place, command: _Command, now: int) -> None:
        if command.attempt >= _MOST:
            return
        what = f"a command to context {place[2]} of GPU {place[1]}, card {place[0]}"
        refused = command.refused is not None
        why = f"was {command.refused}, and was not asked for again" if refused else "was not waited for"
        self.wrong.append((f"{what} {why}", now))

    def finish(self, now: int, *, ended: bool) -> None:
        """The run is over. `ended`: so are all tasks, each of which waits for what it has asked for."""
        self._look(now + 1)
        for place, command in self._open.items() if ended else ():
            if command.refused is not None and command.key != _MANAGER:
                self._tell(place, command, now)
