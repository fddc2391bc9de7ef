"""What is written for a failure replays it; classes of failures tell what fails from who is to blame."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.emulator.campaign.minimise import Shrunk, fails_in, shrink, write_reproduction
from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.scenario import dumps, load, loads
from ringhil.emulator.server.hashes import scenario_hash

CUT = """
name: a cut, with some other trouble
server: {cards: {a: {gpus: 6, host_links: [0, 1]}}}
workload: {units: 20, size: 64}
timeline:
  - {at: 20123, fault: link_cut, link: a.2-a.3}
  - {at: 31000, fault: slow, gpu: a.4}
"""
EXPECTED = "expect: [{at: 40000, break: {a: a.2-a.3}}]"
LENIENT = "invariants: {bounded_recovery: false, wrong_count: false, work_once: false}"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RTL in which frames that are turned round at a cut don't say so."""
    rtl = Path(shutil.copytree(RTL, tmp_path_factory.mktemp("broken") / "rtl"))
    text = (rtl / "link_tx.sv").read_text()
    before = "if (loop_i) edited[32+FLAG_WRAPPED] = 1'b1;"
    assert text.count(before) == 1
    (rtl / "link_tx.sv").write_text(text.replace(before, "if (loop_i) edited[32+FLAG_WRAPPED] = raw[32+FLAG_WRAPPED];"))
    return rtl


@pytest.fixture(scope="module")
def library(broken: Path) -> Library:
    return cells_library(broken, optimise="-O0")


@pytest.fixture(scope="module")
def shrunk(library: Library) -> Shrunk:
    return shrink(loads(CUT), fails_in(library), budget=60)


def environment(rtl: Path | None) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if name != "RINGHIL_RTL"}
    return others if rtl is None else {**others, "RINGHIL_RTL": str(rtl)}


def run(folder: Path, *arguments: str, rtl: Path | None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(rtl), capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow(part="bugs")
def test_only_the_cut_is_left(shrunk: Shrunk) -> None:
    assert shrunk.failure.startswith("bounded_recovery: ")
    assert [event.kind for event in shrunk.scenario.timeline] == ["link_cut"]
    assert [card.gpus for card in shrunk.scenario.server.cards] == [2]
    assert shrunk.scenario.workload is None


@pytest.mark.slow(part="bugs")
def test_the_test_fails_on_the_broken_design_and_passes_on_the_sound_one(
    shrunk: Shrunk, library: Library, broken: Path, tmp_path: Path
) -> None:
    written = write_reproduction(tmp_path / "found", shrunk, hashes={"rtl": library.rtl})
    pytest_command = ("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", written.test_file.name)
    fails = run(tmp_path / "found", *pytest_command, rtl=broken)
    assert fails.returncode == 1, fails.stdout
    assert "bounded_recovery: " in fails.stdout
    passes = run(tmp_path / "found", *pytest_command, rtl=None)
    assert passes.returncode == 0, passes.stdout


@pytest.mark.slow(part="bugs")
def test_the_command_replays_it(shrunk: Shrunk, library: Library, broken: Path, tmp_path: Path) -> None:
    written = write_reproduction(tmp_path, shrunk, hashes={"rtl": library.rtl})
    program, *arguments = written.command.split()
    assert program == "ringhil"
    assert ringhil(*arguments, "--rtl", broken, cwd=tmp_path, env=environment(None)).returncode == 1
    assert ringhil(*arguments, cwd=tmp_path, env=environment(None)).returncode == 0


@pytest.mark.slow(part="bugs")
def test_the_files_say_what_they_are_and_nothing_of_this_machine(
    shrunk: Shrunk, library: Library, tmp_path: Path
) -> None:
    written = write_reproduction(tmp_path / "a" / "b", shrunk, hashes={"rtl": library.rtl})
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    left = re.escape(shrunk.scenario.timeline[0].where.replace(".", "_").replace("-", "_"))
    assert re.fullmatch(rf"link_cut_{left}_bounded_recovery_[0-9a-f]{{6}}\.yaml", names[0])
    assert names[1] == f"test_{names[0].removesuffix('.yaml')}.py"
    text = written.scenario_file.read_text()
    comment = [line for line in text.splitlines() if line.startswith("#")]
    (event,) = shrunk.scenario.timeline
    again = load(written.scenario_file)
    assert comment[:6] == [
        f"# Fails: {shrunk.said}",
        f"# Class: {shrunk.failure}",
        f"# Left: 1 event, card a of {shrunk.scenario.server.cards[0].gpus} GPUs",
        f"# Where: link_cut of {event.where} at {event.at}",
        f"# rtl: {library.rtl}",
        f"# scenario: {scenario_hash(dumps(again))}",
    ]
    assert text == "".join(f"{line}\n" for line in comment) + dumps(again)
    assert again.name == f"link_cut of {event.where} at {event.at}: bounded_recovery"
    assert replace(again, name=shrunk.scenario.name) == shrunk.scenario
    both = text + written.test_file.read_text()
    assert str(tmp_path) not in both
    assert str(Path.home()) not in both
    write_reproduction(tmp_path / "a" / "b", shrunk, hashes={"rtl": library.rtl})
    assert text + written.test_file.read_text() == both


@pytest.mark.parametrize("name", ['"quotes" and \\\\ """', "Zwölf \U0001f600", "x" * 500, "..", "a/b"])
def test_any_name_makes_files_that_can_be_read(name: str, tmp_path: Path) -> None:
    scenario = loads("server: {cards: {a: {gpus: 2}}}", name)
    failure = "expected count not true"
    written = write_reproduction(tmp_path, Shrunk(scenario, failure, 1, 0), hashes={"rtl": "sha256:0"})
    assert written.scenario_file.parent == written.test_file.parent == tmp_path
    assert load(written.scenario_file).server == scenario.server
    compile(written.test_file.read_text(), written.test_file.name, "exec")


@pytest.mark.slow(part="bugs")
def test_faults_do_not_move_into_the_power_up(library: Library, shrunk: Shrunk) -> None:
    fails = fails_in(library)
    there = fails(loads(CUT))
    assert there == shrunk.failure
    assert f"{fails(loads(CUT.replace('20123', '3')))}".endswith(" at power-up")
    assert shrunk.scenario.timeline[0].at >= 100


@pytest.mark.rest
def test_what_violates_no_invariant_fails_by_what_it_expects(library: Library) -> None:
    sound = fails_in(cells_library())
    found = loads(f"{CUT}{EXPECTED}\n{LENIENT}")
    assert fails_in(library)(found) == "expected break not found"
    assert sound(found) is None
    # The file is wrong, not the design: no break is where it expects one.
    untrue = loads(f"{CUT}{EXPECTED}\n{LENIENT}".replace("a: a.2-a.3", "a: a.3-a.4"))
    assert sound(untrue) == "expected break not true"
    assert sound(loads(CUT + "expect: [{end: true, work: {completed: 7}}]")) == "expected work not found"
    assert sound(loads(CUT + "expect: [{at: 20130, break: {a: a.2-a.3}}]")) == "expected break not due"
    assert sound(loads(CUT + "expect: [{at: 7, count: {a: 6}}]")) == "expected count not due"
    assert sound(loads(CUT + "expect: [{always: true, break: {a: null}}]")) == "expected break not always"


@pytest.mark.rest
def test_the_fault_that_an_expectation_is_about_stays(library: Library) -> None:
    shrunk = shrink(loads(f"{CUT}{EXPECTED}\n{LENIENT}"), fails_in(library), budget=60)
    assert [event.kind for event in shrunk.scenario.timeline] == ["link_cut"]
    (expectation,) = shrunk.scenario.expect
    assert expectation.cycle is not None
    assert expectation.cycle > shrunk.scenario.timeline[0].at


def test_a_run_that_cannot_be_played_has_a_class_of_its_own(library: Library, tmp_path: Path) -> None:
    missing = f"server: {{cards: {{a: {{gpus: 2}}}}}}\nworkload: {{data: {tmp_path / 'missing'}}}"
    assert fails_in(library)(loads(missing)) == "stopped by DataError"
