"""`ringhil card` as users meet it."""

import json
import os
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.served import ONE


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info"], "name         a\nprotocol     1."),
        (["census"], "4 of 4 GPUs work: GPUs 0, 1, 2, 3 (ring, cycle "),
        (["census", "--last"], "4 of 4 GPUs work"),
        (["read", "1", "status"], "healthy"),
        (["read", "a.1", "status"], "healthy"),
        (["fault", "dead", "a.2"], "set at cycle "),
        (["fault", "link_cut", "a.3-a.0"], "set at cycle "),
        (["read", "0x1"], "watchdog          0x00000040         64"),
        (["read", "1", "0x3"], "watchdog          0x00000040         64\n"),
        (["read", "1", "32", "--json"], '{"status": 2'),
        (["write", "1", "weight", "0x10"], "written at cycle "),
        (["fault", "dead", "2"], "set at cycle "),
        (["fault", "link_bit_errors", "2", "--value", "9"], "set at cycle "),
        (["watch", "--events", "counts", "--number", "2"], "event=count count=4 size=4 members=(0, 1, 2, 3)"),
        (["watch", "--number", "1", "--json"], '"event": "count", "count": 4'),
        (["watch", "--events", "frames", "--number", "9"], "event=frame cycle="),
        (["watch", "--events", "roles", "--for", "0.001"], ""),
    ],
)
def test_commands(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    done = ringhil("card", "emulated:///s.yaml", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


@pytest.mark.parametrize("address", ["0x20", "32", "0b100000"])
def test_a_register_is_shown_alike_by_name_and_by_address(tmp_path: Path, address: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    by_name, by_address = (
        ringhil("card", "emulated:///s.yaml", "read", "3", register, cwd=tmp_path) for register in ("status", address)
    )
    assert by_name.stdout.startswith("status   ")
    assert "healthy" in by_name.stdout
    assert (by_address.stdout, by_address.stderr) == (by_name.stdout, "")


def test_a_census_as_a_document(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    document = json.loads(ringhil("card", "emulated:///s.yaml", "census", "--json", cwd=tmp_path).stdout)
    names = ("card", "count", "members", "entry", "epoch", "cycle")
    card, count, members, entry, epoch, cycle = (document[name] for name in names)
    assert (card, count, members, entry, epoch) == ("a", 4, [0, 1, 2, 3], 0, 1)
    assert cycle > document["sent_at"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["read", "9", "status"], "ringhil: the card refuses: GPU 9: the card has 0 .. 3 (no_such_gpu)"),
        (["read", "b.1", "status"], "URL read: GPU: found 'b.1'; this is card a"),
        (["read", "a.x"], "GPU: found 'a.x'; allowed is "),
        (["fault", "dead", "a.1-a.2"], "GPU: found 'a.1-a.2'; dead strikes a GPU, such as a.3"),
        (["fault", "dead", "b.1"], "URL fault: GPU: found 'b.1'; this is card a"),
        (["fault", "link_cut", "a.1-a.3"], "GPU: 'a.1-a.3'"),
        (["fault", "link_cut", "b.1-b.2"], "URL fault: GPU: found 'b.1-b.2'; this is card a"),
        (["read", "1", "statu"], "ringhil: register: found 'statu'; allowed are control, gpu_type"),
        (["read", "1", "1abc"], "ringhil: found '1abc'; allowed is a number from 0 to 0xFFFFFFFF"),
        (["read", "1", "300"], "address = 300; allowed are whole numbers from 0 to 255"),
        (["write", "1", "weight", "-1"], "found '-1'; allowed is a number from 0 to 0xFFFFFFFF"),
        (["fault", "ded", "1"], "found 'ded'; allowed are dead, hang"),
        (["fault", "dead", "1", "--clear"], "ringhil: the card refuses: dead of GPU 1 is not set (bad_value)"),
        (["send", "1", "cw", "0g"], "'FRAME': found '0g'; allowed are pairs of hexadecimal digits"),
        (["watch", "--for", "nan"], "'--for': found 'nan'; allowed is a number of seconds, 0.001 or more"),
        (["watch", "--for", "0"], "'--for': found '0'; allowed is a number of seconds, 0.001 or more"),
        (["watch", "--for", "inf"], "'--for': found 'inf'; allowed is a number of seconds"),
        (["send", "1", "up", "00"], "found 'up'; allowed are cw, ccw, cpu, boundary"),
        (
            ["watch", "--events", "counts,sounds"],
            "Invalid value for '--events': found 'sounds'; allowed are frames, roles, counts, faults",
        ),
    ],
)
def test_wrong_commands(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    options = ["--", *arguments[1:]] if "-1" in arguments else arguments[1:]
    assert said in refusal("card", "emulated:///s.yaml", arguments[0], *options, cwd=tmp_path)


def test_no_such_port_is_one_line(tmp_path: Path) -> None:
    said = refusal("card", tmp_path / "ttyX", "info")
    assert said.startswith(f"ringhil: {tmp_path}/ttyX: cannot be opened: ")
    assert "No such file or directory" in said


@pytest.mark.rest
def test_something_else_at_the_other_end_is_named() -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"login: ")
    said = refusal("card", "--timeout", "0.5", os.ttyname(theirs), "info")
    os.close(ours)
    os.close(theirs)
    assert said.startswith("ringhil: no answer to hello in 4 tries of 0.5 s: ")
    assert said.endswith("; the line is at 115200 baud: see --baud")


@pytest.mark.parametrize("address", ["127.0.0.1:7007", "tcp://127.0.0.1:7007", "[::1]:7007"])
def test_an_address_that_is_no_url_of_a_port_has_its_url_named(address: str) -> None:
    url = f"socket://{address.removeprefix('tcp://')}"
    said = refusal("card", address, "info")
    assert said == f"ringhil: {address}: cannot be opened: it is no URL of a port; {url} is one"
