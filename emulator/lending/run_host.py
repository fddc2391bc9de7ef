"""The emulated server as who lends its GPUs: its CPU drains GPUs, takes them out of the ring and back."""

from collections.abc import Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.lending import LendError, LendState
from ringhil.emulator.lending.loans import HostRefusal
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server import LiveServer

_COUNTS = 6  # that a GPU may be missing from when it is back: after that it has failed


class RunHost:
    """Of a server at work: a LendingHost."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._asked: dict[str, int] = {}  # by GPU, the cycle in which the CPU was told
        self._since: dict[str, int] = {}  # when it was taken back
        settings = server.scenario.server.settings
        self._patience = settings.gpu_restore + _COUNTS * max(
            settings.census_period, *(t.timeout for t in server.times)
        )

    @property
    def now(self) -> int:
        """Cycle of the run."""
        return self._server.kernel.now

    def counted(self, gpu: str) -> bool:
        """See LendingHost."""
        return self._state(gpu) is LendState.HERE

    def needed(self, gpu: str) -> bool:
        """See LendingHost. Of the GPUs by which the CPU reaches a card, or one card the next, one stays."""
        card, ways = self._card(gpu), self._ways(gpu)
        place, lending = GpuRef.parse(gpu).index, self._server.cpu.lending
        others = [[each for each in way if each != place] for way in ways]
        return not all(any(lending.state(card, each) is LendState.HERE for each in way) for way in others)

    def placed(self, gpu: str) -> int:
        """See LendingHost."""
        return len(self._ways(gpu))

    def holders(self, gpu: str) -> Sequence[str]:
        """See LendingHost."""
        return self._server.holders(GpuRef.parse(gpu))

    def drain(self, gpu: str) -> bool:
        """See LendingHost."""
        state = self._state(gpu)
        if state is LendState.LENT:
            self._asked.pop(gpu, None)
            return True
        if state is LendState.DRAINING:
            return False
        asked = self._asked.get(gpu)
        if asked is None:
            self._lend(gpu)
            self._asked[gpu] = self.now
        elif self.now > asked + 1:  # it was told, and didn't
            del self._asked[gpu]
            self._check(gpu)
        return False

    def restore(self, gpu: str) -> bool:
        """See LendingHost."""
        self._asked.pop(gpu, None)
        state = self._state(gpu)
        if state in (LendState.LENT, LendState.DRAINING):
            self._server.take_back(GpuRef.parse(gpu))
        since = self._since.setdefault(gpu, self.now)
        if state is LendState.HERE or (state is LendState.AWAY and self.now - since > self._patience):
            del self._since[gpu]
            return True
        return False

    def _card(self, gpu: str) -> CardView:
        return self._server.cpu.cards[self._server.wiring.number(GpuRef.parse(gpu).card)]

    def _ways(self, gpu: str) -> list[tuple[int, ...]]:
        """Those that it is one of."""
        ref, card = GpuRef.parse(gpu), self._card(gpu)
        crossing = self._server.wiring.crossings.get(self._server.wiring.cell_of(ref))
        ways = [card.host] if ref.index in card.host else []
        return ways if crossing is None else [*ways, crossing.members]

    def _state(self, gpu: str) -> LendState:
        return self._server.lend_state(GpuRef.parse(gpu))

    def _lend(self, gpu: str) -> None:
        if self.counted(gpu) and self.needed(gpu):
            raise HostRefusal(f"{gpu} is the last by which the server reaches a card")
        try:
            self._server.lend(GpuRef.parse(gpu))
        except LendError as error:
            raise HostRefusal(str(error), error.holders) from None

    def _check(self, gpu: str) -> None:
        """Raises HostRefusal, with what is in the way now; nothing: it may be told again."""
        holders = self.holders(gpu)
        if holders or not self.counted(gpu):
            why = f"{gpu} has contexts of {', '.join(holders)}" if holders else f"{gpu} is not counted"
            raise HostRefusal(why, holders)
