"""Agent of a guest that borrows a GPU: request, status, release (V1), data of the server's (V6). One file, and nothing
but Python's own library.

    python3 ringhil_agent.py SERVER NODE request KIND SIZE
    python3 ringhil_agent.py SERVER NODE status ID
    python3 ringhil_agent.py SERVER NODE release ID
    python3 ringhil_agent.py SERVER NODE data NAME FILE

SERVER: HOST:PORT, or https://HOST:PORT. The token is in the environment, RINGHIL_TOKEN, and for HTTPS the file of the
authority's certificate, RINGHIL_CA. Prints one line of JSON; exit code 0: done, 1: the server says no, 2: it could not
be asked.
"""

import base64
import hashlib
import http.client
import json
import os
import ssl
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

LARGEST = 16384  # bytes of an answer
PATIENCE = 10.0  # seconds
_PIECE = 1 << 18  # bytes
_MEMBERS = ("id", "gpu", "state", "error")
_FORBIDDEN = frozenset('"\\/?#%')


class AgentError(Exception):
    """The server could not be asked: one line says why."""


class GuestAgent:
    """Asks one server for one guest. `server`: HOST:PORT, or https://HOST:PORT, whose certificate is signed by that in
    the file `authority`; `node`: address of the guest, such as i-0000002d."""

    def __init__(self, server: str, token: str, node: str, authority: str = "") -> None:
        self._server, self._token, self.node = server.removeprefix("https://"), token, node
        self._tls = None
        if server.startswith("https://"):
            try:
                self._tls = ssl.create_default_context(cafile=authority or None)
            except OSError as error:
                raise AgentError(f"RINGHIL_CA: {authority}: {error.strerror or error}") from None

    def request(self, kind: str, size: int) -> dict[str, Any]:
        """Ask for a GPU for work of this kind and size."""
        return self._asked("POST", "", {"node": _word(self.node), "kind": _word(kind), "size": size})

    def status(self, loan: str) -> dict[str, Any]:
        """What has become of a loan."""
        return self._asked("GET", loan)

    def release(self, loan: str) -> dict[str, Any]:
        """Give it back."""
        return self._asked("DELETE", loan)

    def data(self, name: str, file: str) -> dict[str, Any]:
        """Have a file of the server's, packed on its way: whole and as it is there, or not at all. `size`: bytes."""
        line, answer = self._sent("GET", f"/v1/data/{quote(_word(name), safe='')}", None, {"Accept-Encoding": "gzip"})
        part = Path(f"{file}.{os.getpid()}.part")
        try:
            if answer.status >= 400:
                return self._read(answer)
            size, digest = _write(answer, part)
            if f"sha-256=:{digest}:" != answer.getheader("Unencoded-Digest"):
                raise AgentError(f"{name}: what came isn't what the server has; ask again")
            part.replace(file)
        except (http.client.HTTPException, zlib.error):
            raise AgentError(f"{name}: it broke off") from None
        except OSError as error:
            raise AgentError(f"{name}: {file}: {error.strerror or error}") from None
        finally:
            line.close()
            with suppress(OSError):
                part.unlink()
        return {"http": answer.status, **dict.fromkeys(_MEMBERS, ""), "size": size}

    def _asked(self, method: str, loan: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """`http` (the status of the answer), `id`, `gpu`, `state`, `error`: text, "" where there is none."""
        path = f"/v1/loans/{quote(_word(loan), safe='')}" if loan or method != "POST" else "/v1/loans"
        line, answer = self._sent(method, path, body, {})
        try:
            return self._read(answer)
        except http.client.HTTPException:
            raise AgentError("what came is no answer of a lending server") from None
        except OSError as error:
            raise AgentError(f"{self._server}: {error.strerror or error}") from None
        finally:
            line.close()

    def _sent(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = {"Authorization": f"Bearer {_word(self._token)}", **headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            line = (
                http.client.HTTPConnection(self._server, timeout=PATIENCE)
                if self._tls is None
                else http.client.HTTPSConnection(self._server, timeout=PATIENCE, context=self._tls)
            )
            line.request(method, path, None if body is None else json.dumps(body), headers)
            return line, line.getresponse()
        except http.client.HTTPException:
            raise AgentError("what came is no answer of a lending server") from None
        except ssl.SSLCertVerificationError as error:
            raise AgentError(f"{self._server}: its certificate: {error.verify_message}") from None
        except OSError as error:
            raise AgentError(f"{self._server}: {error.strerror or error}") from None

    def _read(self, answer: http.client.HTTPResponse) -> dict[str, Any]:
        data = answer.read(LARGEST + 1)
        found: Any = {}
        if data and len(data) <= LARGEST:
            try:
                found = json.loads(data)
            except (ValueError, RecursionError):
                found = None
        if not isinstance(found, dict) or answer.length or len(data) > LARGEST:
            raise AgentError("what came is no answer of a lending server")
        return {"http": answer.status, **{name: _text(found.get(name)) for name in _MEMBERS}}


def _write(answer: http.client.HTTPResponse, file: Path) -> tuple[int, str]:
    """Bytes and SHA-256 of what came, unpacked piece by piece."""
    digest, size = hashlib.sha256(), 0
    packer = zlib.decompressobj(31) if answer.getheader("Content-Encoding") == "gzip" else None
    with file.open("wb") as opened:
        while data := answer.read(_PIECE):
            while data:
                piece = data if packer is None else packer.decompress(data, _PIECE)
                data = b"" if packer is None else packer.unconsumed_tail
                digest.update(piece)
                size += len(piece)
                opened.write(piece)
    return size, base64.b64encode(digest.digest()).decode()


def _text(value: Any) -> str:
    """Of a member that is a string or a number."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _word(text: str) -> str:
    """Raises AgentError for what could end a line, a string or a path."""
    if not text or not all("!" <= each <= "~" and each not in _FORBIDDEN for each in text):
        raise AgentError("a word is empty, or has characters that no word here may have")
    return text


def main(words: list[str]) -> int:
    """The command."""
    try:
        match words:
            case [server, node, "request", kind, size]:
                if not size.isascii() or not size.isdigit():
                    raise AgentError("SIZE is no number")
                found = _agent(server, node).request(kind, int(size))
            case [server, node, "status", loan]:
                found = _agent(server, node).status(loan)
            case [server, node, "release", loan]:
                found = _agent(server, node).release(loan)
            case [server, node, "data", name, file]:
                found = _agent(server, node).data(name, file)
            case _:
                raise AgentError("wanted is SERVER NODE request KIND SIZE | status ID | release ID | data NAME FILE")
    except AgentError as error:
        print(f"ringhil_agent: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(json.dumps(found))
    return 0 if 200 <= found["http"] < 300 else 1


def _agent(server: str, node: str) -> GuestAgent:
    token = os.environ.get("RINGHIL_TOKEN", "")
    if not token:
        raise AgentError("RINGHIL_TOKEN is not set; wanted is the token of the server")
    return GuestAgent(server, token, node, os.environ.get("RINGHIL_CA", ""))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
