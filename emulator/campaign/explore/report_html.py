"""A campaign as one page of HTML that needs nothing else; the same results are the same bytes."""

import json
from collections.abc import Iterator
from pathlib import Path

from ringhil.emulator.campaign.explore import report_cases
from ringhil.emulator.campaign.explore.errors import ExploreError
from ringhil.emulator.campaign.explore.query import ORDERS, chosen
from ringhil.emulator.campaign.explore.report_classes import class_table, recovery_table
from ringhil.emulator.campaign.explore.report_figures import PAIRS, RANDOM, SINGLES, Figures, Tally, gathered
from ringhil.emulator.campaign.explore.report_heat import LEGEND, heat
from ringhil.emulator.campaign.explore.report_maps import by_kinds, by_phase, by_place, combinations, of_several
from ringhil.emulator.campaign.explore.report_page import (
    details,
    facts,
    number,
    page,
    paragraph,
    percent,
    row_head,
    section,
    table,
    td,
    text,
)
from ringhil.emulator.campaign.explore.report_terrain import terrain
from ringhil.emulator.campaign.explore.rows import Campaign
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.campaign.explore.summary import rate_bound
from ringhil.emulator.files import write_whole

MOST_WORST = 20
MOST_FAILURES = 200
_FAILED = "verdict != 'pass'"
_MEASURED = "recovery IS NOT NULL AND bound IS NOT NULL"
_VERDICTS = {"pass": "✓ pass", "fail": "✗ fail", "none": "none: no case was played"}
_SECTIONS = {
    "played": "What was played",
    "meaning": "What it means",
    "classes": "Classes",
    "coverage": "Coverage",
    "recovery": "How long recovery takes",
    "worst": "Worst cases",
    "failures": "Failures",
    "scenario": "Scenario",
}


def write_report(store: Store, campaign: int, path: Path) -> None:
    """Write *.html; the file appears whole or not at all. Raises ExploreError."""
    content = report(store, campaign)
    try:
        write_whole(path, content)
    except OSError as error:
        raise ExploreError(f"{path}: cannot be written: {error.strerror}") from error
    except ValueError as error:
        raise ExploreError(f"{path}: cannot be written: {error}") from error


def report(store: Store, campaign: int) -> str:
    """The text of the page. Raises ExploreError."""
    number = chosen(store, campaign)
    kept = store.campaigns()[number]
    figures = gathered(store.rows(number))
    contents = {
        "played": _played(kept, figures),
        "meaning": _meaning(kept, figures),
        "classes": class_table(figures),
        "coverage": _coverage(kept, figures),
        "recovery": recovery_table(figures),
        "worst": _worst(store, number),
        "failures": _failures(store, number, figures),
        "scenario": _scenario(kept),
    }
    body = [_head(kept, number, figures)]
    links = "".join(f'<a href="#{name}">{text(title)}</a>\n' for name, title in _SECTIONS.items())
    body.append(f"<nav>{links}</nav>\n")
    body += [section(name, title, contents[name]) for name, title in _SECTIONS.items()]
    return page(f"Faults explored: {kept.name}", body)


def _head(kept: Campaign, campaign: int, figures: Figures) -> str:
    total = figures.total
    facts_ = [
        ("verdict", td(_VERDICTS[figures.verdict], figures.verdict if total.cases else "")),
        ("cases", td(f"{total.cases:,} played, {total.failed + total.errors:,} failed")),
        ("scenario", td(f"{kept.name}, {kept.scenario_hash}", "long")),
        ("RTL", td(kept.rtl, "long")),
        ("ringhil", td(kept.version)),
        ("seed", td(kept.seed)),
        ("campaign", td(campaign)),
    ]
    arguments = ((name, td(json.dumps(value), "long")) for name, value in sorted(kept.arguments.items()))
    return facts("Campaign", facts_) + details("Arguments", [facts("Arguments of the campaign", arguments)])


def _played(kept: Campaign, figures: Figures) -> Iterator[str]:
    total = Tally(sum(part.cases for part in figures.parts.values()), sum(p.failed for p in figures.parts.values()))
    names = dict.fromkeys((*kept.space, *figures.parts))
    rows = [_part(name, kept.space.get(name), figures.parts.get(name, Tally())) for name in names]
    rows.append(_part("all", sum(kept.space.values()), total))
    yield table("Parts of the space", ("part", "cases", "played", "share", "failed", "rate below"), rows)
    shard = kept.arguments.get("shard", [1, 1])
    if shard != [1, 1]:
        yield paragraph(f"This is part {shard[0]} of {shard[1]} of the campaign (--shard); the others are elsewhere.")


def _part(name: str, size: int | None, tally: Tally) -> list[str]:
    share = "-" if not size else percent(tally.cases / size, 2)
    bound = None if tally.failed else rate_bound(tally.cases)
    rate = "-" if bound is None else f"{100 * bound:.3g} %"
    return [row_head(name), number(size), number(tally.cases), td(share, "n"), _failed(tally), td(rate, "n")]


def _failed(tally: Tally) -> str:
    return td(f"✗ {tally.failed:,}", "n fail") if tally.failed else number(0)


def _meaning(kept: Campaign, figures: Figures) -> Iterator[str]:
    total = figures.total
    rate = figures.total.failure_rate_bound
    if not total.cases:
        yield paragraph("No case was played, which says nothing.")
    elif rate is None:
        failed = total.failed + total.errors
        yield paragraph(f"{failed:,} of {total.cases:,} cases failed, so there is no bound on a rate to give.")
    else:
        yield paragraph(
            f"None of {total.cases:,} cases failed. Were they drawn at random, fewer than {100 * rate:.3g} % of all "
            f"such schedules would fail, with 95 % confidence: 1 - 0.05^(1/{total.cases}), about 3/{total.cases}."
        )
    for name in (SINGLES, PAIRS):
        tally = figures.parts.get(name)
        if tally is not None and tally.cases == kept.space.get(name):
            words = "none has failed" if not tally.failed else f"{tally.failed:,} have failed"
            yield paragraph(f"{name.capitalize()} were played as a whole: there are no others, and {words}.")
    drawn = figures.parts.get(RANDOM)
    bound = None if drawn is None or drawn.failed else rate_bound(drawn.cases)
    if drawn is not None and bound is not None:
        yield paragraph(
            f"{drawn.cases:,} random schedules really were drawn: of all that can be drawn in this way, fewer than "
            f"{100 * bound:.3g} % fail, with 95 % confidence."
        )


def _coverage(kept: Campaign, figures: Figures) -> Iterator[str]:
    ground = terrain(kept, figures)
    yield paragraph(LEGEND)
    if not ground.known:
        yield paragraph("This version can't read the campaign's scenario: only what was struck is known, no holes are.")
    if figures.singles or SINGLES in kept.space:
        places = by_place(figures.singles, ground, "Single faults", phased=True)
        played, wanted = combinations(places)
        if wanted:
            share = percent(played / wanted, 2)
            yield paragraph(f"Single faults: {played:,} of {wanted:,} combinations of kind, place and phase ({share}).")
        if ground.phases is None:
            yield paragraph(
                "How many phases there are isn't known: those count that some case of the card has reached."
            )
        yield from map(heat, places)
        yield from map(heat, filter(None, [by_phase(figures.singles, ground, "Single faults")]))
    if figures.several or PAIRS in kept.space or RANDOM in kept.space:
        places = by_place(figures.several, ground, "Schedules of several faults", phased=False)
        found = [by_kinds(figures, ground), of_several(figures), *places]
        yield details("Several faults", map(heat, filter(None, found)), shown=not figures.singles)


def _worst(store: Store, campaign: int) -> Iterator[str]:
    rows = list(store.rows(campaign, _MEASURED, order=ORDERS["bound"], limit=MOST_WORST))
    if rows:
        yield paragraph(report_cases.where_commands_work(store.path))
        yield report_cases.worst(rows, store.path, campaign)
    else:
        yield paragraph("No recovery was measured.")


def _failures(store: Store, campaign: int, figures: Figures) -> Iterator[str]:
    total = figures.total
    failed = total.failed + total.errors
    if not failed:
        yield paragraph("No case failed.")
        return
    yield paragraph(report_cases.where_commands_work(store.path))
    yield report_cases.failures(store.rows(campaign, _FAILED, limit=MOST_FAILURES), store.path, campaign)
    if failed > MOST_FAILURES:
        yield paragraph(f"and {failed - MOST_FAILURES:,} more; `ringhil explore query STORE --verdict fail` shows all.")


def _scenario(kept: Campaign) -> Iterator[str]:
    yield paragraph("The server and its work; each case adds its `timeline`, and `until`.")
    yield report_cases.scenario_file(kept)
