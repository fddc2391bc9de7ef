"""`ringhil verify` as a pipeline meets it: a process with arguments, output, files and an exit code."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests import command
from tests.command import started

from .files import BAD, GOOD, SWEEP, WRONG, ringhil, write, write_all
from .strict_junit import check, facts, properties

SWEPT = [f"deep/sweep.yaml[gpu=a.{gpu},at={at}]" for gpu in (1, 2, 3) for at in (3000, 3100)]
STATES = ["fail", *["fail"] * 4, "pass", "pass", "pass", "error"]


def same(document: dict[str, Any]) -> dict[str, Any]:
    """Without wall-clock time."""
    results = [{k: v for k, v in result.items() if k != "seconds"} for result in document["results"]]
    return {k: v for k, v in document.items() if k != "seconds"} | {"results": results}


def test_every_variant_of_every_file_has_its_verdict_whatever_the_jobs(tmp_path: Path) -> None:
    write_all(tmp_path)
    documents = []
    for jobs in ("1", "3"):
        done = ringhil(tmp_path, "verify", ".", "--json", "--jobs", jobs, "--out", "left")
        assert done.returncode == 1, done.stderr
        documents.append(json.loads(done.stdout))
    document = documents[0]
    assert same(document) == same(documents[1])
    assert [r["id"] for r in document["results"]] == ["bad.yaml", *SWEPT, "good.yaml", "wrong.yaml"]
    assert [r["verdict"] for r in document["results"]] == STATES
    assert (document["passed"], document["failed"], document["errors"], document["variants"]) == (3, 5, 1, 9)
    assert document["rtl"].startswith("sha256:")
    assert done.stderr == ("ringhil: wrong.yaml:3:34: timeline[0].gpu: unknown GPU 'a.9'; card a has a.0 .. a.3\n"), (
        "no progress in a pipe, one line for what can't be used"
    )


def test_people_are_told_what_failed_where_and_how_to_replay_it(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD, good=GOOD, sweep=SWEEP)
    done = ringhil(tmp_path, "verify", "bad.yaml", "good.yaml", "sweep.yaml")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "FAIL bad.yaml\n  bad.yaml:5: expected at 3500: count of card a is 3; found card a: count 4\n" in done.stdout
    assert "    it was not so up to the end of the run at cycle 4000\n" in done.stdout
    assert "bad.yaml:7: expected at the end: entry GPU of card a is none; found entry a.0\n" in done.stdout
    assert "  replay: ringhil verify sweep.yaml --select '[gpu=a.1,at=3000]'\n" in done.stdout
    assert "  so do 3 more: sweep.yaml[gpu=a.1,at=3100], sweep.yaml[gpu=a.2,at=3000], " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("3 passed, 5 failed: 8 variants of 3 files, ")
    again = ringhil(tmp_path, "verify", "sweep.yaml", "--select", "[gpu=a.2,at=3100]", "--json")
    (result,) = json.loads(again.stdout)["results"]
    assert (result["variant"], result["verdict"]) == ("gpu=a.2,at=3100", "fail")


def test_all_passed_is_code_0_and_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    done = ringhil(tmp_path, "verify", "good.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert [p.name for p in tmp_path.iterdir()] == ["good.yaml"]


def test_a_file_that_can_not_be_used_is_code_2_unless_another_failed(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD, wrong=WRONG)
    assert ringhil(tmp_path, "verify", ".").returncode == 2
    write(tmp_path, bad=BAD)
    assert ringhil(tmp_path, "verify", ".").returncode == 1


def test_a_variant_that_can_not_be_made_costs_only_itself(tmp_path: Path) -> None:
    write(tmp_path, sweep=SWEEP.replace("{gpus: a, except: [a.0]}", "[a.3, a.8, a.9]"))
    done = ringhil(tmp_path, "verify", ".", "--json", "--junit", "out.xml")
    assert done.returncode == 2
    results = json.loads(done.stdout)["results"]
    assert [r["verdict"] for r in results] == ["pass"] * 2 + ["error"] * 4
    assert len({r["id"] for r in results}) == 6
    assert "gpu=a.9" in results[-1]["failures"][0]["text"]
    check((tmp_path / "out.xml").read_text())
    again = ringhil(tmp_path, *shlex.split(results[-1]["replay"])[1:], "--json")
    assert [r["failures"] for r in json.loads(again.stdout)["results"]] == [results[-1]["failures"]]


def test_data_that_is_not_there_is_an_error_of_its_scenario(tmp_path: Path) -> None:
    write(tmp_path, bad=GOOD + "workload: {data: none}\n", good=GOOD)
    done = ringhil(tmp_path, "verify", ".", "--json")
    bad, good = json.loads(done.stdout)["results"]
    assert (bad["verdict"], good["verdict"], done.returncode) == ("error", "pass", 2)
    assert "No such file" in bad["failures"][0]["text"]


def test_fail_fast_ends_with_the_first_in_order(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD, b=SWEEP, c=BAD)
    done = ringhil(tmp_path, "verify", ".", "--fail-fast", "--json", "--jobs", "3")
    results = json.loads(done.stdout)["results"]
    assert [r["id"] for r in results] == ["a.yaml", "b.yaml[gpu=a.1,at=3000]"]
    left = sorted(path.name for path in (tmp_path / "ringhil-verify").iterdir())
    assert left == [".last-failed", "b.00001"], "only of what is reported"


CHOICES = [
    (["--select", "a.3"], SWEPT[4:]),
    (["--select", "at=3000", "--select", "good"], [*SWEPT[::2], "good.yaml"]),
    (["--select", "*[gpu=a.?,at=3100]"], SWEPT[1::2]),
    (["--select", "two mistakes"], ["bad.yaml"]),
    (["--shard", "1/3"], ["bad.yaml", SWEPT[2], SWEPT[5]]),
]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(("options", "chosen"), CHOICES, ids=[" ".join(c[0]) for c in CHOICES])
def test_what_is_chosen(tmp_path: Path, options: list[str], chosen: list[str]) -> None:
    write_all(tmp_path)
    (tmp_path / "wrong.yaml").unlink()
    listed = ringhil(tmp_path, "verify", ".", "--list", *options)
    assert listed.stdout.splitlines() == chosen
    played = ringhil(tmp_path, "verify", ".", "--json", *options)
    assert [r["id"] for r in json.loads(played.stdout)["results"]] == chosen


def test_shards_together_are_everything_once(tmp_path: Path) -> None:
    write_all(tmp_path)
    (tmp_path / "wrong.yaml").unlink()
    parts = [ringhil(tmp_path, "verify", ".", "--list", "--shard", f"{n}/4").stdout.splitlines() for n in (1, 2, 3, 4)]
    assert sorted(itertools.chain.from_iterable(parts)) == sorted(
        ringhil(tmp_path, "verify", ".", "--list").stdout.splitlines()
    )
    assert all(parts)


def test_the_seed_is_taken_and_told(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    done = ringhil(tmp_path, "verify", ".", "--seed", "77", "--json")
    (result,) = json.loads(done.stdout)["results"]
    assert result["seed"] == 77
    assert result["replay"] == "ringhil verify bad.yaml --seed 77"


def test_junit_is_whole_and_has_all_that_is_promised(tmp_path: Path) -> None:
    write_all(tmp_path)
    ringhil(tmp_path, "verify", ".", "--junit", "out.xml")
    root = check((tmp_path / "out.xml").read_text())
    cases = {facts(case)["id"]: case for case in root.iter("testcase")}
    assert list(cases) == ["bad.yaml", *SWEPT, "good.yaml", "wrong.yaml"]
    bad = cases["bad.yaml"]
    assert bad.attrib["name"] == "two mistakes"
    said = facts(bad)
    assert said["cycles"] == "4000"
    assert said["seed"] == "1"
    assert said["rtl"].startswith("sha256:")
    assert said["replay"] == "ringhil verify bad.yaml"
    assert (tmp_path / said["left"] / "replay.json").exists()
    failure = bad.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "expected at 3500: count of card a is 3; found card a: count 4"
    assert facts(cases[SWEPT[0]])["parameter.gpu"] == "a.1"
    error = cases["wrong.yaml"].find("error")
    assert error is not None
    assert (error.text or "").startswith("wrong.yaml:3:34: ")


def test_for_gitlab_and_github_test_cases_have_their_place(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path)}
    for options, environment in ((["--annotate", "gitlab"], {}), ([], github)):
        ringhil(tmp_path, "verify", ".", "--junit", "out.xml", *options, **environment)
        (case,) = ElementTree.parse(tmp_path / "out.xml").iter("testcase")
        assert (case.attrib["file"], case.attrib["line"]) == ("bad.yaml", "5")


def refusal(folder: Path, *arguments: str) -> str:
    """The one line of a command that ends before anything is played."""
    before = sorted(folder.rglob("*"))
    done = ringhil(folder, "verify", *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert sorted(folder.rglob("*")) == before, "nothing is left"
    (line,) = done.stderr.splitlines()
    return line


def test_what_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    (tmp_path / "empty").mkdir()
    assert "none: there is no such file" in refusal(tmp_path, "bad.yaml", "none")
    assert "empty: no scenario found" in refusal(tmp_path, "empty")
    assert "empty: cannot be written" in refusal(tmp_path, "bad.yaml", "--junit", "empty")
    assert "bad.yaml/out.xml: cannot be written" in refusal(tmp_path, "bad.yaml", "--junit", "bad.yaml/out.xml")
    assert "bad.yaml/q.json: cannot be written" in refusal(tmp_path, "bad.yaml", "--codequality", "bad.yaml/q.json")
    assert "not a folder" in refusal(tmp_path, "bad.yaml", "--out", "bad.yaml")
    assert "--junit bad.yaml: that would take the place" in refusal(tmp_path, ".", "--junit", "./bad.yaml")
    assert "--codequality bad.yaml: that would" in refusal(tmp_path, "bad.yaml", "--codequality", "bad.yaml")
    assert (tmp_path / "bad.yaml").read_text() == BAD
    assert "nothing is chosen" in refusal(tmp_path, "bad.yaml", "--select", "good")
    assert "nothing is chosen" in refusal(tmp_path, "bad.yaml", "--shard", "2/2", "--list")
    assert "allowed is K/N" in refusal(tmp_path, "bad.yaml", "--shard", "3/2")
    assert "no SystemVerilog files" in refusal(tmp_path, "bad.yaml", "--rtl", "empty")


def test_what_is_passed_over_or_fits_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD, other="jobs: {}\n", nearly=GOOD.replace("server:", "Server:"))
    done = ringhil(tmp_path, "verify", ".", "--select", "good", "--select", "goood")
    assert done.returncode == 2
    assert "passed over: 1 file that is no scenario (no top-level key 'server'): other.yaml\n" in done.stdout
    assert "nearly.yaml:1:1: top level: unknown key 'Server'; did you mean 'server'?" in done.stdout
    document = json.loads(ringhil(tmp_path, "verify", ".", "--json").stdout)
    assert document["passed_over"] == ["other.yaml"]
    one = ringhil(tmp_path, "verify", "good.yaml", "--select", "good", "--select", "goood", "--json")
    assert (one.returncode, json.loads(one.stdout)["unmatched"]) == (2, ["goood"])
    assert one.stderr.startswith("ringhil: --select goood: nothing is chosen by that")


def test_what_is_wrong_beside_the_verdicts_is_in_every_report(tmp_path: Path) -> None:
    """What is passed over is named, and a pattern that fits nothing is an error with its reason."""
    write(tmp_path, good=GOOD, other="jobs: {}\n")
    (tmp_path / "page.md").touch()
    github = {"GITHUB_ACTIONS": "1", "GITHUB_STEP_SUMMARY": "page.md"}
    words = ("verify", ".", "--select", "good", "--select", "goood")
    done = ringhil(tmp_path, *words, **github)
    why = "--select goood: nothing is chosen by that; --list without it prints the names of all variants"
    passed = "passed over: 1 file that is no scenario (no top-level key 'server'): other.yaml"
    assert done.stderr.splitlines() == [f"::error title=ringhil verify::{why}", f"ringhil: {why}"]
    page = (tmp_path / "page.md").read_text()
    assert f"- {why}\n" in page
    assert f"- {passed}\n" in page
    ringhil(tmp_path, *words, "--junit", "x.xml")
    root = check((tmp_path / "x.xml").read_text())
    assert (root.attrib["tests"], root.attrib["errors"]) == ("2", "1")
    assert [error.attrib["message"] for error in root.iter("error")] == [why]
    assert {properties(suite)["passed_over"] for suite in root} == {passed}


def test_a_file_that_can_not_be_read_costs_the_run_unless_it_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD, cut="name: cut\nserv", empty="")
    done = ringhil(tmp_path, "verify", ".", "--junit", "x.xml")
    assert done.returncode == 2
    assert "ERROR cut.yaml\n  cut.yaml:2:5: invalid YAML: " in done.stdout
    assert "ERROR empty.yaml\n  empty.yaml:1:1: " in done.stdout
    assert check((tmp_path / "x.xml").read_text()).attrib["errors"] == "2"
    for more in ([], ["--list"]):
        words = ("verify", ".", "--select", "not cut", "--select", "not empty.yaml", *more)
        done = ringhil(tmp_path, *words)
        assert (done.returncode, done.stderr) == (0, ""), more


def test_on_github_failures_stand_at_their_lines_and_on_the_page(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    page = tmp_path / "page.md"
    page.write_text("before\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page), "GITHUB_WORKSPACE": str(tmp_path.parent)}
    done = ringhil(tmp_path, "verify", ".", "--json", **github)
    json.loads(done.stdout)
    first = f"::error file={tmp_path.name}/bad.yaml,line=5,title=ringhil%3A expectation::expected at 3500: "
    assert done.stderr.startswith(first)
    assert page.read_text().startswith("before\n### ringhil verify: fail\n")
    quiet = ringhil(tmp_path, "verify", ".", "--annotate", "none", **github)
    assert quiet.stderr == ""


@pytest.mark.parametrize(("value", "on"), [("1", True), ("TRUE", True), ("false", False), ("0", False), ("", False)])
def test_on_github_is_what_the_variable_says(tmp_path: Path, value: str, on: bool) -> None:
    write(tmp_path, bad=BAD)
    assert ringhil(tmp_path, "verify", ".", GITHUB_ACTIONS=value).stderr.startswith("::error ") == on


def test_gitlab_gets_a_code_quality_report(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    ringhil(tmp_path, "verify", "bad.yaml", "--annotate", "gitlab")
    ringhil(tmp_path, "verify", "bad.yaml", "--codequality", "mine.json")
    texts = [(tmp_path / name).read_text() for name in ("gl-code-quality-report.json", "mine.json")]
    assert texts[0] == texts[1]
    assert [issue["location"]["lines"]["begin"] for issue in json.loads(texts[0])] == [5, 7]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda value: str(value),
)
def test_an_interrupted_run_reports_what_it_has(tmp_path: Path, number: signal.Signals, code: int) -> None:
    long = "server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n"
    write(tmp_path, a=BAD, b=long)
    words = ("verify", ".", "--json", "--junit", "out.xml")
    pipe = subprocess.PIPE
    process = started(*words, cwd=tmp_path, stdout=pipe, stderr=pipe, start_new_session=True)
    for _ in range(600):
        if (tmp_path / "ringhil-verify" / "a").exists():
            break
        time.sleep(0.1)
    time.sleep(0.3)  # the verdict follows the folder
    if number == signal.SIGTERM:
        os.kill(process.pid, number)
    else:  # a terminal sends it to the whole group
        os.killpg(process.pid, number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    document = json.loads(output)
    assert document["interrupted"] is True
    assert [r["id"] for r in document["results"]] == ["a.yaml"]
    assert [entry["file"] for entry in document["not_played"]] == ["b.yaml"]
    assert errors.strip() == ("ringhil: interrupted" if number == signal.SIGINT else "")
    root = check((tmp_path / "out.xml").read_text())
    assert [properties(suite)["interrupted"] for suite in root] == ["true"] * 3
    assert [case.attrib["classname"] for case in root.iter("testcase") if case.find("skipped") is not None] == ["b"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.yaml", "b.yaml", "out.xml", "ringhil-verify"]


@pytest.mark.rest
def test_nohup_keeps_it_going_when_the_terminal_is_closed(tmp_path: Path) -> None:
    write(tmp_path, a=BAD, b=GOOD.replace("until: 9000", "until: 3000000"))
    command = ["nohup", sys.executable, "-m", "ringhil.emulator", "verify", ".", "--json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (tmp_path / "ringhil-verify" / "a").exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGHUP)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    assert [r["verdict"] for r in json.loads(output)["results"]] == ["fail", "pass"]


def test_interrupted_before_the_first_verdict_is_not_passed(tmp_path: Path) -> None:
    long = "server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n"
    write(tmp_path, a=long, b=GOOD)
    words = ("verify", ".", "--jobs", "1", "--junit", "out.xml")
    process = started(*words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".out.xml.*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()  # it is about to load or to play
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert output.startswith("0 passed, 0 failed: 0 variants of 0 files, ")
    assert "(interrupted: not played: " in output
    root = check((tmp_path / "out.xml").read_text())
    assert (root.attrib["tests"], root.attrib["errors"]) == ("3", "1")


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("found", [False, True])
def test_interrupted_while_it_looks_for_files_an_earlier_report_does_not_stay(tmp_path: Path, found: bool) -> None:
    write(tmp_path, a=GOOD)
    earlier = tmp_path / "out.xml"
    earlier.write_text("<testsuites tests='9'/>")
    program = (
        "import os, signal, sys, ringhil.emulator.front.cli.verify as verify\n"
        "look = verify.discover\n"
        "def interrupted(paths):\n"
        f"    files = look(paths) if {found} else []\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return files\n"
        "verify.discover = interrupted\n"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "verify", ".", "--junit", "out.xml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (143, "")
    assert check(earlier.read_text()).attrib["errors"] == "1"


def test_interrupted_so_early_it_leaves_what_may_be_a_scenario_alone(tmp_path: Path) -> None:
    write(tmp_path, a=GOOD)
    program = (
        "import os, signal, sys, ringhil.emulator.front.cli.verify as verify\n"
        "verify.discover = lambda paths: os.kill(os.getpid(), signal.SIGTERM)\n"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "verify", ".", "--junit", "a.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "--junit a.yaml: that would take the place of what is read or kept" in done.stderr
    assert (tmp_path / "a.yaml").read_text() == GOOD


def test_reports_are_written_when_nobody_reads_standard_output(tmp_path: Path) -> None:
    write(tmp_path, bad=BAD)
    reading, writing = os.pipe()
    os.close(reading)
    done = command.ringhil("verify", ".", "--junit", "out.xml", cwd=tmp_path, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
    assert check((tmp_path / "out.xml").read_text()).attrib["failures"] == "1"


def test_a_full_disk_is_said_and_leaves_no_half_report(tmp_path: Path) -> None:
    write(tmp_path, **{f"f{n}": BAD for n in range(30)})
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "verify", ".", "--junit", "out.xml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stderr == "ringhil: out.xml: cannot be written: File too large\n"
    assert "30 failed" in done.stdout
    assert not list(tmp_path.glob("*.xml")) + list(tmp_path.glob(".*"))


def test_an_earlier_report_does_not_speak_for_a_run_that_is_refused(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "out.xml").write_text("<testsuites/>")
    assert ringhil(tmp_path, "verify", "none", "--junit", "out.xml").returncode == 2
    assert check((tmp_path / "out.xml").read_text()).attrib["errors"] == "1"
    assert ringhil(tmp_path, "verify", "good.yaml", "--junit", "new/out.xml").returncode == 0
    assert len(check((tmp_path / "new" / "out.xml").read_text())) == 1
