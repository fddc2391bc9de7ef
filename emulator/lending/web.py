"""The request API over HTTP (V1): who may ask, how much, and what is answered. It needs Starlette.

Every request has a bearer token. What is asked is done by the thread that plays the run (`desk.py`). A client that
asks too often hears so a second later, and nothing else of its connection is read until then: so it can't keep this
thread busy.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ringhil.emulator.documents import explained, one_line
from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.lending.database import LendingDatabaseError
from ringhil.emulator.lending.desk import DeskClosedError, LoanDesk
from ringhil.emulator.lending.document import (
    DataDocument,
    DataRow,
    ErrorDocument,
    LoanRequest,
    NothingFree,
    openapi,
)
from ringhil.emulator.lending.handover import (
    DIGEST_HEADER,
    HandoverBroken,
    HandoverBusy,
    HandoverError,
    HandoverFolder,
    pieces,
)
from ringhil.emulator.lending.office import LoanOffice, OfficeAnswer
from ringhil.emulator.lending.rates import RequestRate, RequestRates
from ringhil.emulator.lending.tokens import identity

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError:
    raise RinghilError("the package starlette is missing; install it with: pip install 'ringhil[lending]'") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_BODY = 16 * 1024  # bytes of a request
_PATIENT = 10.0  # seconds that a body may take
_TARPIT = 1.0  # seconds that a request which is too many waits to hear so
_SCHEME = "bearer "
_log = logging.getLogger(__name__)


Used = Callable[[tuple[str, int]], None]


def application(
    office: LoanOffice,
    desk: LoanDesk,
    token: str,
    rate: RequestRate,
    used: Used,
    data: HandoverFolder | None = None,
) -> "ASGIApp":
    """`token`: the operator's. `used` is told from where a request has come that was let in. `data`: what is handed
    over to guests."""
    pages = _Pages(office, desk, data)
    number = "/v1/loans/{id:int}"
    routes = [
        Route("/v1/loans", pages.request, methods=["POST"]),
        Route("/v1/loans", pages.loans, methods=["GET"]),
        Route(number, pages.loan, methods=["GET"]),
        Route(number, pages.release, methods=["DELETE"]),
        Route("/v1/gpus", pages.gpus, methods=["GET"]),
        Route("/v1/usage", pages.usage, methods=["GET"]),
        Route("/v1/data", pages.data, methods=["GET"]),
        Route("/v1/data/{name}", pages.hand_over, methods=["GET"]),
        Route("/openapi.json", pages.openapi, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {
        HTTPException: _http_error,
        ValidationError: _invalid,
        DeskClosedError: _away,
        LendingDatabaseError: _away,
        HandoverError: _not_there,
        HandoverBusy: _away,
    }
    return _Gate(Starlette(routes=routes, exception_handlers=handlers), token, rate, used)


class _Gate:
    """Lets requests pass that have a token, and aren't too many."""

    def __init__(self, inner: "ASGIApp", token: str, rate: RequestRate, used: Used) -> None:
        self._inner, self._token, self._used = inner, token, used
        self._rates = RequestRates(rate, time.monotonic)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """See ASGI."""
        if scope["type"] != "http":
            return
        who = self._identity(scope)
        client = f"token {who}" if who is not None else f"address {(scope.get('client') or ('',))[0]}"
        wait = self._rates.wait(client)
        if wait:
            await asyncio.sleep(_TARPIT)
            answer = _error(429, "too many requests", {"Retry-After": str(math.ceil(wait))})
            await answer(scope, receive, send)
        elif who is None:
            found = "a bearer token is needed" if _bearer(scope) is None else "this bearer token is not known"
            answer = _error(401, found, {"WWW-Authenticate": "Bearer"})
            await answer(scope, receive, send)
        else:
            if scope.get("client"):
                self._used(tuple(scope["client"]))
            scope["ringhil_who"] = who
            try:
                await self._inner(scope, receive, send)
            except HandoverBroken as error:
                _log.warning("%s", error)  # the connection ends, and who asked hears nothing more

    def _identity(self, scope: "Scope") -> str | None:
        given = _bearer(scope)
        return None if given is None else identity(self._token, given)


def _bearer(scope: "Scope") -> str | None:
    """The token that a request has, whosever it is."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    text = given[0].decode("latin-1") if len(given) == 1 else ""
    return text[len(_SCHEME) :].strip() if text.lower().startswith(_SCHEME) else None


class _Pages:
    """One for each path and method."""

    def __init__(self, office: LoanOffice, desk: LoanDesk, data: HandoverFolder | None) -> None:
        self._office, self._desk, self._data = office, desk, data
        self._openapi = openapi()

    async def request(self, request: Request) -> Response:
        who = _who(request)
        wish = LoanRequest.model_validate_json(await _body(request))
        future = self._desk.ask(lambda told: self._office.request(who, wish, told.set_result))
        return _answer(await asyncio.wrap_future(future))

    async def loans(self, request: Request) -> Response:
        return await self._ask(request, self._office.loans)

    async def loan(self, request: Request) -> Response:
        return await self._ask(request, lambda who: self._office.loan(who, request.path_params["id"]))

    async def release(self, request: Request) -> Response:
        return await self._ask(request, lambda who: self._office.release(who, request.path_params["id"]))

    async def gpus(self, request: Request) -> Response:
        return await self._ask(request, self._office.gpus)

    async def usage(self, request: Request) -> Response:
        return await self._ask(request, self._office.usage)

    async def data(self, request: Request) -> Response:
        folder = await self._handed(request)
        names = await run_in_threadpool(folder.names)
        rows = [DataRow(name=name, size=size) for name, size in names.items()]
        return JSONResponse(DataDocument(data=rows).model_dump())

    async def hand_over(self, request: Request) -> Response:
        folder = await self._handed(request)
        about, file = await run_in_threadpool(folder.open, request.path_params["name"])
        packed = _takes_gzip(request.headers.get("accept-encoding", ""))
        headers = {DIGEST_HEADER: about.digest, "Vary": "Accept-Encoding"}
        headers |= {"Content-Encoding": "gzip"} if packed else {"Content-Length": str(about.size)}
        content = pieces(about, file, packed=packed)
        return StreamingResponse(content, headers=headers, media_type="application/octet-stream")

    async def _handed(self, request: Request) -> HandoverFolder:
        who = _who(request)
        has = await asyncio.wrap_future(self._desk.ask(lambda told: told.set_result(self._office.has_gpu(who))))
        if not has:
            raise HTTPException(403, f"{who}: it has no GPU now; data is for guests that have one")
        if self._data is None:
            raise HTTPException(404, "data: this server hands over none")
        return self._data

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(self._openapi)

    async def _ask(self, request: Request, what: Callable[[str], OfficeAnswer]) -> Response:
        who = _who(request)
        future = self._desk.ask(lambda told: told.set_result(what(who)))
        return _answer(await asyncio.wrap_future(future))


def _who(request: Request) -> str:
    return str(request.scope["ringhil_who"])


async def _body(request: Request) -> bytes:
    """Raises HTTPException."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"content-type: found {printable(kind[:40])!r}; allowed is application/json")
    data = b""
    try:
        async with asyncio.timeout(_PATIENT):
            async for chunk in request.stream():
                data += chunk
                if len(data) > MOST_BODY:
                    raise HTTPException(413, f"body: found more than {MOST_BODY} bytes; allowed are {MOST_BODY}")
    except TimeoutError:
        raise HTTPException(408, f"body: it took more than {_PATIENT:g} s") from None
    return data


def _takes_gzip(accepts: str) -> bool:
    """Whether the header Accept-Encoding has it, and not with a weight of 0."""
    coded = [[part.strip().lower() for part in each.split(";")] for each in accepts.split(",")]
    return any(name == "gzip" and not re.fullmatch(r"q=0(\.0*)?", "".join(more)) for name, *more in coded)


def _answer(answer: OfficeAnswer) -> Response:
    headers = {}
    if isinstance(answer.document, NothingFree) and answer.document.free_in_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(answer.document.free_in_s)))
    return JSONResponse(answer.document.model_dump(), answer.status, headers)


def _error(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse(ErrorDocument(error=text).model_dump(), status, headers)


async def _http_error(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 404 and error.detail == "Not Found":
        return _error(404, "there is no such path; see /openapi.json", headers)
    if error.status_code == 405:
        return _error(405, f"method: found {request.method}; allowed is {headers.get('Allow', 'another')}", headers)
    if error.status_code == 413:
        headers["Connection"] = "close"  # the rest of it isn't read
    return _error(error.status_code, error.detail, headers)


async def _invalid(request: Request, error: ValidationError) -> Response:
    return _error(422, one_line(explained(error, "the body")))


async def _not_there(request: Request, error: RinghilError) -> Response:
    return _error(404, str(error))


async def _away(request: Request, error: RinghilError) -> Response:
    return _error(503, str(error), {"Retry-After": "1"})
