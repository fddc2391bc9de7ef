"""GPUs that are lent, judged: what is right passes, whatever breaks beside it; each mistake of the CPU is named."""

from collections.abc import Callable

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.lending import Lending
from ringhil.emulator.host.work.accepting import Accepting
from ringhil.emulator.judge.results import Results
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Report, Result

from . import any_server, any_sharing
from .any_loans import with_loans
from .playing import assert_named, play

FILE = """
server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}
workload: {units: 300, size: 1024}
timeline: [{at: 9000, lend: a.3}, {at: 30000, take_back: a.3}, {at: 50000, lend: a.4}]
"""
HELD = """
server: {cards: {a: {gpus: 4}}}
sharing: {applications: {u: {gpu: a.2, memory: 90, steps: 40, compute: 900}}}
timeline: [{at: 9000, lend: a.2}]
"""
Mistake = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("seed", sampled(range(300), "alarms", 25))
def test_no_run_with_loans_fails_whatever_breaks(library: Library, seed: int) -> None:
    kinds = (any_server.text, any_server.text, any_sharing.sharing, any_sharing.trouble, any_sharing.switching)
    text = with_loans(kinds[seed % len(kinds)](seed), seed)
    assert play(loads(text), library).failures == (), text


def test_what_has_failed_once_of_two_cards_lost_in_one_cycle(library: Library) -> None:
    """What was lost with one was sent to the other, and went out again in the same cycle."""
    assert play(loads(with_loans(any_server.text(3119), 3119)), library).failures == ()


def gives_work_on(patch: pytest.MonkeyPatch) -> None:
    """The CPU forgets that a GPU drains."""
    patch.setattr(CardView, "workers", property(lambda self: self.members))


def does_not_wait(patch: pytest.MonkeyPatch) -> None:
    """It lends a GPU with work on it: that goes elsewhere when its time is up."""
    look = Lending.look

    def at_once(self: Lending, card: CardView, gpu: int) -> None:
        load, card.load = card.load, {}
        look(self, card, gpu)
        card.load = load

    patch.setattr(Lending, "look", at_once)


def loses_results(patch: pytest.MonkeyPatch) -> None:
    """It forgets the units that a GPU has still done while it drains."""
    accept = Accepting.accept

    def lose(self: Accepting, card: CardView, result: Result) -> None:
        if result.source not in card.leaving:
            accept(self, card, result)

    patch.setattr(Accepting, "accept", lose)


def never_done(patch: pytest.MonkeyPatch) -> None:
    """It doesn't see that a GPU has no work left."""
    patch.setattr(Lending, "look", lambda self, card, gpu: None)


def lends_with_contexts(patch: pytest.MonkeyPatch) -> None:
    """It doesn't see whose contexts there are."""
    patch.setattr(Driver, "held", lambda self, gpu: [])


def refuses(patch: pytest.MonkeyPatch) -> None:
    """It takes any GPU for one with contexts."""
    patch.setattr(Lending, "lend", lambda self, card, gpu: self.on_refused(card, gpu, "no"))


def keeps(patch: pytest.MonkeyPatch) -> None:
    """It never takes a GPU back."""
    patch.setattr(Lending, "take_back", lambda self, card, gpu: None)


def writes_nothing(patch: pytest.MonkeyPatch) -> None:
    """The register stays as it is, so the GPU takes part, and is counted."""
    poke = Engine.poke
    patch.setattr(
        Engine, "poke", lambda self, cell, name, value: None if name == "lent" else poke(self, cell, name, value)
    )


def reports_nobody(patch: pytest.MonkeyPatch) -> None:
    """The report has no lent GPUs: they are as good as dead."""
    patch.setattr(Results, "lent", lambda self, card: ())


def counts_it(patch: pytest.MonkeyPatch) -> None:
    """The entry GPU reports whoever has ever been counted."""
    update = CardView.update

    def more(self: CardView, report: Report, now: int) -> tuple[int, ...]:
        gone = update(self, report, now)
        self.count, self.members = self.size, tuple(range(self.size))
        return gone

    patch.setattr(CardView, "update", more)


MISTAKES: list[tuple[Mistake, str, str, str]] = [
    (gives_work_on, FILE, "rightly_lent", "a.3 is about to be, and unit "),
    (does_not_wait, FILE, "rightly_lent", "a.3 is lent at cycle 9000 with 4 units of work"),
    (loses_results, FILE, "work_once", "4 of 300 work units were not done"),
    (never_done, FILE, "rightly_lent", "a.3 has had no work since cycle "),
    (refuses, FILE, "rightly_lent", "a.3 is not lent at cycle 9000, and could be"),
    (keeps, FILE, "rightly_lent", "a.3 comes back: that was due at cycle 30000, and nothing followed"),
    (writes_nothing, FILE, "rightly_lent", "a.4 has 0 in its register `lent`, not 1"),
    (writes_nothing, FILE, "wrong_count", "wrong count accepted: card a at cycle "),
    (reports_nobody, FILE, "rightly_lent", "a.4 is lent, and the report says something else"),
    (counts_it, FILE, "bounded_recovery", "count 6, not 5"),
    (lends_with_contexts, HELD, "rightly_lent", "a.2 drains at cycle 9000, and can't be lent"),
]


@pytest.mark.rest(but_one_in=11)
@pytest.mark.parametrize(("mistake", "text", "invariant", "says"), MISTAKES)
def test_a_mistake_about_lent_gpus_is_named(
    mistake: Mistake, text: str, invariant: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_named(mistake, text, invariant, says, monkeypatch)
