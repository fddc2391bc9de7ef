"""Figures of each class: what came out, and how long recovery took."""

from collections.abc import Iterable, Iterator, Sequence

from ringhil.emulator.campaign.explore.report_figures import Figures
from ringhil.emulator.campaign.explore.report_page import details, number, paragraph, percent, row_head, table, td
from ringhil.emulator.campaign.explore.report_spread import QUANTILES, Spread, histogram, joined_spread, quantile
from ringhil.emulator.campaign.explore.summary import ClassSummary

MOST_CLASSES = 500  # in a table; all pairs of all kinds are 324
_COUNTS = ("class", "cases", "detected", "located", "recovered", "failed")
_WORST = ("worst recovery", "bound", "share of the bound", "ring transits", "where", "rate below")


def class_table(figures: Figures) -> Iterator[str]:
    """What came out, class by class."""
    single, several = _parted(figures.classes)
    yield paragraph(
        "Detected, located, recovered: of the cases that demand it. Worst: the recovery that came nearest to its "
        "bound, in cycles and in times round the ring. Rate below: the 95 % bound when none failed."
    )
    rows = [*map(_class, single), *([_class(figures.total)] if figures.classes else [])]
    yield table("Classes", (*_COUNTS, *_WORST), rows)
    if several:
        shown = [_class(c) for c in several[:MOST_CLASSES]]
        content = [table("Classes of several faults", (*_COUNTS, *_WORST), shown), _more(several)]
        failed = any(c.failed or c.errors for c in several)
        yield details(f"{len(several):,} classes of several faults", content, shown=failed)


def recovery_table(figures: Figures) -> Iterator[str]:
    """How long recovery took, class by class."""
    single, several = _parted([c for c in figures.classes if figures.spreads[c.cls].shares])
    if not single and not several:
        yield paragraph("No recovery was measured.")
        return
    yield paragraph(
        "Of each case the event that took most of its bound. Pictures: from left to right the share of the bound, the "
        "dashed line is the bound itself, what is beyond it stands right of it; the height is the number of cases."
    )
    every = joined_spread(figures.spreads.values())
    rows = [_recovery(c.cls, figures.spreads[c.cls]) for c in single]
    yield _recoveries("Recovery", [*rows, _recovery("all", every)])
    if several:
        shown = [_recovery(c.cls, figures.spreads[c.cls]) for c in several[:MOST_CLASSES]]
        content = [_recoveries("Recovery from several faults", shown), _more(several)]
        yield details(f"{len(several):,} classes of several faults", content)


def _parted(classes: Iterable[ClassSummary]) -> tuple[list[ClassSummary], list[ClassSummary]]:
    """Those of one fault or none, and the others."""
    found = list(classes)
    return [c for c in found if c.depth <= 1], [c for c in found if c.depth > 1]


def _more(classes: Sequence[ClassSummary]) -> str:
    return paragraph(f"and {len(classes) - MOST_CLASSES:,} more") if len(classes) > MOST_CLASSES else ""


def _class(c: ClassSummary) -> list[str]:
    failed, bound = c.failed + c.errors, c.failure_rate_bound
    share = "-" if c.recovery is None or c.bound is None else percent(c.recovery / max(1, c.bound))
    counts = ((c.detected, c.to_detect), (c.located, c.to_locate), (c.recovered, c.to_recover))
    return [
        row_head(c.cls),
        number(c.cases),
        *(_of(*count) for count in counts),
        td(f"✗ {failed:,}", "n fail") if failed else number(0),
        number(c.recovery),
        number(c.bound),
        td(share, "n"),
        number(c.transits),
        td(c.worst or "-", "long"),
        td("-" if bound is None else f"{100 * bound:.3g} %", "n"),
    ]


def _of(done: int, wanted: int) -> str:
    return td(f"{done:,} of {wanted:,}" if wanted else "-", "n")


def _recoveries(caption: str, rows: Iterable[Sequence[str]]) -> str:
    names = ["max" if share == 100 else f"p{share}" for share in QUANTILES]
    measures = [f"{name} {measure}" for measure in ("cycles", "ring transits", "of the bound") for name in names]
    return table(caption, ("class", "recoveries", *measures, "distribution"), rows)


def _recovery(name: str, spread: Spread) -> list[str]:
    cycles, transits, shares = (
        [quantile(values, share) for share in QUANTILES] for values in (spread.cycles, spread.transits, spread.shares)
    )
    figures = [*map(number, (*cycles, *transits)), *(td("-" if s is None else percent(s), "n") for s in shares)]
    return [row_head(name), number(len(spread.shares)), *figures, f"<td>{histogram(name, spread)}</td>"]
