"""What is asked and answered over HTTP, as JSON; and the OpenAPI document that says so."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from ringhil.emulator.lending.handover import DIGEST_HEADER

NODE = r"^i-[0-9a-f]{8,17}$"
NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,39}$"
MOST_SIZE = 1 << 50  # bytes
MOST_ID = (1 << 31) - 1

NodeText = Annotated[str, Field(pattern=NODE, description="node address of the guest, such as i-0000002d")]


def _whole(number: Any) -> Any:
    """For JSON, 5.0 is an integer."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class _Document(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class LoanRequest(_Document):
    """A guest asks for a GPU."""

    node: NodeText
    kind: Annotated[str, Field(pattern=NAME, description="kind of work, such as training")]
    size: Annotated[
        int,
        Field(ge=0, le=MOST_SIZE, description="bytes of GPU memory that the work needs"),
        BeforeValidator(_whole),
    ] = 0
    time: Annotated[
        float | None,
        Field(ge=0, le=1e15, allow_inf_nan=False, description="of the request, by the guest's clock; it is kept"),
    ] = None
    gpu: Annotated[str | None, Field(pattern=NAME, description="this GPU; without it, any")] = None
    mapping: Annotated[str | None, Field(pattern=NAME, description="one of the GPUs of this name")] = None


class LoanDocument(_Document):
    """A loan."""

    id: int
    node: str
    kind: str
    size: int
    mapping: str | None
    gpu: Annotated[str, Field(description="the first of its GPUs")]
    gpus: Annotated[list[str], Field(description="all of its IOMMU group")]
    state: Annotated[
        str, Field(pattern="^(draining|bound|in_guest|reset|scrubbed|free)$", description="in this order; free: over")
    ]
    released: Annotated[bool, Field(description="it is on its way back, or over")]
    reason: Annotated[str | None, Field(description="why it was released")]
    hostdev: Annotated[str, Field(description="what libvirt loads: a <hostdev> for each function")]
    time: Annotated[float | None, Field(description="of the request, by the guest's clock")]
    requested_s: Annotated[float, Field(description="seconds of the run's clock, as are the others")]
    bound_s: float | None
    attached_s: float | None
    ended_s: float | None
    busy_s: Annotated[float, Field(description="seconds that its GPUs computed for the guest")]
    energy_j: Annotated[float, Field(description="joules that they took")]
    error: Annotated[str | None, Field(description="why it doesn't go on")]


class LoansDocument(_Document):
    """Loans that are open, and the latest of the others, the newest first."""

    loans: list[LoanDocument]


class GpuDocument(_Document):
    """A GPU. `state`: that of its loan; without one free, away: not counted, or needed: the server reaches a card by it
    alone."""

    gpu: str
    state: Annotated[str, Field(pattern="^(free|away|needed|draining|bound|in_guest|reset|scrubbed)$")]
    loan: Annotated[int | None, Field(description="null for guests whose loan it isn't, as are node and holders")]
    node: str | None
    holders: Annotated[list[str] | None, Field(description="whose contexts are on it: then it isn't lent")]
    model: str
    memory: Annotated[int, Field(description="bytes")]
    group: Annotated[str, Field(description="IOMMU group: all of it is lent, or none")]
    pci_id: Annotated[str, Field(description="vendor and device")]
    functions: list[str]
    mappings: list[str]


class GpusDocument(_Document):
    """All GPUs that can be lent."""

    now_s: Annotated[float, Field(description="seconds of the run's clock")]
    gpus: list[GpuDocument]


class UsageRow(_Document):
    """What a GPU has done for guests, as far as loans are in the journal."""

    gpu: str
    loans: int
    busy_s: float
    energy_j: float


class UsageDocument(_Document):
    """Of all GPUs."""

    usage: list[UsageRow]


class DataRow(_Document):
    """A file that is handed over."""

    name: str
    size: Annotated[int, Field(description="bytes")]


class DataDocument(_Document):
    """What is handed over to guests that have a GPU."""

    data: list[DataRow]


class ErrorDocument(_Document):
    """What is wrong, in one line."""

    error: str


class NothingFree(_Document):
    """No GPU can be lent now."""

    error: str
    free_in_s: Annotated[
        float | None, Field(description="seconds of the run's clock until one may be free; null: nobody knows")
    ]
    holders: Annotated[dict[str, list[str]], Field(description="by GPU, whose contexts are in the way")]


_ERRORS = {
    401: "no token, or a wrong one",
    403: "the token is another guest's, or that of a guest without a GPU",
    404: "there is no such thing",
    413: "the body is too long",
    415: "the body is no JSON by its content type",
    422: "the body is malformed, or asks for what can never be",
    429: "too many requests: Retry-After says when one more may come",
    503: "the database is away, or the server is about to end",
}
_ALWAYS = (401, 429, 503)
_FILE = {
    "description": "its content",
    "headers": {
        DIGEST_HEADER: {"description": "SHA-256 of the content as it is unpacked", "schema": {"type": "string"}}
    },
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
_MODELS = (
    LoanRequest,
    LoanDocument,
    LoansDocument,
    GpusDocument,
    UsageDocument,
    DataDocument,
    ErrorDocument,
    NothingFree,
)


def openapi() -> dict[str, Any]:
    """The document of the API, version 3.1."""
    _, made = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    number = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST_ID},
    }
    loan = _answer("the loan", "LoanDocument")
    ask = {
        "operationId": "request",
        "summary": "Ask for a GPU; answered when it is bound, or after 10 s. A guest that asks again is told its loan.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("LoanRequest")}}},
        "responses": {
            "201": _answer("the new loan", "LoanDocument"),
            "200": _answer("the loan that this guest has", "LoanDocument"),
            "409": _answer("nothing is free", "NothingFree"),
            **_errors(403, 404, 413, 415, 422),
        },
    }
    paths: dict[str, dict[str, Any]] = {
        "/v1/loans": {"post": ask, "get": _get("loans", "Loans: a guest sees its own.", "LoansDocument")},
        "/v1/loans/{id}": {
            "parameters": [number],
            "get": {"operationId": "loan", "responses": {"200": loan, **_errors(403, 404)}},
            "delete": {
                "operationId": "release",
                "summary": "Send it on its way back; once more: the same answer.",
                "responses": {"200": loan, **_errors(403, 404)},
            },
        },
        "/v1/gpus": {"get": _get("gpus", "GPUs that can be lent, and who has them.", "GpusDocument")},
        "/v1/usage": {"get": _get("usage", "What GPUs have done for guests.", "UsageDocument", 403)},
        "/v1/data": {"get": _get("data", "Files for guests that have a GPU.", "DataDocument", 403, 404)},
        "/v1/data/{name}": {
            "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "hand_over",
                "summary": "A file, unchanged; packed, where Accept-Encoding has gzip.",
                "responses": {"200": _FILE, **_errors(403, 404)},
            },
        },
        "/openapi.json": {
            "get": {"operationId": "openapi", "responses": {"200": {"description": "this document"}, **_errors()}}
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "ringhil lend", "version": "1", "description": "Whole GPUs, lent to virtual machines."},
        "paths": paths,
        "components": {
            "schemas": made["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(text: str, name: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": _ref(name)}}}


def _errors(*codes: int) -> dict[str, Any]:
    return {str(code): _answer(_ERRORS[code], "ErrorDocument") for code in sorted({*codes, *_ALWAYS})}


def _get(name: str, summary: str, answer: str, *codes: int) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": _answer(summary, answer), **_errors(*codes)}}
