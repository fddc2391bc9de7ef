"""Texts of scenario files for the tests, and random ones that must load."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ringhil.emulator.scenario import FAULTS, INVARIANTS, LINE_FAULTS, PARAMETERS, ScenarioError, loads
from ringhil.emulator.scenario.file.names import split_link

SERVER = """\
server:
  cards:
    a: {gpus: 8, host_links: [0, 1]}
    b: {gpus: 6}
    pair: {gpus: 2}
"""

LAST_LOOK = 9  # of any expectation
WHEN = {"at", "by", "end", "always", "from", "until"}
HERE = "§"  # in a text: the key or value to blame follows


def refused(text: str) -> ScenarioError:
    """The error that refuses `text`, which marks the place to blame."""
    before = text.partition(HERE)[0].split("\n")
    with pytest.raises(ScenarioError) as caught:
        loads(text.replace(HERE, ""), "some.yaml")
    error = caught.value
    if HERE in text:
        assert (error.line, error.column) == (len(before), len(before[-1]) + 1), str(error)
    assert str(error).startswith(f"some.yaml:{error.line}:{error.column}: ")
    assert len(str(error).splitlines()) == 1
    return error


Document = dict[str, Any]

# On a busy machine a slow example is no failure; every example writes its file anew.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def runs(gpus: int, length: int) -> st.SearchStrategy[list[int]]:
    """Neighbours on a ring, in one direction or the other."""
    return st.builds(
        lambda first, step: [(first + step * i) % gpus for i in range(length)],
        st.integers(0, gpus - 1),
        st.sampled_from([1, -1]),
    )


@st.composite
def cards(draw: st.DrawFn) -> Document:
    gpus = draw(st.integers(2, 12))
    index = st.integers(0, gpus - 1).map(str) | st.just("default")
    return {
        "gpus": gpus,
        "host_links": draw(st.integers(1, gpus).flatmap(lambda n: runs(gpus, n))),
        "types": draw(st.dictionaries(index, st.sampled_from(["generic", "T4", "H200"]), max_size=3)),
        "weights": draw(st.dictionaries(index, st.integers(1, 65535), max_size=3)),
    }


def free_runs(card: Document, name: str, taken: set[str]) -> list[list[str]]:
    """The sides of a boundary link that this card could have: one GPU, or two neighbours."""
    gpus, entry = card["gpus"], card["host_links"][0]
    free = [i for i in range(gpus) if i != entry and f"{name}.{i}" not in taken]
    pairs = [[i, j] for i in free for j in {(i + 1) % gpus, (i - 1) % gpus} if j in free]
    return [[f"{name}.{i}" for i in run] for run in [[i] for i in free] + pairs]


@st.composite
def boundary_links(draw: st.DrawFn, by_name: Document) -> list[Document]:
    links: list[Document] = []
    taken: set[str] = set()
    for first, second in itertools.combinations(sorted(by_name), 2):
        from_, to = (free_runs(by_name[name], name, taken) for name in (first, second))
        sides = [(a, b) for a in from_ for b in to if len(a) == len(b)]
        if sides and draw(st.booleans()):
            side, other = draw(st.sampled_from(sides))
            alone = len(side) == 1 and draw(st.booleans())
            links.append({"from": side[0] if alone else side, "to": other})
            taken |= {*side, *other}
    return links


def wired(link: Document) -> list[tuple[str, str]]:
    from_ = [link["from"]] if isinstance(link["from"], str) else link["from"]
    return list(zip(from_, link["to"], strict=True))


def targets(server: Document) -> dict[str, list[str]]:
    """What each kind of fault may hit, by `Fault.hits`; links are written in their own direction."""
    names = {name: card["gpus"] for name, card in server["cards"].items()}
    host = [f"{name}.{i}" for name, card in server["cards"].items() for i in card["host_links"]]
    pairs = [pair for link in server["boundary_links"] for pair in wired(link)]
    ring = [f"{name}.{i}-{name}.{(i + 1) % gpus}" for name, gpus in names.items() for i in range(gpus)]
    cross = [f"{from_}-{to}" for from_, to in pairs]
    return {
        "GPU": [f"{name}.{i}" for name, gpus in names.items() for i in range(gpus)],
        "GPU with a host link": host,
        "GPU with keepalives": [*host, *itertools.chain(*pairs)],
        "ring link": ring,
        "boundary link": cross,
        "link": [*ring, *cross],
    }


@st.composite
def timelines(draw: st.DrawFn, server: Document) -> list[Document]:
    """Every fault is set once and perhaps cleared later; the order in the file is any."""
    places = targets(server)
    events: dict[tuple[str, str], list[Document]] = {}
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(sorted(name for name, fault in FAULTS.items() if places[fault.hits])))
        fault = FAULTS[kind]
        target = draw(st.sampled_from(places[fault.hits]))
        rings = {name: card["gpus"] for name, card in server["cards"].items()}
        if kind == "link_one_way" and rings[target.split(".")[0]] > 2 and draw(st.booleans()):
            target = "-".join(reversed(split_link(target)))
        at = draw(st.integers(0, 10**6))
        begin = {"at": at, "fault": kind, fault.target: target}
        end = {"at": at + draw(st.integers(1, 10**6)), "clear": kind, fault.target: target}
        if fault.parameter is not None and draw(st.booleans()):
            parameter = PARAMETERS[fault.parameter]
            begin[fault.parameter] = draw(st.integers(parameter.low, parameter.high))
        if fault.counted and draw(st.booleans()):
            begin["count"] = draw(st.integers(1, 9))
        events[kind, target] = [begin, end] if draw(st.booleans()) else [begin]
    for gpu in draw(st.lists(st.sampled_from(places["GPU"]), unique=True, max_size=2)):
        at = draw(st.integers(0, 10**6))
        lend, back = {"at": at, "lend": gpu}, {"at": at + draw(st.integers(1, 10**6)), "take_back": gpu}
        events["lent", gpu] = [lend, back] if draw(st.booleans()) else [lend]
    lines = [event for name in server["cards"] for kind in LINE_FAULTS for event in draw(line_events(name, kind))]
    return draw(st.permutations([*(event for pair in events.values() for event in pair), *lines]))


@st.composite
def line_events(draw: st.DrawFn, card: str, kind: str) -> list[Document]:
    """Now and then one fault of a card's management line, perhaps cleared later."""
    if draw(st.integers(0, 9)):
        return []
    at = draw(st.integers(0, 10**6))
    begin: Document = {"at": at, "fault": kind, "card": card}
    if LINE_FAULTS[kind].rated and draw(st.booleans()):
        begin["rate"] = draw(st.integers(1, 65535))
    end = {"at": at + draw(st.integers(1, 10**6)), "clear": kind, "card": card}
    return [begin, end] if draw(st.booleans()) else [begin]


@st.composite
def expectations(draw: st.DrawFn, server: Document) -> Document:
    card = draw(st.sampled_from(sorted(server["cards"])))
    gpus = server["cards"][card]["gpus"]
    indices = st.lists(st.integers(0, gpus - 1), unique=True)
    # One member of each boundary link of the card.
    ends = [itertools.chain(*wired(link)) for link in server["boundary_links"]]
    members = [[gpu for gpu in link if gpu.startswith(f"{card}.")] for link in ends]
    chosen = [draw(st.sampled_from(side)) for side in members if side]
    checks: Document = {
        "count": {card: draw(st.integers(0, gpus))},
        "members": {card: draw(indices)},
        "entry": {card: draw(st.sampled_from([None, *(f"{card}.{i}" for i in server["cards"][card]["host_links"])]))},
        "boundary": {card: draw(st.sampled_from([None, *chosen, *([chosen] if chosen else [])]))},
        "epoch": {card: draw(st.integers(0, 2**32 - 1))},
        "break": {card: draw(st.sampled_from([None, f"{card}.{gpus - 1}-{card}.0", f"{card}.0-{card}.{gpus - 1}"]))},
        "stranded": {card: draw(indices)},
        "isolated": {card: draw(indices)},
        "lent": {card: draw(indices)},
        "reachable": {card: draw(st.booleans())},
        "work": {"duplicated": draw(st.integers(0, 10))},
        "truth": draw(st.lists(st.sampled_from(sorted(server["cards"])), unique=True, min_size=1)),
    }
    always: list[Document] = [{}, {"from": 7}, {"until": LAST_LOOK}, {"from": 8, "until": 8}]
    when: Document = draw(
        st.sampled_from([{"at": 5}, {"by": 0}, {"end": True}, *({"always": True} | span for span in always)])
    )
    return when | {key: checks[key] for key in draw(st.sets(st.sampled_from(sorted(checks)), min_size=1))}


@st.composite
def some_settings(draw: st.DrawFn) -> Document:
    names = ["watchdog", "census_period", "compute_setup", "heartbeat", "keepalive_interval", "wait_to_restore"]
    found: Document = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 99999), max_size=3))
    if draw(st.booleans()):
        multiplier = draw(st.integers(2, 10))
        found["keepalive_multiplier"] = multiplier
        found["keepalive_jitter"] = draw(st.integers(0, (75 - 1) // (multiplier + 1)))
    return found


@st.composite
def some_power(draw: st.DrawFn) -> Document:
    short, names = st.integers(0, 0xFFFF), ("run_power", "idle_power", "low_power", "off_power", "low_wake", "off_wake")
    long = st.integers(0, 0xFFFFFFFF)
    power = st.fixed_dictionaries({}, optional={**dict.fromkeys(names, short), "low_after": long, "off_after": long})
    found: Document = draw(st.dictionaries(st.sampled_from(["default", "generic", "H200"]), power, max_size=2))
    return found


@st.composite
def groups_of(draw: st.DrawFn, depth: int = 0) -> Document:
    """Groups in groups, a few; their names are short ones, of capital letters."""
    found: Document = {}
    for name in draw(st.lists(st.sampled_from("GHI"), unique=True, max_size=2)):
        given = {
            "memory": st.integers(1, 65536),
            "slice": st.sampled_from([0, 16, 999]),
            "priority": st.integers(0, 255),
        }
        group: Document = draw(st.fixed_dictionaries({}, optional=dict(given)))
        if depth < 2 and draw(st.booleans()):
            group["groups"] = draw(groups_of(depth + 1))
        found[name] = group
    return found


def paths_of(groups: Document, around: str = "") -> list[str]:
    """Of all groups in them."""
    found = []
    for name, group in groups.items():
        found += [f"{around}{name}", *paths_of(group.get("groups", {}), f"{around}{name}/")]
    return found


@st.composite
def sharings(draw: st.DrawFn, server: Document) -> Document:
    gpu, groups = f"{next(iter(server['cards']))}.0", draw(groups_of())
    applications: Document = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1)):
        applications[name] = {"gpu": gpu, "steps": 3, "compute": 50, "slice": draw(st.sampled_from([0, 16, 500]))}
        if (paths := paths_of(groups)) and draw(st.booleans()):
            applications[name]["group"] = draw(st.sampled_from(paths))
        if draw(st.booleans()):
            applications[name]["memory"] = draw(st.integers(1, 65536))
    return {"applications": applications, "groups": groups, "page": draw(st.integers(1, 4096))}


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Scenario files as data, all of which load."""
    names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,5}", fullmatch=True)
    by_name = draw(st.dictionaries(names, cards(), min_size=1, max_size=3))
    server: Document = {
        "cards": by_name,
        "boundary_links": draw(boundary_links(by_name)),
        "settings": draw(some_settings()),
        "power": draw(some_power()),
    }
    across = draw(st.integers(0, 100 if server["boundary_links"] else 0))
    document: Document = {
        "server": server,
        "name": draw(st.sampled_from(["x", "a longer name", "Zwölf: # 'quoted\" \U0001f600"])),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "workload": draw(st.sampled_from([{"units": 3, "across": across}, {"data": "some/file", "size": 1}])),
        "timeline": draw(timelines(server)),
        "expect": draw(st.lists(expectations(server), max_size=3)),
        "invariants": draw(st.dictionaries(st.sampled_from(INVARIANTS), st.booleans())),
    }
    if not draw(st.integers(0, 3)):
        document["sharing"] = draw(sharings(server))
    last = max((event["at"] for event in document["timeline"]), default=0)
    document["until"] = draw(st.integers(max(last + 1, LAST_LOOK), 2**63 - 1))
    left_out = draw(st.sets(st.sampled_from(sorted(document.keys() - {"server"}))))
    if "workload" in left_out:
        looks = [{key: value for key, value in entry.items() if key != "work"} for entry in document["expect"]]
        document["expect"] = [entry for entry in looks if entry.keys() - WHEN]
    return {key: value for key, value in document.items() if key not in left_out}
