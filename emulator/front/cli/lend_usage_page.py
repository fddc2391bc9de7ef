"""Usage of GPUs and loans, as the page that `view/page/src/loans.tsx` draws."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ringhil.emulator.front.cli.lend_usage import gpu_row, loan_row
from ringhil.emulator.pages import visible
from ringhil.emulator.pages.charts import Axis, Chart, Curve, Quantity
from ringhil.emulator.view.fleet import LentGpu, LentLoan, LoansAbout

if TYPE_CHECKING:
    from ringhil.emulator.lending.database import LendingDatabase
    from ringhil.emulator.lending.usage import GpuUsage

STRETCHES = 400  # of the time, a point of each curve in each
_SECOND = 10**9
_WATT = 10**3  # microjoules in a nanosecond ... of a watt: 10^-6 J / 10^-9 s
_MOST_LOANS = 2000  # the latest ones
_MOST_CURVES = 16


def about(database: "LendingDatabase", *, followed: bool = False) -> LoansAbout:
    """All that the page is told. Raises LendingDatabaseError."""
    from ringhil.emulator.lending.journal import latest_loans
    from ringhil.emulator.lending.usage import gpus_used, loans_used

    loans = loans_used(database)
    whole, begin, end = gpus_used(database)
    parts = gpus_used(database, STRETCHES)[0]
    drawn = dict(list(parts.items())[:_MOST_CURVES])
    latest, lent = loans[-_MOST_LOANS:], Counter(each.gpu for each in loans)
    journal = {str(each.id): each for each in latest_loans(database, _MOST_LOANS)}
    said = []
    if len(latest) < len(loans):
        said.append(f"the latest {len(latest):,} of {len(loans):,} loans")
    if len(drawn) < len(parts):
        said.append(f"curves of the first {len(drawn)} of {len(parts)} GPUs")
    return LoansAbout(
        what=_text(f"{database.name}: {len(loans):,} loans; samples of {(end - begin) / _SECOND:,.1f} s"),
        followed=followed,
        begin_s=begin / _SECOND,
        end_s=end / _SECOND,
        all_loans=len(loans),
        gpus=[LentGpu(**gpu_row(gpu, used, lent[gpu]) | {"gpu": _text(gpu)}) for gpu, (used,) in whole.items()],
        loans=[
            LentLoan(
                **loan_row(each)
                | {name: _text(getattr(each, name)) for name in ("loan", "node", "kind", "gpu")}
                | {"among": [*map(_text, each.among)]}
                | {name: _text(getattr(journal.get(each.loan), name, "")) for name in ("reason", "error")}
            )
            for each in latest
        ],
        said=said,
        charts=_charts(drawn, begin, end) if drawn else [],
    )


def _text(text: str) -> str:
    """With what can't be seen in it written out."""
    return str(visible(text))


def _charts(parts: "Mapping[str, Sequence[GpuUsage]]", begin: int, end: int) -> list[Chart]:
    x = Axis(title="time", quantity="seconds", begin=begin / _SECOND, end=max(begin + 1, end) / _SECOND)

    def chart(title: str, quantity: Quantity, value: "Callable[[GpuUsage], float | None]") -> Chart:
        curves = [_curve(gpu, used, value, begin, end) for gpu, used in parts.items()]
        return Chart(title=title, x=x, y=Axis(title="", quantity=quantity), curves=tuple(curves), group="time")

    return [
        chart("Power", "watts", lambda u: None if u.energy is None else u.energy / u.seen * _WATT),
        chart("Busy", "share", lambda u: None if u.busy is None else min(1.0, u.busy / u.seen)),
        chart("Memory", "bytes", lambda u: u.memory),
        chart("Launches in a second", "count", lambda u: u.launches / u.seen * _SECOND),
    ]


def _curve(
    gpu: str, used: "Sequence[GpuUsage]", value: "Callable[[GpuUsage], float | None]", begin: int, end: int
) -> Curve:
    """A step for the time that each was seen for, up to its `at`; a gap where there are no samples."""
    xs, ys, until = list[float](), list[float | None](), begin
    for each in sorted(used, key=lambda each: each.at):
        if each.seen:
            start = max(until, each.at - each.seen)
            if start > until:
                xs.append(until / _SECOND)
                ys.append(None)
            found = value(each)
            xs.append(start / _SECOND)
            ys.append(None if found is None else float(f"{found:.6g}"))
            until = each.at
    if until < end:
        xs.append(until / _SECOND)
        ys.append(None)
    return Curve(name=_text(gpu), xs=tuple(xs), ys=tuple(ys), steps=True)
