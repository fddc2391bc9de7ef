"""Tables of what tasks share GPUs or follow one another on them, for `run`, `share` and `switch` alike."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.judge.contexts.applications import ApplicationOutcome
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.pages.tables import print_table, table

_GIB, _MIB = 1 << 30, 1 << 20
_MS = 1000  # in a second
_MOST = 40  # requests in a table

APPLICATION_COLUMNS = (
    "application",
    "GPU",
    "memory seen",
    "memory held",
    "slice",
    "step time",
    "total time",
    "on the GPU",
    "switches",
)
POLICY_COLUMNS = ("policy", "overhead", "start-up", "latency", "GPU used", "memory", "failed")
FIGURE_COLUMNS = ("policy", "of", "number", "median", "95 of 100", "most")
_SWITCH_COLUMNS = ("policy", "from", "to", "ended", "waited", "start-up", "overhead", "")
_FIGURES = {
    "overhead_ms": "overhead of a switch",
    "startup_ms": "start-up of a switch",
    "asking_waits_ms": "wait of who asks",
    "stopped_waits_ms": "wait of who was stopped",
    "latency_ms": "latency of inference",
    "slowdown": "slow-down of inference",
}
_REQUEST_COLUMNS = ("request", "task", "GPU", "requested", "began", "ended", "on the GPU", "attempts")


def application_rows(applications: Mapping[str, ApplicationOutcome]) -> list[list[str]]:
    """A row for each."""
    return [
        [
            name,
            each.gpu,
            _memory(each.told),
            _memory(each.memory),
            f"{each.slice_ms:g} ms",
            "-" if each.step_ms is None else f"{each.step_ms:.1f} ms",
            "-" if each.total_s is None else _seconds(each.total_s),
            "-" if each.gpu_s is None else _seconds(each.gpu_s),
            "-" if each.switches is None else f"{each.switches:,}",
        ]
        for name, each in applications.items()
    ]


def policy_rows(outcomes: Mapping[str, SwitchingOutcome]) -> list[list[str]]:
    """A row for each."""
    return [
        [
            policy,
            _ms(outcome.overhead_ms),
            _ms(outcome.startup_ms),
            _ms(outcome.latency_ms),
            "-" if outcome.utilisation is None else f"{100 * outcome.utilisation:.1f} %",
            f"{outcome.memory / _MIB:,.0f} MiB",
            f"{outcome.refused} of {len(outcome.requests)}",
        ]
        for policy, outcome in outcomes.items()
    ]


def figure_rows(outcomes: Mapping[str, SwitchingOutcome]) -> list[list[str]]:
    """A row for each policy and what there are several of; and for how much slower it was."""
    return [
        [policy, of, str(found.count), *(_figure(name, value) for value in (found.median, found.p95, found.most))]
        for policy, outcome in outcomes.items()
        for name, of in _FIGURES.items()
        if (found := outcome.figures.get(name)) is not None and found.count > (name != "slowdown")
    ]


def _figure(name: str, value: float | None) -> str:
    return _ms(value) if name.endswith("_ms") else "-" if value is None else f"{value:,.2f} times"


def show_switches(outcomes: Mapping[str, SwitchingOutcome], console: Console) -> None:
    """A line for each switch of each policy, and figures of all of them."""
    shown = table(*_SWITCH_COLUMNS, left=("policy", "from", "to", ""))
    for policy, outcome in outcomes.items():
        for each in outcome.switches[:_MOST]:
            times = (each.since_ms, each.waited_ms, each.startup_ms, each.overhead_ms)
            names = (policy, each.before, each.after)
            shown.add_row(*map(escape, names), *map(_ms, times), "resumed" if each.resumed else "")
        if len(outcome.switches) > _MOST:
            shown.add_row(policy, f"and {len(outcome.switches) - _MOST:,} more", *[""] * (len(_SWITCH_COLUMNS) - 2))
    if shown.rows:
        print_table(console, shown)
    found = table(*FIGURE_COLUMNS, left=FIGURE_COLUMNS[:2])
    for row in figure_rows(outcomes):
        found.add_row(*row)
    if found.rows:
        print_table(console, found)


def show_applications(applications: Mapping[str, ApplicationOutcome], console: Console) -> None:
    """A line for each, and why it failed."""
    shown = table(*APPLICATION_COLUMNS, left=APPLICATION_COLUMNS[:2])
    for name, *cells in application_rows(applications):
        shown.add_row(escape(name), *cells)
    print_table(console, shown)
    _show_lines(applications_failed(applications), console)


def applications_failed(applications: Mapping[str, ApplicationOutcome]) -> list[str]:
    """A line for each that has, and why."""
    return [f"{name} failed: {each.why}" for name, each in applications.items() if each.failed]


def show_policies(outcomes: Mapping[str, SwitchingOutcome], console: Console) -> None:
    """A line for each, and which requests failed, and why."""
    shown = table(*POLICY_COLUMNS, left=POLICY_COLUMNS[:1])
    for row in policy_rows(outcomes):
        shown.add_row(*row)
    print_table(console, shown)
    _show_lines(requests_failed(outcomes), console)


def requests_failed(outcomes: Mapping[str, SwitchingOutcome]) -> list[str]:
    """A line for each that has, and why."""
    return [
        f"{policy}: request {number} ({request.task}) failed: {request.why}"
        for policy, outcome in outcomes.items()
        for number, request in enumerate(outcome.requests)
        if request.failed
    ]


def show_requests(outcome: SwitchingOutcome, console: Console) -> None:
    """A line for each request, and one for all of them. Times count from when the cards were counted."""
    shown = table(*_REQUEST_COLUMNS, left=_REQUEST_COLUMNS[1:3])
    for number, each in enumerate(outcome.requests[:_MOST]):
        times = (each.wanted_ms, each.began_ms, each.ended_ms, each.ran_ms)
        shown.add_row(str(number), escape(each.task), each.gpu or "-", *map(_ms, times), str(each.attempts))
    print_table(console, shown)
    if len(outcome.requests) > _MOST:
        console.print(f"and {len(outcome.requests) - _MOST:,} more")
    show_policies({outcome.policy: outcome}, console)


def _show_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(f"[red]{escape(line)}[/red]", soft_wrap=True)


def _memory(size: int) -> str:
    return f"{size / _GIB:,.2f} GiB" if size >= _GIB else f"{size / _MIB:.4g} MiB"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value >= 1 else f"{value * _MS:.3g} ms"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f} ms"
