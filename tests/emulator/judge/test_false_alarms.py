"""Files that were false alarms once: software and hardware are right, and a fault came at an awkward moment."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads

from .playing import play

FILES = {
    "a copy is under way as its launch is gone with the context": """
server: {cards: {a: {gpus: 4, host_links: [0]}}, settings: {gpu_restore: 1}}
switching:
  gpu: [a.2, a.3]
  policy: pipelined
  rate: 1000
  tasks:
    t:
      start: 300
      layers:
      - {name: l, weights: 5000000, operations: 700000000}
      - {name: m, weights: 5000000, operations: 90000000}
  requests: [{task: t}, {task: t, after: 260}]
timeline:
- {at: 3700, fault: dead, gpu: a.2}
- {at: 3760, clear: dead, gpu: a.2}
""",
    "a GPU hangs while it is dead, and a little longer": """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900,
             watchdog: 32, allowance_period: 512, link_restore: 72, gpu_restore: 64}
timeline:
- {at: 1262, fault: hang, gpu: a.3}
- {at: 1262, fault: dead, gpu: a.3}
- {at: 1528, clear: dead, gpu: a.3}
- {at: 1550, clear: hang, gpu: a.3}
until: 2700
""",
    "nobody reaches the card any more": """
server:
  cards: {a: {gpus: 4, host_links: [3]}}
  settings: {census_period: 700}
sharing:
  applications:
    x: {gpu: a.1, steps: 30, compute: 400}
timeline:
- {at: 3000, fault: dead, gpu: a.3}
""",
    "a GPU is lost and found while its application works on the CPU": """
server:
  cards: {a: {gpus: 4, host_links: [0]}}
  settings: {census_period: 700}
sharing:
  applications:
    x: {gpu: a.2, steps: 5, compute: 50, host: 8000, wants: 1}
timeline:
- {at: 12000, fault: dead, gpu: a.2}
- {at: 13500, clear: dead, gpu: a.2}
""",
    "a context is created where another one works": """
server:
  cards: {a: {gpus: 2, host_links: [1]}}
  settings: {device_memory: 200}
sharing:
  applications:
    x0: {gpu: a.0, steps: 12, compute: 400, piece: 5, start: 2425}
    x1: {gpu: a.0, steps: 10, compute: 3000, wants: 30, piece: 5, input: 1, state: 90, group: t}
    x3: {gpu: a.1, steps: 12, compute: 50, start: 19859}
  groups: {t: {memory: 50}, v: {slice: 400}}
timeline:
- {at: 126, fault: duplicate_id, gpu: a.1}
""",
    "a limit is on its way to a context that is gone": """
server: {cards: {a: {gpus: 4, host_links: [0]}}, settings: {gpu_restore: 1}}
sharing:
  groups: {g: {memory: 100}}
  applications:
    x: {gpu: a.2, steps: 60, compute: 400, wants: 0, group: g}
    y: {gpu: a.2, steps: 5, compute: 400, wants: 0, group: g, start: 5800}
timeline:
- {at: 5620, fault: dead, gpu: a.2}
- {at: 5680, clear: dead, gpu: a.2}
""",
    "another GPU answers for a slow one": """
server: {cards: {a: {gpus: 2, host_links: [1]}}}
sharing: {applications: {x5: {gpu: a.0, steps: 12, compute: 1}}}
timeline:
- {at: 31, fault: duplicate_id, gpu: a.1}
- {at: 185, fault: slow, gpu: a.0}
""",
    "the card had no entry GPU from the beginning": """
server: {cards: {a: {gpus: 7, host_links: [0]}}}
switching:
  gpu: [a.4, a.0, a.3]
  tasks: {t0: {layers: [{name: l3, weights: 1000000, operations: 90000000}]}}
  requests: [{task: t0, after: 4938}]
timeline: [{at: 15, fault: host_link_cut, gpu: a.0}]
""",
    "a context of which nothing is known has several turns": """
server:
  cards: {a: {gpus: 4, host_links: [1]}}
  settings: {device_memory: 200, context_switch: 0, default_slice: 16, watchdog: 16, wait_to_restore: 1000}
seed: 8967
sharing:
  applications:
    x0: {gpu: a.0, steps: 11, compute: 50, wants: 50, input: 512}
    x1: {gpu: a.0, steps: 8, compute: 400, host: 2000, start: 4709, group: t/u}
    x2: {gpu: a.0, steps: 8, compute: 1, piece: 5, group: t/u}
    x3: {gpu: a.0, steps: 7, compute: 3000, wants: 30, input: 3000, slice: 50, priority: 5, start: 3561}
  groups: {t: {memory: 50, groups: {u: {slice: 16, priority: 2}}}}
timeline:
- {at: 287, fault: hang, gpu: a.0}
- {at: 887, clear: hang, gpu: a.0}
- {at: 5276, fault: link_cut, link: a.0-a.1}
- {at: 5276, fault: link_cut, link: a.3-a.0}
- {at: 5306, clear: link_cut, link: a.3-a.0}
""",
    "what is left cannot be told to go, and another one waits for that": """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
sharing:
  applications:
    x: {gpu: a.2, wants: 30, piece: 60000, steps: 50, compute: 2000, start: 9000}
    y: {gpu: a.2, wants: 90, piece: 60000, steps: 9, compute: 2000, start: 30000}
timeline: [{at: 3000, fault: duplicate_id, gpu: a.2}]
""",
    "the last attempts are not sent, as nobody reaches the card": """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}}
  settings: {records: never, device_memory: 1000}
switching:
  gpu: [a.3, a.2]
  policy: stop_start
  tasks:
    t: {layers: [{name: l, weights: 20000000, operations: 500000000}], start: 10000, steps: 5}
  requests: [{task: t}, {task: t}]
timeline:
- {at: 16200, fault: link_cut, link: a.2-a.3}
- {at: 16200, fault: link_cut, link: a.3-a.4}
- {at: 367689, fault: host_link_cut, gpu: a.0}
- {at: 367689, fault: host_link_cut, gpu: a.1}
- {at: 586609, clear: host_link_cut, gpu: a.0}
- {at: 586609, clear: host_link_cut, gpu: a.1}
""",
    "the last attempts are not sent, and the run ends": """
server:
  cards: {a: {gpus: 5, host_links: [0]}}
  settings: {device_memory: 200, records: never}
switching:
  gpu: a.3
  policy: stop_start
  tasks: {t: {layers: [{name: l, weights: 20000000, operations: 500000000}], start: 10000, steps: 5}}
  requests: [{task: t}, {task: t}]
timeline:
- {at: 16200, fault: link_cut, link: a.2-a.3}
- {at: 16200, fault: link_cut, link: a.3-a.4}
- {at: 367689, fault: host_link_cut, gpu: a.0}
until: 620000
""",
    "a GPU with another one's number has a context of somebody else": """
server:
  cards: {a: {gpus: 3, host_links: [0, 1]}}
  settings: {default_slice: 2000, context_switch: 150, device_memory: 100, census_period: 2000}
sharing:
  applications:
    u: {gpu: a.0, steps: 7, host: 0, compute: 90, input: 300, wants: 50, again: true, slice: 100}
    v: {gpu: a.0, steps: 6, host: 0, compute: 90, input: 1, start: 12672, memory: 42, priority: 9}
    w: {gpu: a.2, steps: 1, host: 700, compute: 800, wants: 50, again: true, memory: 32, priority: 0}
    x: {gpu: a.0, steps: 5, host: 3000, compute: 5000, wants: 50}
timeline:
- {at: 6250, fault: duplicate_id, gpu: a.0}
- {at: 6282, fault: link_one_way, link: a.2-a.0}
- {at: 6332, clear: link_one_way, link: a.2-a.0}
- {at: 6305, fault: link_one_way, link: a.0-a.1}
- {at: 15250, clear: duplicate_id, gpu: a.0}
- {at: 15305, clear: link_one_way, link: a.0-a.1}
""",
}
COPY = "a copy is under way as its launch is gone with the context"


def moment(policy: str, at: int) -> str:
    """The GPU that serves requests fails for 60 cycles."""
    text = FILES[COPY].replace("pipelined", policy)
    return text.replace("3700", str(at)).replace("3760", str(at + 60))


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_what_is_right_does_not_fail(text: str) -> None:
    assert play(loads(text), cells_library()).failures == ()


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("policy", ["pipelined", "pipeswitch", "resident", "stop_start"])
def test_a_gpu_may_fail_for_a_moment_at_any_moment(policy: str) -> None:
    """No census notices, and all its contexts are gone; several of them may have commands out."""
    for at in (4500, *range(1020, 6000, 960)):
        assert play(loads(moment(policy, at)), cells_library()).failures == (), at
