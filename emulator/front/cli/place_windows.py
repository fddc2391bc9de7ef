"""What emulated servers found in windows of the runs of `ringhil place`, beside the table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.campaign.place import PlaceRun
from ringhil.emulator.cluster.window import PlayedWindow
from ringhil.emulator.pages.tables import print_table, table

Windows = Mapping[PlaceRun, PlayedWindow]
COLUMNS = ("run and window", "meters", "table", "error", "tasks", "counts", "placements", "ends")
_KWH = 3_600_000  # joules
_SAID = "Windows: energy by meters beside the table's, and how many counts, placements and ends the table has wrong."
_REST = "All other figures are the table's."


def show(windows: Windows, console: Console) -> None:
    """A line for each, and where it begins to differ."""
    if not windows:
        return
    console.print(_SAID, soft_wrap=True)
    made = table(*COLUMNS, left=COLUMNS[:1])
    for run, each in windows.items():
        made.add_row(escape(str(run)), *_cells(each))
    print_table(console, made)
    for line in [*_first(windows), _REST]:
        console.print(escape(line), soft_wrap=True)


def lines(windows: Windows) -> list[str]:
    """As a page has them."""
    if not windows:
        return []
    told = (
        f"{run}: {', '.join(f'{name} {cell}' for name, cell in zip(COLUMNS[1:], _cells(each), strict=True))}."
        for run, each in windows.items()
    )
    return [_SAID, *told, *_first(windows), _REST]


def document(windows: Windows) -> list[dict[str, Any]]:
    """As `--json` has them."""
    return [
        {
            **({} if run.load is None else {"load": run.load}),
            "policy": run.policy,
            "seed": run.seed,
            "from": each.window.begins,
            "to": each.window.ends,
            "metered_j": each.metered_j,
            "table_j": each.table_j,
            "error": each.error,
            "tasks": each.tasks,
            "differ": {"counts": each.counts, "placements": each.placements, "ends": each.ends},
            "first": each.first or None,
            "failing_servers": each.failing,
        }
        for run, each in windows.items()
    ]


def _cells(each: PlayedWindow) -> list[str]:
    energy = [f"{joules / _KWH:,.3f} kWh" for joules in (each.metered_j, each.table_j)]
    error = "-" if each.error is None else f"{100 * each.error:+.2f} %"
    return [*energy, error, *(f"{count:,}" for count in (each.tasks, each.counts, each.placements, each.ends))]


def _first(windows: Windows) -> list[str]:
    lines = [f"{run}: first {each.first}" for run, each in windows.items() if each.first]
    if any(each.failing for each in windows.values()):
        lines.append("Where servers fail, their meters miss what was taken since the census before.")
    return lines
