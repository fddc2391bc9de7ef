"""What a count says of its members' speed and weight, held against the faults and the file.

A GPU that has been slow, or not, for long enough is called so, also by itself; and the weight of all is that of the
members, a degraded one counting a quarter. Where a GPU lies or flaps, or a link is noisy, it isn't judged.
"""

from collections.abc import Sequence

from ringhil.emulator.events.firmware import FirmwareSaid
from ringhil.emulator.events.server import Struck
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.elections.seat_events import Booted
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.truth import CardTruth
from ringhil.emulator.scenario import EventAction, GpuRef
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted


class Weighing:
    """`truths` and `bounds`: by card. Make it after `truths`, which hear of each fault first."""

    def __init__(self, stream: Stream, wiring: Wiring, truths: Sequence[CardTruth], bounds: Sequence[Bounds]) -> None:
        self._wiring, self._truths, self._bounds = wiring, truths, bounds
        self._changed: dict[tuple[int, int], int] = {}  # when a GPU began or ceased to be slow, by card and number
        self._disturbed, self._lied_at = [False] * len(truths), [-1] * len(truths)
        self._booted: dict[int, int] = {}  # by cell
        self.wrong = FindingList()
        stream.listen(Struck, self._struck)
        stream.listen(Booted, self._boots)
        stream.listen(FirmwareSaid, self._said)

    def _struck(self, o: Struck) -> None:
        event, now = o.event, o.cycle
        if event.kind == "slow" and isinstance(event.target, GpuRef):
            self._changed[self._wiring.place(self._wiring.cell_of(event.target))] = now
        for card, truth in enumerate(self._truths):
            if truth.disturbed or self._disturbed[card]:
                self._lied_at[card] = now
            self._disturbed[card] = truth.disturbed

    def _boots(self, o: Booted) -> None:
        """Its firmware reads how fast its GPU is when its first timer runs out."""
        self._booted[o.cell] = o.cycle

    def _said(self, o: FirmwareSaid) -> None:
        """An entry GPU has accepted a census."""
        cell, what, now = o.cell, o.what, o.cycle
        if not isinstance(what, Counted):
            return
        card, entry = self._wiring.place(cell)
        truth, bounds = self._truths[card], self._bounds[card]
        slow = bounds.recovery(EventAction.FAULT, "slow") + bounds.times.refreshed
        if what.members is None or truth.disturbed or self._lied_at[card] >= what.sent_at - slow:
            return
        for gpu in what.members:
            since = self._changed.get((card, gpu), -slow)
            if gpu == entry:
                since = max(since, self._booted.get(cell, -slow))
            is_slow = "slow" in truth.gpus.get(gpu, ())
            if since + slow < what.sent_at and (gpu in what.degraded) != is_slow:
                found, must = ("not ", "it is slow") if is_slow else ("", "it is not slow")
                name = Name(f"{self._wiring.cards[card].name}.{gpu}")
                self._tell(
                    cell,
                    now,
                    say("{} is {}among the degraded GPUs, and {} since cycle {}", name, found, must, max(since, 0)),
                )
        weights = self._wiring.cards[card].weights
        weight = sum(weights[gpu] * (1 if gpu in what.degraded else 4) for gpu in what.members)
        slow_ones = [gpu for gpu in what.members if "slow" in truth.gpus.get(gpu, ())]
        by_truth = sum(weights[gpu] * (1 if gpu in slow_ones else 4) for gpu in what.members)
        if what.weight not in (weight, by_truth):
            self._tell(
                cell,
                now,
                say(
                    "the weight of GPUs {} is {found}, must be {expected}",
                    list(what.members),
                    found=what.weight,
                    expected=weight,
                ),
            )
        elif what.weight != weight:  # it is right, so that the degraded GPUs are not
            degraded = say(
                "the degraded GPUs are {found}, must be {expected}", found=[*what.degraded], expected=slow_ones
            )
            self._tell(cell, now, say("{}: the weight {} is that of these", degraded, what.weight))

    def _tell(self, cell: int, now: int, what: str) -> None:
        self.wrong.tell(now, "{} counted at cycle {}: {}", Name(str(self._wiring.gpu_of(cell))), now, what)
