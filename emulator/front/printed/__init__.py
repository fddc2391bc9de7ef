"""The documents of `--json`: each is declared once here, and published as JSON Schema by `ringhil schema NAME`.

A document is an object that says what it is, `"schema": "run/1"`; the number grows when a key goes or means something
else, and stays when one is added. A list, and the registers of `card read`, which are objects by their names, don't
say it. `FORMS` is read by each command, the modules beside it only where a schema is asked for.
"""

import importlib
import json
import sys
from typing import Any

# By the schema's name, which is that of its command: its version, and where its type is.
FORMS: dict[str, tuple[int, str]] = {
    "bench": (1, "hardware.BenchDocument"),
    "card-census": (1, "cards.CensusDocument"),
    "card-check": (1, "cards.CardCheckDocument"),
    "card-compare": (1, "cards.CardCompareDocument"),
    "card-contexts": (1, "cards.ContextsDocument"),
    "card-info": (1, "cards.InfoDocument"),
    "card-read": (1, "cards.RegistersDocument"),
    "card-record": (1, "cards.RecordDocument"),
    "card-watch": (1, "cards.EventDocument"),
    "doctor": (1, "hardware.DoctorDocument"),
    "explore": (1, "campaigns.ExploreDocument"),
    "explore-compare": (1, "campaigns.ExploreCompareDocument"),
    "explore-query": (1, "campaigns.ExploreQueryDocument"),
    "export": (1, "runs.ExportDocument"),
    "firmware-check": (1, "cards.FirmwareCheckDocument"),
    "lend-data": (1, "lending.LendDataDocument"),
    "lend-list": (1, "lending.LendListDocument"),
    "lend-preflight": (1, "lending.PreflightDocument"),
    "lend-release": (1, "lending.LoanDocument"),
    "lend-request": (1, "lending.LoanDocument"),
    "lend-serve": (1, "lending.LendServeDocument"),
    "lend-train": (1, "lending.TrainDocument"),
    "lend-usage": (1, "lending.UsedDocument"),
    "lend-watch": (1, "lending.LoanDocument"),
    "place": (1, "placing.PlaceDocument"),
    "place-import": (1, "placing.ImportDocument"),
    "place-order": (1, "placing.OrderDocument"),
    "replay": (1, "runs.ReplayDocument"),
    "rtl-bridge": (1, "hardware.BridgeDocument"),
    "rtl-build": (1, "hardware.BuildDocument"),
    "rtl-check": (1, "hardware.CheckDocument"),
    "rtl-coverage": (1, "hardware.CoverageDocument"),
    "rtl-play": (1, "hardware.PlayDocument"),
    "rtl-prove": (1, "hardware.ProveDocument"),
    "run": (1, "runs.RunDocument"),
    "serve": (1, "cards.ServeDocument"),
    "share": (1, "runs.ShareDocument"),
    "step": (1, "runs.StepDocument"),
    "switch": (1, "runs.SwitchDocument"),
    "verify": (1, "campaigns.VerdictsDocument"),
    "verify-compare": (1, "campaigns.VerifyCompareDocument"),
    "verify-list": (1, "campaigns.ListDocument"),
    "view": (1, "runs.ViewDocument"),
}
UNNAMED = ("card-contexts", "card-read", "verify-list")  # lists, and objects whose keys are names


def named(name: str, document: Any) -> Any:
    """The document with what it is as its first key."""
    return document if name in UNNAMED else {"schema": _named(name), **document}


def _named(name: str) -> str:
    return f"{name}/{FORMS[name][0]}"


def schema(name: str) -> dict[str, Any]:
    """Its JSON Schema: no key is allowed that isn't declared."""
    from pydantic import TypeAdapter

    module, _, form = FORMS[name][1].partition(".")
    declared = getattr(importlib.import_module(f"{__name__}.{module}"), form)
    found: dict[str, Any] = TypeAdapter(declared).json_schema()
    _close(found)
    for each in _objects(found) if name not in UNNAMED else ():
        each["properties"] = {"schema": {"const": _named(name)}, **each["properties"]}
        each["required"] = ["schema", *each.get("required", ())]
    units = sys.modules[f"{__name__}.{module}"].__doc__ or ""
    found["description"] = " ".join([found.get("description", ""), units.partition(". ")[2]]).strip()
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": f"urn:ringhil:{_named(name)}", **found, "title": _named(name)}


def published(name: str) -> str:
    """The same as a file."""
    return json.dumps(schema(name), indent=1) + "\n"


def _objects(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What the document may be."""
    forms = found.get("anyOf", [found])
    return [found["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in forms]


def _close(part: Any) -> None:
    """Objects have no other keys; a key that may be left out has no value then."""
    if isinstance(part, list):
        for each in part:
            _close(each)
    elif isinstance(part, dict):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
            for value in part["properties"].values():
                value.pop("default", None)
                _close(value)
        if isinstance(part.get("title"), str):
            del part["title"]
        if isinstance(part.get("description"), str):
            part["description"] = " ".join(part["description"].split())
        for key, value in part.items():
            if key != "properties":
                _close(value)
