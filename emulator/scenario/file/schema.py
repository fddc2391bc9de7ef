"""JSON Schema of the file, for editors and other tools; made from `model.py`."""

import copy
from functools import cache
from typing import Any

from pydantic import BaseModel

from ringhil.emulator.scenario.expect import CHECKS
from ringhil.emulator.scenario.expect.links import WORDS
from ringhil.emulator.scenario.expect.work import LIMITS, RESULTS
from ringhil.emulator.scenario.file import model, model_switching, names
from ringhil.emulator.scenario.file.faults import LENDINGS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_EXACTLY_ONE: dict[str, list[tuple[str, ...]]] = {
    "Workload": [model.WORKLOADS],
    "Event": [model.ACTIONS, (*model.TARGETS, "card", *LENDINGS)],
    "Expectation": [model.TIMES],
    "SwitchTask": [model_switching.LAYERS],
}
_TOGETHER = {"Expectation": {"from": ["always"], "until": ["always"]}}
_AT_LEAST_ONE = {
    "Work": RESULTS,
    "Fencing": LIMITS,
    "NamedLinks": WORDS,
    "Expectation": tuple(check.KEY for check in CHECKS),
}


_EXPRESSION = {"type": "string", "pattern": r"\$\{"}
_WITHIN = ("items", "anyOf")  # what holds schemas
_TAKES_ANYTHING = (names.ONE_LINE, names.SWEPT_TEXT)  # patterns of text, which an expression is as well


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, that accepts every file that loads.

    It can't follow names through the file: a GPU that doesn't exist passes it, and is refused by `loads`. Neither does
    it know what an expression gives, so that one may stand for any value.
    """
    whole: dict[str, Any] = _open(copy.deepcopy(schema()))
    return whole


@cache
def schema() -> dict[str, Any]:
    """The same without expressions, shared: not to be changed."""
    whole: dict[str, Any] = _tidy(model.Scenario.model_json_schema())
    for name, choices in _EXACTLY_ONE.items():
        whole["$defs"][name]["allOf"] = [{"oneOf": [{"required": [key]} for key in keys]} for keys in choices]
    for name, needs in _TOGETHER.items():
        whole["$defs"][name]["dependentRequired"] = needs
    for name, keys in _AT_LEAST_ONE.items():
        whole["$defs"][name]["anyOf"] = [{"required": [key]} for key in keys]
    return {"$schema": DIALECT, "title": "ringhil scenario", **whole}


@cache
def part_schema(name: str) -> dict[str, Any]:
    """A part of a scenario file, or a file of layers, whose own parts are among those of scenario files."""
    if name == model_switching.ModelTable.__name__:
        table: dict[str, Any] = _tidy(model_switching.ModelTable.model_json_schema())
        return table
    found: dict[str, Any] = schema()["$defs"][name]
    return found


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """That of another kind of file, which has its parts in their places."""
    whole: dict[str, Any] = _tidy(model.model_json_schema())
    parts = whole.pop("$defs", {})

    def put(node: Any) -> Any:
        if isinstance(node, list):
            return [put(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return put(parts[node["$ref"].rsplit("/", 1)[1]])
        return {key: put(value) for key, value in node.items()}

    placed: dict[str, Any] = put(whole)
    return placed


def _tidy(node: Any) -> Any:
    """Pydantic's schema without what the file doesn't allow (null for a key left out) or doesn't need."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("title"), str):
        del node["title"]  # the name of the key once more
    node = {key: _tidy(value) for key, value in node.items()}
    if node.get("default", ...) is None:
        del node["default"]
        given = [choice for choice in node.pop("anyOf") if choice != {"type": "null"}]
        node = {**(given[0] if len(given) == 1 else {"anyOf": given}), **node}
    if "patternProperties" in node:
        node.setdefault("additionalProperties", False)
    return node


def _open(node: Any) -> Any:
    """A schema in which an expression may stand for every value, and in the names of cards and GPUs."""
    if isinstance(node, list):
        return [_open(item) for item in node]
    if not isinstance(node, dict):
        return node
    opened = {key: _open(value) if key in _WITHIN else value for key, value in node.items()}
    for key in ("properties", "$defs"):
        if key in node:
            opened[key] = {name: _open(value) for name, value in node[key].items()}
    if "patternProperties" in node:
        patterns = {pattern: _open(value) for pattern, value in node["patternProperties"].items()}
        if names.PARAMETER not in patterns:
            patterns[_EXPRESSION["pattern"]] = next(iter(patterns.values()))
        opened["patternProperties"] = patterns
    if node.get("type") in ("integer", "string", "boolean") and node.get("pattern") not in _TAKES_ANYTHING:
        around = {key: opened.pop(key) for key in ("description", "default") if key in opened}
        return {"anyOf": [opened, _EXPRESSION], **around}
    return opened
