"""Tables of what tasks share GPUs or follow one another on them, for `run`, `share` and `switch` alike."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.judge.contexts.applications import ApplicationOutcome
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.units import memory, milliseconds, seconds
from ringhil.emulator.pages.verdicts import marked

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
            memory(each.told),
            memory(each.memory),
            milliseconds(each.slice_ms),
            milliseconds(each.step_ms),
            seconds(each.total_s),
            seconds(each.gpu_s),
            "-" if each.switches is None else f"{each.switches:,}",
        ]
        for name, each in applications.items()
    ]


def policy_rows(outcomes: Mapping[str, SwitchingOutcome]) -> list[list[str]]:
    """A row for each."""
    return [
        [
            policy,
            milliseconds(outcome.overhead_ms),
            milliseconds(outcome.startup_ms),
            milliseconds(outcome.latency_ms),
            "-" if outcome.utilisation is None else f"{100 * outcome.utilisation:.1f} %",
            memory(outcome.memory),
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
    return milliseconds(value) if name.endswith("_ms") else "-" if value is None else f"{value:,.2f} times"


def show_switches(outcomes: Mapping[str, SwitchingOutcome], console: Console) -> None:
    """A line for each switch of each policy, and figures of all of them."""
    shown = table(*_SWITCH_COLUMNS, left=("policy", "from", "to", ""))
    for policy, outcome in outcomes.items():
        for each in outcome.switches[:_MOST]:
            times = (each.since_ms, each.waited_ms, each.startup_ms, each.overhead_ms)
            names = (policy, each.before, each.after)
            shown.add_row(*map(escape, names), *map(milliseconds, times), "resumed" if each.resumed else "")
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
        shown.add_row(str(number), escape(each.task), each.gpu or "-", *map(milliseconds, times), str(each.attempts))
    print_table(console, shown)
    if len(outcome.requests) > _MOST:
        console.print(f"and {len(outcome.requests) - _MOST:,} more")
    show_policies({outcome.policy: outcome}, console)


def _show_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(marked("failed", line), soft_wrap=True)
