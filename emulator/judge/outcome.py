"""What came of a run, as plain data: `to_json` gives the document of `ringhil run --json`."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ringhil.emulator.judge.contexts.applications import ApplicationOutcome, PowerOutcome
from ringhil.emulator.judge.findings import Finding, Name, say
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.scenario import EventAction
from ringhil.emulator.scenario.file.faults import title


class VerdictWord(StrEnum):
    """How a run has ended, in one word."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"  # it could not be played to its end
    HUNG = "hung"  # it was given up: it took too long


EXPECTED_FACTS = ("index", "ok", "expected", "found")  # of an item of `expect`: the rest follows
_AROUND = 3  # events before an expectation that failed
NOT_JUDGED = "not judged"  # what stands in a verdict's place where nothing was played that could have one


@dataclass(frozen=True)
class CardOutcome:
    """A card at the end, as its CPU sees it. `break_` is a link such as "a.5-a.6", or None."""

    name: str
    size: int
    count: int
    members: tuple[int, ...]
    entry: str | None
    host: tuple[str, ...]  # members of the second logical link, by priority
    epoch: int
    elections: int
    boundary: dict[str, str]  # by neighbouring card
    break_: str | None
    cuts: tuple[str, ...]
    stranded: tuple[str, ...]
    isolated: tuple[str, ...]
    lent: tuple[str, ...]
    degraded: tuple[str, ...]
    slow_link: str | None
    noisy_link: str | None
    reachable: bool
    share: int
    completed: int
    suspects: tuple[str, ...]
    accepted: int
    rejected: dict[str, int]


@dataclass(frozen=True)
class LinkOutcome:
    """A first logical link at the end: between two cards, over one of its `members` or none."""

    cards: tuple[str, str]
    members: tuple[str, ...]
    active: str | None
    epoch: int
    elections: int
    frames: int  # data frames that crossed it, either way


@dataclass(frozen=True)
class Recovery:
    """One event of the timeline and how the card coped. Cycles; `recounted` None: not seen to be over. `switched`: the
    hardware had switched over, or the role had moved; None: nothing of the kind had to happen.

    `superseded`: not to be judged, for another event changed the card within the bound, or nobody could have seen it
    to be over (the entry GPU itself has failed, or another GPU's lies spoil every census).
    """

    fault: str
    action: EventAction
    where: str
    at: int
    detected: int | None
    switched: int | None
    recounted: int | None
    bound: int
    transits: float | None
    superseded: bool

    @property
    def title(self) -> str:
        """What happened: `dead`, `clear dead`, `lend` or `take_back`."""
        return title(self.action, self.fault)

    @property
    def told_as(self) -> str:
        """The same, with the action of a fault that begins."""
        return f"{EventAction.FAULT} {self.fault}" if self.action == EventAction.FAULT else self.title

    @property
    def ok(self) -> bool:
        """Within its bound, or not to be judged."""
        if self.superseded:
            return True
        return self.recounted is not None and self.recounted - self.at <= self.bound

    def told(self, cycle: int) -> str:
        """What became of it, and its bound; `cycle`: at which something went wrong."""
        what, ends = f"{self.told_as} of {self.where} at {self.at}", self.at + self.bound
        over = "was not seen to be over" if self.recounted is None else f"was over at {self.recounted}"
        if self.superseded:
            return f"{what} {over}; its bound, cycle {ends}, isn't judged"
        if self.ok:
            early = f", and cycle {cycle} was before that" if self.at <= cycle < ends else ""
            return f"{what} {over}; its bound is cycle {ends}{early}"
        return f"{what} {over}; it missed its bound, cycle {ends}" + (
            "" if self.recounted is None else f", by {self.recounted - ends}"
        )

    @property
    def violation(self) -> Finding:
        """What there is to say when it is not ok."""
        what = say("{} of {} at {}", self.told_as, Name(self.where), self.at)
        late = say("nor later") if self.recounted is None else say("but after {found}", found=self.recounted - self.at)
        text = say("{}: not recovered within {expected} cycles, {}", what, late, expected=self.bound)
        return Finding(text, self.at + self.bound, lasts=self.recounted is None)


@dataclass(frozen=True)
class Expected:
    """An item of `expect` and whether it came true; `found` says what was there instead. `at`: the cycle at which it
    failed. `sort`: the same for all that fail in one way: what was expected, without its values. `later`: the cycle at
    which it came true after that; `lasts`: it never did; None: it has not failed."""

    index: int
    ok: bool
    line: int
    text: str
    found: str
    at: int | None = None
    sort: str = ""
    later: int | None = None
    lasts: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a run: verdict, cards, work, recoveries, expectations.

    A whole run. `violations` are of those invariants that the scenario wants judged.
    """

    name: str
    seed: int
    cycles: int
    cards: dict[str, CardOutcome]
    links: tuple[LinkOutcome, ...]
    work: dict[str, Any]
    recoveries: tuple[Recovery, ...]
    expect: tuple[Expected, ...]
    violations: tuple[Finding, ...]
    unjudged: tuple[Finding, ...] = ()  # of the end of the run, and why
    engine: dict[str, Any] = field(default_factory=dict)
    applications: dict[str, ApplicationOutcome] = field(default_factory=dict)
    switching: SwitchingOutcome | None = None
    power: dict[str, PowerOutcome] = field(default_factory=dict)

    def broken(self, invariant: str) -> tuple[Finding, ...]:
        """What was found of one invariant."""
        return tuple(violation for violation in self.violations if violation.promise == invariant)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the verdict is not PASS; empty when it is."""
        found = [str(violation) for violation in self.violations]
        found += [f"line {e.line}: expected {e.text}; found {e.found}" for e in self.expect if not e.ok]
        return tuple(found)

    def around(self, failed: Expected) -> tuple[str, ...]:
        """What helps to understand an expectation that failed: when it came true after all, and the events of the
        timeline around it with their bounds."""
        at = self.cycles if failed.at is None else failed.at
        if failed.later is None:
            said = [] if at >= self.cycles else [f"it was not so up to the end of the run at cycle {self.cycles}"]
        else:
            said = [f"it was so at cycle {failed.later}, {failed.later - at} cycles later"]
        before = [each for each in self.recoveries if each.at <= at]
        after = [each for each in self.recoveries if each.at > at]
        said += [f"before: {each.told(at)}" for each in before[-_AROUND:]]
        return (*said, *(f"after: {each.told(at)}" for each in after[:1]))

    @property
    def not_judged(self) -> tuple[str, ...]:
        """What can't be told, and why."""
        return tuple(map(str, self.unjudged))

    @property
    def verdict(self) -> VerdictWord:
        """PASS or FAIL."""
        return VerdictWord.FAIL if self.failures else VerdictWord.PASS

    def to_json(self) -> dict[str, Any]:
        """The document of `ringhil run --json`."""
        return {
            "name": self.name,
            "seed": self.seed,
            "cycles": self.cycles,
            "verdict": self.verdict,
            "failures": list(self.failures),
            "violations": [violation.to_json() for violation in self.violations],
            "not_judged": list(self.not_judged),
            "cards": {name: _card_json(card) for name, card in self.cards.items()},
            "links": [_link_json(link) for link in self.links],
            "work": self.work,
            "recoveries": [_recovery_json(r) for r in self.recoveries],
            "expect": [self._expected_json(each) for each in self.expect],
            "engine": self.engine,
        } | self._tasks_json()

    def _expected_json(self, e: Expected) -> dict[str, Any]:
        told = {"index": e.index, "ok": e.ok, "expected": e.text, "found": e.found}
        when = {"at": e.at, "later": e.later, "lasts": e.lasts, "sort": None if e.ok else e.sort}
        return {**told, **when, "around": [] if e.ok else list(self.around(e))}

    def _tasks_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"applications": self.applications_json()} if self.applications else {}
        found |= {"switching": self.switching.to_json()} if self.switching else {}
        return found | ({"power": self.power_json()} if self.power else {})

    def power_json(self) -> dict[str, Any]:
        """By GPU."""
        return {gpu: power.to_json() for gpu, power in self.power.items()}

    def applications_json(self) -> dict[str, Any]:
        """By name."""
        return {name: application.to_json() for name, application in self.applications.items()}


def _card_json(card: CardOutcome) -> dict[str, Any]:
    return {
        "count": card.count,
        "members": list(card.members),
        "entry": card.entry,
        "epoch": card.epoch,
        "elections": card.elections,
        "boundary": card.boundary,
        "break": card.break_,
        "stranded": list(card.stranded),
        "isolated": list(card.isolated),
        "lent": list(card.lent),
        "degraded": list(card.degraded),
        "slow_link": card.slow_link,
        "noisy_link": card.noisy_link,
        "reachable": card.reachable,
        "suspects": list(card.suspects),
        "share": card.share,
        "completed": card.completed,
        "census": {"accepted": card.accepted, "rejected": card.rejected},
    }


def _link_json(link: LinkOutcome) -> dict[str, Any]:
    return {
        "cards": list(link.cards),
        "members": list(link.members),
        "active": link.active,
        "epoch": link.epoch,
        "elections": link.elections,
        "frames": link.frames,
    }


def _recovery_json(r: Recovery) -> dict[str, Any]:
    return {
        "fault": r.fault,
        "action": r.action,
        "where": r.where,
        "at": r.at,
        "detected": r.detected,
        "switched": r.switched,
        "recounted": r.recounted,
        "bound": r.at + r.bound,
        "transits": r.transits,
        "superseded": r.superseded,
    }
