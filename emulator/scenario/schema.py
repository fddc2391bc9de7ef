"""JSON Schema of the file, for editors and other tools; made from `model.py`."""

import copy
from functools import cache
from typing import Any

from ringhil.emulator.scenario import model

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_EXACTLY_ONE: dict[str, list[tuple[str, ...]]] = {
    "Workload": [model.WORKLOADS],
    "Event": [model.ACTIONS, model.TARGETS],
    "Expectation": [model.TIMES],
}
_AT_LEAST_ONE = {"Work": model.RESULTS, "Expectation": model.CHECKS}


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, that accepts every file that loads.

    It can't follow names through the file: a GPU that doesn't exist passes it, and is refused by `loads`.
    """
    return copy.deepcopy(schema())


@cache
def schema() -> dict[str, Any]:
    """The same, shared: not to be changed."""
    whole: dict[str, Any] = _tidy(model.Scenario.model_json_schema())
    for name, choices in _EXACTLY_ONE.items():
        whole["$defs"][name]["allOf"] = [{"oneOf": [{"required": [key]} for key in keys]} for keys in choices]
    for name, keys in _AT_LEAST_ONE.items():
        whole["$defs"][name]["anyOf"] = [{"required": [key]} for key in keys]
    return {"$schema": DIALECT, "title": "ringhil scenario", **whole}


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
        (given,) = (choice for choice in node.pop("anyOf") if choice != {"type": "null"})
        node = {**given, **node}
    if "patternProperties" in node:
        node.setdefault("additionalProperties", False)
    return node
