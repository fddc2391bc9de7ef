"""Powers a server up, plays its timeline, lets the CPU work, and judges the whole."""

import time
from collections.abc import Callable

from ringhil.emulator.engine.engine import Engine, Topology
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu, CpuConfig
from ringhil.emulator.host.workload import Files, Generated, Workload
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.emulator.scenario import Card, GpuRef, LinkRef, Scenario, TimelineEvent
from ringhil.emulator.server.bounds import ATTEMPTS, Bounds
from ringhil.emulator.server.expectations import Expectations
from ringhil.emulator.server.outcome import CardOutcome, Outcome, Recovery
from ringhil.emulator.server.watch import CardWatch
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census, CensusConfig
from ringhil.protocol import registers, wire

_REFRESH = 16  # `records: sometimes`: in every so many-th round
_CONTROL = {name: 1 << bit for name, bit in registers.CONTROL_BITS.items()}
_FROM_SETTINGS = (
    "watchdog",
    "heartbeat",
    "allowance",
    "allowance_period",
    "link_restore",
    "compute_setup",
    "compute_per_flit",
)


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
        self._settings = scenario.server.settings
        self.topology = Topology(tuple(card.gpus for card in self._cards))
        self.engine = Engine(library, self.topology, skipping=skipping)
        s = self._settings
        self.kernel = Kernel(self.engine, s.firmware_latency, s.host_latency)
        self._workload = self._open_workload()
        self._bounds = [Bounds(card.gpus, s, s.records != "never") for card in self._cards]
        self._entries = [card.entry_at_power_up.index for card in self._cards]
        self.watches = [
            CardWatch(card.name, card.gpus, entry, bounds)
            for card, entry, bounds in zip(self._cards, self._entries, self._bounds, strict=True)
        ]
        views = [
            CardView(card.name, number, card.gpus, entry, self.topology.cell(number, entry))
            for number, (card, entry) in enumerate(zip(self._cards, self._entries, strict=True))
        ]
        self.cpu = Cpu(self.kernel, views, self._cpu_config(), self._workload, self._on_done, on_progress)
        self._firmware = {view.cell: self._entry_firmware(view.number) for view in views}
        self.kernel.on_firmware_mail = self._firmware_mail
        self.kernel.on_cpu_mail = self._cpu_mail
        self.expectations = Expectations(scenario.expect, self.kernel, self.cpu, self._breaks)
        self._horizon = self._first_horizon()

    # ------------------------------------------------------------------------------------------------- power-up

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
        return CpuConfig(silence, patience, s.window, s.compute_setup, s.compute_per_flit)

    def _entry_firmware(self, number: int) -> GpuFirmware:
        card, s = self._cards[number], self._settings
        entry = self._entries[number]
        watch = self.watches[number]
        cell = self.topology.cell(number, entry)

        def boot(boots: int) -> Census:
            return Census(
                CensusConfig(
                    card=number,
                    node=entry,
                    size=card.gpus,
                    epoch=boots,
                    period=s.census_period,
                    timeout=self._bounds[number].timeout,
                    records=s.records != "never",
                    refresh=1 if s.records == "always" else _REFRESH,
                    attempts=ATTEMPTS,
                    weight=card.weights[entry],
                    gpu_type=wire.GPU_TYPES[card.types[entry]],
                )
            )

        def observe(action: Action) -> None:
            watch.action(action, self.kernel.now)

        return GpuFirmware(self.kernel, cell, boot, observe)

    def _configure(self) -> None:
        resets = {r.name: r.reset for r in registers.REGISTERS}
        for number, card in enumerate(self._cards):
            for gpu in range(card.gpus):
                values = {name: getattr(self._settings, name) for name in _FROM_SETTINGS}
                values["gpu_type"] = wire.GPU_TYPES[card.types[gpu]]
                values["weight"] = card.weights[gpu]
                values["control"] = self._control(card, number, gpu)
                if gpu == self._entries[number]:
                    values["allowance"] = max(self._settings.allowance, self._bounds[number].census_frames)
                for name, value in values.items():
                    if value != resets[name]:
                        self.engine.poke(self.topology.cell(number, gpu), name, value)

    def _control(self, card: Card, number: int, gpu: int) -> int:
        bits = _CONTROL["entry_capable"] if gpu in card.host_links else 0
        if gpu == self._entries[number]:
            bits |= _CONTROL["entry"] | _CONTROL["monitor"]
        return bits

    # ---------------------------------------------------------------------------------------------------- mail

    def _firmware_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        firmware = self._firmware.get(cell)
        if firmware is not None:
            firmware.mail(frame, port, bad)

    def _cpu_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        self.cpu.mail(cell, frame, port, bad)
        self.expectations.news()

    # ------------------------------------------------------------------------------------------------ timeline

    def _apply(self, event: TimelineEvent) -> None:
        on = event.action == "fault"
        number = next(i for i, c in enumerate(self._cards) if c.name == event.target.card)
        index = event.target.index
        cell = self.topology.cell(number, index)
        if isinstance(event.target, LinkRef):
            after = self.topology.cell(number, (index + 1) % self._cards[number].gpus)
            self.engine.cut_link(cell, after, on)
            self.watches[number].event(event, None, index, self.kernel.now)
            return
        assert isinstance(event.target, GpuRef)
        self.engine.set_fault(cell, event.kind, on)
        self.watches[number].event(event, index, None, self.kernel.now)
        firmware = self._firmware.get(cell)
        if firmware is not None and event.kind in ("dead", "hang"):
            if on:
                firmware.fail()
            elif firmware.running is None:
                firmware.power_up()

    # ----------------------------------------------------------------------------------------------------- run

    def _first_horizon(self) -> int:
        """Everything that the scenario speaks of has happened by then, and has had time to be dealt with."""
        if self.scenario.until is not None:
            return self.scenario.until
        horizon = max(self._settings.census_period, *(2 * b.timeout for b in self._bounds))
        events = self.scenario.timeline
        settled = 0  # by then what came before has settled, on any card
        for event in events:
            number = next(i for i, c in enumerate(self._cards) if c.name == event.target.card)
            bound = self._bounds[number].recovery(event.action, event.kind, len(events))
            horizon = max(horizon, max(event.at, settled) + bound + 1)
            settled = max(settled, event.at + self._bounds[number].settling(event.kind))
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
        while link != card.break_before:
            names.append(f"{card.name}.{link}-{card.name}.{(link + 1) % card.size}")
            link = (link + 1) % card.size
        return tuple(names)

    def _card_outcome(self, view: CardView) -> CardOutcome:
        firmware = self._firmware[view.cell]
        census = firmware.running
        breaks = self._breaks(view)
        watch = self.watches[view.number]
        accepted, rejected = len(watch.counts), dict(watch.rejected)
        ends = (breaks[0].split("-")[0], breaks[-1].split("-")[1]) if breaks else None
        return CardOutcome(
            name=view.name,
            size=view.size,
            count=view.count,
            members=view.members,
            entry=f"{view.name}.{view.entry}" if view.reachable else None,
            epoch=census.config.epoch if isinstance(census, Census) else 0,
            break_="-".join(ends) if ends else None,
            cuts=breaks,
            reachable=view.reachable,
            share=view.share,
            completed=view.completed,
            suspects=tuple(f"{view.name}.{g}" for g in view.suspects),
            accepted=accepted,
            rejected=rejected,
        )

    def _outcome(self, seconds: float) -> Outcome:
        expected = self.expectations.end()
        work = self.cpu.work
        recoveries: list[Recovery] = [r for w in self.watches for r in w.recoveries()]
        now = self.kernel.now
        return Outcome(
            name=self.scenario.name,
            seed=self.scenario.seed,
            cycles=now,
            cards={view.name: self._card_outcome(view) for view in self.cpu.cards},
            work={
                "units": work.units,
                "completed": work.completed,
                "lost": work.units - work.completed,
                "duplicated": work.duplicated,
                "resent": work.resent,
                "refused": work.refused,
                "wrong": work.wrong,
                "late": work.late,
                "digest": f"{work.digest:016x}",
            },
            recoveries=tuple(sorted(recoveries, key=lambda r: (r.at, r.where))),
            expect=expected,
            wrong_counts=tuple(text for w in self.watches for text in w.wrong),
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
