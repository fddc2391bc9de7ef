"""Powers a server up, plays its timeline and lets the CPU work. It judges nothing, and tells what happens."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random

from ringhil.emulator.engine.engine import FOREVER, Engine
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.recorded import Tell, tell_recorded
from ringhil.emulator.events.server import (
    CountAsked,
    CpuSaid,
    Draining,
    FirmwareLost,
    FirmwareStopped,
    LoanAsked,
    NodeLost,
    NotLent,
    SharedOut,
    Struck,
    TakenIn,
)
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.outside import OutsideContexts
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.lending import LendState
from ringhil.emulator.host.switching.service import SwitchService
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.kernel.gpu_firmware import GpuFirmware
from ringhil.emulator.scenario import EventAction, GpuRef, Scenario, TimelineEvent
from ringhil.emulator.scenario.file.faults import LENT
from ringhil.emulator.server.chance import redrawn
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.foreign import ForeignFirmware
from ringhil.emulator.server.hosting import (
    cpu_config,
    longest_launch,
    process_groups,
    switching_plan,
    tasks,
    views,
    workload,
)
from ringhil.emulator.server.injector import Injector
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice
from ringhil.emulator.server.power_up import BootPlan, configure
from ringhil.emulator.server.times import times_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import our_program
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.firmware.program import Firmware

_DEAD, _HANG = "dead", "hang"
_SEED_BITS = 32


class LiveServer:
    """One run: `start`, any number of `run_to` and `strike`, then `play_out`; each run once. With somebody else's
    `firmware` any of them may raise FirmwareError. Raises NodeError when the hardware of `nodes` doesn't answer.

    `on_work_over` is called once, in the cycle in which all work of the file is done: units, applications, requests."""

    def __init__(
        self,
        scenario: Scenario,
        library: Library,
        *,
        firmware: FirmwareChoice = OURS,
        nodes: NodeChoice = ALL_HERE,
        skipping: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.scenario = scenario
        self.wiring = Wiring(scenario.server)
        self.engine = Engine(library, self.wiring.topology, skipping=skipping)
        self._losses = nodes.attach(self.engine, self.wiring)
        settings = scenario.server.settings
        self.kernel = Kernel(self.engine, settings.firmware_latency, settings.host_latency)
        self.observations = self.kernel.observations
        self.times = times_of(scenario.server)
        self.timeline = scenario.timeline
        self._workload = workload(scenario)
        cards, config = views(self.wiring, self.times), cpu_config(scenario, self.wiring, self.times)
        self.cpu = Cpu(self.kernel, cards, config, self._workload, self._on_done, on_progress)
        port, driver = self.cpu.task_port, self.cpu.driver
        self.process_groups = process_groups(scenario, self.wiring, port, driver)
        self.outside = OutsideContexts(driver, self.process_groups.next_pid)
        self.process_groups.held_outside = self.outside.held
        self.applications = Applications(port, self.process_groups, tasks(scenario, self.wiring))
        self.switching = SwitchService(port, driver, switching_plan(scenario, self.wiring))
        self.on_work_over: Callable[[], None] = lambda: None
        self._work_left = bool(
            (self._workload is not None and self._workload.units) or self.applications.reports or self.switching.plan
        )
        port.on_act = self._look_whether_over
        self.cpu.on_counted = self._on_counted
        self.cpu.on_grant = self._on_grant
        self.cpu.on_split = self._on_split
        lending = self.cpu.lending
        lending.holders, lending.on_register = self._holders, self._write_lent
        lending.on_draining, lending.on_refused = self._on_draining, self._on_refused
        self._injector = Injector(self.kernel, self.wiring, self._on_life)
        self._boot_plan = BootPlan(self.wiring, settings, self.times, scenario.seed)
        self._foreign = firmware.by_cell(self.wiring)
        self._firmware = {
            cell: self._gpu_firmware(cell)
            for cell in range(self.wiring.cells)
            if self._is_in_group(cell) or cell in self._foreign
        }
        self.kernel.on_firmware_mail = self._firmware_mail
        self.kernel.on_cpu_mail = self._cpu_mail
        self.kernel.on_lost = self.lose
        self._lost = set[tuple[str, GpuRef]]()  # what is the matter with a GPU for good
        self._losses_struck = list[TimelineEvent]()
        self._horizon = FOREVER
        self._progress_at = 0  # when a unit was done
        self._longest_launch = longest_launch(scenario)
        self.seconds = 0.0  # what playing has taken on this machine

    def _on_counted(self) -> None:
        self.applications.begin()
        self.switching.begin()

    def _is_in_group(self, cell: int) -> bool:
        card, gpu = self.wiring.place(cell)
        return gpu in self.wiring.cards[card].host_links or cell in self.wiring.crossings

    def _gpu_firmware(self, cell: int) -> GpuFirmware:
        card, gpu = self.wiring.place(cell)

        def boot(boots: int, memory: int) -> Firmware:
            told = self._boot_plan.boot(card, gpu, boots, memory)
            if cell not in self._foreign:
                return our_program(told)
            name, maker, board = self._foreign[cell]
            return ForeignFirmware(name, maker, told, lambda why: self._hang(cell, why), board=board)

        return GpuFirmware(self.kernel, cell, boot, self._injector.before_sending)

    def _hang(self, cell: int, why: str) -> None:
        """Nobody runs a GPU's firmware any more: it is a GPU that hangs, from the next cycle on, for good."""
        self.observations.tell(FirmwareLost(self.kernel.now, cell, why))
        self._fails_for_good(cell, _HANG, self.kernel.now + 1)

    def _fails_for_good(self, cell: int, kind: str, at: int) -> None:
        ref = self.wiring.gpu_of(cell)
        event = TimelineEvent(at, EventAction.FAULT, kind, ref, None, 0)
        self.strike([event])
        self._losses_struck.append(event)
        self.kernel.early(at, lambda: self._lost.add((kind, ref)))

    # ---------------------------------------------------------------------------------------------------- mail

    def _firmware_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        firmware = self._firmware.get(cell)
        if firmware is not None:
            firmware.mail(frame, port, bad)

    def _cpu_mail(self, cell: int, frame: bytes, port: int, bad: bool) -> None:
        completed = self.cpu.work.completed
        self.cpu.mail(cell, frame, port, bad)
        if self.cpu.work.completed != completed:
            self._progress_at = self.kernel.now
        self._look_whether_over()
        self.observations.tell(TakenIn(self.kernel.now, cell, frame, bad))

    def _on_split(self, units: int, shares: tuple[int, ...]) -> None:
        self.observations.tell(SharedOut(self.kernel.now, units, shares))

    def _on_grant(self, card: CardView, said: Action) -> None:
        assert isinstance(said, Granted | Lapsed)
        self.observations.tell(CpuSaid(self.kernel.now, card.number, said))

    # ------------------------------------------------------------------------------------------------ timeline

    def lose(self, cell: int, why: str) -> None:
        """The hardware of a GPU is gone, from this cycle on: it is a GPU that is dead, for good."""
        self.observations.tell(NodeLost(self.kernel.now, cell, why))
        self._fails_for_good(cell, _DEAD, self.kernel.now)

    def for_good(self, kind: str, gpu: GpuRef) -> bool:
        """Whether a GPU has this fault for good: a board that it depends on is gone."""
        return (kind, gpu) in self._lost

    def _apply(self, event: TimelineEvent) -> None:
        if (event.kind, event.target) in self._lost:
            return
        if event.lends and isinstance(event.target, GpuRef):
            self._loan(event.target, lend=event.begins)
            return
        self._injector.apply(event)
        self.observations.tell(Struck(self.kernel.now, event))

    def _on_life(self, cell: int, alive: bool) -> None:
        """A GPU has failed, and its firmware with it; or it is well again and boots."""
        firmware = self._firmware.get(cell)
        if firmware is None:
            return
        if alive:
            firmware.power_up()
            return
        firmware.fail()
        self.observations.tell(FirmwareStopped(self.kernel.now, cell))

    # ------------------------------------------------------------------------------------------------- lending

    def lend(self, gpu: GpuRef) -> None:
        """Have a GPU lent, as if `lend` stood in the file at this cycle: it begins when the run goes on; `lend_state`
        says how far it is. Nothing happens if it is lent, or will be. Raises LendError when it isn't counted, or has
        contexts, whose holders are named; KeyError when there is no such card."""
        card, state = self._card_of(gpu), self.lend_state(gpu)
        if state in (LendState.HERE, LendState.AWAY):
            self.cpu.lending.check(card, gpu.index)
            self.strike([TimelineEvent(self.kernel.now, EventAction.LEND, LENT, gpu, None, 0)])

    def take_back(self, gpu: GpuRef) -> None:
        """Have a GPU back, as if `take_back` stood in the file at this cycle; nothing happens if nobody has it."""
        if self.lend_state(gpu) in (LendState.LENT, LendState.DRAINING):
            self.strike([TimelineEvent(self.kernel.now, EventAction.TAKE_BACK, LENT, gpu, None, 0)])

    def lend_state(self, gpu: GpuRef) -> LendState:
        """Where a GPU is, as far as the CPU knows."""
        return self.cpu.lending.state(self._card_of(gpu), gpu.index)

    def holders(self, gpu: GpuRef) -> tuple[str, ...]:
        """Whose contexts are on a GPU: applications, tasks and clients, by name."""
        return self._holders(self._card_of(gpu), gpu.index)

    def _card_of(self, gpu: GpuRef) -> CardView:
        return self.cpu.cards[self.wiring.number(gpu.card)]

    def _holders(self, card: CardView, gpu: int) -> tuple[str, ...]:
        on = (card.number, gpu)
        named = {place: name for name, (place, _) in self.applications.by_context().items()}
        named |= {each.place: each.client.name or "a client" for each in self.outside.on(on)}
        places = {*self.cpu.driver.held(on), *(each.place for each in self.outside.on(on))}
        found = (named.get(place, f"context {place.context}") for place in sorted(places, key=lambda p: p.context))
        return tuple(dict.fromkeys(found))

    def _loan(self, gpu: GpuRef, *, lend: bool) -> None:
        self.observations.tell(LoanAsked(self.kernel.now, self.wiring.cell_of(gpu), lend))
        lending = self.cpu.lending
        (lending.lend if lend else lending.take_back)(self._card_of(gpu), gpu.index)

    def _write_lent(self, card: CardView, gpu: int, lent: bool) -> None:
        self.engine.poke(self.wiring.cell(card.number, gpu), LENT, int(lent))
        action = EventAction.LEND if lent else EventAction.TAKE_BACK
        ref = GpuRef(card.name, gpu)
        self.observations.tell(Struck(self.kernel.now, TimelineEvent(self.kernel.now, action, LENT, ref, None, 0)))

    def _on_draining(self, card: CardView, gpu: int) -> None:
        self.observations.tell(Draining(self.kernel.now, self.wiring.cell(card.number, gpu)))

    def _on_refused(self, card: CardView, gpu: int, why: str) -> None:
        self.observations.tell(NotLent(self.kernel.now, self.wiring.cell(card.number, gpu), why))

    # ----------------------------------------------------------------------------------------------------- run

    def start(self) -> None:
        """Power up. No time passes."""
        with self._playing():
            configure(self.engine, self.wiring, self.scenario.server, self.times)
            for event in self.timeline:
                self.kernel.early(event.at, _Event(self, event))
            for cell, at in self._losses:
                self.kernel.early(at, partial(self.lose, cell, "is gone"))
            for firmware in self._firmware.values():
                firmware.power_up()
            self.cpu.power_up()

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
        self.timeline = tuple(sorted((*self.timeline, *new), key=lambda event: event.at))

    def draw_again(self, rng: Random) -> None:
        """From this cycle on, what is left to chance comes otherwise, drawn from `rng`: see `chance.py`. Of firmware
        that isn't ours its own jitter stays."""
        now = self.kernel.now
        jitter = rng.getrandbits(_SEED_BITS)
        self._boot_plan.draw_jitter(jitter)
        for cell in range(self.wiring.cells):
            draw = getattr(self.running(cell), "draw_jitter", None)
            if draw is not None:
                draw(jitter)
        self.engine.draw_errors(rng.randint)
        planned = self.planned
        later = redrawn(planned, now, self.scenario.server.settings.census_period, rng)
        self.timeline = tuple(event for event in self.timeline if event.at < now or event not in planned)
        self.strike(later)

    @property
    def planned(self) -> tuple[TimelineEvent, ...]:
        """The timeline without what was lost on the way: nobody knew of that when the run began."""
        return tuple(event for event in self.timeline if event not in self._losses_struck)

    def running(self, cell: int) -> Firmware | None:
        """The firmware of a GPU; None: it has none, or has failed."""
        firmware = self._firmware.get(cell)
        return None if firmware is None else firmware.running

    def counts(self, cell: int) -> bool:
        """Whether the firmware there is the entry GPU's."""
        firmware = self._firmware.get(cell)
        return firmware is not None and firmware.counts

    def count_now(self, card: int) -> None:
        """Have the entry GPU of a card begin a census now, if there is one and none is under way."""
        self.observations.tell(CountAsked(self.kernel.now, card))
        for cell, firmware in self._firmware.items():
            if self.wiring.place(cell)[0] == card:
                firmware.count_now()

    def tell_recorded(self, tell: Tell) -> None:
        """Have `tell` called with every event that a recording has, from now on, in order."""
        cells = {self.wiring.cell_of(gpu) for gpu in self.scenario.gpus_with_contexts}
        tell_recorded(self.observations, cells, self.engine.watch_register, tell)

    def end_at(self, cycle: int) -> None:
        """End there, as if the file had said `until`."""
        self.scenario = replace(self.scenario, until=cycle)

    def play_out(self, horizon: int) -> None:
        """Play to cycle `horizon`, and on until all work is done if the file doesn't say `until`.

        Raises DataError when the workload's files can't be read.
        """
        self._horizon = horizon
        with self._playing():
            self.kernel.run(horizon)
            if self.scenario.until is None:
                self._finish_work()

    def close(self) -> None:
        """Free the models, and firmware: it may have a process."""
        for firmware in self._firmware.values():
            firmware.running = None
        self.engine.close()

    def close_work(self) -> None:
        """Close the files that work is read from."""
        if self._workload is not None:
            self._workload.close()

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """Takes the time, for reports; when it goes wrong, nothing stays open."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.close_work()
            raise
        self.seconds += time.perf_counter() - began

    def _on_done(self) -> None:
        if self.kernel.now >= self._horizon:
            self.kernel.stop()

    @property
    def _tasks_finished(self) -> bool:
        return self.applications.finished and self.switching.finished

    def _look_whether_over(self) -> None:
        if self._work_left and self.cpu.finished and self._tasks_finished:
            self._work_left = False
            self.on_work_over()

    def _finish_work(self) -> None:
        """Go on until all work is done, or nothing has come back for a long time: as long as units are out, for one
        that has failed at many GPUs may succeed at the next; or tasks wait for what never comes, or for the end of a
        launch that is long over."""
        step, begin = 4 * (self.cpu.config.silence + self.cpu.config.patience), self._horizon
        while not (self.cpu.finished and self._tasks_finished):
            # At the same cycles wherever it is played on from: a branch may begin in between.
            self.kernel.run(begin + (max(0, self.kernel.now - begin) // step + 1) * step)
            quiet_since = begin + -(-max(0, self._progress_at - begin) // step) * step
            waited_for = not self._tasks_finished and self.cpu.task_port.pending
            waited_for = waited_for and not (self.cpu.finished and self.cpu.driver.never_ends(self._longest_launch))
            if not waited_for and self.kernel.now - quiet_since >= max(1, self.cpu.worth_waiting):
                return


class _Event:
    __slots__ = ("_event", "_server")

    def __init__(self, server: LiveServer, event: TimelineEvent) -> None:
        self._server, self._event = server, event

    def __call__(self) -> None:
        if any(event is self._event for event in self._server.timeline):  # it may come otherwise by now
            self._server._apply(self._event)
