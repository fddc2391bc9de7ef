"""The fault catalogue, row by row: what must be seen, on a server of two cards with default settings."""

import pytest

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import FAULTS, Trait, having, loads

CARDS = """server:
  cards:
    a: {gpus: 8, host_links: [0, 1]}
    b: {gpus: 6, host_links: [0, 1]}
  boundary_links:
    - {from: [a.4, a.5], to: [b.3, b.2]}
"""
WORK = "workload: {units: 150, size: 1000, across: 20}\n"
EVERYBODY = tuple(range(8))


def play(library: Library, *events: str, expect: tuple[str, ...] = (), work: str = WORK, until: int = 0) -> Outcome:
    text = CARDS + work + "timeline:\n" + "".join(f"  - {{{event}}}\n" for event in events)
    if expect:
        text += "expect:\n" + "".join(f"  - {{{item}}}\n" for item in expect)
    if until:
        text += f"until: {until}\n"
    server = Run(loads(text), library)
    outcome = server.run()
    server.engine.close()
    assert outcome.failures == (), text
    assert outcome.verdict == "pass"
    return outcome


# Beside what is expected at a time, every row: no wrong count, no split brain, recovery within its bound, all work
# done once (`play`).
LIARS = sorted(having(Trait.LIES))
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **{liar: ((f"at: 20000, fault: {liar}, gpu: a.3",), ("at: 30000, count: {a: 8}",)) for liar in LIARS},
    "dead": (("at: 20000, fault: dead, gpu: a.3",), ("by: 25500, members: {a: [0, 1, 2, 4, 5, 6, 7]}",)),
    "hang": (("at: 20000, fault: hang, gpu: a.3",), ("by: 25500, count: {a: 7}",)),
    "babble": (
        ("at: 20000, fault: babble, gpu: a.6",),
        ("by: 28000, members: {a: [0, 1, 2, 3, 4, 5, 7], b: [0, 1, 2, 3, 4, 5]}",),
    ),
    "slow": (("at: 20000, fault: slow, gpu: a.3",), ("at: 30000, count: {a: 8}, entry: {a: a.0}",)),
    "flap": (
        ("at: 20000, fault: flap, gpu: a.3, period: 50", "at: 40000, clear: flap, gpu: a.3"),
        ("at: 30000, count: {a: 7}", "at: 46000, count: {a: 8}"),
    ),
    "switch_stuck_through": (
        ("at: 20000, fault: switch_stuck_through, gpu: a.3", "at: 30000, fault: dead, gpu: a.3"),
        (
            "at: 29000, count: {a: 8}, break: {a: null}",
            "at: 40000, members: {a: [0, 1, 2, 4, 5, 6, 7]}, stranded: {a: [3]}, break: {a: a.2-a.4}",
        ),
    ),
    "switch_stuck_bypass": (
        ("at: 20000, fault: switch_stuck_bypass, gpu: a.3",),
        ("at: 30000, members: {a: [0, 1, 2, 4, 5, 6, 7]}, isolated: {a: [3]}",),
    ),
    "link_cut": (
        ("at: 20000, fault: link_cut, link: a.5-a.6",),
        ("at: 30000, count: {a: 8}, break: {a: a.5-a.6}, stranded: {a: []}",),
    ),
    "link_one_way": (
        ("at: 20000, fault: link_one_way, link: a.6-a.5",),
        ("at: 30000, count: {a: 8}, break: {a: a.5-a.6}",),
    ),
    "link_bit_errors": (("at: 20000, fault: link_bit_errors, link: a.2-a.3, rate: 1500",), ()),
    "link_delay": (("at: 20000, fault: link_delay, link: a.2-a.3, delay: 9",), ("at: 50000, count: {a: 8}",)),
    "keepalive_loss": (
        ("at: 20000, fault: keepalive_loss, gpu: a.0",),
        ("at: 30000, entry: {a: a.1, b: b.0}, count: {a: 8}",),
    ),
    "host_link_cut": (
        ("at: 20000, fault: host_link_cut, gpu: a.0",),
        ("at: 30000, entry: {a: a.1}, boundary: {a: a.4}, count: {a: 8}",),
    ),
    "boundary_link_cut": (
        ("at: 20000, fault: boundary_link_cut, link: a.4-b.3",),
        ("at: 32000, entry: {a: a.0}, boundary: {a: a.5, b: b.2}",),
    ),
}


def test_every_fault_has_its_row() -> None:
    assert set(ROWS) == set(FAULTS)


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_gets_into_the_hardware(library: Library, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one of the engine's ways to set a fault; a kind that the injector doesn't know would do nothing."""
    done: list[str] = []
    for way in ("set_fault", "set_link_fault", "set_bit_errors", "set_delay"):
        monkeypatch.setattr(Engine, way, lambda *given, way=way: done.append(way))
    server = Run(loads(f"{CARDS}timeline: [{{{ROWS[kind][0][0]}}}]\nuntil: 23000\n"), library)
    server.run()
    server.engine.close()
    assert done


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("kind", ROWS)
def test_what_must_be_seen(library: Library, kind: str) -> None:
    events, expect = ROWS[kind]
    play(library, *events, expect=expect)


@pytest.mark.rest
@pytest.mark.parametrize("kind", LIARS)
def test_a_liar_is_named_and_shares_stay(library: Library, kind: str) -> None:
    honest = play(library, "at: 40000, fault: slow, gpu: b.5", work=WORK.replace("150", "400"))
    outcome = play(library, f"at: 2000, fault: {kind}, gpu: a.3", work=WORK.replace("150", "400"))
    # Of two with the same number either may have stolen it.
    assert outcome.cards["a"].suspects == (("a.2", "a.3") if kind == "duplicate_id" else ("a.3",))
    assert [card.share for card in outcome.cards.values()] == [card.share for card in honest.cards.values()]


@pytest.mark.rest
def test_a_slow_gpu_is_degraded_and_gets_less(library: Library) -> None:
    outcome = play(library, "at: 3000, fault: slow, gpu: a.3", work="workload: {units: 900, size: 1000}\n")
    assert outcome.cards["a"].degraded == ("a.3",)
    assert outcome.cards["a"].elections == 1
    plain = play(library, "at: 400000, fault: slow, gpu: a.3", work="workload: {units: 900, size: 1000}\n")
    assert outcome.cards["a"].completed < plain.cards["a"].completed


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize("link", range(8))
def test_a_slow_link_is_named(library: Library, link: int) -> None:
    name = f"a.{link}-a.{(link + 1) % 8}"
    outcome = play(library, f"at: 20000, fault: link_delay, link: {name}, delay: 5")
    assert outcome.cards["a"].slow_link == name
    assert outcome.cards["b"].slow_link is None


def test_a_noisy_link_is_named(library: Library) -> None:
    outcome = play(library, "at: 20000, fault: link_bit_errors, link: a.2-a.3, rate: 700", until=70_000, work="")
    assert outcome.cards["a"].noisy_link == "a.2-a.3"


def test_two_cuts_strand_those_between(library: Library) -> None:
    events = ("at: 20000, fault: link_cut, link: a.2-a.3", "at: 30000, fault: link_cut, link: a.6-a.7")
    outcome = play(library, *events)
    assert outcome.cards["a"].members == (0, 1, 2, 7)
    assert outcome.cards["a"].stranded == ("a.3", "a.4", "a.5", "a.6")


def test_cuts_on_both_sides_of_the_entry_gpu_leave_it_alone(library: Library) -> None:
    events = ("at: 20000, fault: link_cut, link: a.0-a.1", "at: 30000, fault: link_cut, link: a.7-a.0")
    outcome = play(library, *events)
    assert outcome.cards["a"].members == (0,)
    assert outcome.cards["a"].stranded == tuple(f"a.{gpu}" for gpu in range(1, 8))


@pytest.mark.slow(part="work")
def test_the_entry_gpu_dies_with_its_message_in_flight(library: Library) -> None:
    """At every cycle of a round: the orphan is gone, the new entry GPU counts, one result."""
    for at in range(20_140, 20_300, 7):
        outcome = play(library, f"at: {at}, fault: dead, gpu: a.0", work="")
        card = outcome.cards["a"]
        assert (card.entry, card.epoch, card.elections) == ("a.1", 2, 2)
        assert card.members == (1, 2, 3, 4, 5, 6, 7)


def test_all_others_dead_then_all_dead(library: Library) -> None:
    events = [f"at: {20_000 + 10 * gpu}, fault: dead, gpu: b.{gpu}" for gpu in range(1, 6)]
    alone = play(library, *events)
    assert (alone.cards["b"].count, alone.cards["b"].members) == (1, (0,))
    nobody = play(library, *events, "at: 40000, fault: dead, gpu: b.0")
    card = nobody.cards["b"]
    assert (card.count, card.entry, card.reachable) == (0, None, False)
    assert nobody.work["completed"] == 150


def test_all_host_links_cut_no_grant_and_no_hang(library: Library) -> None:
    events = ("at: 20000, fault: host_link_cut, gpu: b.0", "at: 20500, fault: host_link_cut, gpu: b.1")
    outcome = play(library, *events)
    card = outcome.cards["b"]
    assert (card.count, card.entry, card.reachable) == (0, None, False)
    assert outcome.cards["a"].count == 8


def test_all_boundary_links_cut_only_the_way_across_is_gone(library: Library) -> None:
    events = (
        "at: 20000, fault: boundary_link_cut, link: a.4-b.3",
        "at: 20500, fault: boundary_link_cut, link: a.5-b.2",
    )
    outcome = play(library, *events)
    assert outcome.links[0].active is None
    assert [card.boundary for card in outcome.cards.values()] == [{}, {}]
    assert [card.count for card in outcome.cards.values()] == [8, 6]


@pytest.mark.rest
def test_several_things_one_after_the_other(library: Library) -> None:
    """A GPU dies and returns, a link is cut, and fewer keepalives are lost than it takes to move a role."""
    outcome = play(
        library,
        "at: 20000, fault: dead, gpu: a.3",
        "at: 60000, clear: dead, gpu: a.3",
        "at: 80000, fault: link_cut, link: a.5-a.6",
        "at: 90000, fault: keepalive_loss, gpu: a.0, count: 2",
        work="workload: {units: 1000, size: 4096}\n",
        expect=(
            "by: 25500, count: {a: 7, b: 6}",
            "by: 25500, members: {a: [0, 1, 2, 4, 5, 6, 7]}",
            "at: 100000, entry: {a: a.0}, boundary: {a: a.4, b: b.3}, break: {a: a.5-a.6}",
            "end: true, work: {completed: 1000, lost: 0, duplicated: 0}",
        ),
    )
    document = outcome.to_json()["cards"]
    assert document["a"]["boundary"] == {"b": "a.4"}
    assert document["b"]["boundary"] == {"a": "b.3"}
    assert (document["a"]["entry"], document["a"]["epoch"]) == ("a.0", 1)


@pytest.mark.rest
def test_the_report_tells_when_the_hardware_switched_over(library: Library) -> None:
    """Detection, switch-over and recount: at once for a GPU that says so, after the watchdog for one that doesn't."""
    watchdog, restore, link_restore, handful = 64, 64, 136, 8
    limits = {
        ("dead", "gpu: a.3"): (handful, restore + handful),
        ("switch_stuck_bypass", "gpu: a.3"): (handful, handful),
        ("link_cut", "link: a.5-a.6"): (handful, link_restore + handful),
        ("link_one_way", "link: a.6-a.5"): (handful, link_restore + handful),
    }
    for (kind, where), most in limits.items():
        outcome = play(library, f"at: 20000, fault: {kind}, {where}", f"at: 30000, clear: {kind}, {where}", work="")
        for recovery, limit in zip(outcome.recoveries, most, strict=True):
            assert recovery.switched is not None
            assert recovery.recounted is not None
            assert 0 < recovery.switched - recovery.at <= limit
            assert recovery.switched <= recovery.recounted
    (hang,) = play(library, "at: 20000, fault: hang, gpu: a.3").recoveries
    assert hang.switched is not None
    assert hang.switched - hang.at > watchdog
    (moved,) = play(library, "at: 20000, fault: host_link_cut, gpu: a.0", work="").recoveries
    assert moved.detected is not None
    assert moved.switched is not None
    assert moved.recounted is not None
    assert moved.detected <= moved.switched <= moved.recounted
    (liar,) = play(library, "at: 20000, fault: double_count, gpu: a.3").recoveries
    assert liar.switched is None


# ---------------------------------------------------------------------------------------- keepalives and flapping

MULTIPLIER = 3


@pytest.mark.rest
@pytest.mark.parametrize("gpu", ["a.0", "b.0"])
def test_one_lost_keepalive_less_than_the_multiplier_changes_nothing(library: Library, gpu: str) -> None:
    for at in range(20_000, 21_200, 150):
        outcome = play(library, f"at: {at}, fault: keepalive_loss, gpu: {gpu}, count: {MULTIPLIER - 1}", work="")
        assert [card.elections for card in outcome.cards.values()] == [1, 1]
        assert outcome.links[0].elections == 1


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("card", ["a", "b"])
def test_as_many_as_the_multiplier_make_one_take_over(library: Library, card: str) -> None:
    for at in range(20_000, 21_200, 150):
        outcome = play(library, f"at: {at}, fault: keepalive_loss, gpu: {card}.0, count: {MULTIPLIER}", work="")
        found = outcome.cards[card]
        assert (found.entry, found.epoch, found.elections) == (f"{card}.1", 2, 2)


@pytest.mark.rest
def test_the_same_between_cards(library: Library) -> None:
    for count, elections in ((MULTIPLIER - 1, 1), (MULTIPLIER, 2)):
        for at in range(20_000, 21_200, 150):
            outcome = play(library, f"at: {at}, fault: keepalive_loss, gpu: a.4, count: {count}", work="")
            assert outcome.links[0].elections == elections
            assert outcome.links[0].active == ("a.4-b.3" if elections == 1 else "a.5-b.2")


def test_a_flapping_entry_gpu_is_replaced_once(library: Library) -> None:
    for period in (100, 1_000, 3_000):
        events = (f"at: 20000, fault: flap, gpu: a.0, period: {period}", "at: 60000, clear: flap, gpu: a.0")
        outcome = play(library, *events, work="")
        assert outcome.cards["a"].elections == 2


def test_a_holder_that_keeps_losing_keepalives_returns_ever_more_rarely(library: Library) -> None:
    """At most one transition per wait-to-restore, which doubles."""
    wait = 4_000
    events = [
        f"at: {at}, fault: keepalive_loss, gpu: {gpu}, count: {MULTIPLIER}"
        for at in range(20_000, 120_000, 9_000)
        for gpu in ("a.0", "a.1")
    ]
    outcome = play(library, *events, work="")
    assert outcome.cards["a"].elections - 1 <= 100_000 // wait


@pytest.mark.parametrize(("at", "judged"), [(100, False), (9_000, False), (24_000, True)])
def test_a_delay_from_power_up_on_next_to_the_entry_gpu_cannot_be_told(at: int, judged: bool) -> None:
    """Nor one of which it has seen fewer than four rounds without."""
    text = f"server: {{cards: {{a: {{gpus: 6}}}}}}\ntimeline: [{{at: {at}, fault: link_delay, link: a.0-a.1}}]"
    outcome = Run(loads(text), cells_library()).run()
    assert outcome.verdict == "pass", outcome.failures
    assert [not r.superseded for r in outcome.recoveries] == [judged]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("fault", ["dead", "hang", "flap"])
def test_nor_can_one_that_begins_when_the_entry_gpu_has_just_booted(fault: str) -> None:
    """It knows of no earlier round."""
    settings = "census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900"
    for later in range(100, 700, 50):
        events = (
            f"{{at: 6000, fault: {fault}, gpu: a.0}}, {{at: 6130, clear: {fault}, gpu: a.0}}, "
            f"{{at: {6130 + later}, fault: link_delay, link: a.3-a.0}}"
        )
        text = (
            f"server: {{cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}, settings: {{{settings}}}}}\ntimeline: [{events}]"
        )
        outcome = Run(loads(text), cells_library()).run()
        assert outcome.verdict == "pass", (later, outcome.failures)


def test_two_liars_behind_a_dead_gpu_take_names_and_leave_the_count_right() -> None:
    """Each uses the number of the one before it, and the first of those is dead: nothing is wrong with the message."""
    text = """
server:
  cards: {a: {gpus: 4, host_links: [0]}}
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400}
timeline:
  - {at: 6000, fault: dead, gpu: a.1}
  - {at: 6000, fault: duplicate_id, gpu: [a.2, a.3]}
expect: [{at: 9000, count: {a: 3}, members: {a: [0, 1, 2]}}]
"""
    outcome = Run(loads(text), cells_library()).run()
    assert not outcome.broken("wrong_count"), outcome.failures
    assert all(expected.ok for expected in outcome.expect)


RING_OF_FOUR = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900,
             watchdog: 32, allowance_period: 512, link_restore: 72, gpu_restore: 32}
"""


def on_a_ring_of_four(timeline: str) -> Outcome:
    return Run(loads(RING_OF_FOUR + timeline), cells_library()).run()


def test_a_liar_that_becomes_the_entry_gpu_is_not_expected_to_be_named() -> None:
    outcome = on_a_ring_of_four("""
timeline:
  - {at: 1276, fault: babble, gpu: a.0}
  - {at: 2264, clear: babble, gpu: a.0}
  - {at: 2467, fault: corrupt, gpu: a.1}
until: 5818
""")
    assert outcome.cards["a"].entry == "a.1"
    assert outcome.verdict == "pass", outcome.failures


def test_an_entry_gpu_that_boots_anew_before_its_lease_is_over_may_need_an_election() -> None:
    """The CPU hasn't missed it; but it has forgotten its lease and gives it back, just after another was refused it."""
    outcome = on_a_ring_of_four("""
timeline:
  - {at: 1286, fault: hang, gpu: a.0}
  - {at: 2442, fault: link_bit_errors, link: a.3-a.0, rate: 793}
  - {at: 2583, clear: hang, gpu: a.0}
  - {at: 2585, clear: link_bit_errors, link: a.3-a.0}
  - {at: 3259, fault: dead, gpu: a.1}
  - {at: 3432, clear: dead, gpu: a.1}
""")
    assert outcome.verdict == "pass", outcome.failures
    assert outcome.recoveries[-1].switched is not None
    assert outcome.cards["a"].elections == 3


TWO_CARDS = """
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}, b: {gpus: 3, host_links: [0, 1]}}
  boundary_links: [{from: [a.2, a.3], to: [b.1, b.2]}]
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400, wait_to_restore: 900,
             watchdog: 32, allowance_period: 512, link_restore: 72, gpu_restore: 32}
"""


@pytest.mark.parametrize("until", [None, 2570])
def test_a_run_that_ends_before_a_link_between_cards_must_have_a_holder_is_no_failure(until: int | None) -> None:
    """Its warden has lost so many keepalives that the role may or may not be lost."""
    end = "" if until is None else f"until: {until}\n"
    text = TWO_CARDS + end + "timeline: [{at: 1274, fault: keepalive_loss, gpu: b.1, count: 3}]"
    outcome = Run(loads(text), cells_library()).run()
    assert outcome.verdict == "pass", outcome.failures


def test_a_link_between_cards_is_not_expected_while_both_its_ways_are_a_matter_of_luck() -> None:
    text = (
        TWO_CARDS
        + """
timeline:
  - {at: 1263, fault: flap, gpu: b.1, period: 637}
  - {at: 1263, fault: dead, gpu: a.3}
  - {at: 1278, fault: link_bit_errors, link: a.3-b.2, rate: 1412}
  - {at: 2698, clear: dead, gpu: a.3}
"""
    )
    outcome = Run(loads(text), cells_library()).run()
    assert outcome.verdict == "pass", outcome.failures


def test_two_boundary_gpus_that_use_a_neighbours_number_on_either_card_may_both_hold_the_role() -> None:
    """What the others of their groups say doesn't reach them. The lower epoch ends when its holder hears of it."""
    text = (
        TWO_CARDS
        + """
timeline:
  - {at: 1261, fault: switch_stuck_through, gpu: a.0}
  - {at: 1477, clear: switch_stuck_through, gpu: a.0}
  - {at: 1529, fault: duplicate_id, gpu: [a.3, b.2]}
"""
    )
    server = Run(loads(text), cells_library())
    outcome = server.run()
    assert outcome.verdict == "pass", outcome.failures
    assert list(server.watch.links[0].holders) == [3]
