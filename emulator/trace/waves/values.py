"""What a VCD file of a single moment says: each variable by its name, with its width and value."""

from collections.abc import Iterable
from typing import NamedTuple

_SHELL = 2  # scopes around all others: Verilator's and the top module


class SignalValue(NamedTuple):
    """A wire or register. `bits`: its width."""

    bits: int
    value: int

    def __str__(self) -> str:
        """As Verilog writes it."""
        return f"{self.bits}'h{self.value:x}"


def signals(lines: Iterable[str]) -> dict[str, SignalValue]:
    """By their names, as in `u_node.u_control.u_outbox.writing_q`; one of the top module's own has no dot. Raises
    ValueError if it isn't what Verilator writes."""
    scopes: list[str] = []
    widths: dict[str, int] = {}
    names: dict[str, str] = {}  # the code by the name
    values: dict[str, int] = {}
    for line in lines:
        words = line.split()
        match words:
            case ["$scope", _, name, "$end"]:
                scopes.append(name)
            case ["$upscope", "$end"]:
                scopes.pop()
            case ["$var", _, width, code, name, *_]:
                widths[code] = int(width)
                if len(scopes) >= _SHELL:
                    names[".".join([*scopes[_SHELL:], name])] = code
            case [vector, code] if vector[0] == "b":
                values[code] = int(vector[1:], 2)
            case [scalar] if scalar[0] in "01":
                values[scalar[1:]] = int(scalar[0])
    return {name: SignalValue(widths[code], values[code]) for name, code in names.items() if code in values}
