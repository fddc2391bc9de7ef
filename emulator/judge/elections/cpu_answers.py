"""What the CPU answers to the keepalives of GPUs: to which one, and whether and to whom it has given the lease."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import CpuSaid
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.messages import Alive, Seat
from ringhil.emulator.judge.elections.seat_events import GrantorHears
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.firmware.observations import Granted
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import NO_HOLDER, MemberFlag, MemberState, Role

_FOLLOWER, _GRANTING = MemberState.FOLLOWER.code, MemberFlag.GRANTING


class CpuAnswers:
    """`seats`: by cell and role."""

    def __init__(self, stream: Stream, seats: Mapping[tuple[int, Role], Seat]) -> None:
        self._seats = seats
        self._asked: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # number and sender, by cell
        self._holders: dict[int, tuple[int, int]] = {}  # rank and epoch of the lease that runs, by card
        self._epochs: dict[int, int] = {}  # of the last lease, by card
        self.wrong = FindingList()
        stream.listen(GrantorHears, self._asked_for)
        stream.listen(CpuSaid, self._said)
        stream.listen(FromCpu, self._sent)

    def _asked_for(self, o: GrantorHears) -> None:
        """A keepalive has arrived from a GPU."""
        if isinstance(o.message, Alive) and o.message.role is Role.ENTRY and o.seat.role is Role.ENTRY:
            self._asked[o.cell].append((o.message.sequence, o.message.sender))

    def _said(self, o: CpuSaid) -> None:
        """The CPU has given the lease of a card, or that lease is over."""
        if isinstance(o.what, Granted):
            self._holders[o.card] = o.what.rank, o.what.epoch
            self._epochs[o.card] = o.what.epoch
        else:
            self._holders.pop(o.card, None)

    def _sent(self, o: FromCpu) -> None:
        if o.frame[0] == Keepalive.KIND:
            seat = self._seats[o.cell, Role.ENTRY]
            for problem in self._problems(o.cell, seat, o.frame):
                self.wrong.tell(o.cycle, "the CPU answered {} at cycle {}: {}", seat.name, o.cycle, problem)

    def _problems(self, cell: int, seat: Seat, frame: bytes) -> Iterator[str]:
        f = Keepalive.HEAD.unpack_from(frame)
        _, card, flags, _, home, epoch, _, _, asker, role, _, _, state, _, _, echo, holder = f
        if (card, flags, home, role) != (seat.number, 0, seat.gpu, Role.ENTRY.code):
            yield say("card, flags, home and role are {}", (card, flags, home, role))
        asked = self._asked[cell]
        if (echo, asker) in asked:
            # What came before it and was not answered was lost, or damaged: it never will be.
            del asked[: asked.index((echo, asker)) + 1]
        else:
            yield say("it answers keepalive {} of {:#x}, which has not come, or was answered", echo, asker)
        runs = self._holders.get(seat.number)
        must = _FOLLOWER | (0 if runs is None else _GRANTING), NO_HOLDER if runs is None else runs[0]
        if (state, holder) != must:
            yield say("state and holder are {found}, must be {expected}", found=(state, holder), expected=must)
        if epoch < self._epochs.get(seat.number, 0):
            yield say(
                "it tells of epoch {found}, and has granted {expected}", found=epoch, expected=self._epochs[seat.number]
            )
