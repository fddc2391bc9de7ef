"""What a failing variant leaves is enough to see the same failure again."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.emulator.trace.waves.read_back import changes_in

from ringhil.emulator.campaign.verify.evidence import Evidence, Replay
from ringhil.emulator.campaign.verify.judge import failures
from ringhil.emulator.campaign.verify.window import AFTER, LONGEST, SHORTEST, record, window
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.hardware import Advanced
from ringhil.emulator.front.cli.main import main
from ringhil.emulator.judge.findings import Finding, Name, say
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import load, loads
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.trace.waves import WaveWriter

from .files import BAD, GOOD, SWEEP, ringhil, write


def test_the_folder_replays_the_failure(tmp_path: Path) -> None:
    write(tmp_path, sweep=SWEEP)
    done = ringhil(tmp_path, "verify", ".", "--seed", "5", "--json", "--out", "here/left")
    failed = [r for r in json.loads(done.stdout)["results"] if r["verdict"] == "fail"]
    assert [r["left"] for r in failed] == [f"here/left/sweep.{n:05d}" for n in (1, 2, 3, 4)]
    for result in failed:
        folder = tmp_path / result["left"]
        facts = json.loads((folder / "replay.json").read_text())
        assert sorted(p.name for p in folder.iterdir()) == ["replay.json", "scenario.yaml"]
        assert facts["parameters"] == result["parameters"]
        assert (facts["file"], facts["seed"], facts["failures"]) == ("sweep.yaml", 5, result["failures"])
        assert facts["rtl"] == json.loads(done.stdout)["rtl"]
        again = ringhil(folder, "run", "scenario.yaml", "--json")
        assert again.returncode == 1
        outcome = json.loads(again.stdout)
        assert outcome["cycles"] == result["cycles"]
        assert outcome["engine"]["rtl"] == facts["rtl"]
        (text,) = outcome["failures"]
        assert text.partition(": ")[2] == result["failures"][0]["text"]
    words = json.loads((tmp_path / failed[0]["left"] / "replay.json").read_text())["replay"]
    assert words == "ringhil verify sweep.yaml --select '[gpu=a.1,at=3000]' --seed 5"


def test_what_an_earlier_run_left_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    for seed in ("1", "2"):
        ringhil(tmp_path, "verify", ".", "--seed", seed)
    assert load(tmp_path / "ringhil-verify" / "bad" / "scenario.yaml").seed == 2
    assert sorted(p.name for p in (tmp_path / "ringhil-verify").iterdir()) == [".last-failed", "bad"]
    assert len(json.loads(ringhil(tmp_path, "verify", ".", "--json").stdout)["results"]) == 1, "and not found as a test"


def test_what_a_process_that_died_has_begun_is_no_part_of_it(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    begun = tmp_path / "ringhil-verify" / ".bad.verify-partial"
    begun.mkdir(parents=True)
    (begun / "waves.fst").touch()
    ringhil(tmp_path, "verify", ".")
    assert sorted(p.name for p in begun.parent.iterdir()) == [".last-failed", "bad"]
    assert sorted(p.name for p in (begun.parent / "bad").iterdir()) == ["replay.json", "scenario.yaml"]


def test_a_folder_is_made_only_when_something_fails_and_an_old_one_stays(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    assert ringhil(tmp_path, "verify", ".", "--out", "left").returncode == 0
    assert not (tmp_path / "left").exists()
    (tmp_path / "left").mkdir()
    assert ringhil(tmp_path, "verify", ".", "--out", "left").returncode == 0
    assert (tmp_path / "left").is_dir()


def test_folders_of_different_files_are_different(tmp_path: Path) -> None:
    files = [Path(name) for name in ("a/b.yaml", "a-b.yaml", "a-b.json", "../a/b.yml", "ü/ü.yaml", "x" * 300 + ".yaml")]
    evidence = Evidence.below(tmp_path / "out", files, Replay(), "1", waves=False, record=False)
    names = [evidence.names[file] for file in files]
    assert len(set(names)) == len(names)
    assert all(name and len(name) < 120 and not set(name) & set("/\\ ") and name[0] != "." for name in names)


def test_a_file_with_a_number_in_its_name_has_not_the_folder_of_a_variant(tmp_path: Path) -> None:
    write(tmp_path, sweep=SWEEP, **{"sweep.00001": BAD, "sweep-00001": BAD})
    results = json.loads(ringhil(tmp_path, "verify", ".", "--json").stdout)["results"]
    left = {r["id"]: tmp_path / r["left"] for r in results if r["left"] is not None}
    assert len(set(left.values())) == len(left) == 6
    for name, folder in left.items():
        facts = json.loads((folder / "replay.json").read_text())
        assert name == facts["file"] + (f"[{facts['variant']}]" if facts["variant"] else "")


def values(changes: list[tuple[int, int]], cycles: range) -> list[int]:
    """What held in each of the cycles."""
    now, answer, place = -1, [], 0
    for cycle in cycles:
        while place < len(changes) and changes[place][0] <= cycle:
            now = changes[place][1]
            place += 1
        answer.append(now)
    return answer


def test_failures_name_line_and_cycle() -> None:
    text = (
        "server: {cards: {a: {gpus: 4}}}\n"
        "timeline:\n"
        "  - {at: 3000, fault: dead, gpu: a.2}\n"
        "until: 9000\n"
        "expect:\n"
        "  - {always: true, count: {a: 4}}\n"
        "  - {by: 7000, count: {a: 4}}\n"
        "  - {by: 7500, count: {a: 2}}\n"
    )
    scenario = loads(text)
    outcome = Run(scenario, cells_library()).run()
    always, by = failures(scenario, outcome)
    assert (always.kind, always.line, by.kind, by.line, by.at) == ("expectation", 6, "expectation", 8, 7500)
    assert always.at is not None
    assert 3000 < always.at < 9000
    dead = Finding(say("dead of {}: no", Name("a.2")), 3000, "bounded_recovery")
    (violation,) = failures(scenario, replace(outcome, expect=(), violations=(dead,)))
    assert (violation.kind, violation.line, violation.at) == ("bounded_recovery", 3, 3000)
    late = replace(outcome, expect=(), violations=(Finding(say("card {}", Name("a")), 8000, "wrong_count"),))
    assert [f.line for f in failures(scenario, late)] == [3], "the last event before it"


@pytest.mark.parametrize("start", [0, 3001, 5100])
def test_the_window_shows_what_the_whole_recording_shows(tmp_path: Path, start: int) -> None:
    scenario = loads("server: {cards: {a: {gpus: 3}}}\ntimeline: [{at: 3000, fault: hang, gpu: a.1}]\nuntil: 7000\n")
    server = Run(scenario, cells_library())
    with WaveWriter(tmp_path / "whole.fst", server.engine, ["a"]) as writer:
        server.observations.listen(Advanced, lambda _: writer.drain())
        server.run()
        writer.commit()
    record(tmp_path / "part.fst", scenario, cells_library(), start, start + 900)
    whole, part = changes_in(tmp_path / "whole.fst"), changes_in(tmp_path / "part.fst")
    assert whole.keys() == part.keys()
    assert min(time for changes in part.values() for time, _ in changes) == start
    for name, changes in whole.items():
        cycles = range(start, start + 900)
        assert values(part[name], cycles) == values(changes, cycles), name
    assert sum(map(len, part.values())) < sum(map(len, whole.values()))


def test_where_the_window_lies() -> None:
    text = "server: {cards: {a: {gpus: 3}}}\ntimeline: [{at: 50000, fault: dead, gpu: a.1}]\n"
    scenario = loads(text)
    for cycle in (0, 100, 49_000, 50_000, 50_001, 51_000, 60_000, 200_000):
        start, end = window(scenario, cycle)
        assert end == cycle + AFTER
        assert start <= max(0, cycle - SHORTEST)
        assert start >= cycle - LONGEST or start == 0
    assert window(scenario, 60_000)[0] < 50_000, "the event that led to it is in it"


def test_a_recording_is_left_when_asked_for_and_is_that_of_the_failing_run(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    assert ringhil(tmp_path, "verify", ".", "--record").returncode == 1
    folder = tmp_path / "ringhil-verify" / "bad"
    facts = json.loads((folder / "replay.json").read_text())
    assert facts["recording"] == "run.rec"
    again = ringhil(tmp_path, "replay", folder / "run.rec")
    assert again.returncode == 0
    with Recording(folder / "run.rec") as recording:
        assert recording.outcome is not None
        failures = "".join(f"failed: {text}\n" for text in recording.outcome["failures"])
        assert again.stdout.endswith(f"; verdict fail\n{failures}")
        said = [text.partition(": ")[2] for text in recording.outcome["failures"]]
    assert said == [failure["text"] for failure in facts["failures"]]
    assert facts["page"] == "run.html"
    page = (folder / "run.html").read_text()
    assert all(json.dumps(failure["text"])[1:-1] in page for failure in facts["failures"])


def test_waves_are_left_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD.replace("3600, count: {a: 4}", "3600, count: {a: 2}"))  # the first failure is shown
    assert ringhil(tmp_path, "verify", ".", "--waves").returncode == 1
    folder = tmp_path / "ringhil-verify" / "bad"
    facts = json.loads((folder / "replay.json").read_text())
    assert facts["waves"] == {"file": "waves.fst", "failure": 3500, "from": 0, "to": 3500 + AFTER}
    found = changes_in(folder / "waves.fst")
    assert any(len(changes) > 10 for changes in found.values())


def test_a_full_disk_costs_the_folder_and_not_the_verdict(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "verify", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert "bad.yaml:5: expected at 3500" in done.stdout
    assert "ringhil-verify/bad: cannot be written: File too large" in done.stdout
    assert {path.name for path in tmp_path.rglob("*")} <= {"bad.yaml", "ringhil-verify", ".last-failed"}


def test_that_there_is_no_page_is_said_and_takes_nothing_from_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, bad=BAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ringhil.emulator.view.files.files", lambda _: tmp_path)  # as if it wasn't built
    with pytest.raises(SystemExit) as ended:
        main(["verify", ".", "--record", "--jobs", "1", "--json"])
    said = capsys.readouterr()
    assert ended.value.code == 1
    why = "the page was not built: found no emulator/view/built/index.html; `make page` builds it"
    assert said.err.splitlines() == [f"ringhil: no page was left of 1 case: {why}"]
    (result,) = json.loads(said.out)["results"]
    assert (result["verdict"], result["no_page"]) == ("fail", why)
    assert json.loads((tmp_path / "ringhil-verify" / "bad" / "replay.json").read_text())["no_page"] == why
    assert (tmp_path / "ringhil-verify" / "bad" / "run.rec").exists()


@pytest.mark.parametrize("way", ["at each play", "never"])
def test_a_recording_of_another_run_than_the_one_that_was_judged_is_told(way: str, tmp_path: Path) -> None:
    """Of firmware that isn't deterministic; exit code and verdict are those of the run that was judged."""
    (tmp_path / "mine.py").write_text(
        f"WAY = {way!r}\n"
        "from ringhil.firmware import our_program\n"
        "class Program:\n"
        "    plays = 0\n"
        "    def __init__(self, boot):\n"
        "        self.ours, Program.plays = our_program(boot), Program.plays + 1\n"
        "        self.mute = WAY == 'at each play' and Program.plays > 1\n"
        "    def start(self, now): return [] if self.mute else self.ours.start(now)\n"
        "    def on_timer(self, name, now): return self.ours.on_timer(name, now)\n"
        "    def on_frame(self, *heard): return [] if self.mute else self.ours.on_frame(*heard)\n"
        "    def on_status(self, status): self.ours.on_status(status)\n"
    )
    write(tmp_path, bad=BAD)
    firmware = ("--firmware", "a.0=mine:Program")
    done = ringhil(tmp_path, "verify", ".", "--record", "--jobs", "1", *firmware)
    assert done.returncode == 1
    (result,) = json.loads(ringhil(tmp_path, "verify", ".", "--record", "--json", *firmware).stdout)["results"]
    facts = json.loads((tmp_path / "ringhil-verify" / "bad" / "replay.json").read_text())
    said = "run.rec is of another run than the one that was judged: verdict "
    assert (said in done.stdout) == (said in (result["note"] or "")) == (said in facts["note"]) == (way != "never")
    assert result["verdict"] == "fail"
