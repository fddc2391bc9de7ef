"""One mistake in a node: a wire of its netlist that isn't what it should be, and where in the source that is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_OPTION = re.compile(r"-(mode|module|cell|port|portbit|ctrlbit|wire|wirebit|src) (\S+)")
_PLACE = re.compile(r"(?P<file>[\w.]+\.sv):(?P<line>\d+)\.(?P<column>\d+)(?:-(?P<to>\d+)\.(?P<end>\d+))?")
_MODES = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted while bit {} is 0",
    "cnot1": "inverted while bit {} is 1",
}


@dataclass(frozen=True)
class Mutant:
    """`command`: Yosys' `mutate` command that makes it. `module`: name in the source; `unit`: in the netlist, where
    every instance is a module of its own. `file`, `line`: the expression, assignment or instance that is wrong."""

    command: str
    module: str
    unit: str
    cell: str
    port: str
    bit: int
    mode: str
    file: str
    line: int
    text: str

    @property
    def instance(self) -> str:
        """Path within the node; empty for the node itself."""
        return self.unit.partition("$")[2].partition(".")[2]

    @property
    def place(self) -> str:
        """Where to look, for a reader."""
        return f"{self.file}:{self.line}" + (f" ({self.instance})" if self.instance else "")


def parse(command: str, rtl: Path) -> Mutant | None:
    """A line of `mutate -list`; None for one that isn't a mistake that somebody could make: in the clock, or in
    something that has no place in the source."""
    options: dict[str, list[str]] = {}
    for name, value in _OPTION.findall(command):
        options.setdefault(name, []).append(value)
    port, unit, cell = (options[name][0].removeprefix("\\") for name in ("port", "module", "cell"))
    places = [p for p in map(_PLACE.fullmatch, options.get("src", ())) if p is not None]
    if port in ("CLK", "clk_i") or not places:
        return None
    place = places[-1]  # the cell's; before it comes the wire's
    mode, bit = options["mode"][0], int(options["portbit"][0])
    what = _what(rtl, place, cell, port, bit)
    change = _MODES[mode].format(options.get("ctrlbit", ["?"])[0])
    return Mutant(
        command.strip(),
        unit.partition("$")[0],
        unit,
        cell,
        port,
        bit,
        mode,
        place["file"],
        int(place["line"]),
        f"{what} {change}",
    )


def _what(rtl: Path, place: "re.Match[str]", cell: str, port: str, bit: int) -> str:
    text = source_text(rtl, place)
    match port:
        case "Y" | "Q" | "DATA":
            return f"bit {bit} of '{text}'"
        case "S":
            return f"selection {bit} of '{text}'"
        case "A" | "B" | "D" | "EN" | "ADDR" | "SRST" | "ARST":
            return f"bit {bit} of input {port} of '{text}'"
        case _:
            return f"bit {bit} of port {port} of {cell}"


def source_text(rtl: Path, place: "re.Match[str]") -> str:
    """The piece of source that a place names, on one line and not long."""
    lines = _lines(rtl / place["file"])
    first = int(place["line"])
    if place["to"] is None:
        return lines[first - 1].strip()
    last = int(place["to"])
    piece = list(lines[first - 1 : last])
    piece[-1] = piece[-1][: int(place["end"]) - 1]
    piece[0] = piece[0][int(place["column"]) - 1 :]
    flat = " ".join(" ".join(piece).split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


@cache
def _lines(file: Path) -> Sequence[str]:
    return file.read_text(encoding="utf-8").splitlines()


def source_line(rtl: Path, mutant: Mutant) -> str:
    """The whole first line of the place."""
    return _lines(rtl / mutant.file)[mutant.line - 1].strip()
