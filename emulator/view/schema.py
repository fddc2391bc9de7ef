"""What the page's types are made of by `make page`: every answer, and the charts of reports, as JSON Schema."""

import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from ringhil.emulator.documents import Document
from ringhil.emulator.pages.charts import Chart
from ringhil.emulator.view import fleet, messages


class _Untitled(GenerateJsonSchema):
    """Of types alone: no name for each field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> dict[str, Any]:
    """Of all of them."""
    models = Document.__subclasses__()
    answers = [model for model in models if model.__module__ == messages.__name__]
    held = [model for model in models if model.__module__ == fleet.__name__]
    asked = [*_each(answers, "serialization"), *_each([*held, Chart], "validation")]
    _, found = models_json_schema(asked, schema_generator=_Untitled)
    return found


def _each(models: Iterable[type[BaseModel]], mode: JsonSchemaMode) -> list[tuple[type[BaseModel], JsonSchemaMode]]:
    return [(model, mode) for model in models]


if __name__ == "__main__":
    print(json.dumps(schema()))
