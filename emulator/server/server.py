"""Powers a server up, plays its timeline, lets the CPU work, and judges the whole."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu, CpuConfig
from ringhil.emulator.host.workload import Files, Generated, Workload
from ringhil.emulator.judge.bounds import ATTEMPTS, Bounds
from ringhil.emulator.judge.expectations import Expectations
from ringhil.emulator.judge.oracle import BLOCKED, OK, Part
from ringhil.emulator.judge.orphans import Orphans
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.results import Results
from ringhil.emulator.judge.switchover import SwitchOver
from ringhil.emulator.judge.watch import Watch
from ringhil.emulator.kernel.agenda import Agenda
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.emulator.scenario import CrossRef, Scenario, TimelineEvent
from ringhil.emulator.server.groups import Groups
from ringhil.emulator.server.injector import Injector
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.actions import Action
from ringhil.firmware.commands import CancelTimer, Send, SetTimer, Write
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.observations import Counted, Deposed, Elected, Granted, Lapsed, Rejected, Suspected
from ringhil.firmware.timing import SWITCH_OVER
from ringhil.protocol import registers, wire
from ringhil.protocol.frames import Keepalive, Statistics

_FROM_SETTINGS = (
    "watchdog",
    "heartbeat",
    "allowance",
    "allowance_period",
    "link_restore",
    "gpu_restore",
    "compute_setup",
    "compute_per_flit",
)

_UNSEEN = (SetTimer, Write, CancelTimer)  # most of what firmware does, and nothing that is watched


class Server:
    """One run of a scenario: `run`, or `start`, any number of `run_to` and `strike`, and `finish`; each run once."""

    def __init__(
        self,
        scenario: Scenario,
        library: Library,
        *,
        skipping: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.scenario = scenario
        self._cards = scenario.server.cards
        self._settings = s = scenario.server.settings
        self._wiring = Wiring(scenario.server)
        self.engine = Engine(library, self._wiring.topology, skipping=skipping)
        self.kernel = Agenda(self.engine, s.firmware_latency, s.host_latency)
        self._workload = self._open_workload()
        self._bounds = [Bounds(card.gpus, s, s.records != "never") for card in self._cards]
        views = [self._view(number) for number in range(len(self._cards))]
        self.cpu = Cpu(self.kernel, views, self._cpu_config(), self._workload, self._on_done, on_progress)
        self.cpu.on_grant = self._on_grant
        self.watch = Watch(self._wiring, self._bounds, views)
        self.orphans = Orphans(self.kernel, [c.name for c in self._cards], [b.orphan for b in self._bounds])
        self._injector = Injector(self.kernel, self._wiring, self._on_life, self._on_flap)
        self._groups = Groups(self._wiring, s, self._bounds, scenario.seed)
        self._firmware = {
            self._wiring.cell(number, gpu): self._gpu_firmware(number, gpu)
            for number, card in enumerate(self._cards)
            for gpu in range(card.gpus)
            if gpu in card.host_links or self._wiring.cell(number, gpu) in self._wiring.crossings
        }
        self.kernel.on_firmware_mail = self._firmware_mail
        self.kernel.on_cpu_mail = self._cpu_mail
        self._results = results = Results(self._wiring, self.kernel, self.cpu, self.watch, self.orphans)
        self.expectations = Expectations(
            scenario.expect,
            self.kernel,
            self.cpu,
            results.breaks,
            results.boundaries,
            results.isolated,
            self.watch.differs,
        )
        self._timeline = scenario.timeline
        self._horizon = self._first_horizon()
        self._seconds = 0.0
        self._shared_out = False

    # ------------------------------------------------------------------------------------------------- power-up

    def _view(self, number: int) -> CardView:
        card, times = self._cards[number], self._bounds[number].election
        cells = tuple(self._wiring.cell(number, gpu) for gpu in card.host_links)
        grantor = Grantor("entry", times.lease, times.guard)
        return CardView(card.name, number, card.gpus, card.host_links, cells, grantor)

    def _open_workload(self) -> Workload | None:
        work = self.scenario.workload
        if work is None:
            return None
        if work.data is not None:
            return Files(work.data, work.size)
        return Generated(work.units or 0, work.size, self.scenario.seed)

    def _cpu_config(self) -> CpuConfig:
        s = self._settings
        slowest = max(b.timeout + b.ring_time for b in self._bounds)
        period = max(s.census_period, slowest)
        patience = 4 * slowest + 2 * s.host_latency + s.allowance_period
        silence = 3 * period + ATTEMPTS * slowest
        across = self.scenario.workload.across if self.scenario.workload else 0
        return CpuConfig(
            silence, patience, s.window, s.compute_setup, s.compute_per_flit, across, self._ways() if across else {}
        )

    def _ways(self) -> dict[tuple[int, int], frozenset[int]]:
        """For every pair of cards the GPUs of the first one whose links lead to the second one."""
        ways = {}
        for card in range(len(self._cards)):
            for target in range(len(self._cards)):
                hop = self._wiring.next_hop(card, target)
                ends = (self._wiring.crossings[c] for c in self._wiring.crossings if self._card_of(c) == card)
                members = next((end.members for end in ends if end.peer_card == hop), ())
                if card != target and hop is not None:
                    ways[card, target] = frozenset(members)
        return ways

    def _card_of(self, cell: int) -> int:
        topology = self._wiring.topology
        return max(card for card in range(len(self._cards)) if topology.first(card) <= cell)

    def _gpu_firmware(self, card: int, gpu: int) -> GpuFirmware:
        cell = self._wiring.cell(card, gpu)

        def boot(boots: int, memory: int) -> GpuProgram:
            return self._groups.boot(card, gpu, boots, memory)

        return GpuFirmware(self.kernel, cell, boot, partial(self._observe, card, gpu, cell))

    def _configure(self) -> None:
        resets = {r.name: r.reset for r in registers.REGISTERS}
        for number, card in enumerate(self._cards):
            for gpu in range(card.gpus):
                cell = self._wiring.cell(number, gpu)
                values = {name: getattr(self._settings, name) for name in _FROM_SETTINGS}
                values["gpu_type"] = wire.GPU_TYPES[card.types[gpu]]
                values["weight"] = card.weights[gpu]
                values["allowance"] = max(self._settings.allowance, self._allowance(number, gpu, cell))
                crossing = self._wiring.crossings.get(cell)
                if crossing is not None:
                    values["boundary_peer"] = crossing.peer_card
                for name, value in values.items():
                    if value != resets[name]:
                        self.engine.poke(cell, name, value)

    def _allowance(self, number: int, gpu: int, cell: int) -> int:
        """Control frames that a GPU needs for its part in censuses and elections."""
        card, b = self._cards[number], self._bounds[number]
        frames = b.census_frames + b.keepalive_frames(len(card.host_links)) if gpu in card.host_links else 0
        crossing = self._wiring.crossings.get(cell)
        if crossing is not None:
            # A warden also answers its member's keepalives.
            frames += 2 * b.keepalive_frames(len(crossing.members))
        return frames

    # ---------------------------------------------------------------------------------------------------- mail

    def _firmware_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        firmware = self._firmware.get(cell)
        if firmware is not None:
            firmware.mail(frame, port, bad)

    def _cpu_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        self.cpu.mail(cell, frame, port, bad)
        self._look_at_shares()
        self.watch.reported(self._card_of(cell), self.kernel.now)
        self.expectations.news()

    def _look_at_shares(self) -> None:
        if not self._shared_out and any(card.share for card in self.cpu.cards):
            self._shared_out = True
            self.watch.shared_out(self.cpu.work.units, self.kernel.now)

    def _observe(self, card: int, gpu: int, cell: int, action: Action) -> None:
        """A GPU's firmware is about to do something."""
        if isinstance(action, _UNSEEN):
            return
        now, watch = self.kernel.now, self.watch
        if isinstance(action, Send):
            if action.frame[0] == Statistics.KIND:
                truth = watch.cards[card].truth
                # A GPU that is muted may hold its own message back.
                if truth.possible(("gpu", gpu), now) == {OK}:
                    self.orphans.sent(card, action.frame)
            elif action.frame[0] == Keepalive.KIND and self._injector.keepalive(cell, action.frame):
                watch.loss_over(card, gpu, now)
        elif isinstance(action, Counted):
            watch.counted(card, gpu, action, now)
        elif isinstance(action, Rejected):
            watch.rejected(card, action, now)
        elif isinstance(action, Suspected):
            watch.suspected(card, action, now)
        elif isinstance(action, Elected | Deposed):
            group = self._wiring.crossings[cell].group if action.role == "boundary" else None
            role = watch.cards[card].role if group is None else watch.links[group]
            if isinstance(action, Elected):
                role.elected(gpu, action.epoch, now)
            else:
                role.gone(gpu, now)
                watch.noticed([card], now)
            watch.roles_changed(now)

    def _on_grant(self, card: CardView, action: Action) -> None:
        if isinstance(action, Lapsed):
            self.watch.noticed([card.number], self.kernel.now)
        if isinstance(action, Granted | Lapsed):
            self.watch.roles_changed(self.kernel.now)

    # ------------------------------------------------------------------------------------------------ timeline

    def _apply(self, event: TimelineEvent) -> None:
        self._injector.apply(event)
        numbers, part = self.watch.oracle.place(event)
        before = None if part is None else self._state(min(numbers), part)
        opened = self.watch.event(event, self.kernel.now)
        for number in numbers:
            self._suspect(number, event, BLOCKED in (before, None if part is None else self._state(number, part)))
        self.expectations.news()
        if part is None or (state := self._state(min(numbers), part)) == before:
            return

        def switched(cycle: int) -> None:
            # A role that has to move is the later part of it.
            opened.switched = cycle if opened.switched is None else opened.switched

        number, topology = min(numbers), self._wiring.topology
        until = self.kernel.now + self._bounds[number].settling("switch_stuck_through")
        until = max(until, self.kernel.now + self._bounds[number].settling(event.kind))
        ring = (topology.first(number), topology.rings[number])
        self.kernel.after(
            0, SwitchOver(self.kernel, *ring, part, state, until, lambda: not opened.superseded, switched)
        )

    def _state(self, card: int, part: Part) -> str:
        return self.watch.cards[card].truth.state(part)

    def _suspect(self, card: int, event: TimelineEvent, blocked: bool) -> None:
        """Something that may leave a message over, or hold it up, has happened to a card."""
        if event.kind == "hang":
            self.orphans.held(card, self._settings.watchdog + SWITCH_OVER)
        if blocked:
            self.orphans.held(card, self._bounds[card].settling("switch_stuck_through"))
        if event.kind == "link_delay":
            self.orphans.slowed(card, event.value or 0)
        self.orphans.struck(card)

    def _on_life(self, cell: int, alive: bool) -> None:
        """A GPU has failed, and its firmware with it; or it is well again and boots."""
        firmware = self._firmware.get(cell)
        if firmware is None:
            return
        if alive:
            firmware.power_up()
            return
        firmware.fail()
        card = self._card_of(cell)
        gpu = cell - self._wiring.topology.first(card)
        self.watch.cards[card].role.gone(gpu, self.kernel.now)
        crossing = self._wiring.crossings.get(cell)
        if crossing is not None and crossing.leads:
            self.watch.links[crossing.group].gone(gpu, self.kernel.now)

    def _on_flap(self, card: int, gpu: int, failed: bool) -> None:
        self.watch.flapped(card, gpu, failed, self.kernel.now)
        self.expectations.news()

    # ----------------------------------------------------------------------------------------------------- run

    def _first_horizon(self) -> int:
        """Everything that the scenario speaks of has happened by then, and has had time to be dealt with."""
        if self.scenario.until is not None:
            return self.scenario.until
        horizon = max(self._settings.census_period, *(2 * b.timeout for b in self._bounds))
        if self._wiring.links:
            horizon = max(horizon, *(b.return_bound(2, across=True) for b in self._bounds))
        events = self._timeline
        settled = 0  # by then what came before has settled, on any card
        for event in events:
            # The whole way: the role moves, then the new entry GPU counts.
            target = event.target
            ends = [target.from_.card, target.to.card] if isinstance(target, CrossRef) else [target.card]
            for b in (self._bounds[self._wiring.number(name)] for name in ends):
                bound = b.recovery(event.action, event.kind, len(events)) + b.return_bound(
                    8, across=bool(self._wiring.links)
                )
                horizon = max(horizon, max(event.at, settled) + bound + 1)
                settled = max(settled, event.at + b.settling(event.kind))
        return max(horizon, self.expectations.last_cycle + 1)

    def _on_done(self) -> None:
        if self.kernel.now >= self._horizon:
            self.kernel.stop()

    def run(self) -> Outcome:
        """Play it all; raises DataError when the workload's files can't be read."""
        self.start()
        return self.finish()

    def start(self) -> None:
        """Power up. No time passes."""
        with self._playing():
            self._configure()
            self.kernel.open()
            for event in self._timeline:
                self.kernel.early(event.at, _Event(self, event))
            for cell in self._firmware:
                self._firmware[cell].power_up()
            self.cpu.power_up()
            self.kernel.after(self.cpu.config.silence, self._look_at_shares)  # it waits no longer for a card

    def run_to(self, cycle: int) -> None:
        """Play until `cycle`, or nothing if that is past; what is to happen in that very cycle is still to come."""
        with self._playing():
            self.kernel.run_before(cycle)

    def strike(self, events: Iterable[TimelineEvent]) -> None:
        """Add events as if they had stood in the file, after its own. Raises ValueError for one before now."""
        new = tuple(sorted(events, key=lambda event: event.at))
        if new and new[0].at < self.kernel.now:
            raise ValueError(f"{new[0].where} at {new[0].at}: it is cycle {self.kernel.now} already")
        for event in new:
            self.kernel.early(event.at, _Event(self, event))
        self._timeline = tuple(sorted((*self._timeline, *new), key=lambda event: event.at))
        self._horizon = self._first_horizon()

    def finish(self) -> Outcome:
        """Play to the end and judge; raises DataError when the workload's files can't be read."""
        with self._playing():
            self.kernel.run(self._horizon)
            if self.scenario.until is None:
                self._finish_work()
        try:
            return self._results.outcome(self.scenario, self.expectations.end(), self._seconds)
        finally:
            if self._workload is not None:
                self._workload.close()

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """Takes the time, for reports; when it goes wrong, nothing stays open."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            if self._workload is not None:
                self._workload.close()
            raise
        self._seconds += time.perf_counter() - began

    def _finish_work(self) -> None:
        """Go on until all work is done, or nothing has come back for a long time."""
        stall = 4 * (self.cpu.config.silence + self.cpu.config.patience)
        while not self.cpu.finished:
            before = self.cpu.work.completed
            self.kernel.run(self.kernel.now + stall)
            if self.cpu.work.completed == before:
                return

    def isolated(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are healthy, and kept out by a switch that does not do what it is told."""
        return self._results.isolated(card)


class _Event:
    def __init__(self, server: Server, event: TimelineEvent) -> None:
        self._server, self._event = server, event

    def __call__(self) -> None:
        self._server._apply(self._event)
