"""The published JSON Schema agrees with the loader: it takes what loads, and no wrong key or type."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.emulator.scenario.samples import Document, documents, unhurried

from ringhil.emulator.scenario import FAULTS, INVARIANTS, LINE_FAULTS, ScenarioError, json_schema, loads, loads_variants
from ringhil.emulator.scenario.file.explain import words
from ringhil.emulator.scenario.file.schema import schema as plain_schema

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
        ("server/settings", {"policy": "fair"}),
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
        ("timeline/0", {"at": 1, "lend": "a.3", "gpu": "a.3"}),
        ("timeline/0", {"at": 1, "lend": "a.3", "take_back": "a.3"}),
        ("timeline/0", {"at": 1, "lend": 3}),
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
        ("expect/0/truth", []),
        ("expect/0/truth", "a"),
        ("expect/0/always", True),
        ("expect/0", {"always": False, "truth": ["a"]}),
        ("expect/0", {"at": 9, "from": 5, "truth": ["a"]}),
        ("expect/0", {"always": True, "from": 0, "truth": ["a"]}),
        ("expect/0", {"always": True, "until": 0, "truth": ["a"]}),
        ("timeline/0/gpu", []),
        ("timeline/0/gpu", ["a.3", 4]),
        ("invariants", {"wrong_counts": False}),
        ("invariants", {"wrong_count": 0}),
        ("invariants", []),
        ("sweep", {}),
        ("sweep", {"1": [1]}),
        ("sweep", {"x": []}),
        ("sweep", {"x": 1}),
        ("sweep", {"x": [[1]]}),
        ("sweep", {"x": [1.5]}),
        ("sweep", {"x": ["a,b"]}),
        ("sweep", {"x": {}}),
        ("sweep", {"x": {"from": 1}}),
        ("sweep", {"x": {"from": 1, "to": 2, "step": 0}}),
        ("sweep", {"x": {"gpus": "a", "number": 1}}),
        ("sweep", {"x": {"gpus": "a", "except": []}}),
        ("sweep", {"x": {"links": ["a"]}}),
        ("sweep", {"x": {"boundary_links": True}}),
        ("sweep", {"x": {"choose": {"gpus": "a"}}}),
        ("sweep", {"x": {"choose": {"gpus": "a", "number": [0]}}}),
        ("sweep", {"x": {"choose": {"gpus": "a", "number": []}}}),
    ],
)
def test_what_the_schema_refuses_does_not_load(path: str, value: object) -> None:
    document = changed(path, value)
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ScenarioError):
        loads(json.dumps(document))


SWEPT: list[Document] = [
    {"x": [1, 2]},
    {"x": {"from": 1, "to": 3}},
    {"x": {"from": 1, "to": 9, "step": 4}},
    {"x": {"from": 1, "to": 2}, "y": {"from": 1, "to": "${x + 1}"}},
    {"x": {"choose": {"gpus": "a", "number": [1]}}, "y": [None, True, "text", -4]},
]


@pytest.mark.parametrize("sweep", SWEPT)
def test_what_is_swept_loads_and_is_valid(sweep: Document) -> None:
    document = changed("sweep", sweep) | {"name": " ".join(f"at ${{{name}}}" for name in sweep)}
    VALIDATOR.validate(document)
    assert len(loads_variants(json.dumps(document))) > 1


@pytest.mark.parametrize(
    ("path", "sweep"),
    [
        ("seed", {"x": [1]}),
        ("server/cards/a/gpus", {"x": [8]}),
        ("server/cards/a/host_links", {"x": [1]}),
        ("server/cards/a/types/default", {"x": ["T4"]}),
        ("server/settings", {"x": [3]}),
        ("workload/units", {"x": [3]}),
        ("timeline/0/at", {"x": {"from": 5, "to": 6}}),
        ("timeline/0/fault", {"x": ["dead", "hang"]}),
        ("timeline/0/gpu", {"x": {"gpus": "a"}}),
        ("timeline/0/gpu", {"x": {"choose": {"gpus": "a", "number": 2}}}),
        ("expect/0/break/a", {"x": {"links": "a"}}),
        ("expect/0/end", {"x": [True]}),
        ("invariants", {"x": [True, False]}),
    ],
)
def test_an_expression_stands_for_any_value(path: str, sweep: Document) -> None:
    value: object = "${x}"
    value = {"server/cards/a/host_links": [value], "server/settings": {"window": value}}.get(path, value)
    document = changed(path, {"work_once": value} if path == "invariants" else value) | {"sweep": sweep}
    VALIDATOR.validate(document)
    assert list(loads_variants(json.dumps(document)))


def test_an_expression_stands_for_the_name_of_a_card_or_a_gpu_and_no_other_key() -> None:
    sweep = {"x": ["a", "b"], "i": {"from": 0, "to": 3}}
    document = changed("expect/0", {"end": True, "count": {"${x}": 1}}) | {"sweep": sweep}
    document["server"]["cards"]["b"]["types"] = {"${i}": "T4", "${(i + 1) % 4}": "H100"}
    VALIDATOR.validate(document)
    found = [variant.scenario for variant in loads_variants(json.dumps(document))]
    assert [scenario.expect[0].checks[0].card for scenario in found] == ["a"] * 4 + ["b"] * 4  # type: ignore[union-attr]
    assert found[3].server.card("b").types == ("H100", "generic", "generic", "T4")
    document["${x}"] = 1
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ScenarioError, match="unknown key"):
        loads_variants(json.dumps(document))


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
        "expect/0/truth",
        "expect/0/from",
        "timeline/0/link",
        "invariants",
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
    assert {"type": "string", "enum": [*FAULTS, *LINE_FAULTS]} in schema["$defs"]["Event"]["properties"]["fault"][
        "anyOf"
    ]
    assert schema["properties"]["invariants"].get("description")
    assert set(schema["$defs"]["Invariants"]["properties"]) == set(INVARIANTS)


def test_every_part_can_be_put_into_words() -> None:
    schema = plain_schema()
    for part in (schema, *schema["$defs"].values()):
        assert words(part)
        assert all(words(value) for value in part["properties"].values())


def offered(*place: str) -> set[str]:
    """What an editor offers while one types there: keys, and words that may stand as the value."""
    schema = json_schema()
    nodes = [schema]
    for step in place:
        inner = [child for node in nodes for child in node.get("properties", {}).items() if child[0] == step]
        patterns = [child for node in nodes for child in node.get("patternProperties", {}).values()]
        items = [node["items"] for node in nodes if "items" in node] if step == "-" else []
        nodes = spread(schema, items or [child for _, child in inner] or patterns)
    words = {
        str(word) for node in nodes for word in [*node.get("enum", []), *([node["const"]] if "const" in node else [])]
    }
    return {key for node in nodes for key in node.get("properties", {})} | words


def spread(schema: Document, nodes: list[Document]) -> list[Document]:
    """All choices that there are, one by one."""
    found = []
    for node in nodes:
        if "$ref" in node:
            found += spread(schema, [schema["$defs"][node["$ref"].rsplit("/", 1)[1]]])
        found += [node, *spread(schema, [choice for choice in node.get("anyOf", []) if choice.keys() != {"required"}])]
    return found


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (
            (),
            {
                "name",
                "seed",
                "server",
                "workload",
                "sharing",
                "switching",
                "timeline",
                "until",
                "expect",
                "invariants",
                "sweep",
            },
        ),
        (("timeline", "-", "fault"), {*FAULTS, *LINE_FAULTS}),
        (("timeline", "-", "clear"), {*FAULTS, *LINE_FAULTS}),
        (("server", "cards", "any", "types", "0"), {"generic", "T4", "V100", "A100", "H100", "H200"}),
        (("server", "settings", "records"), {"always", "sometimes", "never"}),
        (("server", "settings", "policy"), {"proportional", "round_robin"}),
        (("expect", "-", "always"), {"True"}),
        (("expect", "-", "work"), {"completed", "lost", "duplicated"}),
        (("invariants",), set(INVARIANTS)),
        (("sweep", "any"), {"from", "to", "step", "gpus", "except", "links", "boundary_links", "choose"}),
        (("sweep", "any", "choose"), {"gpus", "number", "except"}),
        (("sweep", "any", "boundary_links"), {"all"}),
    ],
)
def test_an_editor_offers_keys_and_words(place: tuple[str, ...], words: set[str]) -> None:
    assert offered(*place) == words
