"""Whether contexts that their tasks have lost are destroyed when their GPU is found again, before it is asked for
anything else; and whether a GPU holds memory that belongs to none of its tasks (docs/howto/sharing.md, S3).

What is held is read off the GPU's register, whenever a context is to be created, and at the end; what belongs to tasks,
and to drivers outside, off commands and answers. A GPU that answers by another one's number may hold what it was asked
for in the other's place, and a driver outside may have had a say in a task's context: there nothing is wrong for sure.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import (
    MANY_ATTEMPTS,
    REACHED_NOBODY,
    SPOKEN,
    TWINS,
    Place,
    SeenCommand,
)
from ringhil.emulator.judge.contexts.context_events import CommandSent, ContextsGone, FellSilent, MixedUp
from ringhil.emulator.judge.findings import FindingList, Value, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

_TELL_HELD = (Compute.CREATE, Compute.ALLOCATE, Compute.FREE)


@dataclass(slots=True)
class _Gpu:
    """`held`: pages of each context that is there, or may be; `left`: those of tasks that were lost with it, and
    whether they are being destroyed; `asked`: what isn't answered, by unit; `launches`: those that were taken."""

    held: dict[Place, int]
    left: dict[Place, bool]
    asked: dict[int, SeenCommand]
    launches: dict[int, Place]
    counted: bool = True

    @property
    def most(self) -> int:
        """Pages that may be held by contexts that somebody uses."""
        coming = (command.amount for command in self.asked.values() if command.compute is Compute.ALLOCATE)
        return sum(self.held.values()) + sum(coming)


class LeftBehind:
    """`places`: contexts of the tasks. `views`: what the CPU knows of its cards. `held`: pages that a GPU holds now."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        places: Collection[Place],
        held: Callable[[Gpu], int],
    ) -> None:
        self._views, self._places, self._held = views, frozenset(places), held
        self._gpus = defaultdict[Gpu, _Gpu](lambda: _Gpu({}, {}, {}, {}))
        self._seen: set[tuple[Gpu, int]] = set()
        self._silent: dict[Place, int] = {}  # units of which many attempts have told nothing
        self._keys: dict[Place, int] = {}  # with which contexts were created
        self._mixed_up: set[Gpu] = set()  # there may be contexts that were meant for another one
        self._spoken: set[Gpu] = set()  # a driver outside has spoken to a context of its tasks
        # What was asked for while something was left: an answer is told after what the CPU does with it.
        self._early: list[tuple[Gpu, str, int]] = []
        self.wrong = FindingList()
        self._doubts: dict[Gpu, str] = {}  # the first one of each
        stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
        stream.listen(AnswerTaken, lambda o: self.heard(o.message, o.cycle))
        stream.listen(FellSilent, lambda o: self.fell_silent(o.command))
        stream.listen(ReportTaken, lambda o: self.counted(o.card, o.cycle))
        stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))
        stream.listen(MixedUp, lambda o: self.mixed_up(o.gpu))
        stream.listen(ContextsGone, self._gone)

    def _gone(self, o: ContextsGone) -> None:
        if o.known:
            self.emptied(o.gpu)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        if not self._places:
            return
        if command.attempt >= MANY_ATTEMPTS:
            self.fell_silent(command)
        if (command.gpu, command.unit) in self._seen:
            return
        self._seen.add((command.gpu, command.unit))
        gpu = self._gpus[command.gpu]
        gpu.asked[command.unit] = command
        if command.compute is Compute.DESTROY:
            self._destroys(gpu, command, now)
        if command.compute is Compute.DESTROY and command.place in gpu.left:
            gpu.left[command.place] = True
        elif gpu.left and command.compute is not Compute.DESTROY:
            what = say("context {} of {}, was asked to {}", command.context, _name(command.gpu), command.compute)
            self._early.append((command.gpu, what, now))
        if command.compute is Compute.CREATE:
            self._keys[command.place] = command.key
            self._compare(command.gpu, now)
            gpu.held.setdefault(command.place, 0)

    def fell_silent(self, command: SeenCommand) -> None:
        """It has had many attempts, and may be given up."""
        if command.place in self._places:
            self._silent[command.place] = command.unit

    def _destroys(self, gpu: _Gpu, command: SeenCommand, now: int) -> None:
        place = command.place
        if self._silent.pop(place, None) is not None:  # it was given up
            gpu.left[place] = False
        if place in gpu.left and command.key != self._keys.get(place):
            what = say(
                "context {} of {}, was asked to {} with another key",
                command.context,
                _name(command.gpu),
                command.compute,
            )
            self._tell(command.gpu, what, now)

    def heard(self, message: Result | Acknowledgement, now: int) -> None:
        """The CPU has taken in what a GPU has answered."""
        self._look(now)
        gpu = self._gpus.get((message.source_card, message.source))
        refused = isinstance(message, Acknowledgement)
        if gpu is None or (refused and message.status in REACHED_NOBODY):
            return
        self._silent = {place: unit for place, unit in self._silent.items() if unit != message.unit}
        if message.unit in gpu.launches and refused and message.status == AckStatus.NO_CONTEXT.code:
            gpu.held.pop(gpu.launches.pop(message.unit), None)
        if message.unit not in gpu.asked:
            return
        command = gpu.asked.pop(message.unit)
        place, done = command.place, not refused and message.status == ResultStatus.DONE.code
        if command.compute is Compute.DESTROY:
            gpu.left.pop(place, None)
        elif command.compute is Compute.LAUNCH:
            gpu.launches[message.unit] = place
        if done and isinstance(message, Result) and command.compute in _TELL_HELD:
            gpu.held[place] = message.digest >> 32
        elif _is_gone(command, message, done=done):
            gpu.held.pop(place, None)

    def counted(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        self._look(now)
        members = self._views[card].members
        for (number, index), gpu in self._gpus.items() if members else ():
            if number != card:
                continue
            gpu.counted = index in members
            if not gpu.counted:
                gpu.left = dict.fromkeys([*gpu.left, *self._places.intersection(gpu.held)], False)
                gpu.held = {place: pages for place, pages in gpu.held.items() if place not in self._places}
                gpu.asked, gpu.launches = {}, {}

    def mixed_up(self, gpu: Gpu) -> None:
        """There may be contexts in this GPU that were meant for another one, or the other way round."""
        self._mixed_up.add(gpu)
        self._gpus.setdefault(gpu, _Gpu({}, {}, {}, {}))  # it may hold something though it was asked for nothing

    def emptied(self, gpu: Gpu) -> None:
        """There is nothing in this GPU, for sure."""
        self._mixed_up.discard(gpu)

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context."""
        if place in self._places:
            self._spoken.add(place[:2])

    @property
    def doubts(self) -> Iterable[str]:
        """What might be wrong, and why nobody knows."""
        return self._doubts.values()

    def finish(self, now: int) -> None:
        """The run is over."""
        self._look(now + 1)
        for gpu, known in self._gpus.items():
            if not known.counted:
                continue
            kept = [place for place, asked in known.left.items() if not asked]
            if kept:
                what = say("{}, was found again, and was not asked to give back {}", _name(gpu), _contexts(kept))
                self._tell(gpu, what, now)
            elif not known.left:
                self._compare(gpu, now)

    def _look(self, now: int) -> None:
        for gpu, what, at in self._early:
            left = self._gpus[gpu].left
            if at < now and left:
                self._tell(gpu, say("{} before it had given back {}", what, _contexts(left)), at)
        self._early = [each for each in self._early if each[2] >= now]

    def _compare(self, gpu: Gpu, now: int) -> None:
        held, most = self._held(gpu), self._gpus[gpu].most
        if held > most:
            what = say("{}, holds {} pages, of which its tasks have {}", _name(gpu), held, most)
            if gpu in self._mixed_up:
                self._doubts.setdefault(gpu, say("{}: {}", what, TWINS))
            else:
                self._tell(gpu, what, now)

    def _tell(self, gpu: Gpu, what: str, now: int) -> None:
        if gpu in self._spoken:
            self._doubts.setdefault(gpu, say("{}: {}", what, SPOKEN))
        else:
            self.wrong.tell(now, what)


def _is_gone(command: SeenCommand, message: Result | Acknowledgement, *, done: bool) -> bool:
    if command.compute is Compute.CREATE:
        return not done
    if isinstance(message, Acknowledgement):
        return message.status == AckStatus.NO_CONTEXT.code
    return done and command.compute is Compute.DESTROY


def _name(gpu: Gpu) -> str:
    return numbered(gpu)


def _contexts(places: Iterable[Place]) -> str:
    return Value(", ".join(f"context {place[2]}" for place in sorted(places)))
