"""The page and its answers over HTTP: files of the page, and JSON as `messages` has it. It needs Starlette."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.view.files import INDEX
from ringhil.emulator.view.gate import error
from ringhil.emulator.view.messages import (
    MOST_BUCKETS,
    MOST_CYCLES,
    MOST_ROWS,
    DoomedAnswer,
    Elsewhere,
    Followed,
    ViewAbout,
    ViewFound,
    ViewMarks,
    ViewPicture,
    ViewRow,
    ViewRows,
    json_of,
)
from ringhil.emulator.view.shown import ViewError

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError:
    raise RinghilError("the package starlette is missing; install it with: pip install 'ringhil[view]'") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_LOOK = 0.5  # seconds
_LARGEST = 2**62
_DIGITS = 19
_TEXT = 2_000  # letters


class Answering(Protocol):
    """What is shown: a recording (`shown.Shown`), or a card (`card.ShownCard`)."""

    @property
    def last(self) -> int: ...
    def begin(self) -> None: ...
    async def about(self, *, quick: bool = False) -> ViewAbout: ...
    def lines(self, first: int, count: int) -> ViewRows: ...
    def row(self, number: int) -> ViewRow | None: ...
    async def picture(self, cycle: int, exact: bool) -> ViewPicture: ...
    async def marks(self, buckets: int) -> ViewMarks: ...
    def elsewhere(self, number: int) -> Elsewhere: ...
    def doomed(self, do: str) -> DoomedAnswer: ...
    async def ask(self, what: str, number: int, *values: Any, search: bool = False) -> Any: ...
    def follow(self) -> AsyncIterator[Followed | None]: ...


def application(shown: Answering, page: dict[str, tuple[bytes, str]]) -> "ASGIApp":
    """`page`: content and type of its files, by their path."""
    answers = _Answers(shown)
    routes = [Route(f"/api/{name}", answers.answered(answer)) for name, answer in answers.by_name.items()]
    routes += [Route("/api/follow", answers.follow)]
    routes += [Route(f"/{path}", _file(*content)) for path, content in page.items()]
    routes += [Route("/", _file(*page[INDEX]))]
    return Starlette(routes=routes, exception_handlers={HTTPException: _http_error})


Answer = Callable[[Request], Coroutine[Any, Any, BaseModel]]
Respond = Callable[[Request], Coroutine[Any, Any, Response]]


def _file(content: bytes, kind: str) -> Respond:
    async def respond(request: Request) -> Response:
        return Response(content, media_type=kind)

    return respond


class _Answers:
    def __init__(self, shown: Answering) -> None:
        self._shown, self._begun = shown, False
        self.by_name: dict[str, Answer] = {
            "about": self.about,
            "rows": self.rows,
            "row/{number}": self.row,
            "hops/{number}": self.hops,
            "passes": self.passes,
            "picture": self.picture,
            "marks": self.marks,
            "find": self.find,
            "state": self.state,
            "card": self.card,
            "doomed": self.doomed,
            "elsewhere/{number}": self.elsewhere,
        }

    def answered(self, answer: Answer) -> Respond:
        """As JSON; of what can't be answered why."""

        async def respond(request: Request) -> Response:
            self._begin()
            asked = asyncio.ensure_future(answer(request))
            try:
                while not (await asyncio.wait([asked], timeout=_LOOK))[0]:
                    if await request.is_disconnected():  # nobody waits for it any more
                        asked.cancel()
                        return Response(status_code=499)
                found = asked.result()
            except ViewError as refused:
                return error(refused.status, str(refused))
            except RecordingError as damaged:
                return error(500, one_line(str(damaged)))
            return Response(json_of(found), media_type="application/json")

        return respond

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._shown.begin()

    async def about(self, request: Request) -> BaseModel:
        return await self._shown.about(quick=_number(request, "quick", 0, 1, 0) == 1)

    async def rows(self, request: Request) -> BaseModel:
        first, count = _number(request, "from", 1, default=1), _number(request, "count", 1, MOST_ROWS, MOST_ROWS)
        return self._shown.lines(first, count)

    async def row(self, request: Request) -> BaseModel:
        found = self._shown.row(number := _whole("row", request.path_params["number"], 1, _LARGEST))
        if found is None:
            raise ViewError(f"row: found {number}; there are 1 to {self._shown.last}", 404)
        return found

    async def hops(self, request: Request) -> BaseModel:
        return await self._ask("links", self._there("row", request.path_params["number"]))

    async def passes(self, request: Request) -> BaseModel:
        first = _number(request, "from", 0)
        last = _number(request, "to", first, first + MOST_CYCLES - 1)
        return await self._ask("passes", 0, first, last)

    async def picture(self, request: Request) -> BaseModel:
        exact = _number(request, "exact", 0, 1, 0) == 1
        return await self._shown.picture(_number(request, "cycle", 0), exact)

    async def marks(self, request: Request) -> BaseModel:
        return await self._shown.marks(_number(request, "buckets", 1, MOST_BUCKETS, 400))

    async def find(self, request: Request) -> BaseModel:
        start, back = _number(request, "from", 0, default=0), _number(request, "back", 0, 1, 0) == 1
        condition = _text(request, "condition")
        return ViewFound(row=await self._shown.ask("find", start, condition, back, search=True))

    async def state(self, request: Request) -> BaseModel:
        return await self._ask("state", self._there("number", _text(request, "number")), _text(request, "gpu"))

    async def card(self, request: Request) -> BaseModel:
        return await self._ask("card", self._there("number", _text(request, "number")), _text(request, "name"))

    async def doomed(self, request: Request) -> BaseModel:
        do = request.query_params.get("do", "")
        if do not in ("", "begin", "stop"):
            raise ViewError(f"do: found {do[:50]!r}; allowed are begin and stop")
        return self._shown.doomed(do)

    async def elsewhere(self, request: Request) -> BaseModel:
        return self._shown.elsewhere(_whole("row", request.path_params["number"], 1, self._shown.last))

    async def _ask(self, what: str, number: int, *values: Any) -> BaseModel:
        found: BaseModel = await self._shown.ask(what, number, *values)
        return found

    def _there(self, name: str, text: str) -> int:
        """The number of a row; 0: before the first."""
        return _whole(name, text, 0, self._shown.last)

    async def follow(self, request: Request) -> Response:
        """A stream of events."""
        self._begin()

        async def lines() -> AsyncIterator[bytes]:
            async for followed in self._shown.follow():
                yield b":\n\n" if followed is None else f"data: {json_of(followed)}\n\n".encode()

        return StreamingResponse(lines(), media_type="text/event-stream")


def _number(request: Request, name: str, least: int, most: int = _LARGEST, default: int | None = None) -> int:
    text = request.query_params.get(name)
    return default if text is None and default is not None else _whole(name, text or "", least, most)


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or not least <= int(text) <= most:
        upto = f"to {most:,}" if most < _LARGEST else "on"
        raise ViewError(f"{name}: found {text[:50]!r}; allowed is a number from {least:,} {upto}")
    return int(text)


def _text(request: Request, name: str) -> str:
    text = request.query_params.get(name, "")
    if not 0 < len(text) <= _TEXT:
        raise ViewError(f"{name}: found {len(text)} letters; allowed are 1 to {_TEXT}")
    return text


async def _http_error(request: Request, exception: Exception) -> Response:
    assert isinstance(exception, HTTPException)
    return error(exception.status_code, "there is no such path" if exception.status_code == 404 else exception.detail)
