"""`ringhil verify --node`: all variants, one after the other, with a GPU's hardware outside."""

import json
import re
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.engine.test_outside import Liar
from tests.emulator.loop.bridge_line import BridgeLine
from tests.emulator.loop.test_nodes import Bridge

from ringhil.protocol.line.node_loop import NodeMessage

SWEEP = """server: {cards: {a: {gpus: 4}}}
sweep: {gpu: [a.1, a.2, a.3]}
timeline: [{at: 3000, fault: dead, gpu: "${gpu}"}]
expect: [{at: 30000, members: {a: [0, 1, 3]}}]
until: 35000
"""


def verified(folder: Path, *options: str) -> tuple[int, list[dict[str, object]], str]:
    """Exit code, verdicts without what the machine has to do with, and what was said beside them."""
    (folder / "sweep.yaml").write_text(SWEEP)
    done = ringhil("verify", "sweep.yaml", "--json", *options, cwd=folder)
    results = json.loads(done.stdout)["results"]
    return done.returncode, [{**each, "seconds": 0} for each in results], done.stderr


@pytest.mark.rest
def test_verify_plays_one_variant_after_the_other_with_it(tmp_path: Path) -> None:
    """Those that fail leave the same waves, too. Who plays is a forked process, which has the line of its parent."""
    code, here, said = verified(tmp_path, "--waves", "--out", "here")
    assert ([each["verdict"] for each in here], code, said) == (["fail", "pass", "fail"], 1, "")
    with Bridge("--listen", "rfc2217://127.0.0.1:0") as bridge:
        options = ("--node", f"a.2={bridge.port}", "--node-baud", "9600")
        found = verified(tmp_path, "--waves", "--out", "there", *options)
    again = "replay", "left"
    for one, other in zip(here, found[1], strict=True):
        assert str(other["replay"]) == f"{one['replay']} {' '.join(options)}"
        assert {**one, **dict.fromkeys(again)} == {**other, **dict.fromkeys(again)}
    assert (found[0], found[2]) == (1, "")
    left = sorted(path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("waves.fst"))
    assert len(left) == 2
    for path in left:
        assert (tmp_path / "here" / path).read_bytes() == (tmp_path / "there" / path).read_bytes()


def test_a_variant_whose_board_is_lost_is_not_judged(tmp_path: Path) -> None:
    """Nor are those behind it, for which it isn't there."""
    with BridgeLine(requests=200) as line:
        code, results, _ = verified(tmp_path, "--node", f"a.2={line.path}")
    assert (code, [each["verdict"] for each in results]) == (1, ["fail", "error", "error"])
    (lost,), (absent,) = (each["failures"] for each in results[1:])  # type: ignore[misc]
    assert (lost["kind"], absent["kind"]) == ("node", "node")
    assert re.fullmatch(r"a\.2: cycle \d+: the board is gone", lost["text"])
    assert absent["text"].startswith(f"--node a.2={line.path}: ")


def test_verify_says_which_board_did_otherwise(tmp_path: Path) -> None:
    with BridgeLine(back=Liar(1, 1, NodeMessage.STEP_REPLY, (10,))) as line:
        _, _, said = verified(tmp_path, "--node", f"a.2={line.path}")
    assert "ringhil: sweep [gpu=a.2]: a.2: the board did otherwise than the RTL of this run in " in said


def test_where_hardware_outside_can_not_take_part(tmp_path: Path) -> None:
    server = str(tmp_path / "sweep.yaml")
    Path(server).write_text(SWEEP)
    for command, why in {
        ("verify", server, "--jobs", "2"): "--jobs: hardware outside takes part in one run at a time; leave it out",
        ("verify", server, "--cluster", "local"): "--node: workers of a --cluster don't have that line; play on this "
        "machine",
        ("explore", server): "--node: a board would have to be clocked to the warm state anew for each case; verify "
        "--node plays those that --out writes",
    }.items():
        assert refusal(*command, "--node", "a.2=/dev/nothing") == f"ringhil {command[0]}: {why}"
    with BridgeLine() as line:
        done = ringhil("verify", server, "--node", f"a.7={line.path}")
    assert done.returncode == 2
    assert f": node: --node a.7={line.path}: found GPU a.7; there are a.0 .. a.3 (and 2 more)\n" in done.stderr
