"""Random traffic on a link, `ring_view` beside it in a simulator, and what the view must show by the protocol alone."""

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pylibfst

from ringhil.emulator.build.build import BuildRequest, build
from ringhil.emulator.engine.library import RTL
from ringhil.protocol import wire

VIEW = Path(__file__).resolve().parents[4] / "emulator/testbench/hdl/ring_view.sv"
SOURCES = (RTL / "ringhil_pkg.sv", VIEW)
CYCLE = 10  # time units
SHOWN = ("link_event", "credit", *(f"{c}_{name}" for c in "cd" for name in ("kind", "card", "flags", "ttl", "home")))
BIT = wire.LinkBit.codes()

Cycle = tuple[int, int]  # data, control bits


def traffic(seed: int, cycles: int) -> list[Cycle]:
    """Frames of all kinds on both channels, interleaved, some bad, cut, of an unknown kind or one flit long."""
    source = random.Random(seed)
    waiting: dict[str, list[Cycle]] = {"control": [], "data": []}
    found: list[Cycle] = []
    down = 0
    while len(found) < cycles:
        for channel, flits in waiting.items():
            if not flits and source.random() < 0.2:
                flits += _frame(source, BIT["data"] if channel == "data" else 0)
        if down or source.random() < 0.01:
            down = down - 1 if down else source.randrange(6)
            found.append((0, 0))
            continue
        control = BIT["up"] | (BIT["credit"] if source.random() < 0.1 else 0)
        control |= BIT["fault"] if source.random() < 0.03 else 0
        ready = [flits for flits in waiting.values() if flits]
        if ready and source.random() < 0.8:
            data, bits = source.choice(ready).pop(0)
            found.append((data, control | bits))
        else:
            found.append((0, control))
    return found


def _frame(source: random.Random, channel: int) -> list[Cycle]:
    kind = source.choice([*wire.Kind.codes().values(), 0x00, 0x2A])
    length = source.choice([1, 2, 3, 5, 8])
    flits = [(source.getrandbits(64), channel | BIT["valid"]) for _ in range(length)]
    flits[0] = (kind << 56 | flits[0][0] >> 8, flits[0][1] | BIT["sof"])
    ending = BIT["eof"] | (BIT["err"] if source.random() < 0.3 else 0)
    flits[-1] = (flits[-1][0], flits[-1][1] | ending)
    if source.random() < 0.1:
        del flits[0]  # the rest of a frame whose beginning is gone
    elif source.random() < 0.1:
        del flits[-1]  # a frame that another beginning will cut
    return flits


def expected(traffic: list[Cycle]) -> list[dict[str, int | str]]:
    """What the view shows in each cycle: events and kinds by name."""
    names = {code: name.upper() for name, code in wire.Kind.codes().items()}
    open_: dict[str, int | None] = {"c": None, "d": None}  # first flit of the frame under way
    found: list[dict[str, int | str]] = []
    for data, control in traffic:
        bits = {name for name, bit in BIT.items() if control & bit}
        row: dict[str, int | str] = {"link_event": _event(bits), "credit": int("credit" in bits)}
        for channel in "cd":
            here = "valid" in bits and ("data" in bits) == (channel == "d")
            if here and "sof" in bits:
                open_[channel] = data
            first = open_[channel]
            row[f"{channel}_kind"] = "NO_FRAME" if first is None else names.get(first >> 56, "UNKNOWN")
            raw = (first or 0).to_bytes(8, "big")
            row[f"{channel}_card"] = raw[1]
            for name, at in (("flags", 2), ("ttl", 4), ("home", 6)):
                row[f"{channel}_{name}"] = int.from_bytes(raw[at : at + 2], "big")
            if (here and "eof" in bits) or "up" not in bits:
                open_[channel] = None
        found.append(row)
    return found


def _event(bits: set[str]) -> str:
    if "up" not in bits:
        return "DOWN"
    if "valid" in bits:
        channel = "D" if "data" in bits else "C"
        place = "BODY"
        if {"sof", "eof"} <= bits:
            place = "SINGLE"
        elif "eof" in bits:
            place = "BAD" if "err" in bits else "EOF"
        elif "sof" in bits:
            place = "SOF"
        return f"{channel}_{place}"
    return "FAULT" if "fault" in bits else "CREDIT" if "credit" in bits else "IDLE"


# ------------------------------------------------------------------------------------------------ simulators

_MAIN = """
#include <cstdio>
#include "Vview_bench.h"
#include "verilated.h"
#include "verilated_vcd_c.h"
double sc_time_stamp() { return 0; }
int main(int, char** argv) {
  VerilatedContext context;
  context.traceEverOn(true);
  Vview_bench top{&context};
  VerilatedVcdC file;
  top.trace(&file, 99);
  file.open(argv[2]);
  FILE* traffic = std::fopen(argv[1], "r");
  unsigned long long data;
  unsigned control;
  for (uint64_t time = 0; std::fscanf(traffic, "%llx %x", &data, &control) == 2; time += 10) {
    top.clk_i = 1;
    top.eval();
    top.data_i = data;
    top.ctl_i = control;
    top.eval();
    file.dump(time);
    top.clk_i = 0;
    top.eval();
    file.dump(time + 5);
  }
  std::fclose(traffic);
  top.final();
}
"""

_BENCH = """
module view_bench (input logic clk_i, input logic [63:0] data_i, input logic [7:0] ctl_i);
  ring_view u_view_p1_rx (.clk_i, .data_i, .ctl_i);
endmodule
"""

_ICARUS = """
module play;
  logic clk = 1'b0;
  logic [63:0] data = 64'h0, next_data;
  logic [7:0] ctl = 8'h0, next_ctl;
  integer file, got;
  view_bench view_bench (.clk_i(clk), .data_i(data), .ctl_i(ctl));
  initial begin
    file = $fopen("traffic.txt", "r");
    $dumpfile("dump.vcd");
    $dumpvars(0, view_bench);
    got = $fscanf(file, "%h %h", next_data, next_ctl);
    while (got == 2) begin
      clk = 1'b1;
      #0 data = next_data;
      ctl = next_ctl;
      #5 clk = 1'b0;
      #5 got = $fscanf(file, "%h %h", next_data, next_ctl);
    end
    $finish;
  end
endmodule
"""


def _written(folder: Path, cycles: list[Cycle]) -> Path:
    path = folder / "traffic.txt"
    path.write_text("".join(f"{data:x} {control:x}\n" for data, control in cycles))
    return path


@dataclass(frozen=True)
class VerilatorBench:
    """`ring_view` as a program: it reads traffic and writes a VCD."""

    executable: Path

    @classmethod
    def built(cls, folder: Path) -> "VerilatorBench":
        """From the cache, where the same was built before."""
        main, bench = folder / "main.cpp", folder / "view_bench.sv"
        main.write_text(_MAIN)
        bench.write_text(_BENCH)
        request = BuildRequest(
            top="view_bench",
            rtl=(*SOURCES, bench),
            cpp=(main,),
            trace="vcd",
            prefix="Vview_bench",
            optimise="-O0",  # compiling is all that takes time here
            program=True,
            options=("--timescale", "1ns/1ns", "-Wno-fatal"),
        )
        return cls(build(request).path)

    def play(self, cycles: list[Cycle], folder: Path) -> Path:
        """The VCD of this traffic."""
        vcd = folder / "dump.vcd"
        subprocess.run([self.executable, _written(folder, cycles), vcd], check=True, timeout=60)
        return vcd


def icarus(cycles: list[Cycle], folder: Path) -> Path:
    """The VCD of this traffic, by Icarus."""
    _written(folder, cycles)
    (folder / "bench.sv").write_text(_BENCH + _ICARUS)
    command = ["iverilog", "-g2012", "-s", "play", "-o", "play.vvp", *map(str, SOURCES), "bench.sv"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    subprocess.run(["vvp", "-n", "play.vvp"], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder / "dump.vcd"


# --------------------------------------------------------------------------------------------- reading FST back


@dataclass(frozen=True)
class Waves:
    """`changes`: name with range -> (time, value as text) of each change; `enums`: name -> value in binary -> text."""

    changes: dict[str, list[tuple[int, str]]]
    widths: dict[str, int]
    scopes: list[str]
    enums: dict[str, dict[str, str]]
    end: int

    def at(self, name: str, time: int) -> str:
        """The value that holds at a time; x before the first one."""
        value = "x" * self.widths[name]
        for when, new in self.changes[name]:
            if when > time:
                break
            value = new
        return value


def fst(path: Path) -> Waves:
    """All of a file, by the library's own reader."""
    lib, ffi = pylibfst.lib, pylibfst.ffi
    reader = lib.fstReaderOpen(str(path).encode())
    assert reader != ffi.NULL, path
    scopes, names, widths, enums = _hierarchy(reader)
    raw: dict[int, list[tuple[int, str]]] = {handle: [] for handle in names.values()}

    def note(_: object, time: int, handle: int, value: object) -> None:
        changes, text = raw[handle], pylibfst.string(value)
        if changes and changes[-1][0] == time:
            changes.pop()
        if not changes or changes[-1][1] != text:
            changes.append((time, text))

    lib.fstReaderSetFacProcessMaskAll(reader)
    pylibfst.fstReaderIterBlocks(reader, note)
    end = int(lib.fstReaderGetEndTime(reader))
    lib.fstReaderClose(reader)
    return Waves({name: raw[handle] for name, handle in names.items()}, widths, scopes, enums, end)


def _hierarchy(reader: object) -> tuple[list[str], dict[str, int], dict[str, int], dict[str, dict[str, str]]]:
    lib, ffi = pylibfst.lib, pylibfst.ffi
    scopes: list[str] = []
    open_: list[str] = []
    names: dict[str, int] = {}
    widths: dict[str, int] = {}
    enums: dict[str, dict[str, str]] = {}
    tables: dict[int, dict[str, str]] = {}
    pending = 0
    lib.fstReaderIterateHierRewind(reader)
    while (item := lib.fstReaderIterateHier(reader)) != ffi.NULL:
        if item.htyp == lib.FST_HT_SCOPE:
            open_.append(pylibfst.string(item.u.scope.name))
            scopes.append(".".join(open_))
        elif item.htyp == lib.FST_HT_UPSCOPE:
            open_.pop()
        elif item.htyp == lib.FST_HT_ATTRBEGIN and item.u.attr.subtype == lib.FST_MT_ENUMTABLE:
            text = pylibfst.string(item.u.attr.name)
            if text:  # a table: its name, how many, their names, their values
                _, count, *words = text.split()
                tables[item.u.attr.arg] = dict(zip(words[int(count) :], words[: int(count)], strict=True))
            else:
                pending = item.u.attr.arg
        elif item.htyp == lib.FST_HT_VAR:
            name = ".".join([*open_, pylibfst.string(item.u.var.name)])
            names[name], widths[name] = item.u.var.handle, item.u.var.length
            if pending:
                enums[name] = tables[pending]
            pending = 0
    return scopes, names, widths, enums
