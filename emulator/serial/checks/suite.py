"""Checks a card rule after rule, each from a fresh start, and reports what is found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from ringhil.emulator.pages.verdicts import RuleState, Verdict, verdict_of
from ringhil.emulator.serial.checks.bench import BrokenPromise, LineBench, NotJudged, SilentCard
from ringhil.emulator.serial.checks.promise import Promise, all_promises
from ringhil.emulator.serial.client import TRIES, CardError, Info


@dataclass(frozen=True)
class PromiseFinding:
    """Of one rule. `text`: of a broken one what was sent, promised and came; of one that isn't judged, why."""

    rule: str
    demands: str
    state: RuleState
    text: str = ""


@dataclass(frozen=True)
class CardReport:
    """Of a whole check. `ended`: why it ended before its end, if it did."""

    card: Info
    findings: tuple[PromiseFinding, ...]
    ended: str | None = None

    def number(self, state: RuleState) -> int:
        """Returns how many rules are in this state."""
        return sum(finding.state is state for finding in self.findings)

    @property
    def verdict(self) -> Verdict:
        """Returns the verdict on all rules: `not judged` when none could be judged, or it ended before its end and none
        is broken."""
        found = verdict_of({finding.state for finding in self.findings})
        return "not judged" if self.ended and found == "pass" else found

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a document for JSON."""
        sums = {str(state).replace(" ", "_"): self.number(state) for state in RuleState}
        rules = [asdict(finding) for finding in self.findings]
        about = {"card": asdict(self.card), "verdict": self.verdict, "ended": self.ended}
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
        if not silent and finding.state is RuleState.BROKEN and (why := _silence(bench)):
            silent = f"the card went silent in rule {tried_one.name}, {why}"
            finding = replace(finding, state=RuleState.NOT_JUDGED, text=f"the card went silent: {finding.text}")
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
    def found(state: RuleState, text: str = "") -> PromiseFinding:
        return PromiseFinding(tried.name, tried.says, state, text)

    if silent:
        return found(RuleState.NOT_JUDGED, silent)
    if tried.needs and before[tried.needs].state is not RuleState.KEPT:
        return found(RuleState.NOT_JUDGED, f"{tried.needs}, which it needs: {before[tried.needs].state}")
    try:
        bench.begin()
        tried.trial(bench)
    except NotJudged as reason:
        return found(RuleState.NOT_JUDGED, str(reason))
    except BrokenPromise as error:
        return found(RuleState.BROKEN, str(error))
    except CardError as error:
        return found(RuleState.BROKEN, str(bench.broken("an answer that is one", str(error))))
    return found(RuleState.KEPT)
