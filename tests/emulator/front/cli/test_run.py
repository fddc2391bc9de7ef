"""`ringhil run` as a user meets it: a process with arguments, output and an exit code."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests import command

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples"
GOOD = "server: {cards: {a: {gpus: 4}}}\nworkload: {units: 8, size: 100}\n"


ALL = sorted(file for file in EXAMPLES.glob("*.yaml") if not file.stem.startswith("cluster"))  # see test_place.py
SHOWN = ("sharing-memory", "sharing-slices")  # by `ringhil share`, with the same verdict: see test_share.py
SHARED = pytest.mark.slow(part="benches")


def ringhil(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return command.ringhil(*arguments, env={**os.environ, **environment})


def refusal(*arguments: str, **environment: str) -> str:
    """The one line that a refused command prints."""
    return command.refusal(*arguments, env={**os.environ, **environment})


@pytest.mark.rest(but_one_in=4, start=5)
@pytest.mark.parametrize(
    "example", [pytest.param(e, marks=SHARED if e.stem in SHOWN else ()) for e in ALL], ids=lambda p: p.stem
)
def test_every_example_passes(example: Path) -> None:
    done = ringhil("run", str(example), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "pass"
    assert document["work"]["lost"] == document["work"]["duplicated"] == 0
    assert document["work"]["completed"] == document["work"]["units"]
    assert document["work"]["units"] > 0 or document.get("applications") or document["switching"]["requests"]


def test_the_document_has_the_promised_keys(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD)
    document = json.loads(ringhil("run", str(file), "--json", "--seed", "9").stdout)
    assert document["seed"] == 9
    assert document["name"] == "s"
    keys = {"name", "seed", "cycles", "verdict", "failures", "cards", "links", "work", "recoveries", "expect", "engine"}
    assert keys <= document.keys()
    card = document["cards"]["a"]
    assert card["count"] == 4
    assert card["members"] == [0, 1, 2, 3]
    assert card["entry"] == "a.0"
    assert {"epoch", "boundary", "break", "share", "census"} <= card.keys()
    assert {"elections", "stranded", "isolated", "degraded", "slow_link", "noisy_link", "reachable"} <= card.keys()
    assert document["engine"]["rtl"].startswith("sha256:")


def test_people_get_a_table_a_ring_and_a_verdict(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD + "timeline: [{at: 6000, fault: dead, gpu: a.2}]\n")
    done = ringhil("run", str(file))
    assert done.returncode == 0
    assert "[0*]─[1]──2──[3]" in done.stdout
    assert "verdict: pass" in done.stdout
    assert done.stderr == ""  # no progress in a pipe


def test_a_failed_expectation_is_exit_code_1_and_says_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD + "expect: [{end: true, count: {a: 3}}]\n")
    done = ringhil("run", str(file))
    assert done.returncode == 1
    assert "count of card a is 3 (found card a: count 4)" in done.stdout


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 70_000])
def test_a_file_of_any_size_is_worked_through(tmp_path: Path, size: int) -> None:
    server, data = tmp_path / "s.yaml", tmp_path / "data"
    server.write_text("server: {cards: {a: {gpus: 3}}}\n")
    data.write_bytes(bytes(i * 7 % 251 for i in range(size)))
    document = json.loads(ringhil("run", str(server), "--data", str(data), "--json").stdout)
    assert document["verdict"] == "pass"
    assert document["work"]["completed"] == document["work"]["units"] == -(-size // 4096)


WRONG = [
    ("gpus: 4}}}", "gpus: 4, colour: red}}}", ":1:31: ", "unknown key 'colour'"),
    ("gpus: 4}}}", "gpus: 1}}}", ":1:", "gpus"),
    ("workload:", "timeline: [{at: 1, fault: dead, gpu: a.9}]\nworkload:", ":2:", "unknown GPU 'a.9'"),
    ("workload:", "timeline: [{at: -5, fault: dead, gpu: a.1}]\nworkload:", ":2:", "past"),
    ("workload:", "timeline: [{at: 5, fault: explode, gpu: a.1}]\nworkload:", ":2:", "explode"),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), WRONG, ids=[w[3] for w in WRONG])
def test_a_wrong_file_is_refused_with_place_and_reason(
    tmp_path: Path, old: str, new: str, place: str, words: str
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD.replace(old, new))
    line = refusal("run", str(file))
    assert f"{file}{place}" in line
    assert words in line


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD)
    assert "cannot be read: No such file" in refusal("run", str(tmp_path / "none.yaml"))
    assert "cannot be read: No such file" in refusal("run", str(file), "--data", str(tmp_path / "none"))
    assert "cannot be written" in refusal("run", str(file), "--record", str(tmp_path / "none" / "r"))
    assert "no SystemVerilog files" in refusal("run", str(file), "--rtl", str(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.yaml"]


def test_wrong_words_on_the_command_line_are_refused(tmp_path: Path) -> None:
    assert "unknown command 'walk'; there are bench, card, " in refusal("walk")
    said = "unknown command 'watch'; it is part of `ringhil card URL watch` and of `ringhil lend watch`"
    assert said in refusal("watch")
    assert "--seed" in refusal("run", "x.yaml", "--seed", "minus one")
    assert "--sead" in refusal("run", "x.yaml", "--sead", "1")
    assert "SERVER.yaml" in refusal("run")


def test_no_compiler_is_one_line_with_the_cure(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(GOOD)
    cache = tmp_path / "cache"
    line = refusal("run", str(file), PATH=str(tmp_path), CXX="", RINGHIL_CACHE=str(cache))
    assert "no C++ compiler found" in line
    assert "install" in line


def test_rtl_that_does_not_compile_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "rtl").mkdir()
    for source in (ROOT / "rtl").glob("*.sv"):
        (tmp_path / "rtl" / source.name).write_text(source.read_text())
    broken = tmp_path / "rtl" / "stat_unit.sv"
    broken.write_text(broken.read_text().replace("endmodule", "assign nonsense = ;\nendmodule"))
    file = tmp_path / "s.yaml"
    file.write_text(GOOD)
    line = refusal("run", str(file), "--rtl", str(tmp_path / "rtl"), RINGHIL_CACHE=str(tmp_path / "cache"))
    number = broken.read_text().splitlines().index("assign nonsense = ;") + 1
    assert f"stat_unit.sv:{number}:" in line


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["run", "PIPE"], ": cannot be read: it is no file"),
        (["run", "FILE", "--data", "PIPE"], ": cannot be read: it is no file"),
        (["run", "FILE", "--data", "/dev/zero"], "/dev/zero: cannot be read: it is no file"),
        (["verify", "PIPE"], ": cannot be read: it is no file"),
        (["explore", "FILE", "--store", "PIPE"], ": it is no file; name a file"),
    ],
)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, arguments: list[str], where: str) -> None:
    file, pipe = tmp_path / "good.yaml", tmp_path / "pipe.yaml"
    file.write_text(GOOD)
    os.mkfifo(pipe)
    done = ringhil(*(str({"FILE": file, "PIPE": pipe}.get(a, a)) for a in arguments))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert where in done.stderr
    assert pipe.is_fifo()


def test_a_report_on_standard_output_is_alone_there(tmp_path: Path) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    done = ringhil("run", str(file), "--record", "-")
    assert done.returncode == 0
    assert [json.loads(line) for line in done.stdout.splitlines()]
    assert "verdict: pass" in done.stderr
    assert not (tmp_path / "-").exists()
    assert not Path("-").exists()
    both = ringhil("verify", str(file), "--junit", "-", "--json")
    assert both.returncode == 2
    assert both.stderr == "ringhil verify: --junit - and --json both write to standard output\n"


def test_an_interrupted_run_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    file, record = tmp_path / "s.yaml", tmp_path / "out" / "r.jsonl"
    record.parent.mkdir()
    file.write_text("server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n")
    words = ("run", file, "--record", record)
    process = command.started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(600):
        if any(record.parent.iterdir()):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert output == ""
    assert errors.split("\n") == ["", "ringhil: interrupted", ""]  # the first ends the line with ^C
    assert not any(record.parent.iterdir())


def test_the_published_schema_is_the_loaders() -> None:
    done = ringhil("schema")
    assert done.returncode == 0
    assert "server" in json.loads(done.stdout)["properties"]


def test_without_a_command_there_is_help_on_standard_error() -> None:
    done = ringhil()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_leaves_nothing_and_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    file, out = tmp_path / "s.yaml", tmp_path / "out"
    out.mkdir()
    file.write_text("server: {cards: {a: {gpus: 64}}}\nworkload: {units: 1000000, size: 4096}\n")
    options = ["--record", str(out / "r.jsonl"), "--waves", str(out / "w.fst")]
    process = command.started("run", file, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(600):
        if len(list(out.iterdir())) > 1:
            break
        time.sleep(0.1)
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 128 + number
    assert not any(out.iterdir())


def test_what_is_written_takes_no_place_of_what_is_read(tmp_path: Path) -> None:
    server, link, data = tmp_path / "s.yaml", tmp_path / "w.fst", tmp_path / "d.jsonl"
    server.write_text(GOOD)
    data.write_text("work")
    link.symlink_to(server)
    both = str(tmp_path / "both")
    for given in (
        ["--waves", str(server)],
        ["--waves", str(link)],
        ["--data", str(data), "--record", str(data)],
        ["--record", both, "--waves", both],
    ):
        line = refusal("run", str(server), *given)
        assert line == f"ringhil run: {given[-2]} {given[-1]}: that would take the place of what is read or kept"
    assert not Path(both).exists()
    assert (server.read_text(), data.read_text(), link.is_symlink()) == (GOOD, "work", True)
