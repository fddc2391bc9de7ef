"""What is no cluster is refused in one line, before anything is played."""

import signal
import sys
from pathlib import Path

import pytest
from tests.emulator.campaign.explore.servers import RING, TWO, warm

from ringhil.emulator.campaign.dask import ClusterError
from ringhil.emulator.campaign.dask.exploring import CaseCodec, numbered
from ringhil.emulator.campaign.dask.jobqueue import JobQueue
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.space import Space
from ringhil.emulator.front.cli.main import main

GOOD = "system: slurm\njobs: 2\narguments: {cores: 2, memory: 4GB"
WRONG = [
    ("x: 1", "system: found None; allowed is slurm or lsf"),
    ("system: ssh", "system: found 'ssh'; allowed is slurm or lsf"),
    ("system: lsf", "arguments"),
    (GOOD + ", python: /bin/sh}", "no such key is allowed"),
    (GOOD + ", job_script_prologue: [touch here]}", "no such key is allowed"),
    (GOOD + ", worker_command: evil}", "no such key is allowed"),
    (GOOD + ", queue: 'a; touch here'}", "arguments.queue: found 'a; touch here'"),
    (GOOD + ', queue: "a\\ntouch here"}', "arguments.queue: found "),
    (GOOD + ', queue: "a\\n"}', "arguments.queue: found "),
    (GOOD + ", job_extra_directives: ['--x=$(touch here)']}", "arguments.job_extra_directives[0]: found "),
    ("system: slurm\narguments: {cores: 0, memory: 4GB}", "arguments.cores: found 0"),
    ("system: !!python/object:os.system x", "tag"),
]


def test_a_file_for_a_batch_system_holds_plain_words(tmp_path: Path) -> None:
    file = tmp_path / "queue.yaml"
    file.write_text(GOOD + ", queue: short, walltime: '02:00:00', job_extra_directives: ['--gres=gpu:1']}\n")
    queue = JobQueue.read(file)
    assert (queue.system, queue.jobs, queue.wait) == ("slurm", 2, 600.0)
    assert queue.arguments["walltime"] == "02:00:00"
    for text, words in WRONG:
        file.write_text(text + "\n")
        with pytest.raises(ClusterError) as refused:
            JobQueue.read(file)
        assert str(file) in str(refused.value), text
        assert words in str(refused.value)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
    finally:
        signal.signal(signal.SIGTERM, handler)
    out, errors = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    (line,) = errors.splitlines()
    return str(line)


@pytest.mark.parametrize("command", ["explore", "verify"])
def test_a_command_says_what_is_wrong(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = tmp_path / "ring.yaml"
    ring.write_text(RING)
    wrong = {
        "http://x:1": "found 'http://x:1'; allowed is tcp://HOST:PORT",
        "tcp://nowhere": "found 'tcp://nowhere'; allowed is tcp://HOST:PORT",
        str(tmp_path / "none"): "cannot be read",
    }
    for where, words in wrong.items():
        assert words in said(capsys, command, ring, "--cluster", where)
    assert "--jobs is for" in said(capsys, command, ring, "--cluster", "tcp://127.0.0.1:1", "--jobs", 2)


@pytest.mark.parametrize(("system", "needed"), [("slurm", "sbatch"), ("lsf", "bsub")])
def test_a_batch_system_that_is_not_here_is_named(
    system: str, needed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ring, file = tmp_path / "ring.yaml", tmp_path / "queue.yaml"
    ring.write_text(RING)
    file.write_text(f"system: {system}\narguments: {{cores: 1, memory: 1GB}}\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    line = said(capsys, "verify", ring, "--cluster", file)
    assert line == f"ringhil: --cluster {file}: no {needed} on PATH; {system} needs it here"


@pytest.mark.parametrize("command", ["explore", "verify"])
def test_without_the_extra_it_says_how_to_install_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = tmp_path / "ring.yaml"
    ring.write_text(RING)
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = said(capsys, command, ring, "--cluster", "local")
    assert "(distributed): pip install 'ringhil[cluster]'" in line


@pytest.mark.rest
def test_cases_travel_as_they_are() -> None:
    scenario, server, rounds = warm(TWO)
    server.close()
    codec = CaseCodec()
    for task in enumerate(Space(scenario.server, rounds, Plan(depth=3, phases=1, random=200))):
        assert numbered(codec.encode(task)) == task
