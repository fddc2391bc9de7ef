"""`ringhil explore` as a user meets it: a process with arguments, output, files and an exit code."""

import io
import json
import os
import resource
import shlex
import signal
import sqlite3
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import command
from tests.emulator.campaign.explore.servers import LYING, RING, library
from tests.processes import alive

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.front.cli import explore as explore_command
from ringhil.emulator.front.cli.explore_tables import show
from ringhil.emulator.front.cli.main import main
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import load

SMALL = ("--faults", "dead,slow,link_cut", "--phases", "2", "--lasts", "left")
LONG = ("--phases", "all", "--jobs", "2")


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.yaml"
    file.write_text(RING)
    return file


ringhil = partial(command.ringhil, "explore")
refusal = partial(command.refusal, "explore")


def document(*arguments: object, code: int = 0) -> dict[str, Any]:
    done = ringhil(*arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def results(store: Path) -> list[tuple[Any, ...]]:
    """All that was found, without the number of the campaign."""
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT * FROM results ORDER BY campaign, number").fetchall()
    db.close()
    return [row[1:] for row in rows]


def test_the_document_says_what_was_played_and_found(ring: Path) -> None:
    found = document(ring, *SMALL)
    assert found["verdict"] == "pass"
    assert found["space"] == {"no fault": 1, "single faults": 24}
    assert (found["cases"], found["done"], found["covered"]) == (25, 25, 1.0)
    assert found["run"]["played"] == 25
    assert found["run"]["stopped"] is None
    classes = {c["class"]: c for c in found["classes"]}
    dead = classes["dead"]
    assert (dead["cases"], dead["detected"], dead["located"], dead["recovered"]) == (8, 8, dead["to_locate"], 8)
    assert 0 < dead["recovery"] <= dead["bound"]
    assert dead["worst"].endswith("left")
    assert dead["failure_rate_bound"] == pytest.approx(1 - 0.05 ** (1 / 8))
    assert found["total"]["cases"] == 25


@pytest.mark.rest
def test_people_get_a_table_and_a_verdict_and_no_progress_in_a_pipe(ring: Path) -> None:
    done = ringhil(ring, *SMALL)
    assert done.returncode == 0
    assert done.stderr == ""
    for words in ("detected", "located", "rate below", "covered 25 of 25 cases (100 %)", "verdict: pass"):
        assert words in done.stdout
    assert "with 95 % confidence" in done.stdout
    assert done.stdout.endswith("verdict: pass\n")
    part = ringhil(ring, *SMALL, "--number", 10, "--at-least", 0.4)
    assert (part.returncode, part.stderr) == (0, "")
    assert part.stdout.endswith("verdict: incomplete: 10 of 25 cases were played\n")
    few = ringhil(ring, *SMALL, "--number", 9, "--at-least", 0.4)
    assert few.returncode == 1
    assert few.stderr == f"ringhil: {ring}: 9 of 25 cases: --at-least asks for 40 % of them\n"


@pytest.mark.rest
def test_it_stops_by_number_and_says_how_much_is_covered_and_goes_on_later(ring: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    first = document(ring, *SMALL, "--store", store, "--number", 10)
    assert (first["done"], first["covered"], first["run"]["stopped"]) == (10, 0.4, "number")
    second = document(ring, *SMALL, "--store", store)
    assert (second["done"], second["run"]["played"], second["run"]["already_done"]) == (25, 15, 10)
    whole = tmp_path / "whole.sqlite"
    document(ring, *SMALL, "--store", whole, "--jobs", 3)
    assert results(store) == results(whole)
    assert document(ring, *SMALL, "--store", store)["run"]["played"] == 0
    assert document(ring, *SMALL, "--store", store, "--fresh")["campaign"] == 2


def test_it_stops_by_time_with_an_answer(ring: Path) -> None:
    for seconds in (0.5, 5, 50):  # a busy machine needs some to play the first case
        done = command.ringhil("explore", ring, "--phases", "all", "--depth", "3", "--time", seconds, "--json")
        if not done.stderr.endswith(": no case was played: --time was over before the first\n"):
            break
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["run"]["stopped"] == "time"
    assert 0 <= found["covered"] < 1
    assert found["verdict"] == "incomplete"


@pytest.mark.rest
def test_shards_are_the_whole_together(ring: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.sqlite"
    document(ring, *SMALL, "--store", whole)
    parts = []
    for part in ("1/2", "2/2"):
        store = tmp_path / f"{part[0]}.sqlite"
        found = document(ring, *SMALL, "--store", store, "--shard", part)
        assert found["done"] == found["cases"]
        parts += results(store)
    assert sorted(parts) == results(whole)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow(part="benches")),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow(part="benches")),
    ],
)
def test_an_interrupt_keeps_what_is_done_and_says_nothing_of_it(
    ring: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    store = tmp_path / "s.sqlite"
    running = started(ring, store, "--report", str(tmp_path / "r.html"))
    running.send_signal(number)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == code
    assert output == ""
    assert errors.strip() == ("ringhil: interrupted" if number == signal.SIGINT else "")
    assert not list(tmp_path.glob("*.html")) + list(tmp_path.glob(".*"))
    assert_goes_on(ring, store)


@pytest.mark.rest
def test_a_killed_campaign_goes_on_and_leaves_nobody_behind(ring: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    running = started(ring, store)
    running.kill()
    running.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while alive(-running.pid):
        assert time.monotonic() < deadline, "processes of a killed campaign go on"
        time.sleep(0.05)
    assert_goes_on(ring, store)


def started(ring: Path, store: Path, *options: str) -> subprocess.Popen[str]:
    """A long campaign that has committed some results."""
    arguments = ("explore", ring, *LONG, "--store", store, *options)
    running = command.started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if store.exists() and committed(store):
            return running
        time.sleep(0.02)
    running.kill()
    raise AssertionError("no result in two minutes")


def committed(store: Path) -> int:
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is just being made
    finally:
        db.close()


def assert_goes_on(ring: Path, store: Path) -> None:
    """What is there stays, and nothing is played twice."""
    before = results(store)
    assert before
    more = document(ring, *LONG, "--store", store, "--number", 5)
    assert more["run"]["already_done"] == len(before)
    after = results(store)
    assert len(after) == len(before) + 5
    assert set(before) <= set(after)
    assert len({row[1] for row in after}) == len(after)


@pytest.mark.rest
def test_a_full_disk_ends_in_one_line_and_an_intact_store(ring: Path, tmp_path: Path) -> None:
    store, size = tmp_path / "s.sqlite", 80_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    arguments = [*command.RINGHIL, "explore", str(ring), *LONG, "--lasts", "left", "--store", str(store)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False, preexec_fn=limited)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"{store}: " in line
    assert "results up to the last batch are kept, the same command goes on" in line
    with sqlite3.connect(store) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    kept = results(store)
    more = document(ring, *LONG, "--lasts", "left", "--store", store, "--number", 3)
    assert more["run"]["already_done"] == len(kept)
    assert set(kept) <= set(results(store))


def test_a_disk_without_room_leaves_no_empty_store(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(ExploreError, match=r"s\.sqlite: "):
            Store(tmp_path / "s.sqlite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rest
def test_failing_cases_are_written_made_small_and_fail_again(tmp_path: Path) -> None:
    lying, out = tmp_path / "lying.yaml", tmp_path / "out"
    lying.write_text(LYING)
    found = document(lying, "--faults", "skip_count,dead", "--phases", 2, "--lasts", "left", "--out", out, code=1)
    assert found["verdict"] == "fail"
    classes = {c["class"]: c for c in found["classes"]}
    assert classes["dead"]["failed"] == 0
    assert classes["skip_count"]["failed"] == len(found["failing"]) > 0
    assert classes["skip_count"]["failure_rate_bound"] is None
    for case in (found["failing"][0], found["failing"][-1]):
        words = shlex.split(case["replay"])
        assert words[:2] == ["ringhil", "run"]
        again = command.ringhil(*words[1:])
        assert again.returncode == 1, again.stdout
        for failure in case["failures"]:
            assert failure in again.stdout
    shrunk = Path(found["failing"][0]["shrunk"])
    assert command.ringhil(*shlex.split(found["failing"][0]["smallest"])[1:]).returncode == 1
    assert "gpus: 4" not in shrunk.read_text()


@pytest.mark.rest
def test_failing_cases_are_recorded(tmp_path: Path) -> None:
    lying, out = tmp_path / "lying.yaml", tmp_path / "out"
    lying.write_text(LYING)
    few = ("--faults", "skip_count", "--phases", 1, "--lasts", "left", "--no-shrink", "--out", out)
    found = document(lying, *few, "--record", code=1)
    case = found["failing"][0]
    assert case["recording"] == case["file"].replace(".yaml", ".rec")
    again = command.ringhil("replay", case["recording"])
    assert (again.returncode, "; verdict fail\nfailed: " in again.stdout) == (0, True), again.stdout
    assert case["doomed"] is None
    assert case["page"] == case["file"].replace(".yaml", ".html")
    assert '"invariant":"' in Path(case["page"]).read_text()
    Path(case["page"]).unlink()
    Path(case["page"]).mkdir()  # in its place
    run = command.ringhil("explore", lying, *few, "--record", "--json")
    again = json.loads(run.stdout)["failing"][0]
    assert (run.returncode, again["recording"], again["page"]) == (1, case["recording"], None)
    assert again["no_page"] == f"{Path(case['page']).name}: cannot be written: it is a folder; name a file"
    assert f"no page was left of 1 case: {again['no_page']}" in run.stderr
    assert all(each["recording"] is each["page"] is None for each in document(lying, *few, code=1)["failing"])
    line = refusal(lying, "--faults", "skip_count", "--phases", 1, "--record")
    assert line.endswith("--record: wanted is --out DIR, beside whose files the recordings are left")
    line = refusal(lying, *few, "--doomed")
    assert line.endswith("--doomed: wanted is --record, whose recordings are gone on from")


@pytest.mark.slow(part="bugs")
def test_since_when_a_case_was_to_fail_is_said(tmp_path: Path) -> None:
    lying, out = tmp_path / "lying.yaml", tmp_path / "out"
    lying.write_text(LYING)
    few = ("--faults", "skip_count", "--places", "a.2", "--phases", 1, "--lasts", "left", "--no-shrink")
    asked = ("--out", out, "--record", "--doomed", "--report", tmp_path / "r.html", "--json")
    done = command.ringhil("explore", lying, *few, *asked)
    case = json.loads(done.stdout)["failing"][0]
    (strikes,) = case["timeline"]
    for word in ("likely", "certain"):
        assert (case["doomed"][word]["main"]["kind"], case["doomed"][word]["after"]) == ("Struck", strikes["at"])
    assert f"certain: from cycle {strikes['at']} on" in (tmp_path / "r.html").read_text()


@pytest.mark.rest
def test_two_campaigns_are_compared(ring: Path, tmp_path: Path) -> None:
    lying = tmp_path / "lying.yaml"
    lying.write_text(LYING)
    arguments = ("--faults", "skip_count,slow", "--phases", "2", "--lasts", "left", "--places", "a.1")
    assert ringhil(ring, *arguments, "--store", tmp_path / "good").returncode == 0
    assert ringhil(lying, *arguments, "--store", tmp_path / "bad").returncode == 1
    same = document("compare", tmp_path / "good", tmp_path / "good")
    assert (same["worse"], same["slower"], same["only_new"]) == ([], [], [])
    assert same["both"] == 5
    done = ringhil("compare", tmp_path / "good", tmp_path / "bad")
    assert done.returncode == 1
    assert "passed before, and doesn't now" in done.stdout
    assert ringhil("compare", tmp_path / "bad", tmp_path / "good").returncode == 0


def test_a_store_is_queried(ring: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    document(ring, *SMALL, "--store", store)
    found = document("query", store, "--place", "a.2", "--class", "dead", "--order", "recovery")
    assert found["found"] == len(found["cases"]) == 2
    assert found["cases"][0]["recovery"] >= found["cases"][1]["recovery"]
    assert found["cases"][0]["timeline"][0]["gpu"] == "a.2"
    assert "2 of 24 cases" in ringhil("query", store, "--limit", "2", "--verdict", "pass", "--class", "[dsl]*").stdout
    (case,) = document("query", store, "--key", found["cases"][0]["key"], "--out", tmp_path / "out")["cases"]
    scenario = load(case["file"])
    again = Run(scenario, library()).run()
    assert (again.verdict, again.cycles) == ("pass", case["cycles"])
    (recovery,) = again.recoveries
    assert (recovery.recounted or 0) - recovery.at == case["recovery"]
    (campaign,) = document("query", store, "--campaigns")["campaigns"]
    assert (campaign["cases"], campaign["seed"]) == (25, 1)


WRONG = [
    ("unknown fault 'explode'; there are dead", "RING --faults explode"),
    ("'b.*' fits no place", "RING --places b.*"),
    ("--depth: 0", "RING --depth 0"),
    ("found 'many'", "RING --phases many"),
    ("found '-3'", "RING --lasts left,-3"),
    ("found '3/2'", "RING --shard 3/2"),
    ("cannot be read", "HERE/none.yaml"),
    ("not a store of campaigns", "RING --store HERE/foreign"),
    ("cannot be opened or made", "RING --store HERE/none/s"),
    ("cannot be written", "RING --report HERE/foreign/report.html"),
    ("cannot be written", "RING --report HERE"),
    ("that would take the place of what is read or kept", "RING --report RING"),
    ("that would take the place of what is read or kept", "RING --store HERE/s --report HERE/s"),
    ("foreign: cannot be written: it is no folder", "RING --out HERE/foreign"),
    ("pairs with --depth 1; it has to be 2 or more", "RING --parts pairs"),
    ("random with --depth 2; it has to be 3 or more", "RING --parts random --depth 2"),
    ("no such file", "query HERE/none"),
    ("not a store of campaigns", "compare HERE/foreign HERE/foreign"),
]


def test_what_cannot_be_is_refused_in_one_line(ring: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "foreign").write_text("x" * 5000)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        for words, arguments in WRONG:
            given = arguments.replace("RING", str(ring)).replace("HERE", str(tmp_path)).split()
            with pytest.raises(SystemExit) as left:
                main(["explore", *given])
            assert left.value.code == 2, arguments
            out, errors = capsys.readouterr()
            assert out == ""
            (line,) = errors.splitlines()
            assert words in line
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert (tmp_path / "foreign").read_text() == "x" * 5000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["foreign", "ring.yaml"]


def test_a_place_for_failing_cases_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    lying = tmp_path / "lying.yaml"
    lying.write_text(LYING)
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "out"
    line = refusal(lying, "--faults", "skip_count", "--phases", 1, "--lasts", "left", "--out", where)
    assert f"{where}: cannot be written" in line


def test_help_shows_the_plain_command_and_names_the_others() -> None:
    done = ringhil("--help")
    assert done.returncode == 0
    assert "SERVER.yaml" in done.stdout
    assert "ringhil explore compare OLD NEW" in " ".join(done.stdout.split())
    assert explore_command.command.name == "explore"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--shard", "26/30"), "there is none in this part of the space"),
        (("--time", "0.000001"), "--time was over before the first"),
    ],
)
def test_a_campaign_without_a_case_has_not_passed(
    ring: Path, tmp_path: Path, arguments: tuple[str, str], why: str
) -> None:
    report = tmp_path / "r.html"
    done = ringhil(ring, *SMALL, *arguments, "--json", "--report", report)
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["verdict"] == "not judged"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"ringhil: {ring}: no case was played: ")
    assert why in line
    assert "not judged" in report.read_text()
    table = ringhil(ring, *SMALL, *arguments)
    assert (table.returncode, "verdict: pass" in table.stdout) == (2, False)


def test_cases_that_fail_alike_are_counted_as_one(tmp_path: Path) -> None:
    file = tmp_path / "lying.yaml"
    file.write_text(LYING)
    report = tmp_path / "made" / "report.html"
    github = os.environ | {"GITHUB_ACTIONS": "true"}
    done = ringhil(file, "--faults", "skip_count", "--phases", "2", "--json", "--report", report, env=github)
    assert report.exists()
    found = json.loads(done.stdout)
    told = [
        f"::error file={file},line=1,title=ringhil explore::{one['cases']} x {one['sort']}" for one in found["sorts"]
    ]
    assert [line.partition("%0A")[0] for line in done.stderr.splitlines()] == told
    assert found["total"]["failed"] > len(found["sorts"]) > 0
    assert sum(one["cases"] for one in found["sorts"]) == found["total"]["failed"]
    keys = {case["key"] for case in found["failing"]}
    assert all(one["first"] in keys for one in found["sorts"])
    console = Console(record=True, width=200, file=io.StringIO())
    show(found, console)
    rows = [line.split("  ")[0] for line in console.export_text().splitlines()[2:4]]
    assert rows == ["skip_count", "no fault"]  # what failed comes first
