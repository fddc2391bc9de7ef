"""Random SystemVerilog: registers, memories and logic in the forms that Verilator has a form of C++ for."""

import random
from collections.abc import Sequence

PARTS, REGISTERS, WIRES = 4, 8, 14
_WIDTHS = (1, 1, 1, 4, 8, 16, 31, 33, 64, 64, 100)
_INPUTS = (("a_i", 64), ("b_i", 32), ("c_i", 8), ("d_i", 1))
_PORTS = """\
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [63:0] a_i,
    input  logic [31:0] b_i,
    input  logic [ 7:0] c_i,
    input  logic        d_i,
    output logic [63:0] x_o,
    output logic [31:0] y_o,
    output logic [31:0] late_o
"""
MODULE = f"module zoo (\n{_PORTS});\n"

Signal = tuple[str, int]


def design(seed: int) -> str:
    """A module `zoo` of parts `u_part0`, ..., with registers r0, r1, ... each; their outputs are added up."""
    rng = random.Random(seed)
    outputs = (("x_o", 64), ("y_o", 32), ("late_o", 32))
    lines = [_part(rng, number) for number in range(PARTS)]
    lines.append(MODULE)
    for name, width in outputs:
        lines.append(f"  logic [{width - 1}:0] {', '.join(f'{name}{part}' for part in range(PARTS))};")
    for part in range(PARTS):
        own = ", ".join(f".{name}({name}{part})" for name, _ in outputs)
        lines.append(f"  part{part} u_part{part} (.clk_i, .rst_i, .a_i, .b_i, .c_i, .d_i, {own});")
    lines += [f"  assign {name} = {' + '.join(f'{name}{part}' for part in range(PARTS))};" for name, _ in outputs]
    return "\n".join([*lines, "endmodule", ""])


def _part(rng: random.Random, number: int) -> str:
    registers = [(f"r{i}", rng.choice(_WIDTHS)) for i in range(REGISTERS)]
    memories = [("m0", rng.choice((8, 40, 64))), ("m1", rng.choice((1, 33, 100)))]
    lines = [f"module part{number} (", _PORTS, ");"]
    lines += [f"  logic [{width - 1}:0] {name};" for name, width in registers]
    lines += [f"  logic [{memories[0][1] - 1}:0] m0[16];", f"  logic [{memories[1][1] - 1}:0] m1[128];"]
    some = _Logic(rng, [*_INPUTS, *registers], memories)
    for i in range(WIRES):
        lines += some.wire(f"w{i}")
    lines += [line for i in range(0, REGISTERS, 2) for line in some.block(registers[i : i + 2], memories)]
    for name, width in (("x_o", 64), ("y_o", 32), ("late_o", 32)):
        lines.append(f"  assign {name} = {some.value(width)};")
    return "\n".join([*lines, "endmodule", ""])


class _Logic:
    """Logic over `signals`, to which each new wire is added."""

    def __init__(self, rng: random.Random, signals: Sequence[Signal], memories: Sequence[Signal]) -> None:
        self.rng = rng
        self.signals = list(signals)
        self.memories = memories

    def wire(self, name: str) -> list[str]:
        width = self.rng.choice(_WIDTHS)
        lines = [f"  logic [{width - 1}:0] {name};"]
        if self.rng.random() < 0.4:
            lines.append(f"  assign {name} = {self.value(width)};")
        else:
            lines += ["  always @* begin", f"    {name} = {self.value(width, 1)};"]
            lines += [*self.choice([(name, width)], "=", "    "), "  end"]
        self.signals.append((name, width))
        return lines

    def block(self, registers: Sequence[Signal], memories: Sequence[Signal]) -> list[str]:
        """Registers and, now and then, a place in a memory, with a reset."""
        lines = ["  always_ff @(posedge clk_i) begin", "    if (rst_i) begin"]
        lines += [f"      {name} <= {width}'({self.rng.randrange(2)});" for name, width in registers]
        lines += ["    end else begin", *self.choice(registers, "<=", "      ")]
        if registers[0][0] in ("r0", "r2"):
            name, width = memories[registers[0][0] == "r2"]
            lines.append(
                f"      if ({self.value(1)}) {name}[{self.value(4 if name == 'm0' else 7, 1)}] <= {self.value(width)};"
            )
        return [*lines, "    end", "  end"]

    def choice(self, targets: Sequence[Signal], sign: str, indent: str, depth: int = 2) -> list[str]:
        """An `if` that writes some of the targets, in one branch or both, as wholes or in part."""
        lines = [f"{indent}if ({self.value(1)}) begin"]
        for branch in range(self.rng.choice((1, 2))):
            lines += [f"{indent}end else begin"] if branch else []
            if depth and self.rng.random() < 0.3:
                lines += self.choice(targets, sign, f"{indent}  ", depth - 1)
            name, width = self.rng.choice(targets)
            if width > 2 and self.rng.random() < 0.2:
                low = self.rng.randrange(width - 1)
                lines.append(f"{indent}  {name}[{width - 1}:{low}] {sign} {self.value(width - low)};")
            else:
                lines.append(f"{indent}  {name} {sign} {self.value(width)};")
        return [*lines, f"{indent}end"]

    def value(self, width: int, depth: int = 3) -> str:
        """An expression of `width` bits."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            name, bits = rng.choice(self.signals)
            if bits > 4 and rng.random() < 0.3:
                low = rng.randrange(bits - 1)
                return f"{width}'({name}[{rng.randrange(low, bits)}:{low}])"
            return f"{width}'({name})" if rng.random() < 0.9 else f"{width}'({rng.randrange(1 << min(width, 8))})"
        one, two = (self.value(width, depth - 1) for _ in range(2))
        if width == 1 and rng.random() < 0.6:
            name, bits = rng.choice(self.signals)
            compared = f"({name} {rng.choice(('==', '!=', '<', '>='))} {bits}'({rng.randrange(1 << min(bits, 6))}))"
            return rng.choice((compared, f"({rng.choice('&|^')}{name})", f"({one} && {two})", f"({one} || !{two})"))
        half = max(width // 2, 1)
        memory, bits = rng.choice(self.memories)
        ways = [f"({one} {operator} {two})" for operator in ("+", "-", "&", "|", "^")]
        ways += [f"({self.value(1, depth - 1)} ? {one} : {two})"] * 3
        ways += [f"(~{one})", f"({one} << {self.value(3, 0)})", f"({one} >> {self.value(5, 0)})"]
        ways.append(f"{width}'({{{self.value(half, depth - 1)}, {self.value(width, depth - 1)}}})")
        ways.append(f"{width}'({memory}[{self.value(4 if memory == 'm0' else 7, 0)}])")
        return rng.choice(ways)
