"""Any valid scenario file, drawn by a seed: servers of every shape, all settings, faults of every kind at any time.

Nothing in it is beyond what the hardware can bear by its documents, so no run of it may fail; but what cannot be told
may be expected by nobody, so it expects nothing.
"""

import itertools
import random
import re
from collections.abc import Mapping

from tests.emulator.server.campaign import parameters

from ringhil.emulator.scenario import FAULTS

Sizes = dict[str, int]

ALL_SETTINGS = 1_000_000  # from this seed on, also those that were not drawn at first


def text(seed: int) -> str:
    """The file."""
    rng = random.Random(seed)
    shape = rng.choice(["one", "one", "pair", "chain", "star", "apart"])
    names = "a" if shape == "one" else "ab" if shape == "pair" else "abcd"[: rng.randrange(3, 5)]
    sizes = {name: rng.choice([2, 3, 4, 5, 6, 8, 12]) for name in names}
    joined = {
        "one": [],
        "apart": [],
        "pair": [("a", "b")],
        "chain": list(itertools.pairwise(names)),
        "star": [(names[0], other) for other in names[1:]],
    }[shape]
    links, hosts = _links(rng, sizes, joined)
    lines = [f"seed: {rng.randrange(1000)}", "server:", "  cards:"]
    lines += [f"    {name}: {{gpus: {size}, host_links: {hosts[name]}{_weights(rng)}}}" for name, size in sizes.items()]
    if links:
        lines.append("  boundary_links:")
        lines += [f"    - {{from: [{', '.join(a)}], to: [{', '.join(b)}]}}" for a, b in links]
    settings = _settings(rng, max(sizes.values()))
    if seed >= ALL_SETTINGS:
        settings |= _more_settings(random.Random(-seed))
    lines.append(f"  settings: {_flow(settings)}")
    if seed >= ALL_SETTINGS:
        lines += _power(random.Random(f"power {seed}"))
    if rng.random() < 0.6:
        across = f", across: {rng.randrange(0, 101)}" if links and settings["records"] != "never" else ""
        lines.append(f"workload: {{units: {rng.randrange(0, 80)}, size: {rng.randrange(1, 900)}{across}}}")
    period = settings["census_period"]
    assert isinstance(period, int)
    first = rng.choice([rng.randrange(0, 200), rng.randrange(0, 3 * period), rng.randrange(2 * period, 6 * period)])
    timeline = _timeline(rng, sizes, hosts, links, first, period, settings["records"] == "always")
    lines += ["timeline:", *timeline] if timeline else []
    if rng.random() < 0.3:
        until = rng.choice([rng.randrange(1, 500), rng.randrange(1, 20_000)])
        struck = [int(at) for line in timeline for at in re.findall(r"at: (\d+)", line)]
        lines.append(f"until: {max([until, *(at + 1 for at in struck)])}")
        lines.append("invariants: {work_once: false}")  # it may end before the work does
    return "\n".join(lines) + "\n"


def _weights(rng: random.Random) -> str:
    return f", weights: {{0: {rng.randrange(1, 9)}, default: {rng.randrange(1, 4)}}}" if rng.random() < 0.3 else ""


def _links(
    rng: random.Random, sizes: Sizes, joined: list[tuple[str, str]]
) -> tuple[list[tuple[list[str], list[str]]], dict[str, list[int]]]:
    """Boundary links, as wide as there is room for, and the GPUs with a link to the CPU, which are GPU 0 and some
    before it; both as a file may have them."""
    free = {name: list(range(1, size)) for name, size in sizes.items()}  # GPU 0 is the first with a link to the CPU
    links = []
    for a, b in joined:
        width = min(rng.randrange(1, 4), len(free[a]), len(free[b]))
        if width:
            ends = [[f"{name}.{free[name].pop(0)}" for _ in range(width)] for name in (a, b)]
            links.append((ends[0], ends[1]))
    hosts = {}
    for name, size in sizes.items():
        count = rng.randrange(1, min(4, size) + 1)
        hosts[name] = [(-n) % size for n in range(count)]
    return links, hosts


def _settings(rng: random.Random, largest: int) -> dict[str, int | str]:
    period = rng.choice([rng.randrange(500, 900), rng.randrange(600, 3000), 5000])
    settings: dict[str, int | str] = {
        "census_period": period,
        "firmware_latency": rng.choice([1, 8, 32]),
        "host_latency": rng.choice([1, 8, 64]),
        "records": rng.choice(["always", "always", "sometimes", "never"]),
        "allowance_period": rng.choice([1024, 2048]),
        "keepalive_interval": rng.choice([2, 3, 5]) * 600 + 100 * largest,
        "window": rng.randrange(1, 5),
        "policy": rng.choice(["proportional", "proportional", "round_robin"]),
    }
    if rng.random() < 0.3:
        settings["keepalive_multiplier"] = rng.choice([2, 4, 5])
    if rng.random() < 0.3:
        settings["wait_to_restore"] = rng.choice([1, 900, 9000])
    if rng.random() < 0.3:
        settings["heartbeat"] = rng.choice([0, 2000])
    return settings


def _more_settings(rng: random.Random) -> dict[str, int]:
    most = {
        "allowance": [1, 4, 16, 64, 200, 1000],
        "watchdog": [64, 100, 300],
        "gpu_restore": [1, 64, 900],
        "link_restore": [136, 500],
        "keepalive_jitter": [0, 5, 12],
        "compute_setup": [1, 100, 3000],
        "compute_per_flit": [1, 4, 40],
    }
    return {name: rng.choice(values) for name, values in most.items() if rng.random() < 0.4}


def _power(rng: random.Random) -> list[str]:
    """GPUs that sleep, and wake up for each unit, in some files."""
    if rng.random() < 0.6:
        return []
    power = {
        **{name: rng.choice([0, 1, 700, 0xFFFF]) for name in ("run_power", "idle_power", "low_power", "off_power")},
        **{name: rng.choice([0, 1, 50, 3000]) for name in ("low_after", "off_after")},
        **{name: rng.choice([0, 1, 900, 20_000]) for name in ("low_wake", "off_wake")},
    }
    return [f"  power: {{default: {_flow(power)}}}"]


def _flow(values: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"


def _timeline(
    rng: random.Random,
    sizes: Sizes,
    hosts: dict[str, list[int]],
    links: list[tuple[list[str], list[str]]],
    first: int,
    period: int,
    proven: bool,
) -> list[str]:
    """`proven`: every count is, by records; without them who miscounts is believed, and a wrong count is no false
    alarm."""
    crossings = [pair for a, b in links for pair in zip(a, b, strict=True)]
    lines, at, used = [], first, set[str]()
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
        kind = rng.choice([*FAULTS])
        if kind in ("skip_count", "double_count") and not proven:
            continue
        fault = FAULTS[kind]
        card = rng.choice([*sizes])
        gpu = rng.randrange(sizes[card])
        if kind == "boundary_link_cut" or (fault.hits == "link" and crossings and rng.random() < 0.4):
            if not crossings:
                continue
            where = "link: " + "-".join(rng.choice(crossings))
        elif fault.target == "link":
            ends = [f"{card}.{gpu}", f"{card}.{(gpu + 1) % sizes[card]}"]
            where = "link: " + "-".join(ends)
        elif fault.hits == "GPU with a host link":
            where = f"gpu: {card}.{rng.choice(hosts[card])}"
        elif fault.hits == "GPU with keepalives":
            able = [f"{name}.{gpu}" for name, gpus in hosts.items() for gpu in gpus]
            where = f"gpu: {rng.choice([*able, *(end for pair in crossings for end in pair)])}"
        else:
            where = f"gpu: {card}.{gpu}"
        if f"{kind} {where}" in used:
            continue
        used.add(f"{kind} {where}")
        lines.append(f"  - {{at: {at}, fault: {kind}, {where}{parameters(kind, rng, losses=6)}}}")
        if rng.random() < 0.7:
            lasts = rng.choice(
                [rng.randrange(1, 300), rng.randrange(300, 3000), rng.randrange(3000, 4 * period + 3001)]
            )
            lines.append(f"  - {{at: {at + lasts}, clear: {kind}, {where}}}")
        at += rng.choice([0, rng.randrange(1, 100), rng.randrange(100, 4000), rng.randrange(4000, 30_000)])
    return lines
