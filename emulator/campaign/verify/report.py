"""All verdicts of a run of `ringhil verify`, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.judge.outcome import VerdictWord


@dataclass(frozen=True)
class Unplayed:
    """A file of which an interrupted run has not played all. `variants` were left; None: the file was not read yet."""

    file: Path
    variants: int | None

    @property
    def text(self) -> str:
        """What was left, in words."""
        left = "" if self.variants is None else f": {_plural(self.variants, 'variant')}"
        return f"not played, the run was interrupted{left}"


@dataclass(frozen=True)
class VerifyReport:
    """`results` in the order of files and variants. `stopped`: what ended the run early, else None; `unplayed`:
    what it left, in the order of the files; `passed_over`: files below its paths that are no scenarios; `unmatched`:
    patterns of `--select` that no variant fits, and `why_unmatched`, that in words; `hashes`: of RTL and firmware;
    `whole`: numbers of the files of which there are all verdicts."""

    results: tuple[Verdict, ...]
    rtl: str
    version: str
    seconds: float
    stopped: BaseException | None = None
    unplayed: tuple[Unplayed, ...] = ()
    passed_over: tuple[Path, ...] = ()
    unmatched: tuple[str, ...] = ()
    why_unmatched: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[str, ...] = ()  # what is known of sorts of which nothing has failed: that fails
    whole: frozenset[int] = frozenset()
    idle: tuple[str, ...] = ()  # what is known of scenarios that were not played

    def count(self, word: VerdictWord) -> int:
        """How many have this verdict; of those that did not pass, where that is news."""
        return sum(v.state == word and not v.known for v in self.results)

    @property
    def kept(self) -> int:
        """How many were not played again: nothing has changed since they passed."""
        return sum(v.kept for v in self.results)

    @property
    def known(self) -> Sequence[Verdict]:
        """Those that have failed, and are known to."""
        return [v for v in self.results if v.known]

    def bad(self) -> Sequence[Verdict]:
        """Those that did not pass, where that is news."""
        return [v for v in self.results if v.bad]

    @property
    def of_no_file(self) -> list[str]:
        """What is wrong, and is no verdict on a file."""
        return [*self.stale, *([self.why_unmatched] if self.unmatched else [])]

    def sorts(self) -> list[tuple[str, list[Verdict]]]:
        """Those that did not pass by the sort of their main failure; what lasts first, then the most frequent."""
        found: dict[str, list[Verdict]] = {}
        for verdict in self.bad():
            sort = verdict.state.value if verdict.main is None else verdict.main.sort
            found.setdefault(sort, []).append(verdict)
        return sorted(found.items(), key=lambda item: (not _lasts(item[1][0]), -len(item[1])))

    def never_judged(self) -> list[tuple[Path, str]]:
        """What no variant of a file could tell, in the order of the files."""
        found: dict[Path, dict[str, None]] = {}
        for verdict in self.results:
            mine = dict.fromkeys(str(each) for each in verdict.unjudged)
            before = found.get(verdict.file, mine)
            found[verdict.file] = {text: None for text in before if text in mine}
        return [(file, text) for file, texts in found.items() for text in texts]

    @property
    def files(self) -> int:
        """Files of which something was played."""
        return len({v.file for v in self.results})

    @property
    def cycles(self) -> int:
        """Cycles simulated in all."""
        return sum(v.cycles for v in self.results if not v.kept)

    @property
    def verdict(self) -> VerdictWord:
        """FAIL goes before ERROR. A run that was interrupted, or has played nothing of what was
        asked for, has not passed."""
        if self.count(VerdictWord.FAIL) or self.stale:
            return VerdictWord.FAIL
        wrong = self.count(VerdictWord.ERROR) or self.stopped or not self.results or self.unmatched
        return VerdictWord.ERROR if wrong else VerdictWord.PASS

    @property
    def exit_code(self) -> int:
        """0, 1 or 2; whoever was interrupted says 130 himself."""
        return {VerdictWord.PASS: 0, VerdictWord.FAIL: 1, VerdictWord.ERROR: 2}[self.verdict]

    @property
    def summary(self) -> str:
        """One line."""
        passed, failed, wrong = map(self.count, (VerdictWord.PASS, VerdictWord.FAIL, VerdictWord.ERROR))
        errors = f", {_plural(wrong, 'error')}" if wrong else ""
        errors += f", {len(self.known):,} known to fail" if self.known else ""
        errors += f", {len(self.stale):,} known and gone" if self.stale else ""
        variants = f"{_plural(len(self.results), 'variant')} of {_plural(self.files, 'file')}"
        kept = f" ({self.kept:,} kept)" if self.kept else ""
        text = f"{passed:,} passed{kept}, {failed:,} failed{errors}: {variants}"
        text += f", {self.cycles:,} cycles, {self.seconds:.1f} s"
        return text + (f" ({self.interruption})" if self.stopped else "")

    @property
    def interruption(self) -> str:
        """What an interrupted run has left."""
        known = sum(left.variants or 0 for left in self.unplayed)
        unread = sum(left.variants is None for left in self.unplayed)
        words = [_plural(known, "variant")] * bool(known) + [_plural(unread, "unread file")] * bool(unread)
        return f"interrupted: not played: {' and '.join(words)}" if words else "interrupted"

    def to_json(self) -> dict[str, Any]:
        """The document of `ringhil verify --json`."""
        return {
            "ringhil": self.version,
            "rtl": self.rtl,
            "hashes": dict(self.hashes),
            "verdict": self.verdict,
            "interrupted": self.stopped is not None,
            "passed": self.count(VerdictWord.PASS),
            "failed": self.count(VerdictWord.FAIL),
            "errors": self.count(VerdictWord.ERROR),
            "kept": self.kept,
            "known": len(self.known),
            "stale": list(self.stale),
            "idle": list(self.idle),
            "variants": len(self.results),
            "not_played": [{"file": u.file.as_posix(), "variants": u.variants} for u in self.unplayed],
            "files": self.files,
            "passed_over": [file.as_posix() for file in self.passed_over],
            "unmatched": list(self.unmatched),
            "cycles": self.cycles,
            "seconds": round(self.seconds, 3),
            "sorts": [
                {"sort": s, "lasts": _lasts(all_[0]), "variants": len(all_), "first": all_[0].id}
                for s, all_ in self.sorts()
            ],
            "results": [v.to_json() for v in self.results],
        }


_NAMED = 5  # files that are passed over


def told_of(paths: Sequence[Path]) -> str:
    """One line that counts and names files that are passed over."""
    names = ", ".join(path.as_posix() for path in paths[:_NAMED]) + (", ..." if len(paths) > _NAMED else "")
    these = "1 file that is" if len(paths) == 1 else f"{len(paths):,} files that are"
    return f"passed over: {these} no scenario (no top-level key 'server'): {names}"


def _lasts(verdict: Verdict) -> bool | None:
    return None if verdict.main is None else verdict.main.lasts


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
