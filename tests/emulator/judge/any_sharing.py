"""Any valid file with tasks on GPUs, drawn by a seed: applications, groups of them, requests that follow one another;
settings, faults and plain work beside them.

Nothing in it is expected, and no run of it may fail.
"""

import random
import re
from collections.abc import Sequence
from contextlib import suppress

from tests.emulator.server.campaign import parameters

from ringhil.emulator.scenario import FAULTS, ScenarioError, loads

_SHORT = "census_period: 2000, keepalive_interval: 1200"


def sharing(seed: int) -> str:
    """Applications on one GPU or two, some in a group; a GPU or two fail."""
    rng = random.Random(f"sharing {seed}")
    applications = []
    for name in "uvwxyz"[: rng.randint(2, 6)]:
        more = f", priority: {rng.choice([0, 0, 1, 9])}, state: {rng.choice([0, 0, 7, 100])}"
        more += rng.choice(["", f", slice: {rng.choice([16, 100, 333, 3000])}"])
        more += rng.choice(["", ", group: team"]) + rng.choice(["", f", start: {rng.randrange(9000)}"])
        work = (
            f"steps: {rng.randint(1, 6)}, host: {rng.choice([0, 50, 700])}, compute: {rng.choice([1, 90, 800, 5000])}"
        )
        gpu = rng.choice(["a.2", "a.2", "a.0"])
        applications.append(f"    {name}: {{gpu: {gpu}, {work}, memory: {rng.randint(1, 9000)}{more}}}")
    events = []
    for gpu in rng.sample(["a.1", "a.2"], rng.choice([0, 0, 1, 2])):
        fault = rng.choice(["dead", "hang", "slow", "corrupt"])
        at = rng.randrange(9000, 30000)
        events += [f"{{at: {at}, fault: {fault}, gpu: {gpu}}}", f"{{at: {at + 15000}, clear: {fault}, gpu: {gpu}}}"]
    settings = f"default_slice: {rng.choice([16, 200, 2000])}, context_switch: {rng.choice([0, 1, 20, 150])}"
    lines = [
        "server:",
        "  cards: {a: {gpus: 4, host_links: [0, 1]}}",
        f"  settings: {{{settings}}}",
        "sharing:",
        "  groups: {team: {memory: 9000, slice: 400, priority: 3}}",
        "  applications:",
        *applications,
        *([f"workload: {{units: {rng.randint(1, 300)}, size: 256}}"] if rng.random() < 0.4 else []),
        *([f"timeline: [{', '.join(events)}]"] if events else []),
    ]
    return "\n".join(lines) + "\n"


def trouble(seed: int) -> str:
    """Applications on any GPUs, in groups of groups; and faults of every kind while they work."""
    rng = random.Random(f"trouble {seed}")
    size = rng.choice([3, 4, 6])
    memory = rng.choice([100, 3000, 9000])
    groups, paths = [], [""]
    for name in ("g", "h")[: rng.randint(0, 2)]:
        inner = [f"{each}: {{{_terms(rng, memory)}}}" for each in ("i", "j")[: rng.randint(0, 2)]]
        groups.append(f"    {name}: {{{_terms(rng, memory, ['groups: {' + ', '.join(inner) + '}'])}}}")
        paths += [f"{name}/{each[0]}" for each in inner] or [name]
    applications = []
    used = rng.sample(range(size), rng.randint(1, 2))
    for name in "uvwxyz"[: rng.randint(1, 6)]:
        parts = [
            f"gpu: a.{rng.choice(used)}",
            f"steps: {rng.randint(1, 8)}",
            f"host: {rng.choice([0, 50, 700, 3000])}",
            f"compute: {rng.choice([1, 90, 800, 5000])}",
            *([f"input: {rng.choice([1, 300, 4000])}"] if rng.random() < 0.4 else []),
            *([f"wants: {rng.choice([1, 50, 100])}"] if rng.random() < 0.5 else []),
            *([f"piece: {rng.choice([7, 100])}"] if memory < 9000 and rng.random() < 0.3 else []),
            *([f"group: {path}"] if (path := rng.choice(paths)) else []),
            *([f"start: {rng.randrange(20000)}"] if rng.random() < 0.4 else []),
            *(["again: true"] if rng.random() < 0.2 else []),
        ]
        applications.append(f"    {name}: {{{_terms(rng, memory, parts)}}}")
    settings = [
        f"default_slice: {rng.choice([16, 200, 2000])}, context_switch: {rng.choice([0, 1, 20, 150])}",
        f"device_memory: {memory}",
        *([_SHORT] if rng.random() < 0.5 else []),
    ]
    lines = [
        f"seed: {rng.randrange(1000)}",
        "server:",
        f"  cards: {{a: {{gpus: {size}, host_links: [0, 1]}}}}",
        f"  settings: {{{', '.join(settings)}}}",
        "sharing:",
        *(["  groups:", *groups] if groups else []),
        "  applications:",
        *applications,
        *([f"workload: {{units: {rng.randint(1, 300)}, size: 256}}"] if rng.random() < 0.3 else []),
        *_timeline(rng, size, [], 5000),
    ]
    return "\n".join(lines) + "\n"


def cut_off(seed: int) -> str:
    """Applications of few groups, some come late; their GPU is cut off and is found again, once or several times."""
    rng = random.Random(f"cut off {seed}")
    size = rng.choice([4, 5])
    memory = rng.choice([100, 600, 3000])
    gpu = rng.randrange(size)
    applications = []
    for name in "uvwxyz"[: rng.randint(1, 6)]:
        parts = [
            f"gpu: a.{gpu if rng.random() < 0.8 else rng.randrange(size)}",
            f"steps: {rng.randint(1, 20)}, wants: {rng.choice([1, 30, 60, 100])}",
            f"host: {rng.choice([0, 50, 700])}, compute: {rng.choice([1, 90, 800, 5000])}",
            *([f"input: {rng.choice([1, 300, 4000])}"] if rng.random() < 0.3 else []),
            *([f"piece: {rng.choice([7, 100])}"] if memory < 3000 and rng.random() < 0.5 else []),
            *([f"group: {path}"] if (path := rng.choice(["", "g", "g", "h/i"])) else []),
            *([f"start: {rng.randrange(60000)}"] if rng.random() < 0.6 else []),
        ]
        applications.append(f"    {name}: {{{_terms(rng, memory, parts)}}}")
    ends = [f"link: a.{(gpu + step) % size}-a.{(gpu + step + 1) % size}" for step in (-1, 0)]
    events, at = [], rng.randrange(3000, 20_000)
    for _ in range(rng.choice([1, 1, 2, 3])):
        back = at + rng.randrange(1, 20_000)
        for end in ends:
            events.append(f"{{at: {at + rng.choice([0, 0, 700])}, fault: link_cut, {end}}}")
            events.append(f"{{at: {back + rng.choice([800, 800, 5000])}, clear: link_cut, {end}}}")
        at = back + rng.randrange(5001, 20_000)
    if rng.random() < 0.5:
        kind = rng.choice(["dead", "hang", "slow", "duplicate_id", "duplicate_id"])
        where = f"{kind}, gpu: a.{rng.choice([gpu, rng.randrange(size)])}"
        at = rng.randrange(3000, 40_000)
        events += [f"{{at: {at}, fault: {where}}}", f"{{at: {at + rng.choice([50, 900, 9000])}, clear: {where}}}"]
    settings = [f"device_memory: {memory}", *([_SHORT] if rng.random() < 0.5 else [])]
    lines = [
        f"server: {{cards: {{a: {{gpus: {size}, host_links: [0, 1]}}}}, settings: {{{', '.join(settings)}}}}}",
        "sharing:",
        f"  groups: {{g: {{{_terms(rng, memory)}}}, h: {{{_terms(rng, memory, ['groups: {i: {}}'])}}}}}",
        "  applications:",
        *applications,
        f"timeline: [{', '.join(events)}]",
    ]
    return "\n".join(lines) + "\n"


def switching(seed: int) -> str:
    """Requests for tasks of a few layers, by any policy, on one GPU or two."""
    rng = random.Random(f"switching {seed}")
    tasks, names = [], ("one", "two", "three")[: rng.randint(1, 3)]
    for name in names:
        layers = [
            f"{{name: l{n}, weights: {rng.choice([1, 3, 30, 300])}000000, "
            f"operations: {rng.choice([1, 20, 90])}000000000, outputs: {rng.choice([1, 1000000])}}}"
            for n in range(rng.randint(1, 5))
        ]
        more = f", kind: training, steps: {rng.randint(1, 3)}" if rng.random() < 0.5 else ""
        tasks.append(
            f"    {name}: {{layers: [{', '.join(layers)}], subtasks: {rng.randint(1, len(layers))}{more}, "
            f"start: {rng.choice([0, 500, 9000])}, clean: {rng.choice([0, 500])}, environment: {rng.choice([0, 50])}}}"
        )
    requests = [
        f"{{task: {rng.choice(names)}{rng.choice(['', f', after: {rng.randrange(90000)}'])}}}"
        for _ in range(rng.randint(1, 5))
    ]
    gpus = rng.sample(["a.1", "a.2", "a.3"], rng.randint(1, 3))
    settings = f"device_memory: 16000, context_switch: {rng.choice([0, 14, 140])}, default_slice: 2000"
    policy = rng.choice(["pipelined", "pipelined", "pipelined", "pipeswitch", "stop_start", "resident"])
    presets = [
        f"  first_preset: {rng.choice([12000, 16000])}",
        f"  second_preset: {rng.choice([0, 20, 400, 2400, 9000])}",
    ]
    tight = policy != "pipelined" and seed % 3 == 0
    lines = [
        f"seed: {rng.randrange(1000)}",
        "server:",
        "  cards: {a: {gpus: 4, host_links: [0, 1]}}",
        f"  settings: {{{settings}}}",
        "switching:",
        f"  gpu: [{', '.join(gpus)}]",
        f"  policy: {policy}",
        *([] if tight else presets),
        f"  left: {rng.randint(0, 5)}",
        *rng.choice([[], ["  interrupt: true"]]),
        "  tasks:",
        *tasks,
        f"  requests: [{', '.join(requests)}]",
        *_timeline(rng, 4, gpus, 20000),
    ]
    text = "\n".join(lines) + "\n"
    return _with_least_memory(text) if tight else text


def interrupted(seed: int) -> str:
    """The same, by a policy that stops training for others."""
    rng = random.Random(f"interrupted {seed}")
    text = re.sub(r"policy: \w+", f"policy: {rng.choice(['pipeswitch', 'stop_start'])}", switching(seed))
    text = text.replace("  interrupt: true\n", "")
    more = f"workers: {rng.choice([2, 2, 3])}\n  recycle: {rng.choice([0, 100, 9000, 60000])}"
    return text.replace("  tasks:\n", f"  interrupt: true\n  {more}\n  tasks:\n")


def unreached(seed: int) -> str:
    """Either; the first GPU is cut off and found again, and nobody reaches the card for a while."""
    rng = random.Random(f"unreached {seed}")
    text = rng.choice([switching, interrupted])(seed)
    gpu = int(text.partition("gpu: [a.")[2][0])
    at, events = rng.randrange(3000, 60_000), []
    ends = [f"link: a.{(gpu + step) % 4}-a.{(gpu + step + 1) % 4}" for step in (-1, 0)]
    if rng.random() < 0.8:
        back = at + rng.choice([3000, 20_000, 90_000])
        events += [f"{{at: {at}, fault: link_cut, {end}}}, {{at: {back}, clear: link_cut, {end}}}" for end in ends]
    at, hosts = rng.randrange(3000, 40_000), ["gpu: a.0", "gpu: a.1"]
    if rng.random() < 0.6 or not events:
        back = at + rng.choice([3000, 30_000, 300_000, 880_000, 1_500_000])
        for host in hosts:
            events.append(f"{{at: {at}, fault: host_link_cut, {host}}}, {{at: {back}, clear: host_link_cut, {host}}}")
    return f"{text.partition('timeline:')[0]}timeline: [{', '.join(events)}]\n"


def _with_least_memory(text: str) -> str:
    """There is room for each task, and hardly for several: memory is refused."""
    for pages in range(50, 16000, 50):
        with suppress(ScenarioError):
            found = text.replace("device_memory: 16000", f"device_memory: {pages}")
            loads(found)
            return found
    return text


def _terms(rng: random.Random, memory: int, parts: Sequence[str] = ()) -> str:
    """What somebody may have, with other keys before that."""
    given = [
        *([f"memory: {rng.randint(1, memory)}"] if rng.random() < 0.5 else []),
        *([f"slice: {rng.choice([16, 100, 333, 3000])}"] if rng.random() < 0.5 else []),
        *([f"priority: {rng.choice([0, 1, 9])}"] if rng.random() < 0.5 else []),
    ]
    return ", ".join((*parts, *given))


def _timeline(rng: random.Random, size: int, rather: Sequence[str], first: int) -> list[str]:
    """Up to three faults, some at these GPUs."""
    lines, used, at = [], set[str](), rng.randrange(first, 5 * first)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        kind = rng.choice([*FAULTS])
        fault = FAULTS[kind]
        gpu = rng.randrange(size)
        if kind == "boundary_link_cut":
            continue
        if fault.target == "link":
            where = f"link: a.{gpu}-a.{(gpu + 1) % size}"
        elif fault.hits in ("GPU with a host link", "GPU with keepalives"):
            where = f"gpu: a.{rng.randrange(2)}"
        else:
            where = f"gpu: {rng.choice(rather)}" if rather and rng.random() < 0.5 else f"gpu: a.{gpu}"
        if f"{kind} {where}" in used:
            continue
        used.add(f"{kind} {where}")
        lines.append(f"  - {{at: {at}, fault: {kind}, {where}{parameters(kind, rng, losses=6)}}}")
        if kind not in ("dead", "hang") or rng.random() < 0.7:  # with others tasks wait for millions of cycles
            lines.append(f"  - {{at: {at + rng.choice([50, 900, 9000, 30000])}, clear: {kind}, {where}}}")
        at += rng.choice([0, rng.randrange(1, 100), rng.randrange(100, 30_000)])
    return ["timeline:", *lines] if lines else []
