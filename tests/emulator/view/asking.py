"""Asks the page's server without a network: a request of ASGI, an answer."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.view.gate import Gate
from ringhil.emulator.view.shown import Shown
from ringhil.emulator.view.web import application

PAGE = {
    "index.html": (b"<!doctype html><title>the page</title>", "text/html"),
    "assets/a.js": (b"1", "text/javascript"),
}
PORT = 4711


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


class Asked:
    """A server that shows a recording."""

    def __init__(self, shown: Shown, host: str = "127.0.0.1", token: str | None = None) -> None:
        self.shown, self.loop = shown, asyncio.new_event_loop()
        self._app: Any = Gate(application(shown, PAGE), host, PORT, token)

    def ask(
        self, path: str, *, method: str = "GET", headers: list[tuple[str, str]] | None = None, **query: Any
    ) -> Answer:
        """`path` is quoted, `headers` are all there are."""
        return self.loop.run_until_complete(self._ask(path, method, headers, urlencode(query)))

    def get(self, path: str, **query: Any) -> Any:
        """JSON of an answer that is one."""
        found = self.ask(f"/api/{path}", **query)
        assert found.status == 200, found.body
        return found.json

    def refused(self, path: str, **query: Any) -> str:
        """Why it can't be answered."""
        found = self.ask(f"/api/{path}", **query)
        assert 400 <= found.status < 500, found
        text: str = found.json["error"]
        return text

    def wait(self, seconds: float) -> None:
        """Meanwhile it hears what its processes say."""
        self.loop.run_until_complete(asyncio.sleep(seconds))

    async def _ask(self, path: str, method: str, headers: list[tuple[str, str]] | None, query: str) -> Answer:
        sent: list[Any] = []
        given = [("host", f"127.0.0.1:{PORT}")] if headers is None else headers
        requested = False

        async def receive() -> Any:
            nonlocal requested
            if requested:
                await asyncio.sleep(60)
                return {"type": "http.disconnect"}
            requested = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(
            {
                "type": "http",
                "http_version": "1.1",
                "method": method,
                "scheme": "http",
                "path": path,
                "raw_path": quote(path).encode(),
                "query_string": query.encode(),
                "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given],
                "server": ("127.0.0.1", PORT),
                "client": ("127.0.0.1", 5),
                "root_path": "",
            },
            receive,
            send,
        )
        start, *rest = sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, b"".join(each.get("body", b"") for each in rest))

    def close(self) -> None:
        self.shown.ended = True
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            with suppress(asyncio.CancelledError):
                self.loop.run_until_complete(task)
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


@contextmanager
def asking(path: Path, growing: Growing | None = None, **gate: Any) -> Iterator[Asked]:
    shown = Shown(path, lambda: DebugSession(path, cells_library(), memory=1 << 28), growing)
    asked = Asked(shown, **gate)
    try:
        yield asked
    finally:
        asked.close()
        shown.close()
