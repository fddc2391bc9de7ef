"""`nvidia-smi` on the PATH of programs: the same answers as NVML's, in the shapes that others read."""

import csv
import shlex
import subprocess
import xml.etree.ElementTree as ET
from importlib.util import find_spec

import pytest

from ringhil.emulator.nvml.smi import main

from .served import HELD, Monitored

HELD_THERE = sum(HELD.values())


def lines(monitored: Monitored, words: str, name: str | None = None) -> list[str]:
    done = monitored.run("nvidia-smi", *shlex.split(words), name=name)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(find_spec("pynvml") is None, reason="pynvml isn't installed")
def test_it_lists_what_nvml_lists(monitored: Monitored) -> None:
    code = """
n.nvmlInit()
gpus = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
print(json.dumps([[n.nvmlDeviceGetName(gpu), n.nvmlDeviceGetUUID(gpu)] for gpu in gpus]))
"""
    told = monitored.python(code)
    assert lines(monitored, "-L") == [f"GPU {i}: {name} (UUID: {uuid})" for i, (name, uuid) in enumerate(told)]


@pytest.mark.rest
def test_values_are_the_same_in_csv_xml_and_the_table(monitored: Monitored) -> None:
    fields = "index,gpu_serial,memory.total,memory.used,power.limit,fan.speed,pci.bus_id"
    header, *rows = csv.reader(lines(monitored, f"--query-gpu={fields} --format=csv"), skipinitialspace=True)
    assert header == fields.replace("memory.total", "memory.total [MiB]").replace(
        "memory.used", "memory.used [MiB]"
    ).replace("power.limit", "power.limit [W]").split(",")
    assert rows[4] == ["4", "b.1", "22528 MiB", f"{HELD_THERE} MiB", "700.00 W", "[N/A]", "00000001:01:00.0"]
    assert rows[0] == ["0", "a.0", "22528 MiB", "0 MiB", "[N/A]", "[N/A]", "00000000:00:00.0"]
    bare = lines(monitored, f"--query-gpu={fields} --format=csv,noheader,nounits -i b.1,0")
    assert bare == [
        f"4, b.1, 22528, {HELD_THERE}, 700.00, [N/A], 00000001:01:00.0",
        "0, a.0, 22528, 0, [N/A], [N/A], 00000000:00:00.0",
    ]
    for address in ("00000001:01:00.0", "0001:01:00.0", "1:01:00.0", "1:1:0", "00000001:01:00"):
        assert lines(monitored, f"--query-gpu=index --format=csv,noheader -i {address}") == ["4"], address
    gpus = ET.fromstring("\n".join(lines(monitored, "-q -x"))).findall("gpu")
    assert [gpu.get("id") for gpu in gpus] == [row[6] for row in rows]
    assert [gpu.findtext("fb_memory_usage/used") for gpu in gpus] == [row[3] for row in rows]
    assert [gpu.findtext("gpu_power_readings/current_power_limit") for gpu in gpus] == [
        row[4].strip("[]") for row in rows
    ]
    held = {p.findtext("process_name"): p.findtext("used_memory") for p in gpus[4].iter("process_info")}
    assert held == {name: f"{memory} MiB" for name, memory in HELD.items()}
    apps = lines(monitored, "--query-compute-apps=name,used_gpu_memory --format=csv,noheader")
    assert apps == [f"{name}, {memory} MiB" for name, memory in HELD.items()]
    table = lines(monitored, "")
    assert {len(line) for line in table[1:] if line} == {79}
    assert sum(f"{HELD_THERE}MiB / 22528MiB" in line for line in table) == 1


def test_in_an_application_it_shows_what_that_was_given(monitored: Monitored) -> None:
    words = "--query-gpu=index,memory.total,memory.used,pstate --format=csv,noheader,nounits"
    assert lines(monitored, words, "one") == [f"0, 6144, {HELD['one']}, [N/A]"]


WRONG = {
    "--query-gpu=memory.totl --format=csv": "'memory.totl'; did you mean 'memory.total'?; allowed are timestamp, ",
    "--query-gpu= --format=csv": "--query-gpu: found ''",
    "--query-compute-apps=index --format=csv": "--query-compute-apps: found 'index'; allowed are timestamp, pid, ",
    "--query-gpu=name": "--format: found nothing; allowed is csv[,noheader][,nounits]",
    "--query-gpu=name --format=noheader": "--format: found 'noheader'; allowed is csv[,noheader][,nounits]",
    "--query-gpu=name --format=csv -L": "one of them is allowed",
    "--format=csv": "--format: needs --query-gpu or --query-compute-apps",
    "-q": "-q: allowed is -q -x",
    "-l nan": "found 'nan'; allowed are 0.1 .. 86400 seconds",
    "--gpu-reset": "unrecognized arguments: --gpu-reset",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_told_in_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(words)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("nvidia-smi: ")
    assert WRONG[words] in line


def test_who_is_not_there_and_nobody_who_listens(
    monitored: Monitored, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RINGHIL_NVML", str(monitored.socket))
    assert main(["-L", "-i", "6"]) == 6
    assert capsys.readouterr().err == "nvidia-smi: -i: found '6'; there are GPUs 0 .. 5\n"
    monkeypatch.setenv("RINGHIL_NVML", f"{monitored.socket}.not")
    assert main(["-L"]) == 9
    assert capsys.readouterr().err.startswith(f"nvidia-smi: {monitored.socket}.not: cannot be connected to: ")
    monkeypatch.delenv("RINGHIL_NVML")
    assert main(["-L"]) == 9
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("words", ["nvidia-smi -L >/dev/full", "nvidia-smi -L -i $(printf '\\377')"])
def test_whatever_else_goes_wrong_is_told_in_one_line(monitored: Monitored, words: str) -> None:
    done = monitored.run("sh", "-c", words)
    assert done.returncode not in (0, 1)
    (line,) = done.stderr.splitlines()
    assert line.startswith("nvidia-smi: ")


def test_a_shells_settings_have_it_too(monitored: Monitored) -> None:
    given = subprocess.run(monitored.command()[:-1], capture_output=True, text=True, check=True).stdout
    done = subprocess.run(["sh", "-c", f"{given}\nnvidia-smi -L | wc -l"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "6"
