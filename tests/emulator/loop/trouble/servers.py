"""Small servers for boards and nodes that get into trouble: what they are, and what is the matter, from one number."""

import random
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import EventAction, GpuRef, Scenario, TimelineEvent, loads
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice

from .lines import HARMLESS, LOSING, Kind, Trouble

PER_SERVER = 10  # cases
SHORT = (
    "{census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900, "
    "gpu_restore: 64, allowance_period: 512}"
)
UNTIL = 10_000


@dataclass(frozen=True)
class Place:
    """A server, and the GPU of it that is outside."""

    scenario: Scenario
    gpu: str


def place(number: int) -> Place:
    """One card or two, work for all of the run or less; some have faults of their own, of that GPU or of another."""
    dice = random.Random(f"place {number}")
    gpus = dice.randrange(3, 7)
    hosts = list(range(dice.choice((2, 2, 3))))
    text = f"seed: {dice.randrange(1 << 32)}\nserver:\n  settings: {SHORT}\n  cards:\n"
    text += f"    a: {{gpus: {gpus}, host_links: {hosts}}}\n"
    outside = list(range(gpus))
    if dice.random() < 0.25:
        first = dice.randrange(1, gpus - 1)
        text += "    b: {gpus: 3, host_links: [0]}\n  boundary_links:\n"
        text += f"    - {{from: [a.{first}, a.{first + 1}], to: [b.1, b.2]}}\n"
        outside += 2 * [first, first + 1]
    gpu = dice.choice(outside)
    text += f"workload: {{units: {dice.randrange(10, 60)}, size: {dice.randrange(50, 400)}}}\n"
    text += f"timeline: [{', '.join(faults(dice, gpus, gpu))}]\nuntil: {UNTIL}\n"
    return Place(loads(text), f"a.{gpu}")


def faults(dice: random.Random, gpus: int, gpu: int) -> list[str]:
    """None, one that comes and goes, or two."""
    found = list[str]()
    for where in dice.choice(((), (), (), (gpu,), (gpu,), (dice.randrange(gpus),), (gpu, dice.randrange(gpus)))):
        kind, at = dice.choice(("dead", "hang")), dice.randrange(40, UNTIL - 6000)
        if any(f"gpu: a.{where}" in each for each in found):
            continue
        found.append(f"{{at: {at}, fault: {kind}, gpu: a.{where}}}")
        if where == gpu or dice.random() < 0.7:
            found.append(f"{{at: {at + dice.randrange(1, 3000)}, clear: {kind}, gpu: a.{where}}}")
    return found


def troubles(
    dice: random.Random, asked: Sequence[int], rare: Container[int], patiences: int, *, begun: int = 0
) -> tuple[Trouble, ...]:
    """Up to three that do no harm, or one that does, perhaps behind others. `asked`: types of the requests, of which
    a quarter hits `rare` ones; `patiences`: so often each is asked. Nobody goes, or answers nonsense, before the
    request number `begun`."""
    moments = range(1, len(asked))
    special = [n for n in moments if asked[n] in rare] or moments

    def trouble(kind: Kind) -> Trouble:
        lasts = dice.choice((1, 1, 2, 5, 20))
        tries = dice.randrange(1, patiences)
        first = dice.choice(dice.choice((moments, moments, moments, special)))
        first = max(first, begun) if kind in LOSING else first
        return Trouble(kind, first, lasts, tries, dice.random() < 0.5, dice.uniform(0.1, patiences - 0.2))

    harmless = tuple(trouble(dice.choice(HARMLESS)) for _ in range(dice.randrange(1, 4)))
    if dice.random() < 0.4:
        return harmless
    return (*harmless[: dice.randrange(2)], trouble(dice.choice(LOSING)))


Played = tuple[list[tuple[object, ...]], dict[str, object]]


def made(scenario: Scenario, firmware: FirmwareChoice = OURS, nodes: NodeChoice = ALL_HERE) -> Run:
    return Run(scenario, cells_library(), firmware=firmware, nodes=nodes)


def played(run: Run) -> Played:
    """Every frame, and the result."""
    frames = list[tuple[object, ...]]()
    run.observations.listen_to_frames(lambda s: frames.append((s.cycle, s.cell, s.WAY, s.port, s.frame, s.bad)))
    try:
        found = run.run().to_json()
    finally:
        run.close()
    del found["engine"]
    return frames, found


def assert_done(same: Callable[[int], Run], found: Played) -> None:
    """That run passed; or all its work is done when the same server, made until a later cycle, has had the time: the
    second attempt at a unit may take 9,700 cycles to be given up."""
    if found[1]["verdict"] != "pass":
        _, later = played(same(3 * UNTIL))
        assert later["verdict"] == "pass", later["failures"]


def failing(scenario: Scenario, gpu: str, kind: str, at: int) -> Scenario:
    """The same server, with a GPU that fails in that cycle for good."""
    spared = without(scenario, gpu, kind, at)
    return replace(spared, timeline=tuple(sorted((*spared.timeline, _fails(gpu, kind, at)), key=lambda e: e.at)))


def without(scenario: Scenario, gpu: str, kind: str, after: int) -> Scenario:
    """Without what the file says of that fault of the GPU later on."""
    ref = GpuRef.parse(gpu)
    kept = (e for e in scenario.timeline if not (e.target == ref and e.kind == kind and e.at > after))
    return replace(scenario, timeline=tuple(kept))


def fail_last(run: Run, gpu: str, kind: str, at: int) -> None:
    """Have a GPU fail in that cycle, after all else that is done in it."""

    def last() -> None:
        if run.kernel._agenda[0][0] > run.kernel.now:
            run.strike([_fails(gpu, kind, at)])
        else:
            run.kernel.at(at, last)

    run.kernel.at(at, last)


def _fails(gpu: str, kind: str, at: int) -> TimelineEvent:
    return TimelineEvent(at, EventAction.FAULT, kind, GpuRef.parse(gpu), None, 0)
