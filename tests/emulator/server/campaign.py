"""Random faults of the whole catalogue, alone and in pairs, on a server of two cards with work under way.

Card a has five GPUs, card b four; two of each reach the CPU, two reach the other card. Every time is short, so that
a run has many censuses and elections; the bounds follow from the same settings. What a run shows is judged by the
server itself: wrong counts, split brain, recoveries against their bounds, the state at the end, lost and duplicated
work.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import FAULTS, PARAMETERS, loads

SIZES = {"a": 5, "b": 4}
HOST = {"a": [0, 1], "b": [0, 1]}
BOUNDARY = (("a.3", "b.2"), ("a.2", "b.3"))
SERVER = """server:
  cards:
    a: {gpus: 5, host_links: [0, 1]}
    b: {gpus: 4, host_links: [0, 1]}
  boundary_links:
    - {from: [a.3, a.2], to: [b.2, b.3]}
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400,
             wait_to_restore: 900, gpu_restore: 64, allowance_period: 512}
workload: {units: 120, size: 300, across: 30}
timeline:
"""
FIRST, LAST = 4_000, 6_000  # cycles between which the first fault strikes
KINDS = tuple(FAULTS)


@dataclass(frozen=True)
class Case:
    """One run: the file, and the cycle of its first fault."""

    text: str
    at: int

    def run(self, library: Library) -> Outcome:
        """Play it."""
        server = Run(loads(self.text), library)
        try:
            return server.run()
        finally:
            server.engine.close()


def case(kinds: Sequence[str], seed: int) -> Case:
    """Faults of these kinds at places and cycles that the seed chooses; most are cleared again, all in the end."""
    rng = random.Random(f"{' '.join(kinds)} {seed}")
    at = rng.randrange(FIRST, LAST)
    lines, start, used = [], at, set[str]()
    for kind in kinds:
        where = place(kind, rng)
        while f"{kind} {where}" in used:
            where = place(kind, rng)
        used.add(f"{kind} {where}")
        lines.append(f"  - {{at: {start}, fault: {kind}, {where}{parameters(kind, rng)}}}\n")
        lasts = rng.choice([rng.randrange(1, 300), rng.randrange(300, 3000), rng.randrange(3000, 9000)])
        lines.append(f"  - {{at: {start + lasts}, clear: {kind}, {where}}}\n")
        start += rng.choice([0, rng.randrange(1, 100), rng.randrange(100, 4000)])
    return Case(SERVER + "".join(lines), at)


def place(kind: str, rng: random.Random) -> str:
    """Somewhere that this kind of fault can strike."""
    fault, card = FAULTS[kind], rng.choice([*SIZES])
    if kind == "boundary_link_cut" or (fault.hits == "link" and rng.random() < 0.4):
        return "link: " + "-".join(rng.choice(BOUNDARY))
    if fault.target == "link":
        gpu = rng.randrange(SIZES[card])
        ends = [f"{card}.{gpu}", f"{card}.{(gpu + 1) % SIZES[card]}"]
        if kind == "link_one_way" and rng.random() < 0.5:
            ends.reverse()
        return "link: " + "-".join(ends)
    if fault.hits == "GPU with a host link":
        return f"gpu: {card}.{rng.choice(HOST[card])}"
    if fault.hits == "GPU with keepalives":
        # GPU 4 of card a is in no group.
        return f"gpu: {card}.{rng.randrange(4)}"
    return f"gpu: {card}.{rng.randrange(SIZES[card])}"


def parameters(kind: str, rng: random.Random, losses: int = 5) -> str:
    """A value for the parameter of a fault that has one; up to `losses` keepalives are lost."""
    fault = FAULTS[kind]
    if fault.counted and rng.random() < 0.7:
        return f", count: {rng.randrange(1, losses + 1)}"
    if fault.parameter == "period":
        return f", period: {rng.randrange(20, 2000)}"
    if fault.parameter is not None:
        known = PARAMETERS[fault.parameter]
        return f", {fault.parameter}: {rng.randrange(known.low, min(known.high, 2000) + 1)}"
    return ""
