"""`ringhil verify compare`: what has changed from one run to another."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from ringhil.emulator.campaign.verify.compare import VerdictChange, VerifyComparison, VerifyDocument, compared
from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.front.cli import terminal
from ringhil.emulator.front.cli.errors import explained
from ringhil.emulator.front.cli.options import FILE, json_option


@click.command("compare")
@click.argument("old", type=FILE, metavar="OLD.json")
@click.argument("new", type=FILE, metavar="NEW.json")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="Most variants shown of each kind of change.",
)
@json_option
def compare_command(old: Path, new: Path, limit: int, as_json: bool) -> int:
    """Show what has changed from one run to another.

    OLD and NEW are documents of `ringhil verify --json`. Exit code 1: a variant that passed doesn't pass any more, or a
    new one doesn't.
    """
    with explained():
        found = compared(VerifyDocument.load(old), VerifyDocument.load(new))
        if not found.both:
            raise VerifyError(f"{new}: found no variant that is in {old} as well; nothing can be compared")
    if as_json:
        terminal.print_json("verify-compare", {"old": str(old), "new": str(new), **found.to_json()})
    else:
        _show(found, str(old), str(new), limit, terminal.output())
    return int(found.worsened)


def _show(found: VerifyComparison, old: str, new: str, limit: int, console: Console) -> None:
    for name, (was, now) in found.changed.items():
        console.print(f"{escape(name)}: {escape(was or 'none')} -> {escape(now or 'none')}", soft_wrap=True)
    _changes("passed before, and doesn't now", found.worse, limit, console)
    _ids("new, and doesn't pass", found.new_failures, limit, console)
    _changes("passes now", found.better, limit, console)
    _changes("changed otherwise", found.other, limit, console)
    for file, only in ((old, found.only_old), (new, found.only_new)):
        _ids(f"only in {escape(file)}", only, limit, console)
    console.print(
        f"{found.both:,} variants in both: {len(found.worse):,} worse, {len(found.better):,} better, "
        f"{len(found.other):,} changed otherwise"
    )


def _ids(title: str, ids: Sequence[str], limit: int, console: Console) -> None:
    if ids:
        console.print(f"[bold]{title}: {len(ids):,}[/bold]", soft_wrap=True)
    for id_ in ids[:limit]:
        console.print(f"  {escape(id_)}", soft_wrap=True)


def _changes(title: str, changes: Sequence[VerdictChange], limit: int, console: Console) -> None:
    if not changes:
        return
    console.print(f"[bold]{title}: {len(changes):,}[/bold]")
    for change in changes[:limit]:
        edited = " (the scenario has changed)" if change.edited else ""
        console.print(f"  {escape(change.id)}: {escape(change.old)} -> {escape(change.new)}{edited}", soft_wrap=True)
