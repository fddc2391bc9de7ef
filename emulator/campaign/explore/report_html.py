"""A campaign as one page of HTML that needs nothing else; the same results are the same bytes."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.document import verdict
from ringhil.emulator.campaign.explore.failing import Failing
from ringhil.emulator.campaign.explore.query import ORDERS, chosen
from ringhil.emulator.campaign.explore.report_figures import PAIRS, RANDOM, SINGLES, CaseTally, Figures, gathered
from ringhil.emulator.campaign.explore.report_maps import Map, by_kinds, by_phase, by_place, combinations, of_several
from ringhil.emulator.campaign.explore.report_spread import recoveries
from ringhil.emulator.campaign.explore.report_terrain import terrain
from ringhil.emulator.campaign.explore.rows import Row, StoredCampaign
from ringhil.emulator.campaign.explore.sorts import main_failures, sorts
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.debug.commands import lost_since
from ringhil.emulator.files import reason_of, shown, write_whole
from ringhil.emulator.judge.known import WAS_KNOWN
from ringhil.emulator.pages.one_file import report as report_text

MOST_WORST = 20
MOST_FAILURES = 200
_LIMITS = {
    "classes": 500,  # in a table; all pairs of all kinds are 324
    "failures": MOST_FAILURES,
    "sorts": 50,
    "texts": 5,  # of one failure
    "characters": 400,  # of one text
}
_MEASURED = "recovery IS NOT NULL AND bound IS NOT NULL AND (recovered IS NOT 0 OR recovery > bound)"


def write_report(
    store: Store,
    campaign: int,
    path: Path,
    failing: Sequence[Failing] = (),
    told: Mapping[str, Any] | None = None,
) -> None:
    """Write *.html; the file appears whole or not at all. `failing`: with what was made small; `told`: the document,
    which knows of known failures. Raises ExploreError and PageError."""
    content = report(store, campaign, failing, told, path)
    try:
        write_whole(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ExploreError(f"{shown(path)}: cannot be written: {reason_of(error)}") from error
    except ValueError as error:
        raise ExploreError(f"{shown(path)}: cannot be written: {error}") from error


def report(
    store: Store,
    campaign: int,
    failing: Sequence[Failing] = (),
    told: Mapping[str, Any] | None = None,
    path: Path = Path("report.html"),
) -> str:
    """The text of the page, which will be at `path`. Raises ExploreError and PageError."""
    number = chosen(store, campaign)
    kept = store.campaigns()[number]
    figures = gathered(store.rows(number))
    worst = store.rows(number, _MEASURED, order=ORDERS["bound"], limit=MOST_WORST)
    failures = main_failures(store, number, MOST_FAILURES)
    small = {case.row.key: case for case in failing}
    lost = {case.row.key: "\n".join(lost_since(case.doomed)) for case in failing if case.doomed is not None}
    single, several = figures.spreads_of(figures.single), figures.spreads_of(figures.multiple)
    charts = [
        recoveries("Recovery", [*single, ("all", "-", figures.spread)]),
        recoveries("Recovery, several faults", several),
    ]
    drawn = [each for each in charts if each is not None]
    return report_text(
        "explore.html.j2",
        drawn,
        kept=kept,
        campaign=number,
        figures=figures,
        verdict=told["verdict"] if told else verdict(figures.total, _cases(kept)),
        known={way["sort"]: way["known"] for way in told["sorts"] if way["known"]} if told else {},
        over={way["sort"]: way["over"] for way in told["sorts"] if way["over"]} if told else {},
        was_known=WAS_KNOWN,
        stale=told["stale"] if told else [],
        sorts=[(sort, _small(small.get(sort.first.key))) for sort in sorts(store, number)],
        lost=lost,
        pages={case.row.key: moment(case, path) for case in failing if case.page is not None},
        chart_of=[None if each is None else drawn.index(each) for each in charts],
        cases=_cases(kept),
        arguments=[(name, json.dumps(value)) for name, value in sorted(kept.arguments.items())],
        shard=kept.arguments.get("shard", [1, 1]),
        parts=_parts(kept, figures),
        whole=[
            (name, tally)
            for name in (SINGLES, PAIRS)
            if (tally := figures.parts.get(name)) is not None and tally.cases == kept.space.get(name)
        ],
        drawn=figures.parts.get(RANDOM),
        covered=_covered(kept, figures),
        worst=[(row, replay(row, store.path, number, kept.firmware)) for row in worst],
        failures=[(row, replay(row, store.path, number, kept.firmware)) for row in failures],
        store=store.path,
        server=SERVER if store.path == ":memory:" else None,
        limits=_LIMITS,
    )


def moment(case: Failing, report: Path) -> str:
    """From the report to where the page of a case shows how it failed."""
    assert case.page is not None
    # Imported here: it is needed by campaigns that have recorded what failed, only.
    from ringhil.emulator.view.linking import href

    return href(case.page, report) + ("" if case.moment is None else f"#{case.moment}")


def _small(case: Failing | None) -> tuple[str, str] | None:
    """The command that plays what was made small, and what is in the file."""
    if case is None or case.shrunk is None or case.smallest is None:
        return None
    try:
        return case.smallest, case.shrunk.read_text(encoding="utf-8")
    except OSError as error:
        raise ExploreError(f"{shown(case.shrunk)}: cannot be read: {reason_of(error)}") from error


def _cases(kept: StoredCampaign) -> int:
    """How many cases the campaign has, or its part of one."""
    part, parts = kept.arguments.get("shard", [1, 1])
    return int((sum(kept.space.values()) - part) // parts + 1)


def _parts(kept: StoredCampaign, figures: Figures) -> list[tuple[str, int | None, CaseTally]]:
    """Each part of the space with its size, None where it isn't known, and what was played of it; all of it last."""
    names = dict.fromkeys((*kept.space, *figures.parts))
    played = figures.parts.values()
    total = CaseTally(sum(part.cases for part in played), sum(part.failed for part in played))
    rows = [(name, kept.space.get(name), figures.parts.get(name, CaseTally())) for name in names]
    return [*rows, ("all", sum(kept.space.values()), total)]


@dataclass(frozen=True)
class _Covered:
    """Maps of single faults and of several, None when the campaign has no such part; `combinations` of single faults:
    how many were played, and of how many; `phased`: the number of phases is known."""

    known: bool
    phased: bool
    singles: list[Map] | None
    several: list[Map] | None
    combinations: tuple[int, int]


def _covered(kept: StoredCampaign, figures: Figures) -> _Covered:
    ground = terrain(kept, figures)
    singles = several = None
    done = (0, 0)
    if figures.singles or SINGLES in kept.space:
        places = by_place(figures.singles, ground, "Single faults", phased=True)
        phases = by_phase(figures.singles, ground, "Single faults")
        singles, done = [*places, *([phases] if phases else [])], combinations(places)
    if figures.several or PAIRS in kept.space or RANDOM in kept.space:
        places = by_place(figures.several, ground, "Schedules of several faults", phased=False)
        several = [found for found in (by_kinds(figures, ground), of_several(figures), *places) if found]
    return _Covered(ground.known, ground.phases is not None, singles, several, done)


FOLDER = "replay"  # where the commands write cases to
SERVER = "server.yaml"  # what the scenario of the campaign is to be saved as, when it has no store


def replay(row: Row, store: str, campaign: int, options: str = "") -> str:
    """What a shell plays the case with; from the store, or, without one, from the scenario on the page. `options`: of
    `run`, each with a space before it."""
    if store == ":memory:":
        lines = [f"timeline: {row.schedule}", *([] if row.result.until is None else [f"until: {row.result.until}"])]
        file = f"case-{row.number:07}.yaml"
        words = " ".join(map(shlex.quote, lines))
        return f"printf '%s\\n' {words} | cat {SERVER} - > {file} && ringhil run {file}{options}"
    # A path that begins with a dash would be taken for an option.
    path = f"./{store}" if store.startswith("-") else store
    key = re.sub(r"([*?[])", r"[\1]", row.key)  # --key knows patterns
    query = ["ringhil", "explore", "query", path, "--campaign", str(campaign), "--key", key, "--out", FOLDER]
    return f"{shlex.join(query)} && ringhil run {FOLDER}/case-{row.number:07}-*.yaml{options}"
