"""Applications that share GPUs, as a page: who had the engine when, in all and in detail, and what memory was held."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringhil.emulator.front.cli.task_tables import APPLICATION_COLUMNS
from ringhil.emulator.judge.contexts.turn_log import ShownTurn
from ringhil.emulator.pages import render
from ringhil.emulator.pages.scale import COLOURS, LEFT, WIDTH, Scale

_SWITCH = "#8a8f98"
_LANE, _BAR = 26, 20
_MEMORY, _BELOW = 90, 20
_BINS = 300  # of the overview
_CLOSE = 48  # turns that are shown in detail
_MIB = 1 << 20


@dataclass(frozen=True)
class SharedGpu:
    """What was seen of one. `names`: of its contexts; `held`: (cycle, pages) at each change; `pages`: that it has.
    `cycle_ms`: what a cycle stands for; `page`: bytes."""

    name: str
    names: Mapping[int, str]
    turns: Sequence[ShownTurn]
    held: Sequence[tuple[int, int]]
    pages: int
    cycle_ms: float
    page: int


def page(name: str, what: str, rows: Sequence[Sequence[str]], said: Sequence[str], gpus: Sequence[SharedGpu]) -> str:
    """A page that needs nothing else. `said`: lines below the table."""
    columns, charts = APPLICATION_COLUMNS, [chart for gpu in gpus for chart in _charts(gpu)]
    given = {"columns": columns, "rows": rows, "said": said, "switch": _SWITCH, "charts": charts}
    return render("sharing.html.j2", title=name, what=what, **given)


def _charts(gpu: SharedGpu) -> Iterator[dict[str, Any]]:
    """All of the time, then some turns in its middle."""
    names = {**({0: "plain work"} if any(turn.context == 0 for turn in gpu.turns) else {}), **gpu.names}
    lanes = {context: number for number, context in enumerate(names)}
    last = max([turn.ended for turn in gpu.turns[-1:]] + [cycle for cycle, _ in gpu.held[-1:]], default=1)
    whole = Scale(0.0, 1.02 * last * gpu.cycle_ms)  # behind that there is nothing to see
    top = _LANE * len(lanes)
    yield {
        **_frame(whole, names, top + 8 + _MEMORY),
        "title": f"{gpu.name}: use of the engine, and memory",
        "note": f"A lane shows an application's share of each {whole.end / _BINS:,.2f} ms; full height: all.",
        "areas": [
            {"d": _use(gpu, whole, context, _LANE * lane), "colour": _colour(context), "title": names[context]}
            for context, lane in lanes.items()
        ],
        "memory": _memory(gpu, whole, top + 8),
        "memory_y": top + 8,
        "memory_text": f"{gpu.pages * gpu.page / _MIB:,.0f} MiB",
    }
    middle = max(0, len(gpu.turns) // 2 - _CLOSE // 2)
    close = gpu.turns[middle : middle + _CLOSE]
    if close:
        scale = Scale(close[0].began * gpu.cycle_ms, close[-1].ended * gpu.cycle_ms)
        yield {
            **_frame(scale, names, top),
            "title": f"{gpu.name}: {len(close)} turns in detail",
            "note": f"Turns {middle + 1:,} to {middle + len(close):,} of {len(gpu.turns):,}",
            "bars": list(_bars(gpu, close, scale, names, lanes)),
        }


def _frame(scale: Scale, names: Mapping[int, str], height: int) -> dict[str, Any]:
    return {
        "width": WIDTH,
        "left": LEFT,
        "height": height + _BELOW,
        "ticks": scale.ticks(),
        "lanes": [{"y": _LANE * lane, "text": name} for lane, name in enumerate(names.values())],
        "areas": [],
        "bars": [],
        "memory": None,
    }


def _colour(context: int) -> str:
    return COLOURS[context % len(COLOURS)]


def _use(gpu: SharedGpu, scale: Scale, context: int, top: int) -> str:
    """Steps: of each bin the share in which the engine worked for it."""
    size = scale.end / _BINS
    had = [0.0] * _BINS
    for turn in gpu.turns:
        if turn.context != context:
            continue
        begin, end = turn.works * gpu.cycle_ms, turn.ended * gpu.cycle_ms
        first, last = min(_BINS - 1, int(begin / size)), min(_BINS - 1, int(end / size))
        for at in range(first, last + 1):
            had[at] += max(0.0, min(end, (at + 1) * size) - max(begin, at * size))
    bottom = top + _BAR
    path = [f"M{LEFT} {bottom}"]
    for at, share in enumerate(had):
        y = round(bottom - _BAR * min(1.0, share / size), 2)
        path.append(f"L{scale.x(at * size)} {y}L{scale.x((at + 1) * size)} {y}")
    return "".join([*path, f"L{WIDTH} {bottom}Z"])


def _bars(
    gpu: SharedGpu, close: Sequence[ShownTurn], scale: Scale, names: Mapping[int, str], lanes: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """A turn is a bar, with its switch in front of it."""
    for turn in close:
        began, works, ended = (cycle * gpu.cycle_ms for cycle in (turn.began, turn.works, turn.ended))
        parts = ((began, works, _SWITCH, "switch to"), (works, ended, _colour(turn.context), "turn of"))
        for begin, end, colour, what in parts:
            if end > begin:
                yield {
                    "x": scale.x(begin),
                    "y": _LANE * lanes.get(turn.context, 0),
                    "width": max(0.5, round(scale.x(end) - scale.x(begin), 2)),
                    "height": _BAR,
                    "colour": colour,
                    "title": f"{what} {names.get(turn.context, turn.context)}: {scale.span(begin, end)}",
                }


def _memory(gpu: SharedGpu, scale: Scale, top: int) -> str:
    """Steps up to all that the GPU has."""
    bottom = top + _MEMORY
    levels = [round(bottom - _MEMORY * min(pages, gpu.pages) / gpu.pages, 2) for _, pages in gpu.held]
    path = [f"M{LEFT} {bottom}"]
    for (cycle, _), before, level in zip(gpu.held, [bottom, *levels], levels, strict=False):
        x = scale.x(cycle * gpu.cycle_ms)
        path.append(f"L{x} {before}L{x} {level}")
    return "".join([*path, f"L{WIDTH} {levels[-1] if levels else bottom}L{WIDTH} {bottom}Z"])
