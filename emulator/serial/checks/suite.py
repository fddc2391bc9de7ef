"""Checks a card rule after rule, each from a fresh start, and reports what is found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from ringhil.emulator.serial.checks.bench import BrokenPromise, LineBench, NotJudged, SilentCard
from ringhil.emulator.serial.checks.promise import Promise, all_promises
from ringhil.emulator.serial.client import TRIES, CardError, Info


class Kept(StrEnum):
    """Says what becomes of a promise."""

    PASS = "pass"
    FAIL = "fail"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class PromiseFinding:
    """Of one rule. `text`: of a broken one what was sent, promised and came; of one that isn't judged, why."""

    rule: str
    promise: str
    kept: Kept
    text: str = ""


@dataclass(frozen=True)
class CardReport:
    """Of a whole check. `ended`: why it ended before its end, if it did."""

    card: Info
    findings: tuple[PromiseFinding, ...]
    ended: str | None = None

    def number(self, kept: Kept) -> int:
        """Returns how many rules this was found of."""
        return sum(finding.kept is kept for finding in self.findings)

    @property
    def verdict(self) -> Kept:
        """Returns the verdict on all rules: `not judged` when none could be judged."""
        if self.number(Kept.FAIL):
            return Kept.FAIL
        return Kept.PASS if self.number(Kept.PASS) else Kept.NOT_JUDGED

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a document for JSON."""
        sums = {str(kept).replace(" ", "_"): self.number(kept) for kept in Kept}
        rules = [asdict(finding) for finding in self.findings]
        about = {"card": asdict(self.card), "verdict": str(self.verdict), "ended": self.ended}
        return {**about, **sums, "rules": rules}


def run(bench: LineBench, names: Sequence[str] = ()) -> Iterator[PromiseFinding]:
    """Try these rules, or all, and those that they need; one finding after the other, of those that were asked for.

    Afterwards the card has forgotten what was asked on this line. Raises SilentCard, behind the last finding, when the
    card has gone silent meanwhile, or the line has gone: the rule in which it was, and those behind it, aren't judged.
    """
    promises, found = all_promises(), dict[str, PromiseFinding]()
    wanted = set(names or promises)
    tried = set(wanted)
    for name in reversed(promises):  # what a rule needs stands before it
        if name in tried and promises[name].needs:
            tried.add(promises[name].needs)
    silent = ""
    for tried_one in (promises[name] for name in promises if name in tried):
        finding = _finding(bench, tried_one, silent, found)
        if not silent and finding.kept is Kept.FAIL and (why := _silence(bench)):
            silent = f"the card went silent in rule {tried_one.name}, {why}"
            finding = replace(finding, kept=Kept.NOT_JUDGED, text=f"the card went silent: {finding.text}")
        found[tried_one.name] = finding
        if tried_one.name in wanted:
            yield finding
    if silent:
        raise SilentCard(silent)
    with suppress(BrokenPromise, CardError):
        bench.begin()


def _silence(bench: LineBench) -> str | None:
    """What there is instead of a card that answers something; None: there is such a card."""
    try:
        return None if bench.alive() else f"and has said nothing since, in {TRIES} tries of {bench.timeout:g} s"
    except CardError as error:
        return str(error)


def _finding(bench: LineBench, tried: Promise, silent: str, before: Mapping[str, PromiseFinding]) -> PromiseFinding:
    def found(kept: Kept, text: str = "") -> PromiseFinding:
        return PromiseFinding(tried.name, tried.says, kept, text)

    if silent:
        return found(Kept.NOT_JUDGED, silent)
    if tried.needs and before[tried.needs].kept is not Kept.PASS:
        return found(Kept.NOT_JUDGED, f"{tried.needs}, which it needs: {before[tried.needs].kept}")
    try:
        bench.begin()
        tried.trial(bench)
    except NotJudged as reason:
        return found(Kept.NOT_JUDGED, str(reason))
    except BrokenPromise as error:
        return found(Kept.FAIL, str(error))
    except CardError as error:
        return found(Kept.FAIL, str(bench.broken("an answer that is one", str(error))))
    return found(Kept.PASS)
