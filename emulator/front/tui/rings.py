"""The rings as characters: [3] takes part, ─3─ is bypassed; with a star the entry GPU, with an arrow a boundary one,
with a cross one that a fault strikes. Reversed is where the message is, underlined the GPU whose state is shown."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from ringhil.emulator.debug.marks import Known
from ringhil.protocol.registers import ControlBit, StatusBit

_BYPASSED = StatusBit.BYPASS_CW | StatusBit.BYPASS_CCW
Registers = Mapping[str, Mapping[str, int]]


def picture(
    gpus: Sequence[str], known: Known, registers: Registers | None, here: str, chosen: str, width: int
) -> tuple[Text, dict[tuple[int, int], str]]:
    """The text, and which GPU is where. `registers` None: they aren't known yet; roles are those that were told."""
    text, number = Text(), 0
    places: dict[tuple[int, int], str] = {}
    cards: dict[str, list[str]] = {}
    for gpu in gpus:
        cards.setdefault(gpu.partition(".")[0], []).append(gpu)
    for card, members in cards.items():
        text.append(f"card {card}\n", "bold")
        number += 1
        lines = _rows([_token(gpu, known, registers) for gpu in members], width)
        inner = max(map(_length, lines))
        for row, line in enumerate(lines):
            text.append("┌─" if row == 0 else "│ ")
            column = 2
            for place, token in line:
                gpu = members[place]
                style = " ".join((["reverse"] if gpu == here else []) + (["underline bold"] if gpu == chosen else []))
                text.append(token, style)
                places.update({(number, column + letter): gpu for letter in range(len(token))})
                column += len(token)
                if place != line[-1][0]:
                    text.append("─")
                    column += 1
            text.append(("─" if row == 0 else " ") * (inner - _length(line)) + ("─┐\n" if row == 0 else " │\n"))
            number += 1
        text.append(f"└─{'─' * inner}─┘\n")
        number += 1
    for where, faults in sorted(known.faults.items()):
        if faults:
            text.append(f"{where}: {', '.join(sorted(faults))}\n")
    return text, places


def _rows(tokens: Sequence[str], width: int) -> list[list[tuple[int, str]]]:
    rows: list[list[tuple[int, str]]] = [[]]
    for place, token in enumerate(tokens):
        if rows[-1] and _length([*rows[-1], (place, token)]) + 4 > width:
            rows.append([])
        rows[-1].append((place, token))
    return rows


def _length(row: Sequence[tuple[int, str]]) -> int:
    return sum(len(token) + 1 for _, token in row) - 1


def _token(gpu: str, known: Known, registers: Registers | None) -> str:
    name = gpu.partition(".")[2]
    failed = "✗" if known.faults.get(gpu) else ""
    if registers is None:
        roles = known.roles.get(gpu, set())
        entry, boundary, bypassed = "entry" in roles, "boundary" in roles, False
    else:
        control, status = registers[gpu]["control"], registers[gpu]["status"]
        bypassed = bool(status & _BYPASSED)
        entry, boundary = bool(control & ControlBit.ENTRY), bool(control & ControlBit.BOUNDARY)
    if bypassed:
        return f"─{name}{failed}─"
    return f"[{name}{'*' if entry else ''}{'↔' if boundary else ''}{failed}]"
