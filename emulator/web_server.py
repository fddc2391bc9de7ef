"""An HTTP server on one address, in a thread of its own or in the caller's. It needs uvicorn."""

import asyncio
import logging
import socket
import ssl
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ringhil.emulator.errors import RinghilError, printable

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:
    raise RinghilError("the package uvicorn is missing; install it with: pip install uvicorn") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MOST_CONNECTIONS = 512
MOST_HEAD = 16 * 1024  # bytes of a request line with its headers
_HEAD_PATIENCE = 10.0  # seconds that these may take
_KEPT = 30  # seconds that a connection stays open between requests
_ENDS = 2.0  # seconds for requests that are under way when it ends
_log = logging.getLogger(__name__)


_Live = OrderedDict[tuple[str, int], asyncio.Transport]  # by the client's address, the longest unused first


class WebError(RinghilError, OSError):
    """An address that can't be listened at, or a certificate that can't be used."""


class TlsFiles(NamedTuple):
    """What is needed to be reached by HTTPS: the server's certificate, and those that have signed it, and its key."""

    certificate: Path
    key: Path


class WebServer:
    """Listens at `where`, `HOST:PORT`, as soon as it is made; port 0: a free one. At `most` connections a new one ends
    that which has been of no use for longest (`used`): nobody keeps others out. Raises WebError."""

    def __init__(self, where: str, most: int = MOST_CONNECTIONS, tls: TlsFiles | None = None) -> None:
        self._live: _Live = OrderedDict()
        self._most = most
        self._tls = None if tls is None else _tls(tls)
        self._socket = _listening(where)
        self.host, self.port = host, _ = self._socket.getsockname()[:2]
        self.loopback = host in ("::1", "127.0.0.1") or host.startswith("127.")
        self.url = f"{'http' if tls is None else 'https'}://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def begin(self, app: "ASGIApp") -> None:
        """Answer from now on."""
        self._prepare(app)
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._thread.start()

    def answer(self, app: "ASGIApp") -> None:
        """Answer in this thread, until `end` is called."""
        self._prepare(app)
        self._run()

    def end(self) -> None:
        """No more than what is under way, from any thread and from a signal's handler."""
        if self._server is not None:
            self._server.should_exit = True

    def _prepare(self, app: "ASGIApp") -> None:
        config = uvicorn.Config(
            app,
            http=type("_OwnHttp", (_Http,), {"live": self._live, "most": self._most}),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEPT,
            timeout_graceful_shutdown=round(_ENDS),
            h11_max_incomplete_event_size=MOST_HEAD,
        )
        config.load()
        config.ssl = self._tls
        self._server = _Server(config)

    def used(self, client: tuple[str, int]) -> None:
        """The connection from there has had a request that was let in. From the thread that answers."""
        if client in self._live:
            self._live.move_to_end(client)

    def close(self) -> None:
        """Answer what is under way, and no more; a second call does nothing."""
        self.end()
        if self._thread is not None:
            self._thread.join(2 * _ENDS)
        self._server = self._thread = None
        self._socket.close()

    def _run(self) -> None:
        assert self._server is not None
        with suppress(SystemExit), asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))


class _Loop(asyncio.SelectorEventLoop):
    """One in which TLS is agreed on as soon as the first request has to be there, and that says in a line, once, that
    it can't take more connections for want of descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self._full = False
        self.set_exception_handler(self._told)

    def _told(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "out of system resource" not in context.get("message", ""):
            loop.default_exception_handler(context)
        elif not self._full:
            self._full = True
            _log.warning("no descriptors are left for more connections: ulimit -n raises their number")

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        """See asyncio."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = _HEAD_PATIENCE
        return await super().create_server(*args, **options)


class _Server(uvicorn.Server):
    """Signals are for who has made it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn."""
        yield


class _Http(H11Protocol):
    """Of a connection: there are only so many, and each sends its first request soon."""

    live: _Live
    most: int
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See asyncio."""
        super().connection_made(transport)
        while len(self.live) >= self.most:
            self.live.popitem(last=False)[1].abort()
        if self.client is not None:
            self.live[self.client] = transport
        self._alarm = self.loop.call_later(_HEAD_PATIENCE, self._silent)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self.client is not None and self.live.get(self.client) is self.transport:
            del self.live[self.client]
        super().connection_lost(exc)

    def _silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def _tls(files: TlsFiles) -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    for file in files:
        try:
            with file.open("rb"):
                pass
        except OSError as error:
            raise WebError(f"--tls: {file}: {error.strerror or error}; `ringhil lend certificate` makes one") from None
    try:
        made.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        raise WebError(f"--tls: {files.certificate}, {files.key}: {printable(str(error)[:200])}") from None
    return made


def _no_password() -> str:
    raise OSError("the key has a password; wanted is one without")


def _listening(where: str) -> socket.socket:
    host, colon, port = where.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) >= 1 << 16:
        raise WebError(f"--listen: found {printable(where[:80])!r}; allowed is HOST:PORT, such as 127.0.0.1:8080")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise WebError(f"--listen: {printable(where[:80])}: {error.strerror or error}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise WebError(f"--listen: {printable(where[:80])}: {error.strerror or error}") from None
    listening.setblocking(False)
    return listening
