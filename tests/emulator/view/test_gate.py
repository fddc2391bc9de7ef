"""Whom the page's server answers: its own pages, at its own names, with the token where one is wanted."""

import random
from pathlib import Path

import pytest

from .asking import PORT, Asked, asking

TOKEN = "the-token-of-these-tests-0123456789"
OWN = [("host", f"127.0.0.1:{PORT}")]
FOREIGN = [
    [],
    [("host", "evil.example")],
    [("host", f"evil.example:{PORT}")],
    [("host", "127.0.0.1")],
    [("host", "127.0.0.1:80")],
    [("host", f"127.0.0.1:{PORT}@evil.example")],
    [("host", f"127.0.0.1.evil.example:{PORT}")],
    [*OWN, ("host", "evil.example")],
    [*OWN, ("origin", "http://evil.example")],
    [*OWN, ("origin", "null")],
    [*OWN, ("origin", f"https://127.0.0.1:{PORT}")],
    [*OWN, ("origin", f"http://localhost:{PORT}")],
    [*OWN, ("origin", f"http://127.0.0.1:{PORT}"), ("origin", "http://evil.example")],
]
PATHS = ["/", "/assets/a.js", "/api/about", "/api/rows"]


@pytest.mark.parametrize("headers", FOREIGN)
def test_who_comes_from_elsewhere_gets_nothing(asked: Asked, headers: list[tuple[str, str]]) -> None:
    for path in PATHS:
        found = asked.ask(path, headers=headers)
        assert (found.status, set(found.json)) == (403, {"error"})


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_its_own_pages_get_all(asked: Asked, name: str) -> None:
    for path in PATHS:
        for more in ([], [("origin", f"http://{name}:{PORT}")]):
            assert asked.ask(path, headers=[("host", f"{name}:{PORT}"), *more]).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_it_is_only_read(asked: Asked, method: str) -> None:
    for path in PATHS:
        assert asked.ask(path, method=method).status == 405


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/assets/../../messages.py", "/..%2f", "//etc/passwd", "/assets", "/\0", "/index.html/"],
)
def test_no_other_file_can_be_asked_for(asked: Asked, path: str) -> None:
    assert asked.ask(path).status in (307, 404)


def test_every_answer_has_a_strict_policy(asked: Asked) -> None:
    for path in [*PATHS, "/nothing", "/api/rows?from=x"]:
        for headers in (OWN, FOREIGN[1]):
            found = asked.ask(path, headers=headers).headers
            policy = dict(part.split(" ", 1) for part in found["content-security-policy"].split("; "))
            assert policy["default-src"] == "'none'"
            assert not any("unsafe" in value or "*" in value or "http" in value for value in policy.values())
            assert found["x-content-type-options"] == "nosniff"
            assert found["cross-origin-resource-policy"] == "same-origin"
            assert "access-control-allow-origin" not in found


def test_with_a_token_nothing_is_told_without(recorded: Path) -> None:
    chance = random.Random(3)
    wrong = [
        "",
        "x",
        TOKEN[:-1],
        f"{TOKEN} ",
        TOKEN.upper(),
        *("".join(chance.sample(TOKEN, len(TOKEN))) for _ in range(5)),
    ]
    with asking(recorded, token=TOKEN) as asked:
        for path in PATHS:
            for given in ([], *([("authorization", f"Bearer {each}")] for each in wrong)):
                assert asked.ask(path, headers=[*OWN, *given]).status == 401
            assert asked.ask(path, token="é").status == 401
            assert asked.ask(path, headers=[*OWN, ("authorization", f"Bearer {TOKEN}")]).status == 200


def test_the_token_of_the_address_becomes_a_cookie(recorded: Path) -> None:
    with asking(recorded, token=TOKEN) as asked:
        first = asked.ask("/", token=TOKEN)
        assert (first.status, first.headers["location"]) == (303, "/")
        cookie, *rest = first.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict"} <= set(rest)
        assert first.headers["referrer-policy"] == "no-referrer"
        assert asked.ask("/api/about", headers=[*OWN, ("cookie", cookie)]).status == 200
        assert asked.ask("/api/about", headers=[("host", "evil.example"), ("cookie", cookie)]).status == 403


def test_at_all_addresses_it_answers_to_addresses_only(recorded: Path) -> None:
    with asking(recorded, host="0.0.0.0", token=TOKEN) as asked:
        right = ("authorization", f"Bearer {TOKEN}")
        assert asked.ask("/", headers=[("host", f"192.0.2.7:{PORT}"), right]).status == 200
        assert asked.ask("/", headers=[("host", f"evil.example:{PORT}"), right]).status == 403
