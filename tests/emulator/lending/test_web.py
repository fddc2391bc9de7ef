"""Asking for GPUs over HTTP: what strangers, other guests and bad input get, and that nothing changes by it (V1)."""

import http.client
import json
import socket
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode

from ringhil.emulator.lending.rates import RequestRate
from ringhil.emulator.lending.tokens import node_token

from .served import TOKEN, Served, served
from .world import GPUS, NODES

WISH = {"node": NODES[0], "kind": "training"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For what changes nothing."""
    with served(tmp_path_factory.mktemp("web")) as found:
        yield found


def test_a_gpu_is_lent_used_given_back_and_counted_again(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        made = server.ask("POST", "/v1/loans", WISH | {"size": 1 << 20, "time": 12.5})
        assert made.status == 201
        assert made.document["state"] == "bound"
        functions = ElementTree.fromstring(f"<devices>{made.document['hostdev']}</devices>").findall("hostdev")
        assert len(functions) == 2
        number = made.document["id"]
        again = server.ask("POST", "/v1/loans", WISH)
        assert (again.status, again.document["id"]) == (200, number)
        _wait(server, number, "in_guest")
        (gpu,) = (each for each in server.ask("GET", "/v1/gpus").document["gpus"] if each["loan"] == number)
        assert (gpu["gpu"], gpu["node"], gpu["state"]) == (made.document["gpu"], NODES[0], "in_guest")
        assert server.ask("DELETE", f"/v1/loans/{number}").document["released"] is True
        assert _wait(server, number, "free")["time"] == 12.5
        gpus = server.ask("GET", "/v1/gpus").document["gpus"]
        assert {each["state"] for each in gpus} == {"free"}
        assert [row["loans"] for row in server.ask("GET", "/v1/usage").document["usage"]].count(1) == 1


def test_nothing_free_is_a_conflict_that_says_when(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for node in NODES:
            assert server.ask("POST", "/v1/loans", WISH | {"node": node}).status == 201
        refused = server.ask("POST", "/v1/loans", WISH | {"node": "i-00000077"})
        assert refused.status == 409
        assert refused.document["free_in_s"] > 0
        assert int(refused.headers["retry-after"]) >= refused.document["free_in_s"]


def test_work_that_no_gpu_is_large_enough_for_is_a_conflict_for_good(shared: Served) -> None:
    refused = shared.ask("POST", "/v1/loans", WISH | {"size": 1 << 40})
    assert (refused.status, refused.document["free_in_s"]) == (409, None)
    assert "at most 1073741824 bytes" in refused.document["error"]


def test_holders_of_contexts_are_named_in_the_conflict(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.world.host.contexts = dict.fromkeys(GPUS, ("bert", "nn"))
        refused = server.ask("POST", "/v1/loans", WISH)
        assert refused.status == 409
        assert refused.document["holders"] == {gpu: ["bert", "nn"] for gpu in GPUS}


@pytest.mark.parametrize(
    ("status", "method", "path", "body", "token"),
    [
        (401, "GET", "/v1/gpus", None, None),
        (401, "GET", "/openapi.json", None, None),
        (401, "GET", "/v1/gpus", None, TOKEN[:-1]),
        (401, "GET", "/v1/gpus", None, TOKEN + "x"),
        (401, "POST", "/v1/loans", WISH, node_token("another-operators-token-than-that", NODES[0])),
        (401, "POST", "/v1/loans", WISH, node_token(TOKEN, NODES[1]).replace(NODES[1], NODES[0])),
        (403, "POST", "/v1/loans", WISH, node_token(TOKEN, NODES[1])),
        (403, "GET", "/v1/usage", None, node_token(TOKEN, NODES[1])),
        (404, "GET", "/v1/loans/77", None, TOKEN),
        (404, "GET", "/v1/loans/99999999999999999999999", None, TOKEN),
        (404, "DELETE", "/v1/loans/../../etc/passwd", None, TOKEN),
        (404, "GET", "/", None, TOKEN),
        (404, "POST", "/v1/loans", WISH | {"gpu": "b.9"}, TOKEN),
        (404, "POST", "/v1/loans", WISH | {"mapping": "video"}, TOKEN),
        (405, "PUT", "/v1/loans", WISH, TOKEN),
        (413, "POST", "/v1/loans", WISH | {"kind": "x" * 20_000}, TOKEN),
        (422, "POST", "/v1/loans", b"", TOKEN),
        (422, "POST", "/v1/loans", b'{"node": "i-000', TOKEN),
        (422, "POST", "/v1/loans", b"[" * 10_000, TOKEN),
        (422, "POST", "/v1/loans", b"\xff\xfe", TOKEN),
        (422, "POST", "/v1/loans", b'{"node": "i-00000001", "kind": "a", "time": NaN}', TOKEN),
        (422, "POST", "/v1/loans", [], TOKEN),
        (422, "POST", "/v1/loans", {"node": NODES[0]}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"node": "i-0000002d\n"}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"node": "I-0000002D"}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"kind": "../x"}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"size": -1}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"size": 1 << 60}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"size": True}, TOKEN),
        (422, "POST", "/v1/loans", WISH | {"root": 1}, TOKEN),
    ],
)
def test_who_may_not_and_what_is_wrong_changes_nothing(
    shared: Served, status: int, method: str, path: str, body: object, token: str | None
) -> None:
    answer = shared.ask(method, path, body, token=token)
    assert answer.status == status
    assert list(answer.document) == ["error"]
    assert "\n" not in answer.document["error"]
    assert ("token is needed" in answer.document["error"]) == (token is None)
    assert shared.ask("GET", "/v1/loans").document == {"loans": []}


def test_a_body_that_is_no_json_by_its_type_is_refused(shared: Served) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert shared.ask("POST", "/v1/loans", json.dumps(WISH).encode(), **headers).status == 415


def test_another_guests_loan_is_not_seen_and_not_released(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        mine, other = node_token(TOKEN, NODES[0]), node_token(TOKEN, NODES[1])
        made = server.ask("POST", "/v1/loans", WISH, token=mine)
        assert made.status == 201
        path = f"/v1/loans/{made.document['id']}"
        assert server.ask("GET", path, token=other).status == 403
        assert server.ask("DELETE", path, token=other).status == 403
        assert server.ask("GET", "/v1/loans", token=other).document == {"loans": []}
        told = json.dumps(server.ask("GET", "/v1/gpus", token=other).document)
        assert NODES[0] not in told
        assert server.ask("GET", path, token=mine).document["released"] is False
        assert server.ask("DELETE", path, token=mine).status == 200


@pytest.mark.rest
def test_one_client_that_asks_too_often_slows_no_other(tmp_path: Path) -> None:
    """It gets 429 with the time to wait; all that another one asks meanwhile is answered."""
    with served(tmp_path, RequestRate(50, 20)) as server:
        mine = {"Authorization": f"Bearer {node_token(TOKEN, NODES[0])}"}
        lines = [http.client.HTTPConnection("127.0.0.1", server.web.port, timeout=30) for _ in range(40)]
        codes = Counter[int]()
        began = time.monotonic()
        for _ in range(3):
            for line in lines:
                line.request("GET", "/v1/gpus", headers=mine)
            assert server.ask("GET", "/v1/gpus").status == 200
            for line in lines:
                answer = line.getresponse()
                answer.read()
                codes[answer.status] += 1
                if answer.status == 429:
                    assert int(answer.headers["retry-after"]) >= 1
        took = time.monotonic() - began
        for line in lines:
            line.close()
        assert set(codes) == {200, 429}
        assert codes[200] <= 20 + 50 * took + 1


def test_whoever_takes_all_connections_keeps_nobody_out(tmp_path: Path) -> None:
    with served(tmp_path, RequestRate(50, 20), most=12) as server:
        mine = {"Authorization": f"Bearer {TOKEN}"}
        kept = http.client.HTTPConnection("127.0.0.1", server.web.port, timeout=30)
        others = []
        for number in range(60):
            others.append(socket.create_connection(("127.0.0.1", server.web.port), timeout=20))
            others[-1].sendall(b"GET /v1/gpus HTTP/1.1\r\nHost: x\r\n" + b"\r\n" * (number % 2))
            if number % 5 == 0:
                kept.request("GET", "/v1/gpus", headers=mine)
                assert kept.getresponse().read()
        assert kept.sock is not None
        assert server.ask("GET", "/v1/gpus").status == 200
        for line in others:
            line.close()
        kept.close()


@pytest.mark.parametrize(
    "said",
    [
        b"GET /" + b"a" * 70_000,
        b"GET /v1/gpus HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70_000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" * 20,
        b"POST /v1/loans HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/loans HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_ends_its_own_connection_only(shared: Served, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", shared.web.port), timeout=20) as line:
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        first = line.recv(100)
    assert first == b"" or first.split()[1] in (b"400", b"401", b"431")
    assert shared.ask("GET", "/v1/gpus").status == 200


@pytest.mark.rest
def test_the_openapi_document_says_what_is_done(tmp_path: Path) -> None:
    """Requests made up from the document, right and wrong ones: each answer is one that the document has."""
    with served(tmp_path, data=tmp_path) as server:
        document = server.ask("GET", "/openapi.json").document
        asked = Counter[str]()
        for found in schemathesis.openapi.from_dict(document).get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]
            for mode in GenerationMode:
                if mode is GenerationMode.POSITIVE or operation.body or operation.path_parameters:
                    _fuzz(server, operation.as_strategy(generation_mode=mode), asked)
        assert set(asked) == {f"{method.upper()} {path}" for path, of in document["paths"].items() for method in of} - {
            f"PARAMETERS {path}" for path in document["paths"]
        }


def _fuzz(server: Served, cases: SearchStrategy[Any], asked: Counter[str]) -> None:
    @settings(max_examples=8, suppress_health_check=list(HealthCheck))
    @given(case=cases)
    def one(case: schemathesis.Case[Any]) -> None:
        asked[f"{case.method} {case.operation.path}"] += 1
        case.call_and_validate(base_url=server.url, headers={"Authorization": f"Bearer {TOKEN}"})

    one()


def _wait(server: Served, number: int, state: str) -> dict[str, object]:
    for _ in range(1000):
        found: dict[str, object] = server.ask("GET", f"/v1/loans/{number}").document
        if found["state"] == state:
            return found
        time.sleep(0.01)
    raise AssertionError(f"loan {number} is {found['state']}, not {state}")
