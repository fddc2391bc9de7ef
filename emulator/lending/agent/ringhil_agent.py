"""Agent of a guest that borrows a GPU: request, status, release (V1). One file, and nothing but Python's own library.

    python3 ringhil_agent.py HOST:PORT NODE request KIND SIZE
    python3 ringhil_agent.py HOST:PORT NODE status ID
    python3 ringhil_agent.py HOST:PORT NODE release ID

The token is in the environment: RINGHIL_TOKEN. Prints one line of JSON; exit code 0: done, 1: the server says no, 2: it
could not be asked.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import quote

LARGEST = 16384  # bytes of an answer
PATIENCE = 10.0  # seconds
_MEMBERS = ("id", "gpu", "state", "error")
_FORBIDDEN = frozenset('"\\/?#%')


class AgentError(Exception):
    """The server could not be asked: one line says why."""


class GuestAgent:
    """Asks one server for one guest. `server`: HOST:PORT; `node`: address of the guest, such as i-0000002d."""

    def __init__(self, server: str, token: str, node: str) -> None:
        self._server, self._token, self.node = server, token, node

    def request(self, kind: str, size: int) -> dict[str, Any]:
        """Ask for a GPU for work of this kind and size."""
        return self._asked("POST", "", {"node": _word(self.node), "kind": _word(kind), "size": size})

    def status(self, loan: str) -> dict[str, Any]:
        """What has become of a loan."""
        return self._asked("GET", loan)

    def release(self, loan: str) -> dict[str, Any]:
        """Give it back."""
        return self._asked("DELETE", loan)

    def _asked(self, method: str, loan: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """`http` (the status of the answer), `id`, `gpu`, `state`, `error`: text, "" where there is none."""
        path = f"/v1/loans/{quote(_word(loan), safe='')}" if loan or method != "POST" else "/v1/loans"
        headers = {"Authorization": f"Bearer {_word(self._token)}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            line = http.client.HTTPConnection(self._server, timeout=PATIENCE)
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            data = answer.read(LARGEST + 1)
            cut = bool(answer.length)
            line.close()
        except http.client.HTTPException:
            raise AgentError("what came is no answer of a lending server") from None
        except OSError as error:
            raise AgentError(f"{self._server}: {error.strerror or error}") from None
        found: Any = {}
        if data and len(data) <= LARGEST:
            try:
                found = json.loads(data)
            except (ValueError, RecursionError):
                found = None
        if not isinstance(found, dict) or cut or len(data) > LARGEST:
            raise AgentError("what came is no answer of a lending server")
        return {"http": answer.status, **{name: _text(found.get(name)) for name in _MEMBERS}}


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
                found = GuestAgent(server, _token(), node).request(kind, int(size))
            case [server, node, "status", loan]:
                found = GuestAgent(server, _token(), node).status(loan)
            case [server, node, "release", loan]:
                found = GuestAgent(server, _token(), node).release(loan)
            case _:
                raise AgentError("wanted is HOST:PORT NODE request KIND SIZE | status ID | release ID")
    except AgentError as error:
        print(f"ringhil_agent: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0 if 200 <= found["http"] < 300 else 1


def _token() -> str:
    token = os.environ.get("RINGHIL_TOKEN", "")
    if not token:
        raise AgentError("RINGHIL_TOKEN is not set; wanted is the token of the server")
    return token


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
