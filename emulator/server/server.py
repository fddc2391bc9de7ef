"""Powers a server up, plays its timeline, lets the CPU work, and judges the whole."""

import time
from collections.abc import Callable

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu, CpuConfig
from ringhil.emulator.host.workload import Files, Generated, Workload
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.emulator.scenario import CrossRef, Scenario, TimelineEvent
from ringhil.emulator.server.bounds import ATTEMPTS, Bounds
from ringhil.emulator.server.expectations import Expectations
from ringhil.emulator.server.groups import Groups
from ringhil.emulator.server.injector import Injector
from ringhil.emulator.server.outcome import CardOutcome, LinkOutcome, Outcome
from ringhil.emulator.server.switchover import SwitchOver
from ringhil.emulator.server.watch import Watch
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.actions import (
    Action,
    Counted,
    Deposed,
    Elected,
    Granted,
    Lapsed,
    Rejected,
    Send,
    Suspected,
)
from ringhil.firmware.gpu import GpuProgram
from ringhil.firmware.grantor import Grantor
from ringhil.protocol import registers, wire
from ringhil.protocol.frames import Keepalive

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
_STATUS = {name: 1 << bit for name, bit in registers.STATUS_BITS.items()}


class Server:
    """One run of a scenario. `run` may be called once."""

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
        self.kernel = Kernel(self.engine, s.firmware_latency, s.host_latency)
        self._workload = self._open_workload()
        self._bounds = [Bounds(card.gpus, s, s.records != "never") for card in self._cards]
        views = [self._view(number) for number in range(len(self._cards))]
        self.cpu = Cpu(self.kernel, views, self._cpu_config(), self._workload, self._on_done, on_progress)
        self.cpu.on_grant = self._on_grant
        self.watch = Watch(self._wiring, self._bounds, views, s.keepalive_multiplier)
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
        self.expectations = Expectations(
            scenario.expect, self.kernel, self.cpu, self._breaks, self.boundaries, self.isolated
        )
        self._horizon = self._first_horizon()

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

        def observe(action: Action) -> None:
            self._observe(card, gpu, cell, action)

        return GpuFirmware(self.kernel, cell, boot, observe)

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
        self.watch.reported(self._card_of(cell), self.kernel.now)
        self.expectations.news()

    def _observe(self, card: int, gpu: int, cell: int, action: Action) -> None:
        """A GPU's firmware is about to do something."""
        now, watch = self.kernel.now, self.watch
        if isinstance(action, Send):
            if action.frame[0] == Keepalive.KIND and self._injector.keepalive(cell, action.frame):
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
                role.gone(gpu)
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
        numbers, part = self.watch.place(event)
        before = None if part is None else self.watch.cards[min(numbers)].truth.state(part)
        opened = self.watch.event(event, self.kernel.now)
        if part is None or (state := self.watch.cards[min(numbers)].truth.state(part)) == before:
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
        self.watch.cards[card].role.gone(gpu)
        crossing = self._wiring.crossings.get(cell)
        if crossing is not None and crossing.leads:
            self.watch.links[crossing.group].gone(gpu)

    def _on_flap(self, card: int, gpu: int, failed: bool) -> None:
        self.watch.flapped(card, gpu, failed, self.kernel.now)

    # ----------------------------------------------------------------------------------------------------- run

    def _first_horizon(self) -> int:
        """Everything that the scenario speaks of has happened by then, and has had time to be dealt with."""
        if self.scenario.until is not None:
            return self.scenario.until
        horizon = max(self._settings.census_period, *(2 * b.timeout for b in self._bounds))
        if self._wiring.links:
            horizon = max(horizon, *(b.return_bound(2) for b in self._bounds))
        events = self.scenario.timeline
        settled = 0  # by then what came before has settled, on any card
        for event in events:
            # The whole way: the role moves, then the new entry GPU counts.
            target = event.target
            ends = [target.from_.card, target.to.card] if isinstance(target, CrossRef) else [target.card]
            for b in (self._bounds[self._wiring.number(name)] for name in ends):
                bound = b.recovery(event.action, event.kind, len(events)) + b.return_bound(8)
                horizon = max(horizon, max(event.at, settled) + bound + 1)
                settled = max(settled, event.at + b.settling(event.kind))
        return max(horizon, self.expectations.last_cycle + 1)

    def _on_done(self) -> None:
        if self.kernel.now >= self._horizon:
            self.kernel.stop()

    def run(self) -> Outcome:
        """Play it all; raises DataError when the workload's files can't be read."""
        began = time.perf_counter()
        self._configure()
        for event in self.scenario.timeline:
            self.kernel.at(event.at, _Event(self, event))
        for cell in self._firmware:
            self._firmware[cell].power_up()
        self.cpu.power_up()
        try:
            self.kernel.run(self._horizon)
            if self.scenario.until is None:
                self._finish_work()
        finally:
            if self._workload is not None:
                self._workload.close()
        return self._outcome(time.perf_counter() - began)

    def _finish_work(self) -> None:
        """Go on until all work is done, or nothing has come back for a long time."""
        stall = 4 * (self.cpu.config.silence + self.cpu.config.patience)
        while not self.cpu.finished:
            before = self.cpu.work.completed
            self.kernel.run(self.kernel.now + stall)
            if self.cpu.work.completed == before:
                return

    # ------------------------------------------------------------------------------------------------- outcome

    def _breaks(self, card: CardView) -> tuple[str, ...]:
        """The links of which one must be cut: between the last GPUs of the two arms."""
        if card.break_after is None or card.break_before is None:
            return ()
        names, link = [], card.break_after
        while True:
            names.append(self._link_name(card, link) or "")
            link = (link + 1) % card.size
            if link == card.break_before:
                return tuple(names)

    def _link_name(self, card: CardView, link: int | None) -> str | None:
        return None if link is None else f"{card.name}.{link}-{card.name}.{(link + 1) % card.size}"

    def boundaries(self, card: CardView) -> dict[str, str]:
        """By neighbouring card the boundary GPU for it that the census has found (R8)."""
        found = {}
        for gpu in card.boundaries:
            crossing = self._wiring.crossings.get(self._wiring.cell(card.number, gpu))
            if crossing is not None:
                found[self._cards[crossing.peer_card].name] = f"{card.name}.{gpu}"
        return found

    def isolated(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are healthy, and kept out by a switch that does not do what it is told."""
        found = []
        for gpu in range(card.size):
            status = self.engine.peek(self._wiring.cell(card.number, gpu), "status")
            if status & _STATUS["healthy"] and status & _STATUS["stuck"] and status & _STATUS["bypass_cw"]:
                found.append(gpu)
        return tuple(found)

    def _card_outcome(self, view: CardView) -> CardOutcome:
        breaks = self._breaks(view)
        watch = self.watch.cards[view.number]
        ends = (breaks[0].split("-")[0], breaks[-1].split("-")[1]) if breaks else None
        return CardOutcome(
            name=view.name,
            size=view.size,
            count=view.count,
            members=view.members,
            entry=f"{view.name}.{view.entry}" if view.entry is not None else None,
            host=tuple(f"{view.name}.{gpu}" for gpu in view.host),
            epoch=view.epoch,
            elections=watch.role.changes,
            boundary=self.boundaries(view),
            break_="-".join(ends) if ends else None,
            cuts=breaks,
            stranded=tuple(f"{view.name}.{g}" for g in view.stranded),
            isolated=tuple(f"{view.name}.{g}" for g in self.isolated(view)),
            degraded=tuple(f"{view.name}.{g}" for g in sorted(view.degraded)),
            slow_link=self._link_name(view, view.slow_link),
            noisy_link=self._link_name(view, view.noisy_link),
            reachable=view.reachable,
            share=view.share,
            completed=view.completed,
            suspects=tuple(f"{view.name}.{g}" for g in view.suspects),
            accepted=len(watch.counts),
            rejected=dict(watch.rejected),
        )

    def _link_outcome(self, group: int) -> LinkOutcome:
        link, role = self.scenario.server.boundary_links[group], self.watch.links[group]
        held = next((ref for ref in link.refs if ref.from_.index == role.holder), None)
        crossed = [self.engine.peek(self._wiring.cell_of(gpu), "crossed") for gpu in (*link.from_, *link.to)]
        return LinkOutcome(
            cards=(link.from_[0].card, link.to[0].card),
            members=tuple(map(str, link.refs)),
            active=None if held is None else str(held),
            epoch=role.epoch,
            elections=role.changes,
            frames=sum(crossed),
        )

    def _outcome(self, seconds: float) -> Outcome:
        expected = self.expectations.end()
        work = self.cpu.work
        now, watch = self.kernel.now, self.watch
        roles = (*(w.role for w in watch.cards), *watch.links)
        return Outcome(
            name=self.scenario.name,
            seed=self.scenario.seed,
            cycles=now,
            cards={view.name: self._card_outcome(view) for view in self.cpu.cards},
            links=tuple(self._link_outcome(group) for group in range(len(watch.links))),
            work={
                "units": work.units,
                "completed": work.completed,
                "lost": work.units - work.completed,
                "duplicated": work.duplicated,
                "resent": work.resent,
                "refused": work.refused,
                "wrong": work.wrong,
                "late": work.late,
                "fenced": work.fenced,
                "crossed": work.crossed,
                "digest": f"{work.digest:016x}",
            },
            recoveries=tuple(sorted(watch.recoveries(now), key=lambda r: (r.at, r.where))),
            expect=expected,
            wrong_counts=tuple(text for w in watch.cards for text in w.wrong),
            split_brain=tuple(text for role in roles for text in role.wrong),
            unsettled=watch.at_the_end(now, self._breaks),
            engine={
                "rtl": self.engine.library.rtl,
                "evaluations": self.engine.evaluations,
                "busy_cycles": self.engine.busy_cycles,
                "seconds": round(seconds, 6),
                "cycles_per_second": round(now / seconds, 1) if seconds else None,
            },
        )


class _Event:
    def __init__(self, server: Server, event: TimelineEvent) -> None:
        self._server, self._event = server, event

    def __call__(self) -> None:
        self._server._apply(self._event)
