"""Whether a mutant can do anything else at all, in one step from any state.

Registers, memories and inputs of the netlist may hold anything. Beside the tables and carries that lead to the next
state and the outputs stand those that follow from the mutated one, once more. If no state lets them differ, the mutant
is no mistake; one whose bit can't be addressed is among these. If some state does, that says little: the GPU need not
ever get into it.
"""

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.netlist.mutants import Mutant

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.proofs.tools import tool_path

_SECONDS = 120  # for a proof
_UNSATISFIABLE, _SATISFIABLE = "unsat", "sat"
_CELL = re.compile(r"^  (\w+) (?:#\((.*?)\n  \) )?(\S+) \(\n(.*?)\n  \);$", re.MULTILINE | re.DOTALL)
_PIN = re.compile(r"\.(\w+)\((.*?)\),?$", re.MULTILINE)
_INIT = re.compile(r"\.(INIT\d?)\(16'h([0-9a-f]{4})\)")
_ASSIGN = re.compile(r"^  assign (.*?) = (.*?);$", re.MULTILINE)
_PORT = re.compile(r"^  (?:input|output) (?:\[(\d+):0\] )?(\w+);$", re.MULTILINE)
_OUT = re.compile(r"^  output (?:\[\d+:0\] )?(\w+);$", re.MULTILINE)
_NUMBER = re.compile(r"(\d+)'h([0-9a-fx]+)")
_INDEXED = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")

_CHOICE = 0b11001010  # of the first two inputs, the second if the third is set
_EITHER = 0b0110  # of two inputs: they differ
_CARRY = {"CCU2C"}
_REST = {"GIVEN", "TRELLIS_DPR16X4", "TRELLIS_FF"}


@dataclass(frozen=True)
class _Table:
    """Bit i of `bits` is what comes out when the inputs, the first one lowest, are the number i."""

    bits: int
    inputs: tuple[str, ...]


class Gates:
    """What a netlist's Verilog has between registers. Raises BuildError for cells that it has no table of."""

    def __init__(self, text: str) -> None:
        self._width = {name: int(msb or 0) + 1 for msb, name in _PORT.findall(text)}
        self._tables: dict[str, _Table] = {}
        self._of: dict[str, str] = {}  # look-up table: the net behind it
        self._kept = {bit for name in _OUT.findall(text) for bit in self._bits(name)}
        for left, right in _ASSIGN.findall(text):
            for net, same in zip(self._bits(left), self._bits(right), strict=True):
                self._tables[net] = _Table(0b10, (same,))
        for kind, parameters, name, pins in _CELL.findall(text):
            self._add(kind, dict(_INIT.findall(parameters)), name, dict(_PIN.findall(pins)))
        self._readers = defaultdict[str, list[str]](list)
        for net, table in self._tables.items():
            for source in table.inputs:
                self._readers[source].append(net)

    def _bits(self, words: str) -> list[str]:
        """The nets of an expression, the highest first; constants are "0" and "1"."""
        if words.startswith("{"):
            return [bit for word in words[1:-1].strip().split(", ") for bit in self._bits(word)]
        if number := _NUMBER.fullmatch(words):
            value = int(number[2].replace("x", "0"), 16)
            return list(f"{value:0{int(number[1])}b}")
        if part := _INDEXED.fullmatch(words):
            return [f"{part[1]}[{i}]" for i in range(int(part[2]), int(part[3] or part[2]) - 1, -1)]
        width = self._width.get(words, 1)
        return [words] if width == 1 else [f"{words}[{i}]" for i in range(width - 1, -1, -1)]

    def _add(self, kind: str, tables: dict[str, str], name: str, pins: dict[str, str]) -> None:
        nets = {pin: self._bits(words) for pin, words in pins.items()}
        one = {pin: bits[0] for pin, bits in nets.items() if len(bits) == 1}
        if kind == "LUT4":
            self._tables[one["Z"]] = _Table(int(tables["INIT"], 16), tuple(one[pin] for pin in "ABCD"))
            self._of[name] = one["Z"]
        elif kind == "PFUMX":
            self._tables[one["Z"]] = _Table(_CHOICE, (one["BLUT"], one["ALUT"], one["C0"]))
        elif kind == "L6MUX21":
            self._tables[one["Z"]] = _Table(_CHOICE, (one["D0"], one["D1"], one["SD"]))
        elif kind in _CARRY:
            self._carry(tables, name, one)
        elif kind in _REST:
            self._kept |= {bit for pin, bits in nets.items() if pin not in ("Q", "DO", "O") for bit in bits}
        else:
            raise BuildError(f"{name}: a {kind}; known are LUT4, PFUMX, L6MUX21, {', '.join(sorted(_CARRY | _REST))}")

    def _carry(self, tables: dict[str, str], name: str, one: dict[str, str]) -> None:
        """Two bits of a chain, whose carry goes through (INJECT1 is "NO")."""
        carry = one.get("CIN", "0")
        for half in "01":
            init = int(tables[f"INIT{half}"], 16)
            inputs = tuple(one.get(f"{pin}{half}", "0") for pin in "ABCD")
            four, two, after = (f"{name}.{what}{half}" for what in ("four", "two", "after"))
            self._tables[four] = _Table(init, inputs)
            self._tables[two] = _Table(init & 0xF, inputs[:2])
            self._tables[after] = _Table(_CHOICE, (two, carry, four))
            if f"S{half}" in one:
                self._tables[one[f"S{half}"]] = _Table(_EITHER, (four, carry))
            carry = after
        if "COUT" in one:
            self._tables[one["COUT"]] = _Table(0b10, (carry,))

    def _after(self, net: str) -> set[str]:
        """Nets that may follow from it, itself included."""
        found, left = {net}, [net]
        while left:
            new = set(self._readers[left.pop()]) - found
            found |= new
            left += new
        return found

    def _before(self, nets: set[str]) -> Iterator[tuple[str, _Table]]:
        """All tables that lead to these."""
        found, left = set(nets), list(nets)
        while left:
            net = left.pop()
            if (table := self._tables.get(net)) is not None:
                yield net, table
                new = set(table.inputs) - found
                found |= new
                left += new

    def same_step(self, mutant: Mutant) -> bool | None:
        """Whether no state lets it differ in what comes next; None if that takes too long to find out."""
        net = self._of[mutant.name]
        changed = self._after(net)
        looked_at = changed & self._kept
        clauses = _Clauses()
        for name, table in self._before(looked_at | {net}):
            clauses.add(name, table)
            if name in changed:
                bits = table.bits ^ (1 << mutant.place if name == net else 0)
                again = tuple(f"{one}'" if one in changed else one for one in table.inputs)
                clauses.add(f"{name}'", _Table(bits, again))
        for name in looked_at:
            clauses.add(f"{name}?", _Table(_EITHER, (name, f"{name}'")))
        clauses.any_of([f"{name}?" for name in looked_at])
        return clauses.impossible()


class _Clauses:
    """What must hold, as a solver reads it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lines: list[str] = []

    def _number(self, net: str) -> int:
        return self._numbers.setdefault(net, len(self._numbers) + 1)

    def add(self, net: str, table: _Table) -> None:
        """What comes out of a table is `net`."""
        for i in range(1 << len(table.inputs)):
            held = [(source, i >> at & 1) for at, source in enumerate(table.inputs)]
            if any(source in "01" and int(source) != value for source, value in held):
                continue
            words = [-self._number(s) if value else self._number(s) for s, value in held if s not in "01"]
            out = self._number(net)
            words.append(out if table.bits >> i & 1 else -out)
            self._lines.append(f"{' '.join(map(str, words))} 0")

    def any_of(self, nets: list[str]) -> None:
        """One of these is set."""
        self._lines.append(" ".join([*(str(self._number(net)) for net in nets), "0"]))

    def impossible(self) -> bool | None:
        """Whether it can't all hold. Raises BuildError if the solver doesn't say."""
        with tempfile.TemporaryDirectory(prefix="ringhil-same-step-") as folder:
            file = Path(folder) / "step.cnf"
            head = f"p cnf {len(self._numbers)} {len(self._lines)}"
            file.write_text("\n".join([head, *self._lines, ""]))
            command = [tool_path("yices-sat"), file]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return None
            except OSError as error:
                raise BuildError(f"yices-sat: {error.strerror}; pip install 'ringhil[prove]'") from None
        said = done.stdout.strip()
        if said not in (_UNSATISFIABLE, _SATISFIABLE):
            raise BuildError(f"yices-sat: found {said or done.stderr.strip()!r}; wanted is sat or unsat")
        return said == _UNSATISFIABLE
