"""When commands are asked for again, and which may be given up after few attempts (docs/howto/sharing.md, S3).

Each attempt waits longer than the one before. One that can't be sent, as the card has no entry GPU, counts like any
other: the number of the next one tells of it; of those that come last only the time tells.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ringhil.emulator.events.server import CpuSaid, PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.contexts.absent_gpus import NoEntry
from ringhil.emulator.judge.contexts.commands_seen import MANY_ATTEMPTS, REACHED_NOBODY, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, FellSilent
from ringhil.emulator.judge.findings import FindingList, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.firmware.observations import Granted
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import Compute, ResultStatus

_LONGEST = 8  # times what an answer may take: what an attempt takes at most, but for the way over the link


@dataclass(slots=True)
class _Out:
    """`at`: when the last attempt was seen. A launch: `taken`: its GPU has said that it is under way, the last time
    after attempt `heard`; `anew`: and its attempts are counted anew from then on."""

    command: SeenCommand
    at: int
    taken: bool = False
    heard: int = 0
    anew: bool = False


class Attempts:
    """`views`: what the CPU knows of its cards. `places`: contexts of its tasks. `patience`: cycles that an answer may
    take. Make it after `no_entry`, and before whoever listens to `FellSilent` and to commands."""

    def __init__(
        self,
        stream: Stream,
        views: Sequence[CardView],
        places: Collection[Place],
        no_entry: NoEntry,
        patience: int,
    ) -> None:
        self._views, self._no_entry, self._tell = views, no_entry, stream.tell
        self._patience, self._places = patience, set(places)
        self._out: dict[tuple[Place, bool], _Out] = {}  # the last launch of a context, and its last other command
        self.wrong = FindingList()
        stream.listen(CommandSent, self._command)
        stream.listen(AnswerTaken, lambda o: self.heard(o.message))
        stream.listen(ReportTaken, lambda o: self.counted(o.card))
        stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))
        stream.listen(CpuSaid, self._cpu_said)

    def _cpu_said(self, o: CpuSaid) -> None:
        if isinstance(o.what, Granted):
            self.look(o.cycle)

    def _command(self, o: CommandSent) -> None:
        if self._no_entry.anywhere:
            self.look(o.cycle)
        self.sent(o.command, o.cycle)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        launch = command.compute is Compute.LAUNCH
        last = self._out.get((command.place, launch))
        self._out[command.place, launch] = out = _Out(command, now)
        if last is not None and last.command.unit == command.unit:
            out.taken, out.heard = last.taken, 0 if last.anew else last.heard
            if command.place in self._places:
                self._again(last, command, now)
        if command.compute is Compute.DESTROY:
            self._out.pop((command.place, True), None)

    def _again(self, last: _Out, command: SeenCommand, now: int) -> None:
        """It goes out again, not before an answer has had its time, and as the attempt that it is."""
        what = say("a command to context {} of {}", command.context, numbered(command.gpu))
        before = 0 if last.anew else last.command.attempt
        waits = (self._patience + (command.amount if last.taken else 0)) * min(before + 1, _LONGEST)
        if now - last.at < waits:
            self.wrong.tell(
                now,
                "{} was asked for again after {found} cycles, not {expected}",
                what,
                found=now - last.at,
                expected=waits,
            )
        unseen = self._no_entry.time(command.gpu[0], last.at, now) > 0
        if command.attempt != before + 1 and not (unseen and command.attempt > before):
            self.wrong.tell(now, "{} is attempt {}; attempt {} was before", what, command.attempt, before)

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context: it asks in its own time."""
        self._places.discard(place)

    def heard(self, message: Result | Acknowledgement) -> None:
        """The CPU has taken in what a GPU has answered."""
        gpu = (message.source_card, message.source)
        for key, out in [*self._out.items()]:
            if out.command.gpu != gpu or out.command.unit != message.unit:
                continue
            refused = isinstance(message, Acknowledgement)
            if refused and message.status in REACHED_NOBODY:
                continue
            if not refused and message.status == ResultStatus.STARTED.code:
                out.anew |= not out.taken
                out.taken, out.heard = True, out.command.attempt
            else:
                del self._out[key]

    def counted(self, card: int) -> None:
        """The CPU has taken in a report of this card: whoever is missing is lost, with all that it was asked."""
        members = self._views[card].members
        gone = [key for key in self._out if key[0][0] == card and key[0][1] not in members] if members else ()
        for key in gone:
            del self._out[key]

    def look(self, now: int) -> None:
        """Tell of those that have had many attempts by now."""
        for key, out in [*self._out.items()]:
            command = out.command
            longest = _LONGEST * (self._patience + (command.amount if out.taken else 0))
            unseen = self._no_entry.time(command.gpu[0], out.at, now) // longest
            if unseen and command.attempt - out.heard + unseen >= MANY_ATTEMPTS:
                del self._out[key]
                self._tell(FellSilent(now, command, out.at))
