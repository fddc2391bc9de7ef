"""A scenario that is written down loads to itself."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from tests.emulator.scenario.samples import Document, documents, unhurried
from tests.emulator.scenario.test_properties import FULL

from ringhil.emulator.scenario import CountIs, Expectation, Scenario, Server, Workload, dumps, loads
from ringhil.emulator.scenario.file.topology import Card


def lines(scenario: Scenario) -> list[int]:
    return [item.line for item in (*scenario.timeline, *scenario.expect)]


@unhurried
@given(documents())
def test_what_is_written_loads_to_the_same(document: Document) -> None:
    scenario = loads(json.dumps(document))
    text = dumps(scenario)
    again = loads(text)
    assert again == scenario
    assert dumps(again) == text


def test_lines_make_no_difference_and_are_those_of_the_text() -> None:
    scenario = loads(FULL)
    again = loads(dumps(scenario))
    assert again == scenario
    written = dumps(scenario).splitlines()
    assert lines(again) != lines(scenario)
    assert [written[event.line - 1].split(",")[0] for event in again.timeline] == [
        f"  - {{at: {event.at}" for event in scenario.timeline
    ]


def test_what_has_its_default_is_left_out() -> None:
    assert dumps(loads("server: {cards: {a: {gpus: 4, host_links: [0]}}, settings: {window: 4}}", "small")) == (
        "name: small\nseed: 1\nserver:\n  cards:\n    a: {gpus: 4}\n"
    )


def test_it_reads_as_a_person_would_write_it() -> None:
    assert dumps(loads(FULL, "full.yaml")).splitlines() == [
        "name: full",
        "seed: 1",
        "server:",
        "  cards:",
        "    a: {gpus: 8, host_links: [0, 1]}",
        "    b: {gpus: 6}",
        "    pair: {gpus: 2}",
        "  boundary_links:",
        "    - {from: [a.4, a.5], to: [b.3, b.2]}",
        "  settings: {keepalive_multiplier: 4, window: 2, records: sometimes, policy: round_robin}",
        "workload: {units: 1000, size: 4096, across: 30}",
        "timeline:",
        "  - {at: 20000, fault: dead, gpu: a.3}",
        "  - {at: 60000, clear: dead, gpu: a.3}",
        "  - {at: 80000, fault: link_cut, link: a.5-a.6}",
        "  - {at: 80000, fault: link_one_way, link: b.3-a.4}",
        "  - {at: 90000, fault: flap, gpu: b.1, period: 40}",
        "  - {at: 90000, fault: keepalive_loss, gpu: a.0, count: 2}",
        "  - {at: 91000, fault: link_delay, link: a.4-b.3, delay: 9}",
        "expect:",
        "  - {by: 25000, count: {a: 7, b: 6}, members: {a: [0, 1]}}",
        "  - {at: 1, entry: {b: null}, epoch: {a: 2}, stranded: {a: [3, 4]}, isolated: {a: [3]}}",
        "  - {end: true, entry: {a: a.0}, boundary: {a: [a.4], b: [b.3]}, break: {a: a.5-a.6}, work: {lost: 0}}",
    ]


NAMES = ["null", "True", "12", "1e3", "a: b", "a #b", "- a", "'a", '"', "\\", " a ", "{}", "@", "\U0001f600", "\ufeff"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_and_any_path_is_kept(name: str) -> None:
    card = Card("a", 2, (0,), ("generic",) * 2, (1,) * 2)
    scenario = Scenario(name, 1, Server((card,)), Workload(None, Path(name), 1), (), None, ())
    assert loads(dumps(scenario)) == scenario


def test_what_no_file_can_say_is_refused() -> None:
    card = Card("a", 2, (0,), ("generic",) * 2, (1,) * 2)
    twice = Expectation("end", None, (CountIs("a", 1), CountIs("a", 2)), 1)
    with pytest.raises(ValueError, match="two checks about a"):
        dumps(Scenario("x", 1, Server((card,)), None, (), None, (twice,)))
