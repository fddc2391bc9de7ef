"""A finding of pydantic as the one error to report: where, what was found, what the schema allows there."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.file.schema import schema
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted, shown, unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source

_CLUSTER: Loc = ("cluster",)
_KEY = "[key]"  # pydantic's mark, at the end of a place, for the key instead of the value


def explain(
    error: ValidationError, source: Source, base: Loc = (), root: dict[str, Any] | None = None
) -> ScenarioError:
    """The first finding in the file; missing keys last, as a misspelt key is a missing one too.

    With `root`, the schema of what stands at `base`, it is no whole scenario.
    """
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if root is None and not base and any(d["loc"] == _CLUSTER for d in details):
        return source.error(_CLUSTER, "key 'cluster': that is a file of a cluster; ringhil place plays it", key=True)
    first = min(details, key=lambda d: (d["type"] == "missing", _place(d, source, base)))
    return _explain(first, source, base, schema() if root is None else root)


def _place(detail: ErrorDetails, source: Source, base: Loc) -> tuple[int, int]:
    loc, is_key = _loc(detail)
    return source.mark((*base, *loc), key=is_key)


def _loc(detail: ErrorDetails) -> tuple[Loc, bool]:
    loc = detail["loc"]
    if loc and loc[-1] == _KEY:
        return loc[:-1], True
    return loc, detail["type"] == "extra_forbidden"


def _explain(detail: ErrorDetails, source: Source, base: Loc, root: dict[str, Any]) -> ScenarioError:
    within, is_key = _loc(detail)
    loc = (*base, *within)
    found = source.found(loc)
    match detail["type"]:
        case "extra_forbidden":
            keys = _at(within[:-1], root)["properties"]
            return source.error(loc, unknown("key", str(loc[-1]), keys), key=True)
        case "missing":
            return source.error(loc, f"key {quoted(str(loc[-1]))} is missing; needed is {words(_at(within, root))}")
        case "greater_than_equal" if loc[-1] in ("at", "by") and _at(within, root)["type"] == "integer":
            return source.error(loc, f"cycle {found} is in the past; allowed is 0 (power-up) or later")
        case _ if is_key:
            (pattern,) = _at(within[:-1], root)["patternProperties"]
            return source.error(loc, f"key {quoted(str(loc[-1]))}; allowed is {names.IN_WORDS[pattern]}", key=True)
    hint = "; ${...} is for the parameters of a 'sweep'" if isinstance(found, str) and "${" in found else ""
    return source.error(loc, f"found {shown(found)}; allowed is {words(_at(within, root))}{hint}")


def allowed(loc: Loc) -> str:
    """What may stand at `loc`, in words."""
    return words(_at(loc, schema()))


def _resolve(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema()["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _at(loc: Loc, root: dict[str, Any]) -> dict[str, Any]:
    node = _resolve(root)
    for step in loc:
        if isinstance(step, int):
            node = _list(node)
            node = node["items"]
        elif step in node.get("properties", {}):
            node = node["properties"][step]
        else:
            (node,) = node["patternProperties"].values()
        node = _resolve(node)
    return node


def _list(node: dict[str, Any]) -> dict[str, Any]:
    """The list among the choices, where a single value may stand for a list of one, or null for none."""
    if "anyOf" not in node:
        return node
    return next(found for choice in node["anyOf"] if "items" in (found := _list(_resolve(choice))))


def words(node: dict[str, Any]) -> str:
    """What a part of the schema allows, in words."""
    node = _resolve(node)
    match node:
        case {"enum": choices}:
            return "one of " + listing(choices)
        case {"const": True}:
            return "true"
        case {"properties": keys}:
            return "a mapping with the keys " + listing(keys)
        case {"anyOf": choices}:
            return " or ".join(words(choice) for choice in choices)
        case {"pattern": pattern}:
            return names.IN_WORDS[pattern]
        case {"type": "integer", "minimum": low, "maximum": high}:
            return f"a whole number, {low} .. {high}"
        case {"type": "number", "maximum": high}:
            above = node.get("exclusiveMinimum")
            return f"a number, {node['minimum']} .. {high}" if above is None else f"a number above {above}, to {high}"
        case {"type": "array", "items": items}:
            return f"a list{_items(node)}, each {words(items)}"
        case {"patternProperties": patterns}:
            ((pattern, value),) = patterns.items()
            return f"a mapping{_size(node)}: {names.IN_WORDS[pattern]} to {words(value)}"
        case {"type": "boolean"}:
            return "true or false"
        case {"const": only}:
            return str(only)
        case {"type": "null"}:
            return "null"
    raise AssertionError(f"no words for the schema {node}")


def _items(node: dict[str, Any]) -> str:
    low, high = node.get("minItems", 0), node.get("maxItems")
    if high is not None:
        return f" of {high} items" if low == high else f" of {low} .. {high} items"
    return " of at least 1 item" if low else ""


def _size(node: dict[str, Any]) -> str:
    low, high = node.get("minProperties"), node.get("maxProperties")
    return "" if low is None else f" of {low} or more" if high is None else f" of {low} .. {high}"
