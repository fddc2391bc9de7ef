"""Each invariant is broken by a design or firmware with one mistake, and by nothing else; and can be left out.

What judges how they keep to the protocol (test_conduct.py) may see the same mistake.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.emulator.judge.playing import play, violations
from tests.sampled import sampled

from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.leases import Leases
from ringhil.emulator.host.policy import Proportional
from ringhil.emulator.host.work.accepting import Accepting
from ringhil.emulator.host.work.handing_out import HandingOut
from ringhil.emulator.judge.invariants import ALL
from ringhil.emulator.scenario import INVARIANTS, loads
from ringhil.firmware import census
from ringhil.firmware.actions import Action
from ringhil.firmware.census import Census
from ringhil.firmware.commands import SetTimer
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.links import LinkHealth
from ringhil.firmware.observations import Counted
from ringhil.protocol import codec
from ringhil.protocol.frames import Election, Report, Result

CLEAN = "server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}\nworkload: {units: 40, size: 256}\n"
DEAD = CLEAN + "timeline: [{at: 10300, fault: dead, gpu: a.3}, {at: 30000, clear: dead, gpu: a.3}]\n"
TAKE_OVER = CLEAN + "timeline: [{at: 10300, fault: dead, gpu: a.0}]\n"
AT_WORK = CLEAN.replace("units: 40", "units: 400") + "timeline: [{at: 2000, fault: dead, gpu: a.3}]\n"


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def forgets_a_gpu_once(patch: pytest.MonkeyPatch) -> None:
    """The census drops its last member in the second round."""
    join = census._join

    def wrong(*args: object) -> Counted | str:
        counted = join(*args)  # type: ignore[arg-type]
        if isinstance(counted, Counted) and counted.members and counted.sequence == 2:
            return replace(counted, count=counted.count - 1, members=counted.members[:-1])
        return counted

    patch.setattr(census, "_join", wrong)


def grants_an_epoch_again(patch: pytest.MonkeyPatch) -> None:
    """Members always claim the first epoch, and the CPU forgets what it has granted."""
    ask = Grantor.on_election

    def forgetful(self: Grantor, rank: int, message: Election, now: int) -> tuple[Election | None, list[Action]]:
        if self.holder is None:
            self.highest = 0
        return ask(self, rank, message, now)

    patch.setattr(GroupConfig, "next_epoch", lambda self, known: 1)
    patch.setattr(Grantor, "on_election", forgetful)


def counts_too_seldom(patch: pytest.MonkeyPatch) -> None:
    begin = Census._new_period

    def lazy(self: Census, now: int) -> list[Action]:
        timer, *others = begin(self, now)
        assert isinstance(timer, SetTimer)
        return [replace(timer, delay=2 * timer.delay), *others]

    patch.setattr(Census, "_new_period", lazy)


def sends_nothing_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HandingOut, "_retry", lambda self, unit: self._release(unit))


def takes_a_result_twice(patch: pytest.MonkeyPatch) -> None:
    """The CPU does not mind that unit 7 is done."""
    accept = Accepting.accept

    def careless(self: Accepting, card: CardView, result: Result) -> None:
        for _ in range(2 if result.unit == 7 else 1):
            accept(self, card, result)

    patch.setattr(Accepting, "accept", careless)


def forgets_what_is_done(patch: pytest.MonkeyPatch) -> None:
    """The CPU takes every right result for the first one of its unit."""
    accept = Accepting.accept

    def forgetful(self: Accepting, card: CardView, result: Result) -> None:
        accept(self, card, result)
        self._done[result.unit >> 3] &= ~(1 << (result.unit & 7))
        self._expected[result.unit] = result.digest

    patch.setattr(Accepting, "accept", forgetful)


def shares_alike(patch: pytest.MonkeyPatch) -> None:
    """The CPU gives every card the same, whatever it counts."""
    patch.setattr(
        "ringhil.emulator.host.policy.proportional.shares",
        lambda units, weights: dict.fromkeys(weights, units // len(weights)),
    )


def hears_everybody(patch: pytest.MonkeyPatch) -> None:
    """The CPU doesn't mind who holds the lease, nor since when; and one round is reported under a foreign epoch."""
    report = Census._report

    def foreign(self: Census, counted: Counted | None, suspected: tuple[int, ...] = ()) -> bytes:
        frame = report(self, counted, suspected)
        message = codec.decode(frame, link=False)
        assert isinstance(message, Report)
        return codec.encode(replace(message, epoch=7)) if self.sequence == 1 else frame

    patch.setattr(Census, "_report", foreign)
    patch.setattr(Leases, "holder", lambda self, cell, epoch: self._links[cell][0])


def splits_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Proportional, "recount", lambda self: None)


def weighs_all_alike(patch: pytest.MonkeyPatch) -> None:
    """The CPU gives a slow GPU the weight of a healthy one, and splits by that."""
    update = CardView.update

    def blind(self: CardView, report: Report, now: int) -> tuple[int, ...]:
        gone = update(self, report, now)
        self.weight = 4 * self.count
        return gone

    patch.setattr(CardView, "update", blind)


def suspects_a_neighbour_too(patch: pytest.MonkeyPatch) -> None:
    suspected = Census._suspected
    patch.setattr(Census, "_suspected", lambda self: tuple(sorted({*suspected(self), 4})) if suspected(self) else ())


def forgets_suspects(patch: pytest.MonkeyPatch) -> None:
    """The CPU does not take in who is suspected."""
    update = CardView.update

    def forgetful(self: CardView, report: Report, now: int) -> tuple[int, ...]:
        gone = update(self, report, now)
        self.suspects = ()
        return gone

    patch.setattr(CardView, "update", forgetful)


def forgets_a_slow_link(patch: pytest.MonkeyPatch) -> None:
    """The CPU has known of it, and knows no longer."""
    update = CardView.update

    def forgetful(self: CardView, report: Report, now: int) -> tuple[int, ...]:
        gone = update(self, report, now)
        self.slow_link = self.slow_link if now < 50_000 else None
        return gone

    patch.setattr(CardView, "update", forgetful)


def calls_a_link(name: str, link: int) -> Callable[[pytest.MonkeyPatch], None]:
    """The entry GPU calls a link slow or noisy, always the same one."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        over = LinkHealth.round_over

        def wrong(self: LinkHealth) -> None:
            over(self)
            setattr(self, name, link)

        patch.setattr(LinkHealth, "round_over", wrong)

    return mistake


def rotates_another_way(patch: pytest.MonkeyPatch) -> None:
    """The CPU books the digest of all without turning each."""
    accept = Accepting.accept

    def plain(self: Accepting, card: CardView, result: Result) -> None:
        before = self._work.digest
        accept(self, card, result)
        self._work.digest = before ^ result.digest

    patch.setattr(Accepting, "accept", plain)


SLOW_AT_WORK = CLEAN.replace("units: 40", "units: 4000") + "timeline: [{at: 5300, fault: slow, gpu: a.3}]\n"
LIAR = CLEAN + "timeline: [{at: 10300, fault: skip_count, gpu: a.3}]\n"
DELAYED = CLEAN.split("workload")[0] + (
    "timeline: [{at: 10300, fault: link_delay, link: a.2-a.3, delay: 20}]\nuntil: 60000\n"
)
IDLE = CLEAN.split("workload")[0] + "until: 31000\n"
# One of its results comes after the unit has been done by somebody else.
LATE = (Path(__file__).parents[3] / "examples" / "fail-over.yaml").read_text().split("expect:")[0]
TWO = CLEAN.replace("a: {gpus: 6, host_links: [0, 1]}", "a: {gpus: 6}, b: {gpus: 2}")
SEEN_TOO = {
    "grants an epoch again": {"lease_terms"},
    "counts too seldom": {"steady_pace"},
    "hears everybody": {"rightly_told"},
    "sends nothing again": {"rightly_resent", "rightly_counted"},
    "calls a healthy link slow": {"rightly_told"},
}
MISTAKES = {
    "forgets a GPU once": (forgets_a_gpu_once, CLEAN + "until: 12000\n", "wrong_count", "5 [0, 1, 2, 3, 4]"),
    "shares alike": (shares_alike, TWO, "wrong_count", "shares of the work [20, 20], not [30, 10]"),
    "grants an epoch again": (grants_an_epoch_again, TAKE_OVER, "one_grant", "epoch 1 is granted twice"),
    "counts too seldom": (counts_too_seldom, DEAD, "bounded_recovery", "dead of a.3 at 10300: not recovered within"),
    "takes a result twice": (takes_a_result_twice, CLEAN, "work_once", "1 work units were done twice"),
    "hears everybody": (hears_everybody, CLEAN, "only_holder", "under epoch 7 at cycle"),
    "splits once": (splits_once, SLOW_AT_WORK, "wrong_count", "the work is not split anew by weights"),
    "weighs all alike": (weighs_all_alike, SLOW_AT_WORK, "bounded_recovery", "weight 24, not 21"),
    "suspects a neighbour too": (suspects_a_neighbour_too, LIAR, "rightly_named", "[3, 4] are suspected, not [3]"),
    "forgets suspects": (forgets_suspects, LIAR, "rightly_named", "suspected are [], not [3]"),
    "forgets a slow link": (forgets_a_slow_link, DELAYED, "rightly_named", "the slow link is None, not 2"),
    "calls a healthy link slow": (
        calls_a_link("slow", 1),
        IDLE,
        "rightly_named",
        "link 1 is called slow, and nothing",
    ),
    "calls a healthy link noisy": (calls_a_link("noisy", 1), CLEAN, "rightly_named", "link 1 is called noisy, and"),
    "does not turn digests": (rotates_another_way, CLEAN, "work_once", "the digest of all results is"),
    "forgets what is done": (forgets_what_is_done, LATE, "work_once", "was accepted again at cycle"),
    "sends nothing again": (sends_nothing_again, AT_WORK, "work_once", "work units were not done"),
}


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("name", sampled(MISTAKES, "bugs", 2))
def test_each_mistake_breaks_one_invariant(name: str, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake, text, invariant, says = MISTAKES[name]
    scenario = loads(text)
    assert violations(text) == ()
    mistake(monkeypatch)
    outcome = play(scenario, library)
    too = SEEN_TOO.get(name, set())
    assert {v.promise for v in outcome.violations} == {invariant, *too}
    assert any(says in v.text for v in outcome.violations), outcome.violations
    assert outcome.failures == tuple(v.text for v in outcome.violations)
    assert outcome.broken(invariant) == tuple(v for v in outcome.violations if v.promise not in too)
    others = replace(scenario, invariants=frozenset(INVARIANTS) - {invariant, *too})
    unjudged = play(others, library)
    assert (unjudged.violations, unjudged.verdict) == ((), "pass")


def in_flight(at: int) -> str:
    """The only entry GPU dies while its message is under way: nobody is there to take it off the ring."""
    return f"server: {{cards: {{a: {{gpus: 6}}}}}}\ntimeline: [{{at: {at}, fault: dead, gpu: a.0}}]\n"


@pytest.fixture(scope="module")
def immortal(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A design whose messages never grow old."""
    folder = tmp_path_factory.mktemp("rtl")
    for file in RTL.glob("*.sv"):
        shutil.copy(file, folder)
    _replace(folder / "lane_control.sv", "hop_data[31:16] = head_data[31:16] - 16'h1;", "hop_data = head_data;")
    return cells_library(folder, optimise="-O0")


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow(part="bugs")
def test_a_message_that_goes_round_for_ever_is_an_orphan(library: Library, immortal: Library) -> None:
    """At whichever cycle its origin dies: if the message is left on the ring it is found, once, by name; and where its
    TTL ends it nothing is."""
    left = 0
    for at in range(5_124, 5_160, 3):
        scenario = loads(in_flight(at))
        assert play(scenario, library).violations == ()
        outcome = play(scenario, immortal)
        assert {v.promise for v in outcome.violations} <= {"no_orphan"}
        assert all("statistics message of a.0, sent at 5" in v.text for v in outcome.violations)
        assert play(replace(scenario, invariants=frozenset(INVARIANTS) - {"no_orphan"}), immortal).failures == ()
        left += bool(outcome.violations)
    assert left >= 3


@pytest.mark.rest
def test_a_message_of_a_gpu_that_hangs_is_looked_for_at_the_end(immortal: Library) -> None:
    """It may have been held fast at first, and no other round begins: nobody looks again before."""
    (violation,) = play(loads(in_flight(5_139).replace("dead", "hang")), immortal).violations
    assert violation.promise == "no_orphan"
    assert "statistics message of a.0, sent at 5" in violation.text


def test_each_invariant_of_a_file_has_its_class() -> None:
    assert sorted(ALL) == sorted(INVARIANTS)


def test_the_looks_at_the_wires_change_nothing(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = loads(DEAD)
    with_looks = play(scenario, library).to_json()
    monkeypatch.setattr("ringhil.emulator.judge.census.orphans.Orphans.look", lambda self: None)
    without = play(scenario, library).to_json()
    for document in (with_looks, without):
        del document["engine"]["seconds"], document["engine"]["cycles_per_second"]
    assert with_looks == without
