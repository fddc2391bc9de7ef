"""The outcome of a run for people: cards, rings, recoveries, work, verdict."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ringhil.emulator.front.cli.task_tables import show_applications, show_requests
from ringhil.emulator.judge.contexts.applications import PowerOutcome, TakenByWork
from ringhil.emulator.judge.outcome import CardOutcome, Outcome, Recovery, VerdictWord
from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.verdicts import marked, ok
from ringhil.emulator.scenario import GpuRef, LinkRef
from ringhil.protocol.registers import PowerState

_log = logging.getLogger(__name__)


def show(outcome: Outcome, console: Console, played: str) -> None:
    """Print it; `played`: what it was, for a run that has failed."""
    console.print(f"[bold]{escape(outcome.name)}[/bold]  seed {outcome.seed}, {outcome.cycles:,} cycles")
    print_table(console, _cards(outcome))
    for card in outcome.cards.values():
        _ring(card, console)
    print_table(console, _links(outcome))
    if outcome.recoveries:
        print_table(console, _recoveries(outcome.recoveries))
    show_power(outcome, console)
    if outcome.work["units"]:
        console.print(_work(outcome))
    if outcome.applications:
        show_applications(outcome.applications, console)
    if outcome.switching is not None:
        show_requests(outcome.switching, console)
    for expected in outcome.expect:
        found = "" if expected.ok else " " + marked("fail", f"(found {expected.found})")
        console.print(f"{ok(expected.ok)} {escape(expected.text)}{found}", soft_wrap=True)
        for note in () if expected.ok else outcome.around(expected):
            console.print(f"       {escape(note)}", soft_wrap=True)
    if outcome.failures:
        console.print(escape(played), soft_wrap=True)
    show_verdict(outcome.verdict, outcome.failures, outcome.not_judged, console)
    for violation in outcome.violations:
        _log.info("%s: %s: found by %s", violation.promise, violation.place or "no place", violation.source)


def findings(failures: Iterable[str], not_judged: Iterable[str]) -> list[str]:
    """What a page says of them, a line each."""
    return [*(f"not judged: {what}" for what in not_judged), *(f"failed: {failure}" for failure in failures)]


def show_verdict(verdict: VerdictWord, failures: Iterable[str], not_judged: Iterable[str], console: Console) -> None:
    """The last lines: what can't be told, what failed, and the word."""
    for what in not_judged:
        console.print(f"{marked('not judged', 'not judged:')} {escape(what)}", soft_wrap=True)
    for failure in failures:
        console.print(f"{marked('failed', 'failed:')} {escape(failure)}", soft_wrap=True)
    console.print(f"verdict: {marked(verdict)}")


def _cards(outcome: Outcome) -> Table:
    columns = ("card", "GPUs", "working", "break", "share", "done", "censuses", "rejected", "suspects")
    shown = table(*columns, left=("card", "break", "suspects"))
    for card in outcome.cards.values():
        shown.add_row(
            card.name,
            str(card.size),
            str(card.count) if card.reachable else "unreachable",
            card.break_ or "-",
            f"{card.share:,}",
            f"{card.completed:,}",
            str(card.accepted),
            ", ".join(f"{n} {reason}" for reason, n in card.rejected.items()) or "0",
            ", ".join(card.suspects) or "-",
        )
    return shown


def _links(outcome: Outcome) -> Table:
    """The logical links: each card's to the CPU, and those between cards."""
    columns = ("logical link", "members", "held by", "epoch", "elections", "frames across")
    shown = table(*columns, left=columns[:3])
    for card in outcome.cards.values():
        members = ", ".join(card.host)
        shown.add_row(f"CPU - {card.name}", members, card.entry or "-", str(card.epoch), str(card.elections), "")
    for link in outcome.links:
        name, members = " - ".join(link.cards), ", ".join(link.members)
        shown.add_row(name, members, link.active or "-", str(link.epoch), str(link.elections), f"{link.frames:,}")
    return shown


def show_power(outcome: Outcome, console: Console) -> None:
    """Print what the metered GPUs of each card have taken until all work was done and until the end, and how many are
    in which state then; nothing where none is metered."""
    if not outcome.power:
        return
    states, first = [state.value for state in PowerState], "metered GPUs of"
    shown = table(first, "until", "energy", "busy", *states, left=(first, "until"))
    for name in outcome.cards:
        gpus = [power for gpu, power in outcome.power.items() if GpuRef.parse(gpu).card == name]
        done = [power.until_done for power in gpus if power.until_done is not None]
        if done:
            shown.add_row(name, "work done", *_taken(done, done[0].cycle), *("" for _ in states))
        if gpus:
            there = Counter(power.state for power in gpus)
            shown.add_row(name, "end of run", *_taken(gpus, outcome.cycles), *(str(there[state]) for state in states))
    print_table(console, shown)


def _taken(gpus: Sequence[PowerOutcome | TakenByWork], cycles: int) -> tuple[str, str]:
    busy = sum(each.busy for each in gpus) / (len(gpus) * max(1, cycles))
    return f"{sum(each.energy for each in gpus):,}", f"{busy:.1%}"


def _ring(card: CardOutcome, console: Console) -> None:
    entry = GpuRef.parse(card.entry).index if card.entry else None
    cuts = {LinkRef.parse(link, card.size).index for link in card.cuts}
    boundary = {GpuRef.parse(gpu).index for gpu in card.boundary.values()}
    for number, line in enumerate(draw_ring(card.size, set(card.members), entry, cuts, boundary)):
        label = card.name if number == 0 else ""
        console.print(f"{label:>6} {line}", markup=False, highlight=False, soft_wrap=True)
    for what, gpus in (
        ("cut off from the entry GPU", card.stranded),
        ("healthy but isolated by their own switch", card.isolated),
        ("lent", card.lent),
        ("degraded", card.degraded),
        ("link slower than it should be", (card.slow_link,) if card.slow_link else ()),
        ("link that damages messages", (card.noisy_link,) if card.noisy_link else ()),
    ):
        if gpus:
            console.print(f"{'':>6} {what}: {', '.join(gpus)}", markup=False, highlight=False, soft_wrap=True)


def _recoveries(recoveries: tuple[Recovery, ...]) -> Table:
    after = ("detected after", "switched after", "recovered after")
    shown = table("event", "where", "at", *after, "bound", "ring transits", left=("event", "where"))
    for r in recoveries:
        shown.add_row(
            r.title,
            r.where,
            f"{r.at:,}",
            _since(r.detected, r.at),
            _since(r.switched, r.at),
            _since(r.recounted, r.at) if r.recounted is not None else "not judged" if r.superseded else marked("no"),
            f"{r.bound:,}",
            "-" if r.transits is None else f"{r.transits:g}",
        )
    return shown


def _since(cycle: int | None, at: int) -> str:
    return "-" if cycle is None else f"{cycle - at:,}"


def _work(outcome: Outcome) -> str:
    w = outcome.work
    others = ("crossed", "resent", "refused", "wrong", "late", "fenced")
    extra = ", ".join(f"{w[name]:,} {name}" for name in others if w[name])
    return f"work: {w['completed']:,} of {w['units']:,} units done, {w['lost']} lost, {w['duplicated']} duplicated" + (
        f" ({extra})" if extra else ""
    )


_PER_LINE = 16


def draw_ring(
    size: int, members: Collection[int], entry: int | None, cuts: Collection[int], boundary: Collection[int] = ()
) -> list[str]:
    """A ring as lines of characters; `cuts` holds the numbers of links, link i joins GPU i and the next one.

    A working GPU is [3], a bypassed one is joined through (-3-); a cut link is an X, the entry GPU has a star, a
    boundary GPU an arrow. Long rings go over several lines, as a snake that closes at its left end.
    """
    rows = [range(start, min(start + _PER_LINE, size)) for start in range(0, size, _PER_LINE)]
    width = len(str(size - 1))
    lines = []
    for number, row in enumerate(rows):
        text = "".join(
            _drawn_gpu(gpu, members, entry, boundary, width) + _drawn_link(gpu, gpu in cuts, row, size) for gpu in row
        )
        left = "┌─" if number == 0 else "│ "
        right = "─┐" if number < len(rows) - 1 else "─┘" if len(rows) > 1 else "─┐"
        lines.append(left + text + right)
    length = max(map(len, lines))
    closing = "X" if size - 1 in cuts else "─"
    lines.append("└" + "─" * (length - 3) + closing + "┘")
    return lines


def _drawn_gpu(gpu: int, members: Collection[int], entry: int | None, boundary: Collection[int], width: int) -> str:
    name = f"{gpu:>{width}}"
    if gpu not in members:
        return f"─{name.replace(' ', '─')}─"
    return f"[{name}{'*' if gpu == entry else ''}{'↔' if gpu in boundary else ''}]"


def _drawn_link(gpu: int, cut: bool, row: range, size: int) -> str:
    if gpu == row[-1]:
        return "X" if cut and gpu != size - 1 else ""
    return "X" if cut else "─"
