"""What each read-only register says is decided by a rule: one that is one too high, or too low, breaks it."""

import json
import re
from pathlib import Path

import pytest

from ringhil.emulator.conformance.rule import all_rules
from ringhil.emulator.testbench.build import build_bench, node_sources
from ringhil.emulator.testbench.runner import run_bench
from ringhil.protocol import registers

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "conformance.md"
# Register and by how much it is wrong.
UNDECIDED = {("busy_high", 1), ("busy_high", -1)}


def decided(folder: Path, *rules: str) -> dict[str, dict[str, list[str]]]:
    settings = {"RINGHIL_DECIDED": str(folder / "found.json"), "RINGHIL_DECIDED_RULES": " ".join(rules)}
    bench = build_bench("verilator", "node_bench", node_sources())
    here = [Path(__file__).parent]
    run = run_bench(bench, ["bench_decided"], folder / "run", settings=settings, paths=here, patience=3000)
    assert not run.failed, run.failed[0].told
    found: dict[str, dict[str, list[str]]] = json.loads((folder / "found.json").read_text())
    return found


@pytest.mark.slow(part="bugs")
def test_every_register_is_decided_but_for_those_of_the_page(tmp_path: Path) -> None:
    found = decided(tmp_path)
    assert {(name, int(by)) for name, ways in found.items() for by, rules in ways.items() if not rules} == UNDECIDED


@pytest.mark.rest
def test_what_overflowed_counts_is_decided(tmp_path: Path) -> None:
    assert decided(tmp_path, "switch.flooded")["overflowed"] == {"1": ["switch.flooded"], "-1": ["switch.flooded"]}


def test_the_page_names_what_no_rule_decides() -> None:
    section = PAGE.read_text().partition("## What the rules leave open\n")[2].partition("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in section.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in row}
    assert {name for name, _ in UNDECIDED} <= named
    assert named <= {r.name for r in registers.REGISTERS}
    assert not set(re.findall(r"`(\w+\.\w+)`", section)) - all_rules().keys()
