"""What contexts hold and have had of their engines, asked of the GPUs again and again, always in the same cycles.

It is asked whether anybody wants to know or not: so a run is the same however often it is looked at.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.nvml.meters import PowerMeters, Read, busy, has_meter, running, units_of
from ringhil.emulator.nvml.views import ContextUser, Place, Views
from ringhil.emulator.server import LiveServer
from ringhil.protocol.wire import Compute, Query

PERIOD = 166_667  # cycles between two samples: of a microsecond, a sixth of a second
_MICROSECOND = 1000  # nanoseconds of a cycle where no file says otherwise
_MANAGER = 0  # the key that fits everywhere
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class _Ran:
    """Cycles of the engine that a context has had by cycle `at`."""

    at: int
    cycles: int


@dataclass(slots=True)
class _Round:
    """What has been answered, and how many are missing."""

    missing: int = 0
    ran: dict[ContextRef, _Ran] = field(default_factory=dict)
    held: dict[ContextRef, int] = field(default_factory=dict)
    busy: dict[Place, _Ran] = field(default_factory=dict)


class UsageSampler:
    """`server` has not started yet. It begins when the cards have been counted; `on_sample` is called whenever there is
    something new to say. `monotonic`: seconds in which who asks lives."""

    def __init__(
        self,
        server: LiveServer,
        views: Views,
        period: int = PERIOD,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server, self._views, self._period, self._monotonic = server, views, period, monotonic
        sharing = server.scenario.sharing
        self.cycle = sharing.cycle if sharing is not None else _MICROSECOND  # nanoseconds
        self.meters = PowerMeters(self.cycle)
        self._round = _Round()
        self._last, self._before = _Round(), _Round()
        self.samples = 0
        self.on_sample: Callable[[], None] = lambda: None
        counted = server.cpu.on_counted

        def begin() -> None:
            counted()
            server.kernel.after(1, self._sample)

        server.cpu.on_counted = begin

    @property
    def begun(self) -> bool:
        """Says that the cards have been counted, and asked once."""
        return self.samples > 0

    @property
    def measured(self) -> bool:
        """Says that there are two samples to compare."""
        return self.samples > 1

    def has(self, user: ContextUser) -> bool:
        """Whether its context is there."""
        return user.place in self._last.held

    def held(self, user: ContextUser) -> int:
        """Returns the pages that it holds."""
        return self._last.held.get(user.place, 0)

    def share(self, user: ContextUser) -> int:
        """Percent of the last period that it had the engine."""
        now, before = self._last.ran.get(user.place), self._before.ran.get(user.place)
        if now is None or before is None or now.at <= before.at:
            return 0
        ran = now.cycles - before.cycles if now.cycles >= before.cycles else now.cycles  # a new context begins at 0
        # A turn is counted when it is over, though it may have begun before.
        return min(_PERCENT, round(_PERCENT * ran / (now.at - before.at)))

    def busy(self, place: Place) -> int | None:
        """Percent of the last period in which that engine ran; None: the GPU has no meter."""
        now, before = self._last.busy.get(place), self._before.busy.get(place)
        if now is None or before is None or now.at <= before.at:
            return None
        return min(_PERCENT, round(_PERCENT * (now.cycles - before.cycles) / (now.at - before.at)))

    # ------------------------------------------------------------------------------------------------------- one round

    def _sample(self) -> None:
        kernel = self._server.kernel
        kernel.after(self._period, self._sample)
        wiring, engine = self._server.wiring, self._server.engine
        reads = {wiring.place(cell): partial(engine.peek, cell) for cell in range(wiring.cells)}
        self.meters.note(kernel.now, self._monotonic(), self._taken(reads))
        if self._round.missing:
            return  # an answer takes its time: its round is one that lasted longer
        self._round = _Round()
        for place, read in reads.items():
            if (ran := busy(read)) is not None:
                self._round.busy[place] = _Ran(kernel.now, ran)
        for user in self._views.users():
            self._ask(user.place, Query.RUN_TIME, self._ran)
            self._ask(user.place, Query.MEMORY, self._holds)
        if not self._round.missing:
            self._complete()

    def _taken(self, reads: Mapping[Place, Read]) -> dict[Place | ContextRef, int]:
        """Energy of GPUs, and of contexts that are there: for the cycles of the engine that they had by the last
        round."""
        taken: dict[Place | ContextRef, int] = {of: units_of(read) for of, read in reads.items() if has_meter(read)}
        for context, ran in self._last.ran.items():
            if context.on in taken:
                taken[context] = running(reads[context.on], ran.cycles)
        return taken

    def _ask(self, place: ContextRef, what: Query, take: Callable[[ContextRef, Reply], None]) -> None:
        self._round.missing += 1

        def then(answer: Reply) -> None:
            if answer.done:
                take(place, answer)
            self._round.missing -= 1
            if not self._round.missing:
                self._complete()

        self._server.cpu.driver.ask(place, Command(Compute.QUERY, _MANAGER, what.code), then)

    def _ran(self, place: ContextRef, answer: Reply) -> None:
        self._round.ran[place] = _Ran(self._server.kernel.now, answer.digest)

    def _holds(self, place: ContextRef, answer: Reply) -> None:
        self._round.held[place] = answer.high

    def _complete(self) -> None:
        self._before, self._last = self._last, self._round
        self.samples += 1
        self.on_sample()
