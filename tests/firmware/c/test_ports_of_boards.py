"""A board is at any port that pyserial opens: a TCP port, a pseudo terminal by any name. Others are one line."""

import os
import socket
from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from .boards import by_network

SERVER = "server: {cards: {a: {gpus: 6, host_links: [0, 1, 2]}}}\nuntil: 12000\n"
NO_PORT = "cannot be opened: it is {}; allowed is a serial port or a pseudo terminal"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SERVER)
    return tmp_path


def assert_it_takes_part(here: Path, url: str) -> None:
    """The board is asked, and the run is that of ours."""
    done = ringhil("run", "s.yaml", "--firmware", f"a.1={url}", "--record", "r.rec", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ringhil("run", "s.yaml", cwd=here).stdout
    done = ringhil("replay", "r.rec", "--firmware", "a.1=ringhil.firmware.boot:our_program", cwd=here)
    assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr
    done = ringhil("replay", "r.rec", cwd=here)
    assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr


@pytest.mark.rest
@pytest.mark.parametrize("scheme", ["socket", "SOCKET"])
def test_one_behind_a_tcp_port(port: str, here: Path, scheme: str) -> None:
    with by_network(port, "tcp") as url:
        assert_it_takes_part(here, url.replace("socket", scheme))


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("name", ["{here}/tty", "./tty", "tty"])
def test_one_behind_a_link_to_its_pseudo_terminal(port: str, here: Path, name: str) -> None:
    (here / "tty").symlink_to(port)
    assert_it_takes_part(here, name.format(here=here))


def test_a_line_that_leads_back_is_opened_and_nobody_is_there(here: Path) -> None:
    said = refusal("run", "s.yaml", "--firmware", "a.1=loop://", cwd=here)
    assert said == "ringhil: --firmware a.1=loop://: attach: found AttachRequest; wanted is AttachReply"


def test_what_is_no_port_is_called_by_its_name(here: Path) -> None:
    (here / "file").touch()
    (here / "folder").mkdir()
    os.mkfifo(here / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(here / "socket"))  # such names are short
        for name in ("file", "folder", "pipe", "socket"):
            for path in (name, f"./{name}", f"{here}/{name}"):
                said = refusal("run", "s.yaml", "--firmware", f"a.1={path}", cwd=here)
                assert said == f"ringhil: --firmware a.1={path}: {path}: {NO_PORT.format(f'a {name}')}"
    said = refusal("run", "s.yaml", "--firmware", "a.1=./nothing", cwd=here)
    assert said == "ringhil: --firmware a.1=./nothing: ./nothing: cannot be opened: No such file or directory"
    said = refusal("run", "s.yaml", "--firmware", "a.1=nothing", cwd=here)
    assert said.startswith("ringhil: --firmware: found 'a.1=nothing'; allowed is GPU=MODULE:CLASS, GPU=LIBRARY.so or ")
