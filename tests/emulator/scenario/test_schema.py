"""The published JSON Schema agrees with the loader: it takes what loads, and no wrong key or type."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ringhil.emulator.scenario import FAULTS, ScenarioError, json_schema, loads
from ringhil.emulator.scenario.explain import words

from .samples import Document, documents, unhurried

VALIDATOR = Draft202012Validator(json_schema())

SMALL: Document = {
    "server": {"cards": {"a": {"gpus": 8, "types": {"default": "T4"}}, "b": {"gpus": 4}}},
    "workload": {"units": 1},
    "timeline": [{"at": 1, "fault": "dead", "gpu": "a.3"}],
    "expect": [{"end": True, "break": {"a": None}}],
}


def changed(path: str, value: object) -> Document:
    """SMALL with the value at `path` replaced, or added."""
    document: Any = json.loads(json.dumps(SMALL))
    here = document
    *parents, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in parents:
        here = here[step]
    here[last] = value
    return document  # type: ignore[no-any-return]


def test_it_is_a_schema_of_draft_2020_12() -> None:
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(json_schema())


def test_the_callers_copy_is_the_callers() -> None:
    json_schema().clear()
    assert json_schema()


@unhurried
@given(documents())
def test_what_loads_is_valid(document: Document) -> None:
    loads(json.dumps(document))
    VALIDATOR.validate(document)


@pytest.mark.parametrize("side", ["a.4", ["a.4"], ["a.4", "a.5"]])
def test_a_side_of_a_boundary_link_is_a_gpu_or_a_list_of_them(side: object) -> None:
    VALIDATOR.validate(changed("server/boundary_links", [{"from": side, "to": ["b.1", "b.2"]}]))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sever", {}),
        ("until", None),
        ("until", 0),
        ("seed", -1),
        ("seed", "1"),
        ("server/cards", {}),
        ("server/cards/a.b", {"gpus": 2}),
        ("server/cards/a/gpus", 1),
        ("server/cards/a/gpu", 2),
        ("server/cards/a/host_links", []),
        ("server/cards/a/types", {"x": "T4"}),
        ("server/cards/a/types", {"0": "T5"}),
        ("server/cards/a/weights", {"0": 0}),
        ("server/boundary_links", [{"from": "a.4"}]),
        ("server/boundary_links", [{"from": [], "to": []}]),
        ("server/settings", {"window": 5}),
        ("server/settings", {"records": "maybe"}),
        ("server/settings", {"keepalive_multiplier": 1}),
        ("server/settings", {"keepalive_jitter": 26}),
        ("workload/data", "x"),
        ("workload", {}),
        ("workload/across", 101),
        ("timeline/0/at", -1),
        ("timeline/0/fault", "sleepy"),
        ("timeline/0/clear", "dead"),
        ("timeline/0/link", "a.1-a.2"),
        ("timeline/0/gpu", "a"),
        ("timeline/0/count", 0),
        ("timeline/0/period", 1),
        ("timeline/0/rate", 65536),
        ("timeline/0/delay", 64),
        ("timeline/0/delay", None),
        ("timeline/0", {"at": 1, "fault": "dead"}),
        ("timeline/0", {"at": 1, "gpu": "a.3"}),
        ("expect/0/at", 1),
        ("expect/0/end", False),
        ("expect/0/end", 1),
        ("expect/0", {"end": True}),
        ("expect/0", {"count": {"a": 1}}),
        ("expect/0/count", {}),
        ("expect/0/entry", {"a": []}),
        ("expect/0/boundary", {"a": []}),
        ("expect/0/boundary", {"a": [None]}),
        ("expect/0/epoch", {"a": None}),
        ("expect/0/epoch", {"a": -1}),
        ("expect/0/stranded", {"a": 3}),
        ("expect/0/isolated", {"a": ["a.3"]}),
        ("expect/0/work", {}),
    ],
)
def test_what_the_schema_refuses_does_not_load(path: str, value: object) -> None:
    document = changed(path, value)
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ScenarioError):
        loads(json.dumps(document))


@pytest.mark.parametrize("value", ["a.4", ["a.4"], ["a.4", "a.6"], None])
def test_boundary_gpus_are_one_or_a_list_or_none(value: object) -> None:
    VALIDATOR.validate(changed("expect/0/boundary", {"a": value}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10) | st.sampled_from(["a", "a.3", "dead", "a.1-a.2"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "0", "gpus"]), inner, max_size=2),
    max_leaves=3,
)
places = st.sampled_from(
    [
        "name",
        "seed",
        "until",
        "workload/size",
        "server/cards/a/host_links",
        "server/cards/a/types",
        "server/boundary_links",
        "timeline",
        "timeline/0/gpu",
        "timeline/0/count",
        "timeline/0/delay",
        "workload/across",
        "expect/0/boundary",
        "expect/0/entry",
        "expect/0/epoch",
        "expect/0/stranded",
        "expect/0/break",
        "expect/0/count",
        "expect/0/members",
        "expect/0/reachable",
    ]
)


@unhurried
@given(places, json_values)
def test_a_changed_file_that_still_loads_is_still_valid(path: str, value: object) -> None:
    document = changed(path, value)
    try:
        loads(json.dumps(document))
    except ScenarioError:
        return
    VALIDATOR.validate(document)


def test_every_key_is_described_and_faults_are_listed() -> None:
    schema = json_schema()
    for part in (schema, *schema["$defs"].values()):
        assert all(key.get("description") for key in part["properties"].values())
    assert schema["$defs"]["Event"]["properties"]["fault"]["enum"] == list(FAULTS)


def test_every_part_can_be_put_into_words() -> None:
    schema = json_schema()
    for part in (schema, *schema["$defs"].values()):
        assert words(part)
        assert all(words(value) for value in part["properties"].values())
