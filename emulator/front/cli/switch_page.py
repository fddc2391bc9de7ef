"""Tasks that run one after another, as a page: what each policy costs, what was done when, and what memory was held."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ringhil.emulator.front.cli.task_tables import FIGURE_COLUMNS, POLICY_COLUMNS, figure_rows, policy_rows
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.pages.charts import Axis, Bar, BarKind, Bound, Chart, Curve, Lane
from ringhil.emulator.pages.one_file import report

KINDS = (
    BarKind(name="start", colour="report", half="lower"),
    BarKind(name="prepare", colour="election", half="lower"),
    BarKind(name="run", colour="work", half="upper"),
    BarKind(name="clean", colour="muted", half="lower"),
)
_PLACES = {kind.name: place for place, kind in enumerate(KINDS)}
CLOSE = 6  # switches that are shown in detail
_LEAST = 0.5  # milliseconds of a switch that are shown
_BEFORE, _BEHIND = 0.4, 0.5  # of it, of what is around
_SECOND = 1000.0  # milliseconds

Link = Callable[[str, float], str | None]  # of a policy, to where a moment of its run can be seen: milliseconds
Span = tuple[float, float]  # milliseconds


def page(
    name: str,
    verdict: str,
    what: str,
    said: Sequence[str],
    outcomes: Mapping[str, SwitchingOutcome],
    preset: int | None,
    link: Link = lambda policy, ms: None,
    runs: Mapping[str, str] | None = None,
) -> str:
    """A page that needs nothing else. `said`: lines below the table; `preset`: bytes, drawn where it counts; `runs`: by
    policy, where the whole run can be seen. Raises PageError."""
    charts = []
    for outcome in outcomes.values():
        bound = preset if outcome.policy == "pipelined" else None
        charts += [_chart(outcome, span, title, bound, link) for title, span in _windows(outcome)]
    given = {"columns": POLICY_COLUMNS, "rows": policy_rows(outcomes), "said": said, "runs": runs or {}}
    given |= {"figures": FIGURE_COLUMNS, "figure_rows": figure_rows(outcomes)}
    return report("switching.html.j2", charts, title=name, verdict=verdict, what=what, **given)


def _windows(outcome: SwitchingOutcome) -> Iterator[tuple[str, Span]]:
    """All of it, from shortly before the first launch on: what comes before it is the same for all. Then the first of
    the switches, each from shortly before the end of one execution, or from when the next request comes, until the next
    one is at work: however long these are, what is between them can be seen."""
    served = [request for request in outcome.requests if request.ended_ms is not None]
    begins = [request.began_ms for request in served if request.began_ms is not None]
    ends = [request.ended_ms for request in served if request.ended_ms is not None]
    first, last = min(begins, default=0.0), max(ends, default=1.0)
    margin = max(1.0, 0.04 * (last - first))
    yield outcome.policy, (max(0.0, first - margin), last + margin)
    for switch in outcome.switches[:CLOSE]:
        came = switch.began_ms - switch.startup_ms
        lasts = max(_LEAST, switch.startup_ms, min(switch.overhead_ms, switch.until_ms - came))
        title = f"{outcome.policy}: from {switch.before} to {switch.after}"
        yield title, (max(0.0, came - _BEFORE * lasts), came + (1 + _BEHIND) * lasts)


def _chart(outcome: SwitchingOutcome, span: Span, title: str, preset: int | None, link: Link) -> Chart:
    begin, end = span
    return Chart(
        title=title,
        x=Axis(title="time since the cards were counted", quantity="seconds", begin=begin / _SECOND, end=end / _SECOND),
        y=Axis(title="memory of all GPUs", quantity="bytes", end=1.04 * max(outcome.memory, preset or 0, 1)),
        curves=(_memory(outcome, span),),
        bounds=() if preset is None else (Bound(name="preset value", at=preset),),
        kinds=KINDS,
        lanes=tuple(
            Lane(name=f"{n}: {request.task}", bars=tuple(_bars(outcome, n, span, link)))
            for n, request in enumerate(outcome.requests)
        ),
    )


def _bars(outcome: SwitchingOutcome, request: int, span: Span, link: Link) -> Iterator[Bar]:
    """Runs are in the upper half of a request's lane, what goes on beside them in the lower one."""
    for phase in outcome.phases:
        if phase.request != request or phase.ended_ms < span[0] or phase.began_ms > span[1]:
            continue
        part = "" if phase.part is None else f" {phase.part}"
        yield Bar(
            begin=round(phase.began_ms / _SECOND, 9),
            end=round(phase.ended_ms / _SECOND, 9),
            kind=_PLACES[phase.phase],
            title=f"{phase.phase}{part} on {phase.gpu}{', lost' if phase.lost else ''}",
            lost=phase.lost,
            link=link(outcome.policy, phase.began_ms),
        )


def _memory(outcome: SwitchingOutcome, span: Span) -> Curve:
    """All GPUs together, as steps."""
    levels = dict.fromkeys(outcome.held, 0)
    points = [(0.0, 0)]
    for at, gpu, held in sorted((at, gpu, held) for gpu, points in outcome.held.items() for at, held in points):
        levels[gpu] = held
        points.append((at, sum(levels.values())))
    before = [point for point in points if point[0] <= span[0]][-1:]
    shown = [*before, *(point for point in points if span[0] < point[0] <= span[1])]
    return Curve(
        name="memory held",
        xs=tuple(round(at / _SECOND, 9) for at, _ in shown),
        ys=tuple(held for _, held in shown),
        steps=True,
        area=True,
    )
