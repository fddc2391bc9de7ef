"""R7: a boundary GPU is not the entry GPU as long as another member works; R8: the way is found from the records."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

# GPU 1 of each card reaches the CPU and the other card.
TEXT = """server:
  cards:
    a: {{gpus: 6, host_links: [0, 1]}}
    b: {{gpus: 6, host_links: [0, 1]}}
  boundary_links:
    - {{from: [a.1, a.2], to: [b.4, b.3]}}
    {more}
workload: {{units: 200, size: 600, across: 40}}
timeline:
{events}
"""


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def play(library: Library, *events: str, more: str = "") -> Outcome:
    text = TEXT.format(events="".join(f"  - {{{event}}}\n" for event in events) or "  []", more=more)
    server = Run(loads(text), library)
    outcome = server.run()
    server.engine.close()
    assert outcome.failures == (), text
    assert outcome.work["crossed"] > 0
    return outcome


def test_a_boundary_gpu_that_becomes_the_entry_gpu_hands_over(library: Library) -> None:
    healthy = play(library)
    assert healthy.links[0].active == "a.1-b.4"
    outcome = play(library, "at: 30000, fault: dead, gpu: a.0")
    assert outcome.cards["a"].entry == "a.1"
    assert outcome.links[0].active == "a.2-b.3"
    assert outcome.cards["a"].boundary == {"b": "a.2"}


def test_with_nobody_else_it_does_both(library: Library) -> None:
    outcome = play(library, "at: 30000, fault: dead, gpu: a.0", "at: 45000, fault: dead, gpu: a.2")
    assert outcome.cards["a"].entry == "a.1"
    assert outcome.links[0].active == "a.1-b.4"
    assert outcome.cards["a"].boundary == {"b": "a.1"}


def test_the_far_end_is_spared_too(library: Library) -> None:
    """The granting side: b.1 is the far end of a.3, and becomes the entry GPU of its card."""
    text = TEXT.replace("from: [a.1, a.2], to: [b.4, b.3]", "from: [a.3, a.4], to: [b.1, b.2]")
    server = Run(loads(text.format(events="  - {at: 30000, fault: dead, gpu: b.0}\n", more="")), library)
    outcome = server.run()
    server.engine.close()
    assert outcome.failures == ()
    assert outcome.cards["b"].entry == "b.1"
    assert outcome.links[0].active == "a.4-b.2"


def test_the_entry_gpu_forgets_a_way_that_is_gone(library: Library) -> None:
    events = ("at: 30000, fault: dead, gpu: a.1", "at: 30000, fault: dead, gpu: a.2")
    outcome = play(library, *events)
    assert outcome.links[0].active is None
    assert outcome.cards["a"].boundary == {}
    assert outcome.cards["b"].boundary == {}


def test_two_parts_of_a_divided_pair_of_cards_may_each_have_a_boundary_gpu(library: Library) -> None:
    """Four cuts: nobody in one part can know of the other; they agree again when one cut is mended."""
    cuts = ("a.2-a.3", "a.0-a.1", "b.3-b.4", "b.1-b.2")
    events = [f"at: {20_000 + 100 * n}, fault: link_cut, link: {link}" for n, link in enumerate(cuts)]
    text = TEXT.replace("from: [a.1, a.2], to: [b.4, b.3]", "from: [a.2, a.3], to: [b.3, b.4]").replace(
        "across: 40", "across: 0"
    )
    apart = text.format(events="".join(f"  - {{{event}}}\n" for event in events), more="")
    for mended in ("", "  - {at: 60000, clear: link_cut, link: a.2-a.3}\n"):
        server = Run(loads(apart + mended), library)
        outcome = server.run()
        assert outcome.failures == ()
        assert len(server.watch.links[0].holders) == (1 if mended else 2)
        server.engine.close()
