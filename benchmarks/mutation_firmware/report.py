"""What came of a campaign, as text and as JSON."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.mutation_firmware.campaign import FINDERS
from benchmarks.mutation_firmware.found import Fate
from benchmarks.mutation_firmware.kept import Kept, reason

# What was reached, with room for other mutants; docs/explanation/evidence.md says what is wanted.
LEAST_FOUND = 0.85  # by all finders together, of those that aren't kept
LEAST_JUDGED = 0.5  # by verify and explore, of those that are visible and aren't kept
BY_CHANCE = 0.05  # a slice fails if fewer slices than this did as badly, were these the shares of all mutants


@dataclass(frozen=True)
class Report:
    """`texts`: of the sources; `seconds`: of processor time; `drawn`: a slice of a draw, not all of it."""

    fates: Sequence[Fate]
    texts: Mapping[str, str]
    known: Sequence[Kept]
    seconds: float
    drawn: bool = False

    @cached_property
    def kept(self) -> dict[str, Kept]:
        """Reasons, by the key of a mutant that is not judged: not found, or visible and found by unit tests alone."""
        found = {}
        for fate in self.fates:
            entry = None if fate.judged else reason(fate.mutant, self.texts, self.known)
            if entry is not None and (entry.kind != "equivalent" or not fate.killed):
                found[fate.mutant.key] = entry
        return found

    @property
    def survivors(self) -> list[Fate]:
        """Those that nothing has found."""
        return [fate for fate in self.fates if not fate.killed]

    @property
    def unexplained(self) -> list[Fate]:
        """Survivors without a reason."""
        return [fate for fate in self.survivors if fate.mutant.key not in self.kept]

    @property
    def unjudged(self) -> list[Fate]:
        """Visible, and neither found by `verify` or `explore` nor allowed."""
        return [fate for fate in self.fates if fate.visible and not fate.judged and fate.mutant.key not in self.kept]

    @property
    def found(self) -> float:
        """Share that something has found, of those that aren't kept; 1 if there are none."""
        return _share(*self._found)

    @property
    def judged(self) -> float:
        """Share that `verify` or `explore` has found, of the visible ones that aren't kept; 1 if there are none."""
        return _share(*self._judged)

    @property
    def good(self) -> bool:
        """It is as good as it was."""
        least = (self._found, LEAST_FOUND), (self._judged, LEAST_JUDGED)
        if self.drawn:
            return all(_chance(*numbers, share) >= BY_CHANCE for numbers, share in least)
        return all(_share(*numbers) >= share for numbers, share in least)

    @property
    def _found(self) -> tuple[int, int]:
        killed = len(self.fates) - len(self.survivors)
        return killed, killed + len(self.unexplained)

    @property
    def _judged(self) -> tuple[int, int]:
        judged = sum(fate.judged for fate in self.fates)
        return judged, judged + len(self.unjudged)

    def counts(self) -> dict[str, int]:
        """In numbers of mutants."""
        fates = self.fates
        by = {name: sum(bool(fate.found[name].finder) for fate in fates) for name in FINDERS}
        kinds = Counter(self.kept[fate.mutant.key].kind for fate in self.survivors if fate.mutant.key in self.kept)
        return {
            "mutants": len(fates),
            **by,
            "verify or explore": sum(fate.judged for fate in fates),
            "all together": sum(fate.killed for fate in fates),
            "of these only as they come to no end": sum(fate.killed and not _answered(fate) for fate in fates),
            "visible": sum(fate.visible for fate in fates),
            "survivors": len(self.survivors),
            **{f"survivors kept as {kind}": number for kind, number in sorted(kinds.items())},
            "survivors unexplained": len(self.unexplained),
            "visible, but not judged": sum(fate.visible and not fate.judged for fate in fates),
            "visible, not judged, unexplained": len(self.unjudged),
        }

    def to_json(self) -> dict[str, Any]:
        """One document."""
        mutants = []
        for fate in self.fates:
            entry = self.kept.get(fate.mutant.key)
            mutants.append(
                {
                    "place": f"{fate.mutant.file}:{fate.mutant.line}",
                    "function": fate.mutant.function,
                    "operator": fate.mutant.operator,
                    "diff": fate.mutant.diff(self.texts[fate.mutant.file]),
                    "visible": fate.visible,
                    "found": {name: found.to_json() for name, found in fate.found.items()},
                    "kept": None if entry is None else {"kind": entry.kind, "reason": entry.reason},
                }
            )
        head = {"found": round(self.found, 4), "judged": round(self.judged, 4), "seconds": round(self.seconds, 1)}
        return {**self.counts(), **head, "list": mutants}

    def lines(self) -> Iterator[str]:
        """Tables in Markdown, and what was not found."""
        yield "| file | mutants | units | verify | explore | all | visible |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        for file in sorted({fate.mutant.file for fate in self.fates}):
            fates = [fate for fate in self.fates if fate.mutant.file == file]
            by = [sum(bool(fate.found[name].finder) for fate in fates) for name in FINDERS]
            row = [len(fates), *by, sum(fate.killed for fate in fates), sum(fate.visible for fate in fates)]
            yield f"| `{file}` | {' | '.join(map(str, row))} |"
        yield ""
        yield from (f"{name}: {number}" for name, number in self.counts().items())
        yield from self._listed("survivors", self.survivors)
        yield from self._listed("visible and found by unit tests alone", [f for f in self.fates if _units_alone(f)])
        yield ""
        yield (
            f"found {100 * self.found:.1f} % of those that aren't kept, {100 * LEAST_FOUND:.0f} % are asked for; "
            f"verify and explore {100 * self.judged:.1f} % of the visible ones, {100 * LEAST_JUDGED:.0f} % asked for; "
            f"{'a slice may have less by chance; ' if self.drawn else ''}{self.seconds:.0f} s of processor time"
        )

    def _listed(self, title: str, fates: Sequence[Fate]) -> Iterator[str]:
        yield ""
        yield f"{title}: {len(fates)}"
        for fate in fates:
            mutant, entry = fate.mutant, self.kept.get(fate.mutant.key)
            hung = [name for name, found in fate.found.items() if found.hung]
            seen = "visible" if fate.visible else "not visible"
            yield f"{mutant.file}:{mutant.line} {mutant.function} ({mutant.operator}; {seen}{'; hung' if hung else ''})"
            yield from (f"  {line}" for line in mutant.diff(self.texts[mutant.file]).splitlines()[1:])
            yield f"  {'not explained' if entry is None else f'{entry.kind}: {entry.reason}'}"


def _answered(fate: Fate) -> bool:
    return any(found.finder for found in fate.found.values())


def _units_alone(fate: Fate) -> bool:
    return fate.visible and fate.killed and not fate.judged


def _share(number: int, of: int) -> float:
    return number / of if of else 1.0


def _chance(number: int, of: int, share: float) -> float:
    """Of that many or fewer, if each of them is one with the probability `share`."""
    return sum(math.comb(of, n) * share**n * (1 - share) ** (of - n) for n in range(number + 1))
