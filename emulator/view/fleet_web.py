"""The pages of a cluster and of loans over HTTP, and loans again and again while somebody lends. It needs Starlette."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.view.files import INDEX
from ringhil.emulator.view.fleet import LoansAbout
from ringhil.emulator.view.gate import error
from ringhil.emulator.view.messages import json_of

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError:
    raise RinghilError("the package starlette is missing; install it with: pip install 'ringhil[view]'") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_KEPT = 1.0  # seconds that an answer is good for, whoever asks


def application(page: dict[str, tuple[bytes, str]], loans: Callable[[], LoansAbout] | None = None) -> "ASGIApp":
    """`page`: content and type of its files, by their path, with what is told in it; `loans`: what is told now."""
    routes = [Route(f"/{path}", _file(*content)) for path, content in page.items()]
    routes += [Route("/", _file(*page[INDEX]))]
    if loans is not None:
        routes += [Route("/api/loans", _Loans(loans).answer)]
    return Starlette(routes=routes)


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    def respond(request: Request) -> Response:
        return Response(content, media_type=kind)

    return respond


class _Loans:
    """Read once for all who ask at a time."""

    def __init__(self, read: Callable[[], LoansAbout]) -> None:
        self._read, self._lock = read, asyncio.Lock()
        self._found, self._good_until = b"", 0.0

    async def answer(self, request: Request) -> Response:
        async with self._lock:
            if time.monotonic() >= self._good_until:
                try:
                    self._found = json_of(await asyncio.to_thread(self._read)).encode()
                except RinghilError as away:
                    return error(503, one_line(str(away)))
                self._good_until = time.monotonic() + _KEPT
        return Response(self._found, media_type="application/json")
