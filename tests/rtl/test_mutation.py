"""The conformance suite finds mistakes that are put into the node, and none in the node as it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Lines of the RTL, one of each kind of thing that a rule is about; one mistake is made in each.
LINES = (
    "link_state.sv:assign active_o",
    "data_fifo.sv:assign leave",
    "data_route.sv:mine     =",
    "lane_control.sv:assign l_pop_o",
    "bypass_switch.sv:assign trips_o",
    "stat_unit.sv:foreign = data_q",
    "link_tx.sv:assign valid",
    "frame_check.sv:take  =",
    "work_streams.sv:assign complete",
    "credit_counter.sv:assign transit_ok_o",
    "result_tx.sv:assign eof_o",
    "registers.sv:assign event_seen",
)
# Those that find them, so that not every rule needs to be played.
RULES = (
    "control.traffic",
    "control.home",
    "data.order",
    "compute.streams",
    "switch.hang",
    "switch.heartbeat",
    "data.beside_control",
    "link.down",
    "mailbox.host",
    "mailbox.boundary",
    "mailbox.ready",
    "compute.refuse",
    "link.cut",
    "link.turn",
)


def _mutation(*options: str) -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "-m", "benchmarks.mutation", *options, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.mark.slow(part="mutants")
def test_mistakes_all_over_the_node_are_found() -> None:
    at = [word for line in LINES for word in ("--at", line)]
    code, report, said = _mutation(str(len(LINES)), *at, "--rules", ",".join(RULES))
    assert code in (0, 1), said
    assert report["mutants"] == len(LINES)
    assert len({m["module"] for m in report["list"]}) == len(LINES)
    # One may be no mistake where it stands: a proof looks at its module alone.
    survived = [m for m in report["list"] if m["state"] == "survived"]
    assert len(survived) <= 1, json.dumps(survived, indent=1)
    assert report["killed"] >= len(LINES) - 2


def test_the_places_that_are_named_are_in_the_rtl() -> None:
    explained = json.loads((ROOT / "benchmarks" / "mutation" / "explained.json").read_text())
    places = [tuple(line.split(":", 1)) for line in LINES] + [(e["file"], e["line"]) for e in explained]
    lines = {file: (ROOT / "rtl" / file).read_text().splitlines() for file, _ in places}
    assert not [place for place in places if not any(place[1] in line for line in lines[place[0]])]


def test_a_line_that_does_not_exist_is_refused() -> None:
    code, _, said = _mutation("1", "--at", "no_such_file.sv:x")
    assert code == 2
    assert "no_such_file.sv:x" in said


@pytest.mark.slow(part="mutants")
@pytest.mark.parametrize("seed", range(1, 21))
def test_the_suite_finds_nearly_every_mistake(seed: int) -> None:
    """95 % of the 400 that twenty seeds draw: one of twenty, and one more for the luck of the draw."""
    _, report, said = _mutation("20", "--seed", str(seed))
    assert report, said
    assert report["mutants"] == 20
    survivors = [f"{m['place']}: {m['change']}" for m in report["list"] if m["state"] == "survived" and not m["reason"]]
    assert len(survivors) <= 2, "\n".join(survivors)
