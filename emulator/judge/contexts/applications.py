"""How applications fared, and what GPUs drew, in the units of the file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.scenario import Application, GpuPower, Server, Sharing, power_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.registers import PowerState

_WORD = 32
_COUNTED = ("energy", "busy")


@dataclass(frozen=True)
class TakenByWork:
    """What a GPU had taken in the `cycle` in which all work of the run was done: `energy` in units, and the cycles that
    its engine had run."""

    cycle: int
    energy: int
    busy: int


@dataclass(frozen=True)
class PowerOutcome:
    """Of one GPU at the end of a run: its power state, the energy that it has taken, in units, and the cycles that its
    engine has run. `until_done`: the same when all work was done; None: there was none, or it wasn't. A run goes on for
    a while after that, at least until a census is over: what the work has taken doesn't depend on it."""

    state: str
    energy: int
    busy: int
    until_done: TakenByWork | None = None

    def to_json(self) -> dict[str, Any]:
        """As `ringhil run --json` has it."""
        return asdict(self)


def power_outcomes(
    server: Server, wiring: Wiring, engine: Engine, until_done: Mapping[str, TakenByWork]
) -> dict[str, PowerOutcome]:
    """By name, of those GPUs of whose type the file says something. `until_done`: by name as well."""
    found = {}
    for gpu, cell in _metered(server, wiring):
        state = str(PowerState.of(engine.peek(cell, "power_state")))
        energy, busy = (_both(engine, cell, name) for name in _COUNTED)
        found[gpu] = PowerOutcome(state, energy, busy, until_done.get(gpu))
    return found


def taken_now(server: Server, wiring: Wiring, engine: Engine, cycle: int) -> dict[str, TakenByWork]:
    """By name, of the same GPUs."""
    cells = _metered(server, wiring)
    return {gpu: TakenByWork(cycle, *(_both(engine, cell, name) for name in _COUNTED)) for gpu, cell in cells}


def _metered(server: Server, wiring: Wiring) -> list[tuple[str, int]]:
    """Names and cells."""
    cells = [
        wiring.cell(number, gpu)
        for number, card in enumerate(server.cards)
        for gpu, kind in enumerate(card.types)
        if power_of(server.power, kind) != GpuPower()
    ]
    return [(str(wiring.gpu_of(cell)), cell) for cell in cells]


def _both(engine: Engine, cell: int, name: str) -> int:
    return engine.peek(cell, f"{name}_high") << _WORD | engine.peek(cell, f"{name}_low")


_KIB = 1024  # bytes
_MS, _S = 10**6, 10**9  # nanoseconds


@dataclass(frozen=True)
class ApplicationOutcome:
    """One application. `failed`: it ended before its steps were all done, or while it did them again. `step_ms` and
    `total_s` are of its own steps, None: they weren't all done. `slice_ms`: what it was given, `memory`: bytes that it
    held at most, `told`: bytes that it was told of; `gpu_s`: what it had of the engine, in all steps that it did, with
    so many `switches` to it; None: its GPU hasn't said so, as it was lost, or the run was over before."""

    gpu: str
    failed: bool
    why: str | None
    steps: int
    step_ms: float | None
    total_s: float | None
    slice_ms: float
    memory: int
    told: int
    gpu_s: float | None
    switches: int | None

    def to_json(self) -> dict[str, Any]:
        """As `ringhil share --json` has it."""
        return asdict(self)


def application_outcomes(
    sharing: Sharing | None, default_slice: int, reports: Mapping[str, TaskReport]
) -> dict[str, ApplicationOutcome]:
    """By name, in the file's order."""
    if sharing is None:
        return {}
    return {each.name: _outcome(sharing, each, default_slice, reports[each.name]) for each in sharing.applications}


def _outcome(sharing: Sharing, each: Application, default_slice: int, report: TaskReport) -> ApplicationOutcome:
    def in_time(cycles: int, unit: int) -> float:
        return round(cycles * sharing.cycle / unit, 6)

    step = total = None
    if report.trained is not None:
        assert report.ready is not None  # who has trained was there before
        assert report.began is not None
        step = round(in_time(report.trained - report.ready, _MS) / each.steps, 6)
        total = in_time(report.trained - report.began, _S)
    return ApplicationOutcome(
        gpu=str(each.gpu),
        failed=report.failed is not None or report.trained is None,
        why=report.failed or (None if report.trained is not None else "the run ended before its steps were done"),
        steps=report.steps,
        step_ms=step,
        total_s=total,
        slice_ms=in_time(sharing.slice_of(each) or default_slice, _MS),
        memory=report.memory * sharing.page * _KIB,
        told=report.told * sharing.page * _KIB,
        gpu_s=None if report.run is None else in_time(report.run, _S),
        switches=report.switches,
    )
