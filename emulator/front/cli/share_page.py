"""Applications that share GPUs, as a page: who had the engine when, in all and in detail, and what memory was held."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringhil.emulator.front.cli.task_tables import APPLICATION_COLUMNS
from ringhil.emulator.judge.contexts.turn_log import ShownTurn
from ringhil.emulator.pages.charts import COLOURS, Axis, Bar, BarKind, Bound, Chart, Colour, Curve, Lane
from ringhil.emulator.pages.one_file import report
from ringhil.emulator.pages.units import seconds

_BINS = 600  # of the overview
CLOSE = 200  # turns that are shown in detail
_TIME = "time since power-up"


@dataclass(frozen=True)
class SharedGpu:
    """What was seen of one. `names`: of its contexts; `held`: (cycle, pages) at each change; `pages`: that it has.
    `cycle_s`: seconds that a cycle stands for; `page`: bytes."""

    name: str
    names: Mapping[int, str]
    turns: Sequence[ShownTurn]
    held: Sequence[tuple[int, int]]
    pages: int
    cycle_s: float
    page: int

    @property
    def close(self) -> tuple[int, Sequence[ShownTurn]]:
        """Those in its middle, and how many are before them."""
        before = max(0, len(self.turns) // 2 - CLOSE // 2)
        return before, self.turns[before : before + CLOSE]


def page(
    name: str,
    verdict: str,
    what: str,
    rows: Sequence[Sequence[str]],
    said: Sequence[str],
    gpus: Sequence[SharedGpu],
    link: Callable[[int], str | None] = lambda cycle: None,
    run: str | None = None,
) -> str:
    """A page that needs nothing else. `said`: lines below the table; `link`: to where a cycle of the run can be seen;
    `run`: to the whole of it. Raises PageError."""
    charts = [chart for gpu in gpus for chart in _charts(gpu, link)]
    given = {"columns": APPLICATION_COLUMNS, "rows": rows, "said": said, "run": run}
    return report("sharing.html.j2", charts, title=name, verdict=verdict, what=what, **given)


def _charts(gpu: SharedGpu, link: Callable[[int], str | None]) -> Iterator[Chart]:
    """All of the time, then some turns in its middle."""
    names = {**({0: "plain work"} if any(turn.context == 0 for turn in gpu.turns) else {}), **gpu.names}
    last = max([turn.ended for turn in gpu.turns[-1:]] + [cycle for cycle, _ in gpu.held[-1:]], default=1)
    end = 1.02 * last * gpu.cycle_s  # behind that there is nothing to see
    yield Chart(
        title=f"{gpu.name}: use of the engine, and memory",
        note=f"A lane shows an application's share of each {seconds(end / _BINS)}; full height: all.",
        x=Axis(title=_TIME, quantity="seconds", begin=0.0, end=end),
        y=Axis(title="memory", quantity="bytes"),
        curves=(_memory(gpu),),
        bounds=(Bound(name="all that the GPU has", at=gpu.pages * gpu.page),),
        lanes=tuple(
            Lane(name=each, level=_use(gpu, end, context, each), colour=_colour(context))
            for context, each in names.items()
        ),
    )
    before, close = gpu.close
    if close:
        yield Chart(
            title=f"{gpu.name}: {len(close)} turns in detail",
            note=f"Turns {before + 1:,} to {before + len(close):,} of {len(gpu.turns):,}",
            x=Axis(
                title=_TIME,
                quantity="seconds",
                begin=close[0].began * gpu.cycle_s,
                end=close[-1].ended * gpu.cycle_s,
            ),
            kinds=(
                BarKind(name="switch", colour="muted"),
                *(BarKind(name=each, colour=_colour(context)) for context, each in names.items()),
            ),
            lanes=tuple(
                Lane(name=each, bars=tuple(_bars(gpu, close, context, kind, each, link)))
                for kind, (context, each) in enumerate(names.items(), 1)
            ),
        )


def _colour(context: int) -> Colour:
    return COLOURS[context % len(COLOURS)]


def _use(gpu: SharedGpu, end: float, context: int, name: str) -> Curve:
    """Steps: of each bin the share in which the engine worked for it."""
    size = end / _BINS
    had = [0.0] * _BINS
    for turn in gpu.turns:
        if turn.context != context:
            continue
        since, until = turn.works * gpu.cycle_s, turn.ended * gpu.cycle_s
        first, last = min(_BINS - 1, int(since / size)), min(_BINS - 1, int(until / size))
        for at in range(first, last + 1):
            had[at] += max(0.0, min(until, (at + 1) * size) - max(since, at * size))
    shares = tuple(round(min(1.0, each / size), 4) for each in had)
    return Curve(name=name, xs=tuple(round(at * size, 9) for at in range(_BINS)), ys=shares, steps=True)


def _bars(
    gpu: SharedGpu,
    close: Sequence[ShownTurn],
    context: int,
    kind: int,
    name: str,
    link: Callable[[int], str | None],
) -> Iterator[Bar]:
    """A turn is a bar, with its switch in front of it."""
    for turn in close:
        if turn.context != context:
            continue
        began, works, ended = (round(cycle * gpu.cycle_s, 9) for cycle in (turn.began, turn.works, turn.ended))
        if works > began:
            yield Bar(begin=began, end=works, kind=0, title=f"switch to {name}", link=link(turn.began))
        if ended > works:
            yield Bar(begin=works, end=ended, kind=kind, title=f"turn of {name}", link=link(turn.works))


def _memory(gpu: SharedGpu) -> Curve:
    """Steps, from none on."""
    points = [(0.0, 0), *((round(cycle * gpu.cycle_s, 9), pages * gpu.page) for cycle, pages in gpu.held)]
    return Curve(
        name="memory held", xs=tuple(x for x, _ in points), ys=tuple(y for _, y in points), steps=True, area=True
    )
