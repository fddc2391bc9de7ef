"""Whether each command of a task is asked for until it is answered, and the next one of its context not before (S3).

`busy` and `incomplete` say that it has reached nobody: it is to be asked for again. What a GPU that the census hasn't
found was asked is lost; a policy that follows tasks on GPUs gives all of its contexts there up with the first of which
it is told that it is lost. Who is refused memory, or a context, or has had attempts without end and no answer, may end
early; so may who is told by a GPU with another one's number that the context is somebody else's.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import MANAGER, MANY_ATTEMPTS, REACHED_NOBODY, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, ContextsGone, FellSilent, MixedUp
from ringhil.emulator.judge.findings import FindingList, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

_NO_ROOM = (ResultStatus.OVER_LIMIT.code, ResultStatus.NO_MEMORY.code)


@dataclass(slots=True)
class _Asked:
    command: SeenCommand
    refused: str | None = None  # why this attempt has reached nobody


class OneByOne:
    """`places`: contexts of the tasks; `together`: those that are given up together. `views`: what the CPU knows of its
    cards. `given_up`: whether commands to a card may have been given up by a cycle though nobody has seen so many
    attempts."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        places: Collection[Place],
        given_up: Callable[[int, int], bool] = lambda card, by: False,
        together: Collection[Place] = (),
    ) -> None:
        self._views, self._places, self._given_up = views, frozenset(places), given_up
        self._together = frozenset(together)
        self._open: dict[Place, _Asked] = {}
        self._answered: dict[Place, set[int]] = {}
        self._unheard: dict[tuple[Gpu, int], int] = {}  # attempts to ask for a launch again, since it was heard of
        self._launched: dict[Place, int] = {}  # units that were taken, and aren't over
        self._running: dict[Place, int] = {}  # launches that were refused, one after the other, as another one runs
        # Commands that weren't answered yet when the next one went out, and when that was: an answer is told after what
        # the CPU does with it.
        self._overtaken: list[tuple[Place, _Asked, int]] = []
        self._excused: set[Place] = set()  # whose task may end early
        self._silent: set[Place] = set()  # many attempts of the last command have told nothing
        self._dropped: set[Place] = set()  # whose last command was never answered
        self._in_vain: dict[
            Gpu, list[tuple[int, int]]
        ] = {}  # when a context was asked for often to go, and others wait for that
        self._lost: set[Place] = set()  # and isn't who is waiting for the end of what was asked last
        self._mixed_up: set[Gpu] = set()  # there may be contexts that were meant for another one
        # Contexts that a driver outside has spoken to: which commands are the task's own can't be told by the frames.
        self.disturbed: set[Place] = set()
        self.wrong = FindingList()
        stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
        stream.listen(AnswerTaken, lambda o: self.heard(o.message, o.cycle))
        stream.listen(FellSilent, lambda o: self.fell_silent(o.command, o.since, o.cycle))
        stream.listen(ReportTaken, lambda o: self.counted(o.card, o.cycle))
        stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))
        stream.listen(MixedUp, lambda o: self.mixed_up(o.gpu))
        stream.listen(ContextsGone, self._gone)

    def _gone(self, o: ContextsGone) -> None:
        if o.known:
            self.emptied(o.gpu)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        unit, place = command.unit, command.place
        if place not in self._places or place in self.disturbed:
            return
        self._look(now)
        if unit in self._answered.setdefault(place, set()):  # a launch that is under way
            self._unheard[command.gpu, unit] = tries = self._unheard.get((command.gpu, unit), 0) + 1
            if tries >= MANY_ATTEMPTS:
                self._fall_silent(place)
            return
        before = self._open.get(place)
        if before is not None and before.command.unit != unit:
            self._overtaken.append((place, before, now))
        if command.compute is Compute.DESTROY and place in self._launched and self._may_be_given_up(place, now):
            self._dropped.add(place)
        self._open[place] = _Asked(command)
        if command.attempt >= MANY_ATTEMPTS:
            self.fell_silent(command, now, now)

    def fell_silent(self, command: SeenCommand, since: int, now: int) -> None:
        """It has had many attempts, and may have been given up between these cycles."""
        if command.place not in self._places or command.place in self.disturbed:
            return
        self._fall_silent(command.place)
        if command.compute is Compute.DESTROY:
            self._in_vain.setdefault(command.gpu, []).append((since, now))

    def _fall_silent(self, place: Place) -> None:
        """It may be given up, and all that it was asked with it."""
        self._silent.update(self._with(place))

    def _with(self, place: Place) -> set[Place]:
        """Those that are given up with this one."""
        others = {each for each in self._together if each[:2] == place[:2]} if place in self._together else set()
        return {place} | others

    def _may_be_given_up(self, place: Place, now: int) -> bool:
        return place in self._silent or self._given_up(place[0], now)

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self._look(now)
        gpu = (message.source_card, message.source)
        self._unheard.pop((gpu, message.unit), None)
        gone = isinstance(message, Acknowledgement) and message.status == AckStatus.NO_CONTEXT.code
        for place, unit in [*self._launched.items()]:
            if place[:2] != gpu or unit != message.unit:
                continue
            self._silent.discard(place)
            if gone or message.status != ResultStatus.STARTED.code:
                del self._launched[place]
            if gone:
                self._is_gone(place)
        for place, asked, _ in [*self._overtaken, *((place, open_, 0) for place, open_ in self._open.items())]:
            if asked.command.unit == message.unit and place[:2] == gpu:
                self._hear(place, asked, message, now)
                if gone:
                    self._is_gone(place)

    def _is_gone(self, place: Place) -> None:
        """Its GPU has said so: whoever is given up with it waits for nothing there any more."""
        self._excused.add(place)
        for other in self._with(place) & self._together:
            self._open.pop(other, None)
            self._overtaken = [each for each in self._overtaken if each[0] != other]

    def _hear(self, place: Place, asked: _Asked, message: Result | Acknowledgement, now: int) -> None:
        status = message.status
        if isinstance(message, Acknowledgement) and status in REACHED_NOBODY:
            asked.refused = REACHED_NOBODY[status]
            if any(each[1] is asked for each in self._overtaken):
                self._tell(place, asked, now)
                self._answered.setdefault(place, set()).add(message.unit)
                self._overtaken = [each for each in self._overtaken if each[1] is not asked]
            return
        self._silent.discard(place)
        if self._refused(asked.command, message):
            self._excused.add(place)
        if isinstance(message, Result) and status == ResultStatus.STARTED.code:
            self._launched[place] = message.unit
        self._answered.setdefault(place, set()).add(message.unit)
        self._overtaken = [each for each in self._overtaken if each[1] is not asked]
        if self._open.get(place) is asked:
            del self._open[place]

    def _refused(self, command: SeenCommand, message: Result | Acknowledgement) -> bool:
        """Something without which its task can't go on."""
        if isinstance(message, Acknowledgement):
            elsewhere = message.status == AckStatus.FOREIGN.code and command.gpu in self._mixed_up
            return elsewhere or command.compute is Compute.CREATE
        if message.status == ResultStatus.RUNNING.code:  # it is asked for again, under another number
            self._running[command.place] = tries = self._running.get(command.place, 0) + 1
            return tries >= MANY_ATTEMPTS
        self._running.pop(command.place, None)
        refused = command.compute in (Compute.CREATE, Compute.COPY) and message.status != ResultStatus.DONE.code
        return refused or message.status in _NO_ROOM

    def counted(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        members = self._views[card].members
        for place in self._places if members else ():
            if place[0] == card and place[1] not in members:
                self._open.pop(place, None)
                if place in self._answered:  # it was asked for something
                    self._lost.add(place)
                self._overtaken = [each for each in self._overtaken if each[0] != place]
        self._look(now)

    def mixed_up(self, gpu: Gpu) -> None:
        """There may be contexts in this GPU that were meant for another one, or the other way round."""
        self._mixed_up.add(gpu)

    def emptied(self, gpu: Gpu) -> None:
        """There is nothing in this GPU, for sure."""
        self._mixed_up.discard(gpu)

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context."""
        if place in self._places:
            self.disturbed.add(place)
            self._excused.add(place)
            self._open.pop(place, None)
            self._overtaken = [each for each in self._overtaken if each[0] != place]

    def excused(self, place: Place) -> bool:
        """Whether an answer, or that there was none, is a reason for its task to end early."""
        return place in self._excused or place in self._dropped

    def waits_in_vain(self, gpu: Gpu, since: int, by: int) -> bool:
        """Whether anybody who came to this GPU in these cycles may have waited for what is left there to go."""
        return any(begin <= by and since <= end for begin, end in self._in_vain.get(gpu, ()))

    def _look(self, now: int) -> None:
        """What was overtaken in an earlier cycle is judged."""
        late = [each for each in self._overtaken if each[2] < now]
        self._overtaken = [each for each in self._overtaken if each[2] >= now]
        for place, asked, at in late:
            self._tell(place, asked, at)

    def _tell(self, place: Place, asked: _Asked, now: int) -> None:
        if self._may_be_given_up(place, now):
            self._dropped.add(place)
            return
        what = say("a command to context {} of {}", place[2], numbered(place[:2]))
        refused = asked.refused is not None
        why = say("was {}, and was not asked for again", asked.refused) if refused else "was not waited for"
        self.wrong.tell(now, "{} {}", what, why)

    def finish(self, now: int, *, ended: bool) -> None:
        """The run is over. `ended`: so are all tasks, each of which waits for what it has asked for."""
        self._look(now + 1)
        waiting = [*self._open, *self._launched]
        self._dropped.update(place for place in waiting if self._may_be_given_up(place, now))
        for place, asked in self._open.items() if ended else ():
            if asked.refused is not None and asked.command.key != MANAGER and place not in self._lost:
                self._tell(place, asked, now)
