"""Whom the page's server answers, and what no answer goes without.

A browser sends requests for whatever page it has open. So each must name, as `Host`, an address of this server (a page
whose name was made to lead here doesn't), and come from a page of this server, or from none. With a token it must have
that as well: once as `?token=`, which becomes a cookie, so that it stands in no address that is passed on.
"""

import hmac
import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.view.messages import ErrorAnswer, json_of

try:
    from starlette.datastructures import MutableHeaders
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response
except ImportError:
    raise RinghilError("the package starlette is missing; install it with: pip install 'ringhil[view]'") from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SCHEME = "bearer "


class Gate:
    """`host`: where the server listens, `port` at which. `token` None: who reaches it may ask."""

    def __init__(self, inner: "ASGIApp", host: str, port: int, token: str | None) -> None:
        self._inner, self._port, self._token = inner, port, token
        address = ipaddress.ip_address(host)
        self._anywhere = address.is_unspecified
        self._names = {host, *(_LOOPBACK if address.is_loopback or self._anywhere else ()), *_own_names(self._anywhere)}
        self._cookie = f"ringhil-view-{port}"  # cookies are those of all ports of a host

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """See ASGI."""
        if scope["type"] != "http":
            return

        async def guarded(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers[name] = value
                message["headers"] = headers.raw
            await send(message)

        answer = self._inner if (refused := self._refused(Request(scope))) is None else refused
        await answer(scope, receive, guarded)

    def _refused(self, request: Request) -> Response | None:
        """What is answered instead; None: it may be asked."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return error(403, "Host: found another name than that of this server")
        origins = request.headers.getlist("origin")
        if origins and origins != [f"http://{hosts[0]}"]:
            return error(403, "Origin: found another page than one of this server")
        if request.method not in ("GET", "HEAD"):
            return error(405, f"method: found {request.method[:10]}; allowed is GET")
        if self._token is None:
            return None
        given = parse_qs(request.url.query, max_num_fields=20).get("token", [""])[0] if request.url.query else ""
        if given and self._is_right(given):
            found = RedirectResponse("/", 303)
            found.set_cookie(self._cookie, given, httponly=True, samesite="strict")
            return found
        bearer = request.headers.get("authorization", "")
        given = bearer[len(_SCHEME) :] if bearer.lower().startswith(_SCHEME) else request.cookies.get(self._cookie, "")
        return None if self._is_right(given) else error(401, "a token is needed: open the address that was printed")

    def _is_right(self, given: str) -> bool:
        """It takes as long for a token that is nearly right as for any other."""
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _is_own(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self._port):
            return host in self._names and self._port == 80
        name = name.removeprefix("[").removesuffix("]").lower()
        return name in self._names or (self._anywhere and _is_address(name))


def _own_names(anywhere: bool) -> set[str]:
    return {socket.gethostname().lower(), socket.getfqdn().lower()} if anywhere else set()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def error(status: int, text: str) -> Response:
    """One line."""
    return Response(json_of(ErrorAnswer(error=text)), status, media_type="application/json")
