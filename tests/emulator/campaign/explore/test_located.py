"""A fault counts as located only where the server names its own place, not another one."""

import pytest

from ringhil.emulator.campaign.explore.play import located
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, LinkRef, TimelineEvent, loads

SERVER = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}\nuntil: 20000\ntimeline:\n"


def fault(kind: str, target: GpuRef | LinkRef) -> TimelineEvent:
    return TimelineEvent(1000, "fault", kind, target, count=None, line=0)


def gpu(number: int) -> GpuRef:
    return GpuRef("a", number)


def link(number: int) -> LinkRef:
    return LinkRef("a", number, 6)


@pytest.mark.parametrize(
    ("lines", "there", "elsewhere"),
    [
        (["link_cut, link: a.2-a.3"], [fault("link_cut", link(2))], [fault("link_cut", link(4))]),
        (["link_one_way, link: a.2-a.3"], [fault("link_one_way", link(2))], [fault("link_one_way", link(3))]),
        (["dead, gpu: a.3"], [fault("dead", gpu(3))], [fault("dead", gpu(2))]),
        (
            ["switch_stuck_bypass, gpu: a.3"],
            [fault("switch_stuck_bypass", gpu(3))],
            [fault("switch_stuck_bypass", gpu(4))],
        ),
        (
            ["dead, gpu: a.3", "switch_stuck_through, gpu: a.3"],
            [fault("switch_stuck_through", gpu(3)), fault("dead", gpu(3))],
            [fault("switch_stuck_through", gpu(4)), fault("dead", gpu(4))],
        ),
        (["slow, gpu: a.3"], [fault("slow", gpu(3))], [fault("slow", gpu(4))]),
        (["skip_count, gpu: a.3"], [fault("skip_count", gpu(3))], [fault("skip_count", gpu(5))]),
        (["link_delay, link: a.2-a.3, delay: 20"], [fault("link_delay", link(2))], [fault("link_delay", link(3))]),
    ],
)
def test_it_is_the_place_that_is_named(
    lines: list[str], there: list[TimelineEvent], elsewhere: list[TimelineEvent]
) -> None:
    until = 60_000 if "link_delay" in lines[0] else 20_000
    text = SERVER.replace("20000", str(until)) + "".join(f"  - {{at: 1000, fault: {line}}}\n" for line in lines)
    run = Run(loads(text), cells_library())
    assert run.run().failures == ()
    assert located(run, there[0], there) is True
    assert located(run, elsewhere[0], elsewhere) is False
    run.close()


def test_nobody_has_to_name_a_switch_that_is_stuck_before_a_working_gpu() -> None:
    run = Run(loads(SERVER + "  - {at: 1000, fault: switch_stuck_through, gpu: a.3}\n"), cells_library())
    assert run.run().failures == ()
    stuck = fault("switch_stuck_through", gpu(3))
    assert located(run, stuck, [stuck]) is None
    run.close()
