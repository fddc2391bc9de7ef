"""Whatever is written to groups while their members work: what GPUs are told is what the judge expects."""

import random
from collections.abc import Sequence

import pytest
from tests.emulator.host.groups.grouped import Grouped, number

from ringhil.emulator.judge.outcome import Outcome

TEXT = """
sharing:
  groups: {team: {memory: 600, groups: {inner: {}}}, other: {}}
  applications:
    x: {gpu: a.2, group: team, wants: 60, piece: 40, steps: 40, host: 300, compute: 700}
    y: {gpu: a.2, group: team/inner, wants: 50, steps: 30, host: 500, compute: 900, start: 3000}
    z: {gpu: a.2, group: other, memory: 200, wants: 90, steps: 30, host: 100, compute: 1100}
    w: {gpu: a.1, group: team, wants: 60, steps: 20, compute: 2000}
"""
FAULT = "timeline: [{{at: {at}, fault: {kind}, gpu: {gpu}}}, {{at: {clear}, clear: {kind}, gpu: {gpu}}}]\n"
CUT = """
timeline:
- {{at: {at}, fault: link_cut, link: a.1-a.2}}
- {{at: {at}, fault: link_cut, link: a.2-a.3}}
- {{at: {clear}, clear: link_cut, link: a.2-a.3}}
"""
GROUPS = ("team", "team/inner", "other", "team/x", "team/inner/y", "other/z", "team/w")
VALUES = {
    "gpu.memory.max": ("max", "0", "50M", "100M", "200M", "300M", "500M", "900M"),
    "gpu.slice": ("default", "20", "100", "400", "5000"),
    "gpu.priority": ("default", "0", "3", "255"),
}


DAILY = (*range(6), 260, 269)
"""The two last had a launch asked for again while another command was out."""


def played(seed: int) -> Outcome:
    """Some writes, one after the other or far apart; under two seeds of three a GPU fails meanwhile, or is cut off."""
    dice = random.Random(seed)
    at = dice.randrange(2000, 20_000)
    fault = {"at": at, "clear": at + dice.randrange(1, 9000), "kind": dice.choice(["dead", "hang"])}
    troubles = "", CUT.format(**fault), FAULT.format(**fault, gpu=dice.choice(["a.0", "a.1", "a.2"]))
    trouble = troubles[seed % 3]
    with Grouped(TEXT + trouble) as server:
        server.to(dice.randrange(500, 12_000))
        for _ in range(dice.randrange(1, 8)):
            if dice.random() < 0.2:
                _move(server, dice)
            else:
                name = dice.choice(["gpu.memory.max", *VALUES])
                server.write(f"{dice.choice(GROUPS)}/{name}", dice.choice(VALUES[name]))
            if dice.random() < 0.7:
                server.to(server.run.kernel.now + dice.randrange(1, 9000))
        return server.run.finish()


def _move(server: Grouped, dice: random.Random) -> None:
    """A process, to somewhere; it may be refused there."""
    pids = [pid for group in ("team/x", "other/z", "") for pid in server.read(f"{group}/cgroup.procs").split()]
    if pids:
        number(server.write, f"{dice.choice(['team/x', 'other/z', 'other', ''])}/cgroup.procs", dice.choice(pids))


def test_a_limit_below_what_is_held_is_no_mistake() -> None:
    """Of its own group or of one around it: nothing more is given until enough was freed."""
    with Grouped(TEXT) as server:
        server.to(9000)
        for path, limit in (("other/z", 100), ("team", 50)):
            before = server.contexts()
            server.write(f"{path}/gpu.memory.max", f"{limit}M")
            after = server.contexts(f"{path}/gpu.contexts").values()
            assert after
            assert {each["memory.max"] for each in after} == {str(limit << 20)}
            assert all(each["memory.current"] == before[each["name"]]["memory.current"] for each in after)
        assert server.run.finish().failures == ()


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    "seed",
    [*DAILY, *(pytest.param(n, marks=pytest.mark.slow(part="alarms")) for n in range(300) if n not in DAILY)],
)
def test_no_alarm_is_false(seed: int) -> None:
    assert played(seed).failures == ()


WAITS = """
sharing:
  groups: {{h: {{memory: 500, groups: {{i: {{}}}}}}}}
  applications:
    x: {{gpu: a.1, group: h, start: {start}, steps: 3, compute: 500, wants: 10}}
    y: {{gpu: a.1, {more}steps: 5, host: 0, compute: 16, input: {size}, wants: {wants}}}
"""
CREATED = WAITS.format(start=5000, more="", size=20_000, wants=50)
RAISED = WAITS.format(start=0, more="group: h, ", size=60_000, wants=10)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("text", "path", "value", "cycles"),
    [
        (CREATED, "h/gpu.memory.max", "100M", (5293, 5692)),
        (CREATED, "h/i/cgroup.procs", "4194306", (5293, 5322)),
        (RAISED, "h/gpu.memory.max", "300M", (28_226, 28_260, 28_320, 28_340)),
    ],
)
def test_what_went_out_or_was_decided_before_a_write_was_right(
    text: str, path: str, value: str, cycles: Sequence[int]
) -> None:
    """A context is created just before it; a limit is raised, and waits behind a copy when the write comes."""
    for cycle in cycles:
        with Grouped(text) as groups:
            groups.to(cycle)
            groups.write(path, value)
            assert groups.run.finish().failures == (), cycle
