"""A server in the hands of a Python test: let time pass, strike, look, and have the whole judged."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringhil.emulator.campaign.verify.evidence import Replay
from ringhil.emulator.engine.library import Library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import (
    FAULTS,
    EventAction,
    GpuRef,
    Scenario,
    ScenarioError,
    TimelineEvent,
    dumps,
    load_variants,
    loads,
)
from ringhil.emulator.scenario.yaml.errors import unknown
from ringhil.emulator.scenario.yaml.parse import parse
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice

_SUFFIXES = (".yaml", ".yml", ".json")


def scenario_of(source: Scenario | Path | str, folder: Path, variant: str | None, seed: int | None) -> Scenario:
    """The scenario that a test names; see the fixture. Raises ScenarioError, LookupError for an unknown variant."""
    if isinstance(source, str) and ("\n" in source or not source.endswith(_SUFFIXES)):
        scenario = loads(source, "scenario of the test")
    elif isinstance(source, Scenario):
        scenario = source
    else:
        scenario = _from_file(folder / source, variant)
    return scenario if seed is None else replace(scenario, seed=seed)


def _from_file(path: Path, variant: str | None) -> Scenario:
    variants = load_variants(path)
    if variant is not None:
        return variants.find(variant).scenario
    if len(variants) > 1:
        raise LookupError(f"{path}: has {len(variants):,} variants; choose one with variant=...")
    return variants[0].scenario


class Driven:
    """What the fixture `ringhil` gives: a server that a test drives.

    Cycles count from power-up. Cards are named as in the file; what is known of one is what its CPU knows.

    `left`: file for the scenario as it was driven, written when it fails. `judged_bad`: it was finished, and has.
    """

    def __init__(self, scenario: Scenario, library: Library, left: Path, firmware: FirmwareChoice = OURS) -> None:
        self._server = Run(scenario, library, firmware=firmware)
        self.firmware = firmware
        self._left = left
        self.library, self._finished, self.judged_bad = library, False, False
        self._events: list[TimelineEvent] = list(scenario.timeline)
        self.scenario = scenario
        self._server.start()

    @property
    def now(self) -> int:
        """The present cycle."""
        return self._server.kernel.now

    def run_to(self, cycle: int) -> None:
        """Let time pass up to a cycle that isn't past."""
        if cycle < self.now:
            raise ValueError(f"run_to({cycle}): it is cycle {self.now} already")
        self._server.run_to(cycle)

    def run(self, cycles: int) -> None:
        """Let this number of cycles pass."""
        self.run_to(self.now + cycles)

    def strike(self, fault: str, where: str, *, at: int | None = None, **parameter: int) -> None:
        """A fault begins now, or at a later cycle; `where`: `a.3` or `a.5-a.6`. Raises ValueError as a file would."""
        self._event(EventAction.FAULT, fault, where, at, parameter)

    def clear(self, fault: str, where: str, *, at: int | None = None) -> None:
        """A fault ends now, or at a later cycle."""
        self._event(EventAction.CLEAR, fault, where, at, {})

    def lend(self, gpu: str, *, at: int | None = None) -> None:
        """A GPU is lent to a virtual machine now, or at a later cycle, as soon as it has no work left."""
        self._loan(EventAction.LEND, gpu, at)

    def take_back(self, gpu: str, *, at: int | None = None) -> None:
        """It comes back now, or at a later cycle."""
        self._loan(EventAction.TAKE_BACK, gpu, at)

    def _loan(self, action: EventAction, gpu: str, at: int | None) -> None:
        self._plan(action, {action: gpu}, at)

    def _event(self, action: EventAction, fault: str, where: str, at: int | None, parameter: dict[str, int]) -> None:
        if fault not in FAULTS:
            raise ValueError(f"{action}: {unknown('fault', fault, FAULTS)}")
        self._plan(action, {action: fault, FAULTS[fault].target: where, **parameter}, at)

    def _plan(self, action: EventAction, what: Mapping[str, object], at: int | None) -> None:
        cycle = self.now if at is None else at
        if cycle < self.now:
            raise ValueError(f"{action}: it is cycle {self.now} already; {cycle} is past")
        event = _checked(self.scenario, self._events, {"at": cycle, **what})
        self._server.strike([event])
        self._events.append(event)

    # -------------------------------------------------------------------------------------------------- looking

    def _card(self, name: str) -> CardView:
        for card in self._server.cpu.cards:
            if card.name == name:
                return card
        raise ValueError(f"unknown card {name!r}; there are {', '.join(c.name for c in self._server.cpu.cards)}")

    def count(self, card: str) -> int:
        """Working GPUs, as last accepted (R4)."""
        return self._card(card).count

    def members(self, card: str) -> list[int]:
        """Their indices."""
        return list(self._card(card).members)

    def entry(self, card: str) -> str | None:
        """The entry GPU, such as `a.0`."""
        view = self._card(card)
        return None if view.entry is None else str(GpuRef(card, view.entry))

    def epoch(self, card: str) -> int:
        """Epoch of the entry GPU."""
        return self._card(card).epoch

    def reachable(self, card: str) -> bool:
        """Whether the CPU reaches it."""
        return self._card(card).reachable

    def boundary(self, card: str) -> dict[str, str]:
        """The boundary GPU for each neighbouring card, as the census has found it (R8)."""
        pairs = [ref for link in self.scenario.server.boundary_links for ref in link.refs]
        peers = {ref.from_: ref.to.card for ref in pairs} | {ref.to: ref.from_.card for ref in pairs}
        found = [GpuRef(card, gpu) for gpu in self._card(card).boundaries]
        return {peers[gpu]: str(gpu) for gpu in found if gpu in peers}

    def broken(self, card: str) -> str | None:
        """The link that is reported broken, such as `a.5-a.6`; None: the ring is whole."""
        view = self._card(card)
        if view.break_after is None or view.break_before is None:
            return None
        return f"{GpuRef(card, view.break_after)}-{GpuRef(card, view.break_before)}"

    def stranded(self, card: str) -> list[int]:
        """GPUs that are cut off from the entry GPU."""
        return list(self._card(card).stranded)

    def isolated(self, card: str) -> list[int]:
        """Healthy GPUs that their own switch keeps out."""
        return list(self._server.isolated(self._card(card)))

    def lent(self, card: str) -> list[int]:
        """GPUs that are lent to virtual machines."""
        return list(self._server.lent(self._card(card)))

    # ---------------------------------------------------------------------------------------------------- ending

    def finish(self) -> Outcome:
        """Play to the end and judge: expectations of the scenario and all invariants.

        Raises AssertionError with what failed; the scenario as it was driven is then in a file that it names.
        """
        __tracebackhide__ = True  # of pytest: the test is what is to be seen
        outcome = self._server.finish()
        self._finished, self.judged_bad = True, bool(outcome.failures)
        if outcome.failures:
            self._left.write_text(dumps(self.driven), encoding="utf-8")
            command = shlex.join(["ringhil", "run", str(self._left), *Replay(firmware=self.firmware).options()])
            raise AssertionError("\n".join([*outcome.failures, f"replay: {command}"]))
        return outcome

    @property
    def driven(self) -> Scenario:
        """The scenario as it was driven: to its end, or up to now."""
        timeline = _in_time(self._events)
        if self._finished:
            return replace(self.scenario, timeline=timeline)
        past = tuple(event for event in timeline if event.at < self.now)
        return replace(self.scenario, timeline=past, expect=(), until=max(1, self.now))

    def close(self) -> None:
        """Free the models."""
        self._server.engine.close()


def _in_time(events: Sequence[TimelineEvent]) -> tuple[TimelineEvent, ...]:
    return tuple(sorted(events, key=lambda event: event.at))


def _checked(scenario: Scenario, events: Sequence[TimelineEvent], written: dict[str, object]) -> TimelineEvent:
    """The event that a file would mean by `written`, after those before it."""
    bare = replace(scenario, timeline=_in_time(events), expect=(), workload=None, until=None)
    data: Any = parse(dumps(bare), "scenario").data
    data["timeline"] = [*data.get("timeline", []), written]
    try:
        timeline = loads(json.dumps(data), "scenario").timeline
    except ScenarioError as error:
        raise ValueError(error.problem.partition(": ")[2] or error.problem) from None
    return [event for event in timeline if event.at == written["at"]][-1]
