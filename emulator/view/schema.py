"""What the page's types are made of by `make page`: every answer, and the charts of reports, as JSON Schema."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from ringhil.emulator.documents import Document
from ringhil.emulator.pages.charts import Chart
from ringhil.emulator.view import fleet, messages


class _Untitled(GenerateJsonSchema):
    """Of types alone: no name for each field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> dict[str, Any]:
    """Of all of them."""
    answers = [model for model in Document.__subclasses__() if model.__module__ == messages.__name__]
    held = [model for model in Document.__subclasses__() if model.__module__ == fleet.__name__]
    models = [*((model, "serialization") for model in answers), *((model, "validation") for model in (Chart, *held))]
    _, found = models_json_schema(models, schema_generator=_Untitled)
    return found


if __name__ == "__main__":
    print(json.dumps(schema()))
