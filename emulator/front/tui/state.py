"""The state of a GPU and of the CPU's view of its card, as text."""

from rich.text import Text

from ringhil.emulator.debug.commands import indented
from ringhil.emulator.front.tui.desk import Looked
from ringhil.emulator.front.tui.words import folded
from ringhil.protocol.registers import ControlBit, StatusBit

_BITS = {"control": ControlBit, "status": StatusBit}


def state(looked: Looked, width: int) -> Text:
    """Registers, firmware, card; registers that are 0 together."""
    text = Text()

    def lines(*found: str, style: str = "") -> None:
        text.append("".join(f"{line}\n" for line in folded(found, width)), style)

    lines("registers", style="bold")
    registers = looked.registers[looked.gpu]
    for name, kind in _BITS.items():
        bits = [bit.name.lower() for bit in kind if registers[name] & bit and bit.name]
        lines(f" {name} {registers[name]}{': ' if bits else ''}{' '.join(bits)}")
    others = {name: value for name, value in registers.items() if name not in _BITS}
    lines(*(f" {name} {value}" for name, value in others.items() if value))
    lines(f" 0: {', '.join(name for name, value in others.items() if not value)}", style="dim")
    lines("firmware", style="bold")
    lines(*indented(looked.firmware or "none, or failed", " "))
    lines(f"CPU: card {looked.gpu.partition('.')[0]}", style="bold")
    lines(*indented(looked.card, " "))
    return text
