"""Texts of scenario files for the tests, and random ones that must load."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ringhil.emulator.scenario import FAULTS, ScenarioError, loads

SERVER = """\
server:
  cards:
    a: {gpus: 8, host_links: [0, 1]}
    b: {gpus: 6}
    pair: {gpus: 2}
"""

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


@st.composite
def timelines(draw: st.DrawFn, rings: dict[str, int]) -> list[Document]:
    """Every fault is set once and perhaps cleared later; the order in the file is any."""
    events: dict[tuple[str, str], list[Document]] = {}
    for _ in range(draw(st.integers(0, 5))):
        card = draw(st.sampled_from(sorted(rings)))
        index = draw(st.integers(0, rings[card] - 1))
        kind = draw(st.sampled_from(sorted(FAULTS)))
        target = f"{card}.{index}"
        if FAULTS[kind].target == "link":
            target = f"{card}.{index}-{card}.{(index + 1) % rings[card]}"
        at = draw(st.integers(0, 10**6))
        begin = {"at": at, "fault": kind, FAULTS[kind].target: target}
        end = {"at": at + draw(st.integers(1, 10**6)), "clear": kind, FAULTS[kind].target: target}
        events[kind, target] = [begin, end] if draw(st.booleans()) else [begin]
    return draw(st.permutations([event for pair in events.values() for event in pair]))


@st.composite
def expectations(draw: st.DrawFn, rings: dict[str, int]) -> Document:
    card = draw(st.sampled_from(sorted(rings)))
    gpus = rings[card]
    checks: Document = {
        "count": {card: draw(st.integers(0, gpus))},
        "members": {card: draw(st.lists(st.integers(0, gpus - 1), unique=True))},
        "break": {card: draw(st.sampled_from([None, f"{card}.{gpus - 1}-{card}.0"]))},
        "reachable": {card: draw(st.booleans())},
        "work": {"duplicated": draw(st.integers(0, 10))},
    }
    when: Document = draw(st.sampled_from([{"at": 5}, {"by": 0}, {"end": True}]))
    return when | {key: checks[key] for key in draw(st.sets(st.sampled_from(sorted(checks)), min_size=1))}


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Scenario files as data, all of which load; without boundary links."""
    names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,5}", fullmatch=True)
    server: Document = {"cards": draw(st.dictionaries(names, cards(), min_size=1, max_size=3))}
    rings = {name: card["gpus"] for name, card in server["cards"].items()}
    setting = st.sampled_from(["watchdog", "census_period", "compute_setup", "heartbeat"])
    document: Document = {
        "server": server | {"settings": draw(st.dictionaries(setting, st.integers(1, 99999)))},
        "name": draw(st.sampled_from(["x", "a longer name", "Zwölf: # 'quoted\" \U0001f600"])),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "workload": draw(st.sampled_from([{"units": 3}, {"data": "some/file", "size": 1}])),
        "until": draw(st.integers(1, 2**63 - 1)),
        "timeline": draw(timelines(rings)),
        "expect": draw(st.lists(expectations(rings), max_size=3)),
    }
    left_out = draw(st.sets(st.sampled_from(sorted(document.keys() - {"server"}))))
    return {key: value for key, value in document.items() if key not in left_out}
