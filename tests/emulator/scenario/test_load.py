"""What a file says is what the scenario holds."""

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from ringhil.emulator.scenario import (
    FAULTS,
    INVARIANTS,
    PARAMETERS,
    BoundaryIs,
    BreakIs,
    CountIs,
    CrossRef,
    EntryIs,
    EpochIs,
    Gap,
    GpuRef,
    IsolatedAre,
    LinkRef,
    MembersAre,
    ReachableIs,
    ScenarioError,
    Settings,
    StrandedAre,
    TruthIs,
    WorkIs,
    Workload,
    load,
    loads,
)
from ringhil.protocol.registers import FaultBit

from .samples import SERVER


def timeline(*events: str) -> str:
    return SERVER + "timeline:\n" + "".join(f"  - {{{event}}}\n" for event in events)


def linked(*events: str) -> str:
    """A timeline of cards that are joined: a with b by two links, pair with a by one."""
    links = "  boundary_links: [{from: [a.4, a.5], to: [b.3, b.2]}, {from: pair.1, to: a.6}]\n"
    return SERVER + links + timeline(*events).removeprefix(SERVER) * bool(events)


def expect(*entries: str) -> str:
    return SERVER + "expect:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries)


def test_everything_but_the_cards_has_a_default() -> None:
    scenario = loads("server: {cards: {a: {gpus: 3}}}", "folder/small.yaml")
    (card,) = scenario.server.cards
    assert (card.name, card.gpus, card.host_links) == ("a", 3, (0,))
    assert card.types == ("generic",) * 3
    assert card.weights == (1,) * 3
    assert scenario.server.boundary_links == ()
    assert scenario.server.settings == Settings()
    assert (scenario.name, scenario.seed, scenario.until) == ("small", 1, None)
    assert (scenario.workload, scenario.timeline, scenario.expect) == (None, (), ())


def test_types_and_weights_are_given_by_index_and_by_default() -> None:
    card = loads("server: {cards: {a: {gpus: 4, types: {default: H200, 3: T4}, weights: {0: 7}}}}").server.card("a")
    assert card.types == ("H200", "H200", "H200", "T4")
    assert card.weights == (7, 1, 1, 1)


def test_the_first_host_link_is_the_entry_at_power_up_and_links_may_wrap_around() -> None:
    card = loads("server: {cards: {a: {gpus: 8, host_links: [1, 0, 7]}}}").server.card("a")
    assert card.host_links == (1, 0, 7)
    assert card.entry_at_power_up == GpuRef("a", 1)


def test_an_unknown_card_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        loads(SERVER).server.card("z")


def test_boundary_links_wire_members_one_to_one() -> None:
    (link,) = loads(SERVER + "  boundary_links: [{from: [a.4, a.5], to: [b.3, b.2]}]").server.boundary_links
    assert [tuple(map(str, pair)) for pair in link.pairs] == [("a.4", "b.3"), ("a.5", "b.2")]


def test_a_single_boundary_member_may_stand_without_brackets() -> None:
    plain, listed = (
        loads(SERVER + f"  boundary_links: [{{from: {one}, to: [pair.1]}}]").server.boundary_links
        for one in ("a.7", "[a.7]")
    )
    assert plain == listed


def test_settings_override_their_defaults_one_by_one() -> None:
    settings = loads(
        SERVER + "  settings: {heartbeat: 0, window: 1, records: never, policy: round_robin}"
    ).server.settings
    assert settings == Settings(heartbeat=0, window=1, records="never", policy="round_robin")
    text = "{keepalive_interval: 7, keepalive_multiplier: 5, keepalive_jitter: 0, wait_to_restore: 8, gpu_restore: 9}"
    assert loads(SERVER + f"  settings: {text}").server.settings == Settings(
        keepalive_interval=7, keepalive_multiplier=5, keepalive_jitter=0, wait_to_restore=8, gpu_restore=9
    )


def test_work_is_a_number_of_units_or_a_file_beside_the_scenario(tmp_path: Path) -> None:
    assert loads(SERVER + "workload: {units: 10}").workload == Workload(10, None, 4096)
    file = tmp_path / "some.yaml"
    file.write_text(SERVER + "workload: {data: in/put.bin, size: 1}")
    assert load(file).workload == Workload(None, tmp_path / "in/put.bin", 1)
    file.write_text(SERVER + "workload: {data: /abs/put.bin}")
    assert load(str(file)).workload == Workload(None, Path("/abs/put.bin"), 4096)


def test_a_share_of_the_work_may_cross_boundary_links() -> None:
    assert loads(linked() + "workload: {units: 10, across: 30}").workload == Workload(10, None, 4096, across=30)
    assert loads(SERVER + "workload: {units: 10, across: 0}").workload == Workload(10, None, 4096)


def test_the_timeline_is_ordered_by_cycle_and_keeps_the_order_of_the_file_within_one() -> None:
    events = loads(
        timeline(
            "at: 30, clear: dead, gpu: a.3",
            "at: 20, fault: hang, gpu: b.5",
            "at: 20, fault: dead, gpu: a.3",
            "at: 0, fault: corrupt, gpu: a.1",
        )
    ).timeline
    assert [(e.at, e.action, e.kind, str(e.target), e.count, e.line) for e in events] == [
        (0, "fault", "corrupt", "a.1", None, 10),
        (20, "fault", "hang", "b.5", None, 8),
        (20, "fault", "dead", "a.3", None, 9),
        (30, "clear", "dead", "a.3", None, 7),
    ]


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("a.5-a.6", LinkRef("a", 5, 8)),
        ("a.6-a.5", LinkRef("a", 5, 8)),
        ("a.7-a.0", LinkRef("a", 7, 8)),
        ("a.0-a.7", LinkRef("a", 7, 8)),
        ("pair.0-pair.1", LinkRef("pair", 0, 2)),
        ("pair.1-pair.0", LinkRef("pair", 1, 2)),
    ],
)
def test_a_link_goes_clockwise_whichever_way_it_is_written(written: str, link: LinkRef) -> None:
    (event,) = loads(timeline(f"at: 1, fault: link_cut, link: {written}")).timeline
    assert event.target == link


def test_a_link_is_spelt_clockwise_around_the_ring() -> None:
    assert str(LinkRef("a", 5, 8)) == "a.5-a.6"
    assert str(LinkRef("a", 7, 8)) == "a.7-a.0"


def test_a_link_of_a_card_whose_name_looks_like_a_link_is_found() -> None:
    (event,) = loads(
        "server: {cards: {x-1: {gpus: 4}}}\n"
        "timeline: [{at: 1, fault: link_cut, link: x-1.2-x-1.3}]"
    ).timeline  # fmt: skip
    assert event.target == LinkRef("x-1", 2, 4)


@pytest.mark.parametrize("written", ["a.4-b.3", "b.3-a.4"])
@pytest.mark.parametrize("kind", ["boundary_link_cut", "link_bit_errors", "link_delay"])
def test_a_boundary_link_goes_as_it_is_wired_whichever_way_it_is_written(kind: str, written: str) -> None:
    (event,) = loads(linked(f"at: 1, fault: {kind}, link: {written}")).timeline
    assert (event.target, event.reverse) == (CrossRef(GpuRef("a", 4), GpuRef("b", 3)), False)
    assert (str(event.target), event.target.card, event.where) == ("a.4-b.3", "a", "a.4-b.3")


@pytest.mark.parametrize(
    ("written", "target", "reverse"),
    [
        ("a.5-a.6", LinkRef("a", 5, 8), False),
        ("a.6-a.5", LinkRef("a", 5, 8), True),
        ("a.7-a.0", LinkRef("a", 7, 8), False),
        ("a.0-a.7", LinkRef("a", 7, 8), True),
        ("pair.0-pair.1", LinkRef("pair", 0, 2), False),
        ("pair.1-pair.0", LinkRef("pair", 1, 2), False),
        ("a.5-b.2", CrossRef(GpuRef("a", 5), GpuRef("b", 2)), False),
        ("b.2-a.5", CrossRef(GpuRef("a", 5), GpuRef("b", 2)), True),
        ("a.6-pair.1", CrossRef(GpuRef("pair", 1), GpuRef("a", 6)), True),
    ],
)
def test_a_link_is_dead_one_way_in_the_direction_written(
    written: str, target: LinkRef | CrossRef, reverse: bool
) -> None:
    (event,) = loads(linked(f"at: 1, fault: link_one_way, link: {written}")).timeline
    assert (event.target, event.reverse, event.where) == (target, reverse, written)


def test_the_two_directions_of_a_link_die_and_come_back_apart() -> None:
    events = ["at: 1, fault: link_one_way, link: a.5-a.6", "at: 2, fault: link_one_way, link: a.6-a.5"]
    events += ["at: 3, clear: link_one_way, link: a.5-a.6", "at: 4, clear: link_one_way, link: a.6-a.5"]
    assert [event.reverse for event in loads(timeline(*events)).timeline] == [False, True, False, True]


@pytest.mark.parametrize(
    ("event", "value", "count"),
    [
        ("fault: flap, gpu: a.1", 300, None),
        ("fault: flap, gpu: a.1, period: 2", 2, None),
        ("fault: link_bit_errors, link: a.1-a.2", 256, None),
        ("fault: link_bit_errors, link: a.1-a.2, rate: 65535", 65535, None),
        ("fault: link_delay, link: a.1-a.2", 16, None),
        ("fault: link_delay, link: a.1-a.2, delay: 63", 63, None),
        ("fault: keepalive_loss, gpu: a.1", None, None),
        ("fault: keepalive_loss, gpu: a.1, count: 2", None, 2),
        ("fault: slow, gpu: a.1", None, None),
    ],
)
def test_parameters_have_their_defaults(event: str, value: int | None, count: int | None) -> None:
    (found,) = loads(timeline(f"at: 1, {event}")).timeline
    assert (found.value, found.count) == (value, count)


def test_what_clears_a_fault_has_no_parameter() -> None:
    events = loads(timeline("at: 1, fault: flap, gpu: a.1, period: 9", "at: 2, clear: flap, gpu: a.1")).timeline
    assert [event.value for event in events] == [9, None]


@pytest.mark.parametrize("gpu", ["a.0", "a.1", "a.4", "a.6", "b.2", "pair.1"])
def test_keepalives_are_lost_by_members_of_logical_links(gpu: str) -> None:
    (event,) = loads(linked(f"at: 1, fault: keepalive_loss, gpu: {gpu}")).timeline
    assert str(event.target) == gpu


@pytest.mark.parametrize("second", ["fault: keepalive_loss, gpu: a.1, count: 2", "clear: keepalive_loss, gpu: a.1"])
def test_a_counted_fault_may_have_ended_by_itself_or_not(second: str) -> None:
    assert len(loads(timeline("at: 1, fault: keepalive_loss, gpu: a.1, count: 2", f"at: 2, {second}")).timeline) == 2


def test_a_fault_may_come_again_after_it_was_cleared() -> None:
    again = ["at: 1, fault: dead, gpu: a.3", "at: 2, clear: dead, gpu: a.3", "at: 2, fault: dead, gpu: a.3"]
    assert len(loads(timeline(*again)).timeline) == 3


def test_the_two_links_of_a_ring_of_two_are_cut_apart() -> None:
    both = ["at: 1, fault: link_cut, link: pair.0-pair.1", "at: 2, fault: link_cut, link: pair.1-pair.0"]
    assert len({event.target for event in loads(timeline(*both)).timeline}) == 2


def test_every_fault_that_the_node_has_can_be_asked_for() -> None:
    assert FaultBit.codes().keys() <= FAULTS.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_set_and_cleared(name: str) -> None:
    fault = FAULTS[name]
    places = {"GPU": "gpu: a.3", "boundary link": "link: a.4-b.3"}
    place = places.get(fault.hits, "gpu: a.1" if fault.target == "gpu" else "link: a.1-a.2")
    begin, end = loads(linked(f"at: 1, fault: {name}, {place}", f"at: 2, clear: {name}, {place}")).timeline
    assert (begin.kind, begin.target) == (end.kind, end.target) == (name, begin.target)
    assert begin.value == (PARAMETERS[fault.parameter].default if fault.parameter else None)


def test_expectations_hold_typed_checks() -> None:
    text = SERVER + (
        "  boundary_links: [{from: [a.4, a.5], to: [b.3, b.2]}]\n"
        "workload: {units: 9}\n"
        "expect:\n"
        "  - {at: 7, count: {a: 7, b: 0}, members: {a: [2, 0]}}\n"
        "  - {by: 8, entry: {a: a.1}, boundary: {a: a.5, b: b.3}, break: {a: a.0-a.7, b: null}}\n"
        "  - {end: true, work: {completed: 9, lost: 0}, reachable: {pair: false}}\n"
    )
    at, by, end = loads(text).expect
    assert (at.kind, at.cycle, at.line) == ("at", 7, 9)
    assert at.checks == (CountIs("a", 7), CountIs("b", 0), MembersAre("a", (0, 2)))
    assert (by.kind, by.cycle, by.line) == ("by", 8, 10)
    assert by.checks == (
        EntryIs("a", GpuRef("a", 1)),
        BoundaryIs("a", GpuRef("a", 5)),
        BoundaryIs("b", GpuRef("b", 3)),
        BreakIs("a", Gap(GpuRef("a", 0), GpuRef("a", 7), 8)),
        BreakIs("b", None),
    )
    assert (end.kind, end.cycle, end.line) == ("end", None, 11)
    assert end.checks == (WorkIs(9, 0, None), ReachableIs("pair", False))


def test_a_list_strikes_each_of_its_gpus_or_links_in_its_order() -> None:
    first, second = "at: 9, fault: dead, gpu: [a.3, b.0, a.1]", "at: 5, fault: flap, gpu: [b.2, a.7], period: 9"
    events = loads(timeline(first, second, "at: 10, clear: dead, gpu: [a.1, a.3]")).timeline
    assert [(e.at, e.action, str(e.target), e.value, e.line) for e in events] == [
        (5, "fault", "b.2", 9, 8),
        (5, "fault", "a.7", 9, 8),
        *((9, "fault", gpu, None, 7) for gpu in ("a.3", "b.0", "a.1")),
        *((10, "clear", gpu, None, 9) for gpu in ("a.1", "a.3")),
    ]
    links = loads(linked("at: 1, fault: link_one_way, link: [a.5-a.6, a.6-a.5, b.3-a.4]")).timeline
    assert [event.where for event in links] == ["a.5-a.6", "a.6-a.5", "b.3-a.4"]


def test_a_list_of_one_is_the_same_as_its_item() -> None:
    one, listed = (loads(timeline(f"at: 1, fault: hang, gpu: {gpu}")).timeline for gpu in ("a.3", "[a.3]"))
    assert one == listed


def test_all_invariants_count_unless_switched_off() -> None:
    assert loads(SERVER).invariants == frozenset(INVARIANTS)
    off = loads(SERVER + "invariants: {work_once: false, no_orphan: true, wrong_count: false}").invariants
    assert off == set(INVARIANTS) - {"work_once", "wrong_count"}


def test_what_always_holds_has_a_span_and_the_truth_a_card() -> None:
    items = loads(expect("always: true, truth: [b, a]", "always: true, from: 5, until: 9, count: {a: 1}")).expect
    assert [(i.kind, i.cycle, i.since, i.until) for i in items] == [
        ("always", None, 0, None),
        ("always", None, 5, 9),
    ]
    assert items[0].checks == (TruthIs("b"), TruthIs("a"))
    assert str(items[0].checks[0]) == "what is known of card b is true"


def test_expectations_of_elections_hold_typed_checks() -> None:
    text = linked() + (
        "expect:\n"
        "  - {at: 7, boundary: {a: [a.6, a.4], b: [b.2], pair: null}, entry: {b: null}}\n"
        "  - {at: 8, epoch: {a: 2, b: 0}, stranded: {a: [4, 3]}, isolated: {a: [3], b: []}}\n"
    )
    first, second = loads(text).expect
    assert first.checks == (
        EntryIs("b", None),
        BoundaryIs("a", GpuRef("a", 6)),
        BoundaryIs("a", GpuRef("a", 4)),
        BoundaryIs("b", GpuRef("b", 2)),
        BoundaryIs("pair", None),
    )
    assert second.checks == (
        EpochIs("a", 2),
        EpochIs("b", 0),
        StrandedAre("a", (3, 4)),
        IsolatedAre("a", (3,)),
        IsolatedAre("b", ()),
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("count: {a: 7}", "count of card a is 7"),
        ("members: {a: [3, 1]}", "members of card a are [1, 3]"),
        ("entry: {a: a.1}", "entry GPU of card a is a.1"),
        ("entry: {a: null}", "entry GPU of card a is none"),
        ("boundary: {a: null}", "boundary GPU of card a is none"),
        ("epoch: {a: 2}", "epoch of card a is 2"),
        ("stranded: {a: [4, 3]}", "stranded GPUs of card a are [3, 4]"),
        ("isolated: {a: []}", "isolated GPUs of card a are []"),
        ("lent: {a: [3]}", "lent GPUs of card a are [3]"),
        ("break: {a: null}", "break of card a is none"),
        ("break: {a: a.0-a.7}", "break of card a is a.0-a.7"),
        ("work: {completed: 0, lost: 0}", "work units: 0 completed, 0 lost"),
        ("reachable: {a: false}", "card a is not reachable"),
        ("reachable: {a: true}", "card a is reachable"),
    ],
)
def test_a_check_says_what_it_expects(entry: str, words: str) -> None:
    (expectation,) = loads(expect(f"end: true, {entry}") + "workload: {units: 9}\n").expect
    assert [str(check) for check in expectation.checks] == [words]


def test_the_boundary_check_says_what_it_expects() -> None:
    assert str(BoundaryIs("a", GpuRef("a", 4))) == "boundary GPU of card a is a.4"


def test_with_a_data_file_the_number_of_units_is_not_known_here() -> None:
    text = SERVER + "workload: {data: x}\nexpect: [{end: true, work: {completed: 12345}}]"
    assert loads(text).expect[0].checks == (WorkIs(12345, None, None),)


def test_a_scenario_is_frozen_hashable_and_can_be_sent_to_another_process() -> None:
    scenario = loads(timeline("at: 1, fault: dead, gpu: a.3"))
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert hash(scenario) == hash(loads(timeline("at: 1, fault: dead, gpu: a.3")))
    with pytest.raises(FrozenInstanceError):
        scenario.seed = 2  # type: ignore[misc]


def test_an_error_can_be_sent_to_another_process() -> None:
    with pytest.raises(ScenarioError) as caught:
        loads("server: {cards: {}}")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.line, copy.column) == (str(caught.value), 1, 17)


def test_a_byte_order_mark_and_dos_line_ends_are_harmless(tmp_path: Path) -> None:
    file = tmp_path / "dos.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + SERVER.replace("\n", "\r\n").encode())
    assert load(file).server == loads(SERVER).server


def test_json_is_yaml() -> None:
    text = '{"server": {"cards": {"a": {"gpus": 4, "types": {"3": "T4"}}}}}'
    assert loads(text).server.card("a").types[3] == "T4"
