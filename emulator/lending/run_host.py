"""The emulated server as the host of loans: its CPU drains GPUs, takes them out of the ring and back."""

from collections.abc import Sequence

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

    def spare(self, gpu: str) -> bool:
        """See LendingHost. The last GPU by which the CPU reaches a card, or one card the next, is never spared."""
        return self._state(gpu) is LendState.HERE and not self._last_way(GpuRef.parse(gpu))

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

    def _last_way(self, gpu: GpuRef) -> bool:
        card = self._server.cpu.cards[self._server.wiring.number(gpu.card)]
        crossing = self._server.wiring.crossings.get(self._server.wiring.cell_of(gpu))
        ways = [card.host] if gpu.index in card.host else []
        ways += [] if crossing is None else [crossing.members]
        lending = self._server.cpu.lending
        others = [[each for each in way if each != gpu.index] for way in ways]
        return not all(any(lending.state(card, each) is LendState.HERE for each in way) for way in others)

    def _state(self, gpu: str) -> LendState:
        return self._server.lend_state(GpuRef.parse(gpu))

    def _lend(self, gpu: str) -> None:
        try:
            self._server.lend(GpuRef.parse(gpu))
        except LendError as error:
            raise HostRefusal(str(error), error.holders) from None

    def _check(self, gpu: str) -> None:
        """Raises HostRefusal, with what is in the way now; nothing: it may be told again."""
        holders = self.holders(gpu)
        if holders or not self.spare(gpu):
            why = f"{gpu} has contexts of {', '.join(holders)}" if holders else f"the host can't spare {gpu}"
            raise HostRefusal(why, holders)
