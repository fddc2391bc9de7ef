"""What came of proofs: one verdict a claim, as a document, and for people as a table with each counterexample."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.pages.tables import print_table, table
from ringhil.emulator.pages.verdicts import marked
from ringhil.emulator.proofs.claims import NodeClaim
from ringhil.emulator.proofs.counterexample import Trace

State = Literal["proved", "holds", "broken", "not judged"]

_STATES: tuple[State, ...] = ("proved", "holds", "broken", "not judged")


@dataclass
class ProofVerdict:
    """What came of one claim. `depth`: cycles after reset for which it is known to hold. `assertion`, `trace`, `wave`:
    of a counterexample. `why`: why it isn't judged."""

    claim: NodeClaim
    state: State = "not judged"
    depth: int = 0
    assertion: str = ""
    trace: Trace | None = None
    wave: Path | None = None
    why: str = "not begun"


@dataclass
class ProofReport:
    """The result. `verdict`: fail if a claim is broken, pass if each one is proved or holds, else not judged."""

    rtl: str
    top: str
    verdicts: list[ProofVerdict] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        states = {v.state for v in self.verdicts}
        return "fail" if "broken" in states else "not judged" if "not judged" in states or not states else "pass"

    def to_json(self) -> dict[str, Any]:
        """One document; paths as text, empty fields left out."""
        proofs = []
        for v in self.verdicts:
            entry: dict[str, Any] = {"proof": v.claim.name, "state": v.state, "demands": v.claim.demands}
            entry |= {"depth": v.depth, "assumes": v.claim.assumptions}
            if v.state == "broken":
                entry |= {"assertion": v.assertion, "trace": [] if v.trace is None else v.trace.lines()}
                entry |= {} if v.wave is None else {"waves": str(v.wave)}
            if v.state == "not judged":
                entry["why"] = v.why
            proofs.append(entry)
        return {"rtl": self.rtl, "top": self.top, "verdict": self.verdict, "proofs": proofs}


def said(verdict: ProofVerdict) -> str:
    """The verdict in words."""
    return f"holds to depth {verdict.depth}" if verdict.state == "holds" else verdict.state


def show(report: ProofReport, console: Console) -> None:
    """One line a claim; for each broken one what comes in and what the node does."""
    rows = table("proof", "verdict", "claim", "assumed", left=("proof", "verdict"), folded=("claim", "assumed"))
    for v in report.verdicts:
        words = marked(v.state, said(v))
        rows.add_row(v.claim.name, words, escape(v.claim.demands), escape("; ".join(v.claim.assumptions)))
    print_table(console, rows)
    for v in report.verdicts:
        if v.state == "broken":
            console.print(f"\n{marked(v.state, v.claim.name)}: {escape(v.claim.demands)}")
            console.print(f"  broken in cycle {v.depth}: {escape(v.assertion)}", soft_wrap=True)
            for line in [] if v.trace is None else v.trace.lines():
                console.print(f"  {escape(line)}", soft_wrap=True)
            if v.wave is not None:
                console.print(f"  waves {v.wave}", soft_wrap=True)
        elif v.state == "not judged":
            console.print(f"\n{marked(v.state, v.claim.name)}: not judged: {escape(v.why)}", soft_wrap=True)
    counts = [(state, sum(v.state == state for v in report.verdicts)) for state in _STATES]
    text = ", ".join(f"{count} {'hold' if state == 'holds' else state}" for state, count in counts if count)
    console.print(f"\n{report.rtl} ({report.top}): {text}")
