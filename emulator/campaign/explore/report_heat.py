"""A map of what was covered as a table: numbers and signs say what colours say."""

from ringhil.emulator.campaign.explore.report_maps import Cell, Map
from ringhil.emulator.campaign.explore.report_page import row_head, table, td

LEGEND = (
    "A cell has the number of cases. 0, red: a hole, no case although there can be one. ◐, amber: not all that the "
    "cell stands for was played. Green: all of it was. ·, grey: there can't be one. ✗ and a frame: so many cases "
    "failed. The title of a cell has the figures."
)


def heat(found: Map) -> str:
    """Rows down, columns across."""
    holes = sum(cell.state == "hole" for cell in found.cells)
    rows = (
        [row_head(name), *(_cell(cell, f"{name}, {column}", found) for cell, column in zip(cells, across, strict=True))]
        for across in [found.across]
        for name, cells in found.rows
    )
    return table(
        f"{found.name}; {holes:,} {'hole' if holes == 1 else 'holes'}", (found.down, *found.across), rows, "map"
    )


def _cell(cell: Cell, where: str, found: Map) -> str:
    if cell.state == "none":
        return td("·", "none", f"{where}: can't be")
    part = "" if cell.state in ("hole", "full") else " ◐"
    failed = f" ✗{cell.failed:,}" if cell.failed else ""
    title = f"{where}: {cell.cases:,} cases, {cell.failed:,} failed; {cell.played:,}"
    title += f" of {cell.wanted:,} {found.counted}" if cell.wanted >= cell.played else f" {found.counted}"
    return td(f"{cell.cases:,}{part}{failed}", f"{cell.state} wrong" if cell.failed else cell.state, title)
