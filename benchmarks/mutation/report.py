"""What came of a campaign, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.mutation.campaign import Fate


@dataclass(frozen=True)
class Report:
    """`equivalent`, `reasons`: by the mutant's number in `fates`, the proof and the reason of survivors."""

    rtl: str
    seed: int
    yosys: str
    seconds: float
    fates: Sequence[Fate]
    equivalent: dict[int, str]
    reasons: dict[int, str]

    @property
    def survivors(self) -> list[int]:
        """Numbers of mutants that kept all rules and aren't proven equivalent."""
        return [i for i, f in enumerate(self.fates) if not f.killed and i not in self.equivalent]

    @property
    def killed(self) -> int:
        return sum(f.killed for f in self.fates)

    @property
    def score(self) -> float:
        """Killed, as a share of those that aren't proven equivalent; 1 if there are none."""
        counted = len(self.fates) - len(self.equivalent)
        return self.killed / counted if counted else 1.0

    def to_json(self) -> dict[str, Any]:
        """One document."""
        mutants = []
        for i, fate in enumerate(self.fates):
            entry = {"module": fate.mutant.module, "place": fate.mutant.place, "change": fate.mutant.text}
            entry |= {"command": fate.mutant.command}
            if fate.killed:
                entry |= {"state": "killed", "rule": fate.rule, "case": fate.case, "found": fate.found}
            elif i in self.equivalent:
                entry |= {"state": "equivalent", "proof": self.equivalent[i]}
            else:
                entry |= {"state": "survived", "reason": self.reasons.get(i, "")}
            mutants.append(entry)
        head = {"rtl": self.rtl, "seed": self.seed, "yosys": self.yosys, "seconds": round(self.seconds, 1)}
        counts = {"mutants": len(self.fates), "killed": self.killed, "equivalent": len(self.equivalent)}
        score = {"survived": len(self.survivors), "score": round(self.score, 4)}
        return {**head, **counts, **score, "list": mutants}

    def lines(self) -> Iterator[str]:
        """Tables in Markdown, and the survivors."""
        yield "| module | mutants | killed | equivalent | survived |"
        yield "|---|---:|---:|---:|---:|"
        rows: dict[str, Counter[str]] = {}
        left = set(self.survivors)
        for i, fate in enumerate(self.fates):
            row = rows.setdefault(fate.mutant.module, Counter())
            row["all"] += 1
            row["killed" if fate.killed else "survived" if i in left else "equivalent"] += 1
        for module, row in sorted(rows.items()):
            yield f"| `{module}` | {row['all']} | {row['killed']} | {row['equivalent']} | {row['survived']} |"
        yield f"| all | {len(self.fates)} | {self.killed} | {len(self.equivalent)} | {len(left)} |"
        yield ""
        for i in self.survivors:
            mutant = self.fates[i].mutant
            yield f"{mutant.place}: {mutant.text}" + (f" ({self.reasons[i]})" if self.reasons.get(i) else "")
        ruled = Counter(f.rule for f in self.fates if f.killed)
        yield f"killed by {', '.join(f'{rule} {times}' for rule, times in ruled.most_common())}"
        understood = sum(bool(self.reasons.get(i)) for i in left)
        yield (
            f"score {100 * self.score:.1f} %: {self.killed} killed of {len(self.fates)} mutants, "
            f"{len(self.equivalent)} proven equivalent; {len(left)} survived, {understood} of them explained; "
            f"{self.seconds:.0f} s"
        )
