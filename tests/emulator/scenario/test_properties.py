"""Whatever is read, the answer is a Scenario or a ScenarioError, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.scenario import FAULTS, PARAMETERS, EventAction, Scenario, ScenarioError, load, loads

from .samples import SERVER, Document, documents, unhurried, wired

FULL = (
    SERVER
    + """\
  boundary_links: [{from: [a.4, a.5], to: [b.3, b.2]}]
  settings: {window: 2, records: sometimes, policy: round_robin, keepalive_multiplier: 4}
workload: {units: 1000, size: 4096, across: 30}
timeline:
  - {at: 20000, fault: dead, gpu: a.3}
  - {at: 60000, clear: dead, gpu: a.3}
  - {at: 80000, fault: link_cut, link: a.5-a.6}
  - {at: 80000, fault: link_one_way, link: b.3-a.4}
  - {at: 90000, fault: flap, gpu: b.1, period: 40}
  - {at: 90000, fault: keepalive_loss, gpu: a.0, count: 2}
  - {at: 91000, fault: link_delay, link: a.4-b.3, delay: 9}
expect:
  - {by: 25000, count: {a: 7, b: 6}, members: {a: [0, 1]}}
  - {at: 1, epoch: {a: 2}, stranded: {a: [3, 4]}, isolated: {a: [3]}, entry: {b: null}}
  - {end: true, entry: {a: a.0}, boundary: {a: [a.4], b: b.3}, break: {a: a.5-a.6}, work: {lost: 0}}
"""
)


def answer(read: Callable[[], Scenario]) -> None:
    try:
        found: Scenario | ScenarioError = read()
    except ScenarioError as error:
        found = error
    assert isinstance(found, Scenario) or str(found).isprintable()


TOKENS = [*"{}[],:?-!&*#|>%@`'\"\\~\n\t \r\0", "\ufeff", "\u2028", "\ud800", "  ", "- ", ": ", "...", "---"]
TOKENS += [
    "null",
    "true",
    ".nan",
    "-1",
    "1e999",
    "0x",
    "99999999999999999999",
    "a.9",
    "<<",
    "server",
    "cards",
]
TOKENS += ["a.4-b.3", "b.3", "link_one_way", "boundary_link_cut", "keepalive_loss", "period", "across"]
TOKENS += ["${", "${i}", "$${", "always", "truth", "sweep", "invariants", "[a.1, a.2]"]
tokens = st.sampled_from([*TOKENS, "at", "fault", "expect"])


@unhurried
@given(st.text())
def test_any_text(text: str) -> None:
    answer(lambda: loads(text))


@unhurried
@given(st.lists(tokens, max_size=40).map("".join))
def test_any_yaml_like_text(text: str) -> None:
    answer(lambda: loads(text))


@unhurried
@given(st.data())
def test_a_file_with_any_piece_replaced(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(FULL)))
    end = data.draw(st.integers(begin, min(len(FULL), begin + 12)))
    piece = data.draw(st.lists(tokens, max_size=3).map("".join) | st.text(max_size=3))
    answer(lambda: loads(FULL[:begin] + piece + FULL[end:]))


@unhurried
@given(st.binary() | st.lists(tokens).map(lambda t: "".join(t).encode("utf-8", "surrogatepass")))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "any.yaml"
    file.write_bytes(data)
    answer(lambda: load(file))


def any_tree(keys: list[str]) -> st.SearchStrategy[object]:
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("a.1")
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=4),
        max_leaves=12,
    )


KEYS = [
    "server",
    "cards",
    "a",
    "gpus",
    "host_links",
    "types",
    "0",
    "boundary_links",
    "from",
    "to",
    "settings",
]
KEYS += [
    "workload",
    "units",
    "timeline",
    "at",
    "fault",
    "gpu",
    "expect",
    "end",
    "count",
    "break",
    "work",
    "lost",
    "link",
    "period",
    "across",
    "boundary",
    "entry",
    "epoch",
    "stranded",
    "always",
    "until",
    "truth",
    "wrong_count",
]


@unhurried
@given(
    st.fixed_dictionaries({}, optional={key: any_tree(KEYS) for key in ("server", "timeline", "expect", "invariants")})
)
def test_any_tree_of_known_keys(tree: dict[str, object]) -> None:
    text = json.dumps({"server": {"cards": {"a": {"gpus": 4}}}} | tree)  # NaN and Infinity are text in YAML
    answer(lambda: loads(text))


def value(event: Document) -> int:
    """The parameter of an event; 0: none."""
    key = FAULTS[event["fault"]].parameter if "fault" in event else None
    return 0 if key is None else event.get(key, PARAMETERS[key].default)


@unhurried
@given(documents())
def test_what_is_written_is_what_is_held(document: Document) -> None:
    scenario = loads(json.dumps(document, ensure_ascii=False), "x.yaml")
    assert scenario.name == document.get("name", "x")
    assert scenario.seed == document.get("seed", 1)
    assert scenario.until == document.get("until")
    for card, written in zip(scenario.server.cards, document["server"]["cards"].items(), strict=True):
        assert (card.name, card.gpus, list(card.host_links)) == (
            written[0],
            written[1]["gpus"],
            written[1]["host_links"],
        )
        assert len(card.types) == len(card.weights) == card.gpus
    links = document["server"]["boundary_links"]
    found = [[(str(from_), str(to)) for from_, to in link.pairs] for link in scenario.server.boundary_links]
    assert found == [wired(link) for link in links]
    events = [(e.at, e.action, e.kind, e.where, e.count or 0, e.value or 0) for e in scenario.timeline]
    assert sorted(events) == sorted(
        (
            e["at"],
            next(action for action in EventAction if action in e),
            e.get("fault") or e.get("clear") or "lent",
            next(e[key] for key in ("gpu", "link", "lend", "take_back") if key in e),
            e.get("count", 0),
            value(e),
        )
        for e in document.get("timeline", [])
        if "card" not in e
    )
    lines = [(e.at, e.action, e.kind, e.card, e.rate or 0) for e in scenario.lines]
    assert sorted(lines) == sorted(
        (e["at"], "fault" if "fault" in e else "clear", e.get("fault") or e["clear"], e["card"], line_rate(e))
        for e in document.get("timeline", [])
        if "card" in e
    )
    assert [e.at for e in scenario.lines] == sorted(e.at for e in scenario.lines)
    assert [e.at for e in scenario.timeline] == sorted(e.at for e in scenario.timeline)
    assert len(scenario.expect) == len(document.get("expect", []))


def line_rate(event: Document) -> int:
    """Of an event of a line: what is written, or the default."""
    rated = event.get("fault", "line_cut") != "line_cut"
    return int(event.get("rate", PARAMETERS["rate"].default)) if rated else 0


def test_the_whole_file_loads() -> None:
    assert len(loads(FULL).timeline) == 7


@pytest.mark.parametrize("end", range(0, len(FULL), 3))
def test_a_file_that_breaks_off(end: int) -> None:
    answer(lambda: loads(FULL[:end]))
