"""Whether tasks that have ended give everything back: each context that was created is destroyed
(docs/howto/sharing.md, S4; docs/howto/switching.md, `clean`).

Read off commands and answers. A GPU that wasn't found by a census, or says that it has no such context, has lost it;
what is created there afterwards must be destroyed like any other. Of a context whose GPU has left many commands
unanswered it isn't known.
"""

from collections.abc import Callable, Collection, Sequence

from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import MANY_ATTEMPTS, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, FellSilent
from ringhil.emulator.judge.findings import FindingList, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus


class GivenBack:
    """`places`: contexts of the tasks. `views`: what the CPU knows of its cards. `unreached`: whether
    nobody reaches a card at a cycle, and has not for long. `doubts`: what might be wrong."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        places: Collection[Place],
        unreached: Callable[[int, int], bool] = lambda card, by: False,
    ) -> None:
        self._views, self._places, self._unreached = views, frozenset(places), unreached
        self._asked: dict[tuple[Gpu, int], SeenCommand] = {}  # by unit; what is asked again is here again
        self._there: set[Place] = set()
        self._lost: dict[Gpu, list[int]] = {}  # when that was seen
        self._silent: set[Place] = set()  # many attempts of the last command were not answered
        self._spoken: set[Place] = set()  # a driver outside has spoken to it: that is told of its task
        self._passed_on: tuple[Place, int] | None = None
        self.wrong = FindingList()
        self.doubts: list[str] = []
        stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
        stream.listen(AnswerTaken, lambda o: self.heard(o.message, o.cycle))
        stream.listen(FellSilent, lambda o: self.fell_silent(o.command, o.cycle))
        stream.listen(ReportTaken, lambda o: self.counted(o.card))
        stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context), o.cycle))

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        theirs = self._passed_on == (command.place, now)
        if command.place not in self._places or (theirs and command.compute is Compute.CREATE):
            return
        self._asked[command.gpu, command.unit] = command
        if command.attempt >= MANY_ATTEMPTS:
            self.fell_silent(command, now)

    def fell_silent(self, command: SeenCommand, now: int) -> None:
        """It has had many attempts, and may be given up."""
        if command.place in self._places:
            self._lost.setdefault(command.gpu, []).append(now)
            self._silent.add(command.place)

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        asked = self._asked.pop(((message.source_card, message.source), message.unit), None)
        if asked is None:
            return
        self._silent.discard(asked.place)
        if isinstance(message, Acknowledgement):
            if message.status == AckStatus.NO_CONTEXT.code:
                self._there.discard(asked.place)
                self._lost.setdefault(asked.gpu, []).append(now)
        elif message.status == ResultStatus.DONE.code:
            if asked.compute is Compute.CREATE:
                self._there.add(asked.place)
            elif asked.compute is Compute.DESTROY:
                self._there.discard(asked.place)

    def counted(self, card: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        members = self._views[card].members
        for gpu in {place[:2] for place in self._places} if members else ():
            if gpu[0] == card and gpu[1] not in members:
                self._lose(gpu)

    def _lose(self, gpu: Gpu) -> None:
        """All contexts of this GPU are lost; answers that are under way say nothing of what it has now."""
        self._there = {place for place in self._there if place[:2] != gpu}
        self._asked = {key: asked for key, asked in self._asked.items() if key[0] != gpu}

    def passed_on(self, place: Place, now: int) -> None:
        """A driver outside speaks to this context; its command is sent next. What it creates is nobody else's."""
        self._spoken.add(place)
        self._passed_on = (place, now)

    def finish(self, now: int, *, ended: bool) -> None:
        """The run is over. `ended`: so are all tasks."""
        for place in sorted(self._there) if ended else ():
            what = say("context {} of {} was not destroyed when its task had ended", place[2], numbered(place[:2]))
            if place in self._silent & self._spoken:
                continue
            if place in self._silent:
                self.doubts.append(
                    say("{}: {} attempts to ask for something there were not answered", what, MANY_ATTEMPTS)
                )
            elif self._unreached(place[0], now):
                self.doubts.append(say("{}: nobody has reached its card for long", what))
            else:
                self.wrong.tell(now, what)

    def lost_from(self, gpu: Gpu, since: int) -> int | None:
        """The first cycle from then on in which an answer says, or that there is none, that this GPU has lost its
        contexts; None: none does."""
        return next((at for at in self._lost.get(gpu, ()) if at >= since), None)
