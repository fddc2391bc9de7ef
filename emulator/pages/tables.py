"""Tables on a terminal or in a pipe: every header and every value is there whole, whatever the width."""

from collections.abc import Collection

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_WIDEST = 1 << 16  # characters of a table
_LEAST = 30  # characters of a column that may be folded


def table(*columns: str, left: Collection[str] = (), folded: Collection[str] = ()) -> Table:
    """A table without lines. Columns stand right, those in `left` and `folded` left; a long text in one of `folded`
    goes over several lines."""
    made = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        justify = "left" if name in left or name in folded else "right"
        made.add_column(name, justify=justify, no_wrap=name not in folded, overflow="fold")  # type: ignore[arg-type]
    return made


def print_table(console: Console, shown: Table) -> None:
    """Print it. Lines that are longer than the console is wide stay whole: a terminal folds them."""
    natural = Measurement.get(console, console.options.update(max_width=_WIDEST), shown).maximum
    if natural > console.width:
        spare = 0
        for column in shown.columns:
            if not column.no_wrap:
                widths = (cell_len(Text.from_markup(str(cell)).plain) for cell in (column.header, *column.cells))
                spare += max(0, max(widths) - _LEAST)
        shown.width = max(console.width, natural - spare)
    console.print(shown, crop=False)
