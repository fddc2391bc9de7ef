"""Asks a server that lends GPUs, over HTTP: what `ringhil lend request`, `release`, `list` and `watch` do."""

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ringhil.emulator.errors import RinghilError, printable

_MOST = 1 << 24  # bytes of an answer
_PATIENT = 30.0  # seconds
_MOST_TEXT = 500  # characters


class LendClientError(RinghilError, OSError):
    """The server can't be reached, or refuses. `status`: of HTTP; 0: no answer."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class LendClient:
    """Of the server at `url`, with a token. Raises LendClientError, as all of it does."""

    def __init__(self, url: str, token: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise LendClientError(f"url: found {printable(url[:80])!r}; allowed is http://HOST:PORT")
        if not token or not token.isascii() or not token.isprintable():
            raise LendClientError("token: it is empty, or has other characters than those of a token")
        self._url, self._token = url, token
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port

    def request(self, wish: Mapping[str, object]) -> dict[str, Any]:
        """A loan."""
        return self._ask("POST", "/v1/loans", {name: value for name, value in wish.items() if value is not None})

    def release(self, loan: int) -> dict[str, Any]:
        """The loan, on its way back."""
        return self._ask("DELETE", f"/v1/loans/{loan}")

    def loan(self, loan: int) -> dict[str, Any]:
        """That loan."""
        return self._ask("GET", f"/v1/loans/{loan}")

    def loans(self) -> list[dict[str, Any]]:
        """The newest first."""
        found: list[dict[str, Any]] = self._ask("GET", "/v1/loans")["loans"]
        return found

    def gpus(self) -> dict[str, Any]:
        """All, and the time of the run."""
        return self._ask("GET", "/v1/gpus")

    def _ask(self, method: str, path: str, document: object = None) -> dict[str, Any]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        line = kind(self._host, self._port, timeout=_PATIENT)
        headers = {"Authorization": f"Bearer {self._token}"}
        body = None
        if document is not None:
            headers["Content-Type"], body = "application/json", json.dumps(document).encode()
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            data = answer.read(_MOST)
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise LendClientError(f"{printable(self._url[:80])}: {printable(why[:_MOST_TEXT])}") from None
        finally:
            line.close()
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise LendClientError(f"{printable(self._url[:80])}: status {answer.status}, and no JSON that is known")
        if answer.status >= 400:
            text = printable(str(found.get("error", "refused"))[:_MOST_TEXT])
            wait = found.get("free_in_s")
            if isinstance(wait, int | float):
                text += f"; one may be free in {wait:.3g} s of the run's clock"
            raise LendClientError(text, answer.status)
        return found
