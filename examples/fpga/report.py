"""What nextpnr says of the board: `python report.py build/report.json [--write ../../docs/reference/hardware.md]`.

nextpnr fails itself where a clock is too slow, but not where a path from one clock to another is too long. Between the
board's clock and the two that hil_bridge makes, a path has SETTLE clocks of the board: exit code 1 if one takes longer.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

SETTLE = 4  # as in rtl/hil_bridge.sv
CLOCKS = {
    "$glbnet$clk": "board",
    "$glbnet$u_board.u_bridge.clk_q": "GPU",
    "$glbnet$u_board.u_bridge.look_q": "look",
}
BOARD = next(iter(CLOCKS))
CELLS = {"TRELLIS_COMB": "logic cells", "TRELLIS_FF": "flip-flops", "TRELLIS_RAMW": "distributed RAMs"}
BEGIN, END = "<!-- ulx3s: begin -->", "<!-- ulx3s: end -->"


def crossings(report: dict[str, Any]) -> dict[str, float]:
    """The longest path from each of the clocks to each other one, in ns."""
    found = {}
    for path in report["critical_paths"]:
        ends = [CLOCKS.get(path[end].removeprefix("posedge ")) for end in ("from", "to")]
        if None not in ends and ends[0] != ends[1]:
            found[f"{ends[0]} to {ends[1]}"] = sum(step["delay"] for step in path["path"])
    return found


def table(report: dict[str, Any], allowed: float) -> str:
    """All of it as Markdown."""
    lines = ["| ULX3S, ECP5-85F | is | may be |", "|---|---:|---:|"]
    for kind, name in CELLS.items():
        cells = report["utilization"][kind]
        lines.append(f"| {name} | {cells['used']:,} | {cells['available']:,} |")
    for net, clock in report["fmax"].items():
        lines.append(f"| clock: {CLOCKS[net]} | {clock['achieved']:.1f} MHz | at least {clock['constraint']:g} MHz |")
    lines += [f"| path: {name} | {longest:.1f} ns | {allowed:g} ns |" for name, longest in crossings(report).items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--write", type=Path, help="page that gets the table")
    arguments = parser.parse_args()
    report = json.loads(arguments.report.read_text())
    allowed = SETTLE * 1000 / report["fmax"][BOARD]["constraint"]
    text = table(report, allowed)
    print(text)
    if arguments.write is not None:
        before, rest = arguments.write.read_text().split(BEGIN)
        arguments.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    long = [name for name, longest in crossings(report).items() if longest > allowed]
    for name in long:
        print(f"{arguments.report}: the longest path {name} takes more than {allowed:g} ns", file=sys.stderr)
    return int(bool(long))


if __name__ == "__main__":
    sys.exit(main())
