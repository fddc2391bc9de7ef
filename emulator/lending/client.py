"""Asks a server that lends GPUs, over HTTP: what `ringhil lend request`, `release`, `list` and `watch` do."""

import base64
import hashlib
import http.client
import json
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from ringhil.emulator.errors import RinghilError, printable
from ringhil.emulator.lending.handover import DIGEST_HEADER
from ringhil.emulator.pages.units import seconds

_MOST = 1 << 24  # bytes of an answer
_PATIENT = 30.0  # seconds
_MOST_TEXT = 500  # characters
_PIECE = 1 << 18  # bytes
_GZIP = 31  # what zlib calls it


class LendClientError(RinghilError, OSError):
    """The server can't be reached, or refuses. `status`: of HTTP; 0: no answer."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class UnwrittenDataError(RinghilError, OSError):
    """What came can't be written."""


class LendClient:
    """Of the server at `url`, with a token. `authority`: certificate of who has signed the server's, where the machine
    doesn't know it. Raises LendClientError, as all of it does."""

    def __init__(self, url: str, token: str, authority: Path | None = None) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise LendClientError(
                f"url: found {printable(url[:80])!r}; allowed is http://HOST:PORT or https://HOST:PORT"
            )
        if not token or not token.isascii() or not token.isprintable():
            raise LendClientError("token: it is empty, or has other characters than those of a token")
        self._url, self._token = url, token
        self._host, self._port = parts.hostname, port
        self._tls = _trusting(authority) if parts.scheme == "https" else None

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

    def data(self) -> list[dict[str, Any]]:
        """Name and size of each file that the server hands over."""
        found: list[dict[str, Any]] = self._ask("GET", "/v1/data")["data"]
        return found

    def fetch(self, name: str, to: IO[bytes], *, packed: bool) -> int:
        """Write what the server hands over by that name; the bytes of it. They are as the server has them: that is
        checked. Raises UnwrittenDataError, too."""
        headers = {"Accept-Encoding": "gzip" if packed else "identity"}
        with self._asked("GET", f"/v1/data/{quote(name, safe='')}", None, headers) as answer:
            if answer.status >= 400:
                raise self._refused(answer)
            wanted = answer.getheader(DIGEST_HEADER, "")
            digest, size = hashlib.sha256(), 0
            for piece in _unpacked(answer):
                digest.update(piece)
                size += len(piece)
                try:
                    to.write(piece)
                except OSError as error:
                    raise UnwrittenDataError(error.strerror or str(error)) from None
        if f"sha-256=:{base64.b64encode(digest.digest()).decode()}:" != wanted:
            raise LendClientError(f"{printable(name[:80])}: what came isn't what the server has; ask again")
        return size

    def _ask(self, method: str, path: str, document: object = None) -> dict[str, Any]:
        with self._asked(method, path, document, {}) as answer:
            if answer.status >= 400:
                raise self._refused(answer)
            return self._document(answer)

    @contextmanager
    def _asked(
        self, method: str, path: str, document: object, headers: dict[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        line = (
            http.client.HTTPConnection(self._host, self._port, timeout=_PATIENT)
            if self._tls is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=_PATIENT, context=self._tls)
        )
        headers = headers | {"Authorization": f"Bearer {self._token}"}
        body = None
        if document is not None:
            headers["Content-Type"], body = "application/json", json.dumps(document).encode()
        try:
            line.request(method, path, body, headers)
            yield line.getresponse()
        except (OSError, http.client.HTTPException, zlib.error) as error:
            if isinstance(error, RinghilError):
                raise
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if isinstance(error, ssl.SSLCertVerificationError):
                why = f"the server's certificate: {error.verify_message}"
            raise LendClientError(f"{printable(self._url[:80])}: {printable(why[:_MOST_TEXT])}") from None
        finally:
            line.close()

    def _document(self, answer: http.client.HTTPResponse) -> dict[str, Any]:
        try:
            found = json.loads(answer.read(_MOST))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise LendClientError(f"{printable(self._url[:80])}: status {answer.status}, and no JSON that is known")
        return found

    def _refused(self, answer: http.client.HTTPResponse) -> LendClientError:
        found = self._document(answer)
        text = printable(str(found.get("error", "refused"))[:_MOST_TEXT])
        wait = found.get("free_in_s")
        if isinstance(wait, int | float):
            text += f"; one may be free in {seconds(wait)} of the run's clock"
        return LendClientError(text, answer.status)


def _trusting(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        why = "found no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror or str(error)
        raise LendClientError(f"--ca: {authority}: {why}") from None


def _unpacked(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """The content in pieces; a packed one never grows beyond them."""
    coded = answer.getheader("Content-Encoding", "identity")
    if coded not in ("gzip", "identity"):
        raise http.client.HTTPException(f"found the coding {coded[:40]!r}; asked for was gzip or identity")
    packer = zlib.decompressobj(_GZIP) if coded == "gzip" else None
    while data := answer.read(_PIECE):
        if packer is None:
            yield data
            continue
        while data:
            yield packer.decompress(data, _PIECE)
            data = packer.unconsumed_tail
    if packer is not None and not packer.eof:
        raise http.client.HTTPException("the answer breaks off")
    if answer.length:
        raise http.client.HTTPException("the answer breaks off")
