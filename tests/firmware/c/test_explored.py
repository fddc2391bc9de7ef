"""Campaigns with a board: it can't be forked, and is told again what leads to a case. They find what they find with the
same firmware in this process; a board that is lost, or isn't the same each time, ends them."""

import html
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.command import refusal, ringhil
from tests.emulator.campaign.dask.commands import rows
from tests.emulator.campaign.explore.servers import LYING, RING, TWO
from tests.protocol.c.library import SOURCES, compile_c

from ringhil.protocol.c import FOLDER
from ringhil.protocol.line.firmware_codec import decode, encode
from ringhil.protocol.line.firmware_messages import BootRequest, StartRequest
from ringhil.protocol.line.framing import Unwrapper, wrap

from . import library
from .boards import after, by_network, process, wire

ROOT = Path(__file__).resolve().parents[3]
FEW = ("--faults", "dead,hang", "--places", "a.0,a.1", "--phases", "2", "--lasts", "left,3000")
LIE = ("--faults", "skip_count", "--places", "a.2", "--phases", 1, "--lasts", "left")
CASES = 2 * 2 * 2 * 2 + 1


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The firmware of the board, in a library."""
    return library.shared(tmp_path_factory)


def explored(folder: Path, firmware: str, *options: object, code: int = 0) -> dict[str, Any]:
    done = ringhil("explore", "s.yaml", "--firmware", firmware, *options, "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (code, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same_as_in_process(folder: Path, server: str, gpu: str, port: str, in_c: Path, *options: object) -> int:
    """The number of cases, which are the same in every field."""
    (folder / "s.yaml").write_text(server)
    found = [
        explored(folder, f"{gpu}={what}", *options, "--jobs", 1, "--store", folder / f"{name}.sqlite")
        for name, what in (("board", port), ("library", in_c))
    ]
    kept = [rows(folder / f"{name}.sqlite")[1:] for name in ("board", "library")]
    assert kept[0] == kept[1]
    assert found[0]["classes"] == found[1]["classes"]
    assert found[0]["verdict"] == found[1]["verdict"]
    return len(kept[0])


@pytest.mark.rest
@pytest.mark.parametrize("gpu", ["a.0", "a.1"])
def test_cases_are_those_of_the_same_firmware_in_process(gpu: str, port: str, in_c: Path, tmp_path: Path) -> None:
    """Of the entry GPU and of another, which also boot within cases."""
    assert same_as_in_process(tmp_path, RING, gpu, port, in_c, *FEW) == CASES


@pytest.mark.slow(part="explore")
@pytest.mark.parametrize(
    ("server", "gpu", "options"),
    [
        (RING, "a.1", ("--phases", 8)),
        (RING, "a.0", ("--parts", "random", "--depth", 6, "--random", 300, "--seed", 7)),
        (TWO, "a.3", ("--phases", 2)),
        (TWO, "b.2", ("--parts", "random", "--depth", 6, "--random", 300, "--seed", 9)),
    ],
)
def test_whole_campaigns_are(
    server: str, gpu: str, options: tuple[object, ...], port: str, in_c: Path, tmp_path: Path
) -> None:
    assert same_as_in_process(tmp_path, server, gpu, port, in_c, *options) >= 300


@pytest.mark.rest
def test_a_campaign_goes_on_with_such_a_board_at_another_port(program: str, port: str, tmp_path: Path) -> None:
    """It is known by what it says that it is."""
    (tmp_path / "s.yaml").write_text(RING)
    options = (*FEW, "--store", "s.sqlite")
    assert explored(tmp_path, f"a.1={port}", *options, "--number", 3)["run"]["played"] == 3
    with process(program) as other:
        assert other != port
        run = explored(tmp_path, f"a.1={other}", *options)["run"]
    assert (run["played"], run["already_done"]) == (CASES - 3, 3)


@pytest.mark.rest
def test_what_fails_with_it_is_made_small_with_it(port: str, in_c: Path, tmp_path: Path) -> None:
    found = []
    for name, what in (("board", port), ("library", in_c)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "s.yaml").write_text(LYING)
        failing = explored(folder, f"a.1={what}", *LIE, "--out", "out", code=1)["failing"]
        small = next(case["smallest"] for case in failing if case["smallest"])
        assert shlex.split(small)[-2:] == ["--firmware", f"a.1={what}"]
        assert ringhil(*shlex.split(small)[1:], cwd=folder).returncode == 1
        texts = {path.name: path.read_text().replace(str(what), "IT") for path in folder.glob("out/shrunk/*")}
        hashed = re.compile(r"firmware\.a\.1:? (ringhil C|(sha256:)?[0-9a-f]{12,64})")  # a board says who it is
        assert all(hashed.search(text) for text in texts.values())
        found.append({file: hashed.sub("IT", text) for file, text in texts.items()})
    assert found[0] == found[1]
    assert len(found[0]) == 2
    assert any("--firmware a.1=IT" in text for text in found[0].values())


@pytest.mark.rest
def test_a_case_of_a_store_comes_with_a_command_that_plays_it_with_the_same_firmware(
    in_c: Path, tmp_path: Path
) -> None:
    """In the file that `query` writes, and on the page of a report."""
    (tmp_path / "s.yaml").write_text(LYING)
    given = f"a.1={in_c}"
    explored(tmp_path, given, *LIE, "--store", "kept.sqlite", "--report", "page.html", code=1)
    query = ("explore", "query", "kept.sqlite", "--verdict", "fail", "--out", "cases", "--json")
    case = json.loads(ringhil(*query, cwd=tmp_path).stdout)["cases"][0]
    (command,) = re.findall("^# Replay: ringhil (.*)$", (tmp_path / case["file"]).read_text(), re.MULTILINE)
    words = shlex.split(command)
    assert words[-2:] == ["--firmware", given]
    assert ringhil(*words, cwd=tmp_path).returncode == 1
    page = html.unescape((tmp_path / "page.html").read_text())
    assert f"-*.yaml --firmware {given}" in page


def test_of_a_board_the_command_leaves_its_port_open(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(LYING)
    explored(tmp_path, f"a.1={port}", *LIE, "--store", "kept.sqlite", code=1)
    query = ("explore", "query", "kept.sqlite", "--verdict", "fail", "--out", "cases", "--json")
    case = json.loads(ringhil(*query, cwd=tmp_path).stdout)["cases"][0]
    assert " --firmware a.1=URL\n" in (tmp_path / case["file"]).read_text()


# ---------------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.rest
def test_a_board_that_is_lost_ends_the_campaign_which_goes_on_with_it(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING)
    explored(tmp_path, f"a.1={port}", *FEW, "--store", "whole.sqlite")
    options = ("explore", "s.yaml", *FEW, "--store", "lost.sqlite")
    with wire(port, after(700), pulled=True) as name:
        said = refusal(*options, "--firmware", f"a.1={name}", cwd=tmp_path)
    assert said.startswith(f"ringhil: firmware of a.1: {name}: the board is gone: the line is gone: ")
    assert said.endswith("; what was played with it is kept with --store, and the same command goes on")
    whole, lost = rows(tmp_path / "whole.sqlite"), rows(tmp_path / "lost.sqlite")
    assert 1 < len(lost) < len(whole)
    assert set(lost) < set(whole)
    assert explored(tmp_path, f"a.1={port}", *FEW, "--store", "lost.sqlite")["run"]["already_done"] == len(lost) - 1
    assert rows(tmp_path / "lost.sqlite") == whole


def forgetful(cycle: int) -> Callable[[bytes], bytes]:
    """The board forgets its boot, as without power, before it is asked about that cycle or a later one, once."""
    unwrapper, left = Unwrapper(), [wrap(encode(BootRequest(0xFFFF, *[0] * (len(fields(BootRequest)) - 1))))]

    def spoil(data: bytes) -> bytes:
        asked = [decode(found) for found in unwrapper.feed(data) if isinstance(found, bytes)]
        late = any(getattr(message, "now", 0) >= cycle for message in asked)
        return left.pop() + data if late and left else data

    return spoil


@pytest.mark.rest
def test_a_case_in_which_the_board_was_without_power_is_played_again(port: str, in_c: Path, tmp_path: Path) -> None:
    forgets = forgetful(2500)  # all faults have struck by then
    with wire(port, forgets) as name:
        assert same_as_in_process(tmp_path, RING, "a.1", name, in_c, *FEW) == CASES
    assert forgets(wrap(encode(StartRequest(1, 3000)))) == wrap(encode(StartRequest(1, 3000))), "it has forgotten"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("pieces", [30, 44])
def test_one_that_is_lost_before_any_case_is_one_line(pieces: int, port: str, tmp_path: Path) -> None:
    """While the server settles, and in a process of its own, which looks for the round in which faults strike."""
    (tmp_path / "s.yaml").write_text(RING)
    with wire(port, after(pieces), pulled=True) as name:
        said = refusal("explore", "s.yaml", *FEW, "--firmware", f"a.1={name}", cwd=tmp_path)
    assert said.startswith("ringhil: firmware of a.1")
    assert f": {name}: the board is gone: the line is gone: " in said


def test_one_that_is_lost_while_a_failure_is_made_small_is_one_line(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(LYING)
    with wire(port, after(700), pulled=True) as name:
        options = (*LIE, "--out", "out", "--store", "s.sqlite", "--firmware", f"a.1={name}")
        said = refusal("explore", "s.yaml", *options, cwd=tmp_path)
    assert said.startswith(f"ringhil: firmware of a.1: {name}: the board is gone: the line is gone: ")
    assert len(rows(tmp_path / "s.sqlite")) == 1 + 2, "all cases had been played"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("command", ["explore", "verify"])
def test_a_port_that_a_thread_reads_is_refused_where_processes_play(command: str, port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING)
    with by_network(port, "rfc2217") as url:
        said = refusal(command, "s.yaml", "--firmware", f"a.1={url}", cwd=tmp_path)
    why = "a process that plays can't use such a port; allowed are devices and socket://HOST:PORT"
    assert said == f"ringhil {command}: --firmware a.1={url}: {why}"


def test_one_that_is_not_the_same_each_time_ends_it(tmp_path: Path) -> None:
    """It numbers its answers through, whatever it was booted for."""
    example = (ROOT / "examples" / "firmware" / "answering.c").read_text()
    changed = example.replace("struct gpu {", "static uint32_t ever;\n\nstruct gpu {")
    changed = changed.replace("told.sequence = gpu->sequences[asked->priority]", "told.sequence = ++ever")
    assert changed.count("ever") == 2
    (tmp_path / "answering.c").write_text(changed)
    c = ROOT / "firmware" / "c"
    sources = [tmp_path / "answering.c", c / "board.c", c / "posix" / "main.c", *SOURCES]
    done = compile_c(f"-I{FOLDER}", f"-I{c}", *sources, "-o", tmp_path / "board")
    assert done.returncode == 0, done.stderr
    (tmp_path / "s.yaml").write_text(RING.replace("[0, 1]", "[0, 1, 2]"))
    with process(str(tmp_path / "board")) as name:
        said = refusal("explore", "s.yaml", *FEW, "--firmware", f"a.1={name}", cwd=tmp_path)
    where = r"message \d+ of \d+ since its boot, FrameRequest\(id=\d+, now=\d+, .*"
    differs = rf"{name}: the board isn't the same when it is told the same again: {where}: byte \d+ of its answer was"
    assert re.match(rf"ringhil: firmware of a\.1.*: {differs} 0x[0-9A-F]{{2}}, and is 0x[0-9A-F]{{2}}", said), said
