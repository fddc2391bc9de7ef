"""A report for people: what failed and how to play it again, then one line."""

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.campaign.verify.junit import lines
from ringhil.emulator.campaign.verify.report import VerifyReport
from ringhil.emulator.judge.outcome import VerdictWord

MOST = 20  # failing variants that are shown


def show(report: VerifyReport, console: Console) -> None:
    """Print it."""
    bad = report.bad()
    for verdict in bad[:MOST]:
        mark = "[bold red]FAIL[/]" if verdict.state == VerdictWord.FAIL else "[bold yellow]ERROR[/]"
        console.print(f"{mark} {escape(verdict.id)}", soft_wrap=True)
        for line in lines(verdict):
            console.print(f"  {line}", markup=False, soft_wrap=True)
    if len(bad) > MOST:
        console.print(f"... and {len(bad) - MOST:,} more; --junit and --json have them all")
    sorts = report.sorts()
    if len(bad) > 1:
        console.print(f"{len(bad):,} did not pass, in {len(sorts):,} way{'' if len(sorts) == 1 else 's'}:")
        for sort, verdicts in sorts[:MOST]:
            console.print(f"  {len(verdicts):,} x {sort}", markup=False, soft_wrap=True)
    never = report.never_judged()
    for file, text in never[:MOST]:
        console.print(f"[yellow]not judged:[/] {escape(file.as_posix())}: {escape(text)}", soft_wrap=True)
    if len(never) > MOST:
        console.print(f"... and {len(never) - MOST:,} more; --json has them all")
    colour = {VerdictWord.PASS: "green", VerdictWord.FAIL: "red", VerdictWord.ERROR: "yellow"}[report.verdict]
    console.print(f"[bold {colour}]{escape(report.summary)}[/]", soft_wrap=True)
