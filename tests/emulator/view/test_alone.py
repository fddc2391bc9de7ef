"""A page that stands alone has what a server would say, and nothing of a recording in it becomes markup or code."""

import base64
import hashlib
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.trace.recording import Recording, RecordingWriter
from ringhil.emulator.view import alone
from ringhil.emulator.view.alone import embedded, in_one
from ringhil.emulator.view.messages import FailureAbout
from ringhil.emulator.view.playing import PlayedView

from .asking import Asked, asking

PAGE = {
    "index.html": (
        b'<!doctype html><html><head><title>t</title><link rel="icon" href="x.svg">'
        b'<link rel="stylesheet" crossorigin href="./page.css">'
        b'<script type="module" crossorigin src="./page.js"></script>'
        b"</head><body></body></html>",
        "text/html",
    ),
    "page.js": (b'document.title = "</script><script>alert(1)<!--";', "text/javascript"),
    "page.css": (b"b { color: red }", "text/css"),
}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</script ",
    "</SCRIPT/x",
    "<img src=x onerror=alert(1)>",
    "]]><svg onload=alert(1)>",
    "&lt;b&gt;",
    "\u202egnp.exe",
    "\u2066\u2028\u2029\0\x1b[31m",
    "\ud800",
    "'\"`${alert(1)}\\",
    "x" * 5000,
    "javascript:alert(1)",
]


class Parsed(HTMLParser):
    """Elements of a page, with the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag in ("script", "style"):
            self.texts.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self.texts[-1] = (self._inside, self.texts[-1][1] + data)


def told(text: str) -> Any:
    return json.loads(next(content for tag, content in Parsed(text).texts if content.startswith("{")))


@pytest.fixture(scope="module")
def page(recorded: Path) -> str:
    with DebugSession(recorded, cells_library()) as session:
        return in_one(PAGE, embedded(session))


@pytest.mark.rest
def test_it_needs_no_other_file_and_runs_no_other_script(page: str) -> None:
    parsed = Parsed(page)
    assert [tag for tag, _ in parsed.elements] == ["html", "head", "meta", "title", "style", "script", "script", "body"]
    assert not any({"src", "href"} & set(attributes) for _, attributes in parsed.elements)
    policy = str(parsed.elements[2][1]["content"])
    digest = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in parsed.texts]
    assert f"script-src 'sha256-{digest[1]}';" in policy
    assert f"style-src 'sha256-{digest[0]}';" in policy
    assert "unsafe" not in policy


@pytest.mark.rest
def test_it_has_what_a_server_says(page: str, asked: Asked) -> None:
    found = told(page)
    assert found["about"] == asked.get("about")
    for row in random.Random(1).sample(found["rows"], 30):
        assert row == asked.get(f"row/{row['number']}")
    for hops in found["hops"][::5]:
        assert hops == asked.get(f"hops/{hops['number']}")
    for picture in found["pictures"]:
        assert picture == asked.get("picture", cycle=picture["cycle"]) | {"until": picture["until"]}
    for one, other in zip(found["pictures"], found["pictures"][1:], strict=False):
        assert one["until"] + 1 == other["cycle"]
    passes = found["passes"][0]
    again = asked.get("passes", **{"from": passes["first"], "to": passes["last"]})
    assert passes == again


@pytest.mark.rest
def test_of_a_long_recording_it_keeps_what_is_around_faults(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (40, 300):
        monkeypatch.setattr(alone, "MOST_ROWS", most)
        monkeypatch.setattr(alone, "_MOST_PASSED", most)
        monkeypatch.setattr(alone, "_MOST_PICTURES", 5)
        monkeypatch.setattr(alone, "_HOPS", 1)
        with DebugSession(recorded, cells_library()) as session:
            found = embedded(session)
            numbers = [row.number for row in found.rows]
            assert numbers == sorted(set(numbers))
            assert len(numbers) <= most + len(found.windows)
            assert sum(len(passes.frames) for passes in found.passes) <= most
            struck = [event.number for event in session.recording.events() if "fault" in event.said]
            assert set(struck) <= set(numbers)
            assert found.about.rows in numbers


@pytest.mark.rest
def test_the_first_failure_comes_before_the_moments_that_were_asked_for(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "MOST_ROWS", 20)
    monkeypatch.setattr(alone, "_MOMENTS", 3)  # with the end
    failed = [FailureAbout(invariant="R1", text="t", at=1, place=None, row=row) for row in (100, 150)]
    monkeypatch.setattr(PlayedView, "begin", lambda _: (None, failed))
    with DebugSession(recorded, cells_library()) as session:
        numbers = [row.number for row in embedded(session, around=[50, 30]).rows]
    assert [row for row in (30, 50, 100, 150) if row in numbers] == [50, 100]


def hostile(path: Path, model: Path) -> list[str]:
    """A recording in whose every text something else stands; the texts."""
    chance = random.Random(5)
    with Recording(model) as recording:
        about = recording.about.model_copy(update={"name": "".join(HOSTILE[:3])})
        with RecordingWriter(path, about, recording.gpus) as writer:
            for item in recording.events():
                fields = {name: chance.choice(HOSTILE) for name in json.loads(item.fields)}
                fields |= {chance.choice(HOSTILE): [{"<b>": chance.choice(HOSTILE)}]}
                writer.event(item.cycle, item.cell, item.kind, fields)
            found = [{"invariant": text, "text": text, "at": 9000, "place": text} for text in HOSTILE]
            writer.end({"verdict": HOSTILE[0], "failures": HOSTILE, "violations": found})
    return HOSTILE


@pytest.mark.rest
def test_nothing_in_a_recording_becomes_markup(recorded: Path, tmp_path: Path, page: str) -> None:
    hostile(tmp_path / "h", recorded)
    with DebugSession(tmp_path / "h", cells_library()) as session:
        text = in_one(PAGE, embedded(session))
    elements = [(tag, attributes) for tag, attributes in Parsed(text).elements if tag != "meta"]
    assert elements == [(tag, attributes) for tag, attributes in Parsed(page).elements if tag != "meta"]
    assert Parsed(text).texts[:2] == Parsed(page).texts[:2]
    (data,) = (content for tag, content in Parsed(text).texts if content.startswith("{"))
    assert not {"<", ">", "&"} & set(data)  # so no tag can begin, or end, whatever a browser takes for one
    kept = told(text)["about"]
    assert (kept["verdict"], len(kept["failures"])) == (HOSTILE[0], len(HOSTILE))
    assert text.isascii() or not set("\u202e\u2066") & set(text)


def test_whatever_a_recording_holds_answers_are_json(recorded: Path, tmp_path: Path) -> None:
    hostile(tmp_path / "h", recorded)
    with asking(tmp_path / "h") as asked:
        last = asked.get("about")["rows"]
        assert len(asked.get("rows")["rows"]) == min(last, 500)
        for cycle in range(0, 40000, 5000):
            asked.get("picture", cycle=cycle)
        for number in range(1, last + 1):
            asked.get(f"row/{number}")
        asked.get("marks")
        asked.get("find", condition="kind == Struck")
        for text in HOSTILE:
            assert asked.ask("/api/find", condition=text.encode("utf-8", "replace")).status in (200, 400)
            assert asked.ask("/api/state", gpu=text.encode("utf-8", "replace"), number=1).status == 400
