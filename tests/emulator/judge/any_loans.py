"""Loans at random, of GPUs of any file: lent once or several times, alone and together, taken back or not; at times
when their card is counted, faulty or out of reach."""

import random
from dataclasses import replace

from ringhil.emulator.scenario import EventAction, GpuRef, TimelineEvent, dumps, loads
from ringhil.emulator.scenario.file.faults import LENT


def with_loans(text: str, seed: int) -> str:
    """The file, and up to four GPUs of it that are lent."""
    rng = random.Random(f"loans {seed}")
    scenario = loads(text)
    gpus = [GpuRef(card.name, gpu) for card in scenario.server.cards for gpu in range(card.gpus)]
    period = scenario.server.settings.census_period
    struck = [(e.at, e.target) for e in scenario.timeline if isinstance(e.target, GpuRef)]
    found, lent = list[TimelineEvent](), set[GpuRef]()
    for gpu in rng.sample(gpus, min(len(gpus), rng.randint(1, 4))):
        at = rng.choice([rng.randrange(300), rng.randrange(3 * period), rng.randrange(2 * period, 8 * period)])
        if struck and rng.random() < 0.3:  # near a fault, and where that strikes
            near, where = rng.choice(struck)
            at = max(0, near + rng.randrange(-300, 300))
            gpu = where if where not in lent else gpu
        if gpu in lent:
            continue
        lent.add(gpu)
        for _ in range(rng.choice([1, 1, 2, 3])):
            found.append(TimelineEvent(at, EventAction.LEND, LENT, gpu, None, 0))
            if rng.random() < 0.3:
                break
            at += rng.choice([0, rng.randrange(1, 100), rng.randrange(100, 3000), rng.randrange(3000, 6 * period)])
            found.append(TimelineEvent(at, EventAction.TAKE_BACK, LENT, gpu, None, 0))
            at += rng.choice([1, rng.randrange(1, 100), rng.randrange(100, 3000)])
    timeline = sorted([*scenario.timeline, *found], key=lambda event: event.at)
    until = None if scenario.until is None else max(scenario.until, timeline[-1].at + 1)
    return dumps(replace(scenario, timeline=tuple(timeline), until=until))
