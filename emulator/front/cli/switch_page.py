"""Tasks that run one after another, as a page: what each policy costs, what was done when, and what memory was held."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ringhil.emulator.front.cli.task_tables import FIGURE_COLUMNS, POLICY_COLUMNS, figure_rows, policy_rows
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.pages import render
from ringhil.emulator.pages.scale import LEFT, WIDTH, Scale

COLOURS = {"start": "#b9a7d6", "prepare": "#e0a030", "run": "#2a9d5a", "clean": "#8a8f98"}
_LANE, _HALF = 26, 11
_MEMORY, _BELOW = 90, 20
_CLOSE = 6  # switches that are shown in detail
_LEAST = 0.5  # milliseconds of a switch that are shown
_BEFORE, _BEHIND = 0.4, 0.5  # of it, of what is around
_MIB = 1 << 20


def page(
    name: str,
    what: str,
    said: Sequence[str],
    outcomes: Mapping[str, SwitchingOutcome],
    preset: int | None,
) -> str:
    """A page that needs nothing else. `said`: lines below the table; `preset`: bytes, drawn where it counts."""
    charts = []
    for outcome in outcomes.values():
        bound = preset if outcome.policy == "pipelined" else None
        charts += [_chart(outcome, scale, title, bound) for title, scale in _windows(outcome)]
    given = {"columns": POLICY_COLUMNS, "rows": policy_rows(outcomes), "said": said}
    given |= {"figures": FIGURE_COLUMNS, "figure_rows": figure_rows(outcomes)}
    return render("switching.html.j2", title=name, what=what, colours=COLOURS, charts=charts, **given)


def _windows(outcome: SwitchingOutcome) -> Iterator[tuple[str, Scale]]:
    """All of it, from shortly before the first launch on: what comes before it is the same for all. Then the first of
    the switches, each from shortly before the end of one execution, or from when the next request comes, until the next
    one is at work: however long these are, what is between them can be seen."""
    served = [request for request in outcome.requests if request.ended_ms is not None]
    begins = [request.began_ms for request in served if request.began_ms is not None]
    ends = [request.ended_ms for request in served if request.ended_ms is not None]
    first, last = min(begins, default=0.0), max(ends, default=1.0)
    margin = max(1.0, 0.04 * (last - first))
    yield outcome.policy, Scale(max(0.0, first - margin), last + margin)
    for switch in outcome.switches[:_CLOSE]:
        came = switch.began_ms - switch.startup_ms
        lasts = max(_LEAST, switch.startup_ms, min(switch.overhead_ms, switch.until_ms - came))
        title = f"{outcome.policy}: from {switch.before} to {switch.after}"
        yield title, Scale(max(0.0, came - _BEFORE * lasts), came + (1 + _BEHIND) * lasts)


def _chart(outcome: SwitchingOutcome, scale: Scale, title: str, preset: int | None) -> dict[str, Any]:
    height = _LANE * len(outcome.requests)
    most = max(outcome.memory, preset or 0, 1)
    top = height + 8
    return {
        "title": title,
        "note": f"{scale.span(scale.begin, scale.end)} after the cards have been counted",
        "width": WIDTH,
        "left": LEFT,
        "height": top + _MEMORY + _BELOW,
        "ticks": scale.ticks(),
        "lanes": [{"y": _LANE * n, "text": f"{n}: {request.task}"} for n, request in enumerate(outcome.requests)],
        "bars": _bars(outcome, scale),
        "memory": _memory(outcome, scale, top, most),
        "memory_y": top,
        "most": f"{most / _MIB:,.0f} MiB",
        "preset": None if preset is None else round(top + _MEMORY * (1 - preset / most), 2),
    }


def _bars(outcome: SwitchingOutcome, scale: Scale) -> list[dict[str, Any]]:
    """Runs are in the upper half of a request's lane, what goes on beside them in the lower one."""
    bars = []
    for phase in outcome.phases:
        if phase.ended_ms < scale.begin or phase.began_ms > scale.end:
            continue
        x = scale.x(phase.began_ms)
        part = "" if phase.part is None else f" {phase.part}"
        bars.append(
            {
                "x": x,
                "y": _LANE * phase.request + (0 if phase.phase == "run" else _HALF + 1),
                "width": max(0.5, round(scale.x(phase.ended_ms) - x, 2)),
                "height": _HALF,
                "colour": COLOURS[phase.phase],
                "lost": phase.lost,
                "title": f"{phase.phase}{part} on {phase.gpu}: {scale.span(phase.began_ms, phase.ended_ms)}",
            }
        )
    return bars


def _memory(outcome: SwitchingOutcome, scale: Scale, top: int, most: int) -> str:
    """All GPUs together, as steps."""
    levels = dict.fromkeys(outcome.held, 0)
    changes = sorted((at, gpu, held) for gpu, points in outcome.held.items() for at, held in points)
    bottom, before = top + _MEMORY, 0
    path = [f"M{scale.x(scale.begin)} {bottom}"]
    for at, gpu, held in changes:
        levels[gpu] = held
        x = scale.x(at)
        path.append(f"L{x} {round(bottom - _MEMORY * before / most, 2)}")
        before = sum(levels.values())
        path.append(f"L{x} {round(bottom - _MEMORY * min(before, most) / most, 2)}")
    end = scale.x(scale.end)
    path += [f"L{end} {round(bottom - _MEMORY * before / most, 2)}", f"L{end} {bottom}Z"]
    return "".join(path)
