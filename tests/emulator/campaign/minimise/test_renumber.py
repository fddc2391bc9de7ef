"""When GPUs are left out, everything that names a GPU or a link says the same of the ring that is left."""

import re
from collections.abc import Callable

import pytest

from ringhil.emulator.campaign.minimise.renumber import renumbered
from ringhil.emulator.scenario import loads
from ringhil.emulator.scenario.expect import CHECKS

WHOLE = """
server:
  cards: {a: {gpus: 6, host_links: [0, 1, 2]}, b: {gpus: 4}}
  boundary_links: [{from: [a.2, a.3], to: [b.1, b.2]}]
workload: {units: 10, size: 64}
sharing: {applications: {x: {gpu: a.4, steps: 3, compute: 9}}}
timeline:
  - {at: 3000, fault: dead, gpu: a.4}
  - {at: 4000, fault: link_cut, link: a.4-a.5}
expect:
  - {at: 9000, count: {a: 4, b: 1}, members: {a: [0, 1, 2, 3, 5]}, entry: {a: a.1}, boundary: {a: a.3}}
  - {at: 9100, entry: {a: a.2}, boundary: {a: a.2}}
  - {end: true, epoch: {a: 1}, break: {a: a.4-a.5}, stranded: {a: [2, 5]}, isolated: {a: [4]}, lent: {a: [4]}}
  - {end: true, reachable: {a: true}, truth: [a], work: {lost: 0}, entry: {b: null}, break: {b: null}}
  - {end: true, suspects: {a: [2, 4]}, links: {slow: {a: a.4-a.5, b: null}, noisy: {a: a.1-a.2}}}
  - {end: true, shares: {a: 5, a.4: [1, 3], b.1: 2}, fencing: {most: 0}, applications: {x: {steps: 3}}}
"""
LESS = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 2}}
  boundary_links: [{from: [a.2], to: [b.1]}]
workload: {units: 10, size: 64}
sharing: {applications: {x: {gpu: a.3, steps: 3, compute: 9}}}
timeline:
  - {at: 3000, fault: dead, gpu: a.3}
  - {at: 4000, fault: link_cut, link: a.3-a.4}
expect:
  - {at: 9000, count: {a: 3, b: 0}, members: {a: [0, 1, 2, 4]}, entry: {a: a.1}, boundary: {a: a.2}}
  - {end: true, epoch: {a: 1}, break: {a: a.3-a.4}, stranded: {a: [4]}, isolated: {a: [3]}, lent: {a: [3]}}
  - {end: true, reachable: {a: true}, truth: [a], work: {lost: 0}, entry: {b: null}, break: {b: null}}
  - {end: true, suspects: {a: [3]}, links: {slow: {a: a.3-a.4, b: null}, noisy: {a: a.1-a.2}}}
  - {end: true, shares: {a: 5, a.3: [1, 3]}, fencing: {most: 0}, applications: {x: {steps: 3}}}
"""


def switching(text: str) -> str:
    """The same with tasks that follow one another in place of those that share."""
    gpu = re.search(r"sharing: .*gpu: (a\.\d)", text)
    assert gpu is not None
    task = "{layers: [{name: l, weights: 9, operations: 9}]}"
    text = text.replace("applications: {x: {steps: 3}}", "switching: {pipelined: {failed: 0}}")
    return re.sub("sharing: .*", f"switching: {{gpu: {gpu[1]}, tasks: {{t: {task}}}, requests: [{{task: t}}]}}", text)


def test_each_check_is_renumbered() -> None:
    every = (*loads(WHOLE).expect, *loads(switching(WHOLE)).expect)
    assert {type(check) for item in every for check in item.checks} == set(CHECKS)


@pytest.mark.parametrize("tasks", [str, switching])
def test_names_and_numbers_are_those_of_the_ring_that_is_left(tasks: Callable[[str], str]) -> None:
    whole, wanted = loads(tasks(WHOLE)), loads(tasks(LESS))
    less = renumbered(whole, {"a": (0, 1, 3, 4, 5), "b": (0, 2)})
    assert [item.checks for item in less.expect] == [item.checks for item in wanted.expect]
    assert [(event.at, event.where) for event in less.timeline] == [
        (event.at, event.where) for event in wanted.timeline
    ]
    assert less.server == wanted.server
    assert less.sharing == wanted.sharing
    assert less.switching == wanted.switching
