"""Usage of GPUs and loans as a page for operators."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringhil.emulator.front.cli.lend_usage import GPU_HEADS, LEFT, LOAN_HEADS, shown
from ringhil.emulator.pages import render
from ringhil.emulator.pages.curves import CurveChart, Point, Unit, line, power_unit, time_unit
from ringhil.emulator.pages.scale import LEFT as LANE_LEFT
from ringhil.emulator.pages.scale import WIDTH, Scale

if TYPE_CHECKING:
    from ringhil.emulator.lending.usage import GpuUsage

STRETCHES = 200  # of the time, a point of each curve in each
_SECOND = 10**9
_WATT = 10**3  # microjoules in a nanosecond ... of a watt: 10^-6 J / 10^-9 s
_LANE, _BAR, _BELOW = 26, 18, 20
_MOST_LOANS = 2000  # in the table and the picture, the latest ones
_MOST_CURVES = 16


def page(
    database: str,
    gpus: Sequence[Mapping[str, Any]],
    loans: Sequence[Mapping[str, Any]],
    parts: "Mapping[str, Sequence[GpuUsage]]",
    begin: int,
    end: int,
) -> str:
    """A page that needs nothing else. `gpus`, `loans`: rows; `parts`: by GPU, what it used in stretches of the time
    from `begin` to `end`, nanoseconds."""
    latest, drawn = loans[-_MOST_LOANS:], dict(list(parts.items())[:_MOST_CURVES])
    said = []
    if len(latest) < len(loans):
        said.append(f"The latest {len(latest):,} of {len(loans):,} loans.")
    if len(drawn) < len(parts):
        said.append(f"Curves show the first {len(drawn)} of {len(parts)} GPUs.")
    kept = (end - begin) / _SECOND
    return render(
        "lending.html.j2",
        title="GPU usage",
        what=f"{database}: {len(loans):,} loans; samples of {kept:,.1f} s",
        said=said,
        gpus=_cells(GPU_HEADS, gpus),
        loans=_cells(LOAN_HEADS, latest[::-1]),
        texts=[head in LEFT for head in LOAN_HEADS.values()],
        gpu_heads=[*GPU_HEADS.values()],
        loan_heads=[*LOAN_HEADS.values()],
        legend=[{"name": name, **line(place)} for place, name in enumerate(drawn)],
        charts=[chart.drawn() for chart in _charts(drawn, begin, end)],
        lent=_lent(latest, [row["gpu"] for row in gpus], begin, end),
    )


def _cells(heads: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[shown(row, key) for key in heads] for row in rows]


def _charts(parts: "Mapping[str, Sequence[GpuUsage]]", begin: int, end: int) -> list[CurveChart]:
    span = max(1, end - begin) / _SECOND

    def chart(title: str, value: "Callable[[GpuUsage], float | None]", y: Callable[[float], Unit]) -> CurveChart:
        curves = {gpu: _points(used, value, begin, max(1, end - begin)) for gpu, used in parts.items()}
        return CurveChart(title, curves, span, time_unit(span), y, steps=True, moves=False)

    return [
        chart("Power", lambda u: None if u.energy is None else u.energy / u.seen * _WATT, power_unit),
        chart("Busy", lambda u: None if u.busy is None else min(100.0, 100 * u.busy / u.seen), lambda most: Unit("%")),
        chart("Memory", lambda u: u.memory, lambda most: Unit("MiB", 2.0**20)),
        chart("Launches in a second", lambda u: u.launches / u.seen * _SECOND, lambda most: Unit("")),
    ]


def _points(
    used: "Sequence[GpuUsage]", value: "Callable[[GpuUsage], float | None]", begin: int, span: int
) -> list[Point]:
    """A step for the time that each was seen for, up to its `at`; 0 where there are no samples."""
    found: list[Point] = []
    until = 0
    for each in sorted(used, key=lambda each: each.at):
        if each.seen:
            start = max(until, each.at - each.seen - begin)
            if start > until:
                found.append((until / _SECOND, 0.0))
            found.append((start / _SECOND, value(each) or 0.0))
            until = each.at - begin
    return [*found, (until / _SECOND, 0.0)] if until < span else found


def _lent(loans: Sequence[Mapping[str, Any]], gpus: Sequence[str], begin: int, end: int) -> dict[str, Any] | None:
    """A lane for each GPU, a bar for each loan."""
    lanes = {gpu: place for place, gpu in enumerate(dict.fromkeys([*gpus, *(each["gpu"] for each in loans)]))}
    first = min([begin / _SECOND, *(each["began_s"] for each in loans)])
    last = max([end / _SECOND, *(each["ended_s"] or each["began_s"] for each in loans)])
    if not loans or last <= first:
        return None
    scale = Scale(1000 * first, 1000 * last)
    bars = []
    for each in loans:
        x = scale.x(1000 * each["began_s"])
        until = scale.x(1000 * (last if each["ended_s"] is None else each["ended_s"]))
        bars.append(
            {
                "x": x,
                "y": _LANE * lanes[each["gpu"]] + (_LANE - _BAR) // 2,
                "width": max(1.0, round(until - x, 2)),
                "title": f"loan {each['loan']}, {each['node']}, {each['kind']}: {shown(each, 'energy_j')}, "
                f"busy {shown(each, 'busy_s')}",
            }
        )
    return {
        "width": WIDTH,
        "left": LANE_LEFT,
        "height": _LANE * len(lanes) + _BELOW,
        "bar": _BAR,
        "ticks": scale.ticks(),
        "lanes": [{"y": _LANE * place, "text": gpu} for gpu, place in lanes.items()],
        "bars": bars,
    }
