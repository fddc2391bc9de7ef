"""A report of proofs for people: a table, and each counterexample cycle by cycle."""

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.proofs.node import ProofReport, ProofVerdict

_COLOUR = {"proved": "green", "holds": "green", "broken": "bold red", "not judged": "yellow"}


def said(verdict: ProofVerdict) -> str:
    """The verdict in words."""
    return f"holds to depth {verdict.depth}" if verdict.state == "holds" else verdict.state


def show(report: ProofReport, console: Console) -> None:
    """One line a claim; for each broken one what comes in and what the node does."""
    rows = table("proof", "verdict", "claim", "assumed", left=("proof", "verdict"), folded=("claim", "assumed"))
    for v in report.verdicts:
        words = f"[{_COLOUR[v.state]}]{said(v)}[/]"
        rows.add_row(v.claim.name, words, escape(v.claim.demands), escape("; ".join(v.claim.assumptions)))
    print_table(console, rows)
    for v in report.verdicts:
        if v.state == "broken":
            console.print(f"\n[bold red]{v.claim.name}[/]: {escape(v.claim.demands)}")
            console.print(f"  broken in cycle {v.depth}: {escape(v.assertion)}", soft_wrap=True)
            for line in [] if v.trace is None else v.trace.lines():
                console.print(f"  {escape(line)}", soft_wrap=True)
            if v.wave is not None:
                console.print(f"  waves {v.wave}", soft_wrap=True)
        elif v.state == "not judged":
            console.print(f"\n[yellow]{v.claim.name}[/]: not judged: {escape(v.why)}", soft_wrap=True)
    counts = [(state, sum(v.state == state for v in report.verdicts)) for state in _COLOUR]
    text = ", ".join(f"{count} {'hold' if state == 'holds' else state}" for state, count in counts if count)
    console.print(f"\n{report.rtl} ({report.top}): {text}")
