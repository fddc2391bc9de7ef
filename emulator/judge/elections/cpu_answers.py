"""What the CPU answers to the keepalives of GPUs: to which one, and whether and to whom it has given the lease."""

from collections import defaultdict
from collections.abc import Iterator

from ringhil.emulator.judge.elections.messages import Seat
from ringhil.emulator.judge.findings import FindingList, say
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import NO_HOLDER, MemberFlag, MemberState, Role

_FOLLOWER, _GRANTING = MemberState.FOLLOWER.code, MemberFlag.GRANTING


class CpuAnswers:
    """Feed it in the order of time."""

    def __init__(self) -> None:
        self._asked: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # number and sender, by cell
        self._holders: dict[int, tuple[int, int]] = {}  # rank and epoch of the lease that runs, by card
        self._epochs: dict[int, int] = {}  # of the last lease, by card
        self.wrong = FindingList()

    def asked(self, cell: int, frame: bytes) -> None:
        """A keepalive has arrived from a GPU."""
        f = Keepalive.HEAD.unpack_from(frame)
        if f[9] == Role.ENTRY.code:
            self._asked[cell].append((f[6], f[7]))

    def granted(self, card: int, rank: int, epoch: int) -> None:
        """The CPU has given the lease of a card."""
        self._holders[card] = rank, epoch
        self._epochs[card] = epoch

    def lapsed(self, card: int) -> None:
        """That lease is over."""
        self._holders.pop(card, None)

    def sent(self, cell: int, seat: Seat, frame: bytes, now: int) -> None:
        """The CPU sends a keepalive to a GPU."""
        for problem in self._problems(cell, seat, frame):
            self.wrong.tell(now, "the CPU answered {} at cycle {}: {}", seat.name, now, problem)

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
