"""What differs between two documents of `ringhil verify --json`."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ringhil.emulator.campaign.verify.discover import VerifyError
from ringhil.emulator.documents import Document, read
from ringhil.emulator.judge.outcome import VerdictWord

_MOST = 1 << 28  # bytes
_Text = Annotated[str, Field(max_length=1 << 20)]


class _Lenient(Document):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Failure(_Lenient):
    sort: _Text = ""  # 0.4 wrote none
    lasts: bool | None = None


class _Result(_Lenient):
    id: _Text
    verdict: _Text
    failures: list[_Failure]
    known: _Text | None = None
    scenario: _Text | None = None

    @property
    def what(self) -> str:
        """Verdict and sort; what is known to fail is no failure."""
        main = next((each for each in self.failures if each.lasts), next(iter(self.failures), None))
        return f"{self.word}: {main.sort}" if main is not None and main.sort else self.word

    @property
    def word(self) -> str:
        """Verdict alone."""
        return "known" if self.known else self.verdict

    def edited(self, other: "_Result") -> bool:
        """Whether the scenario is another one, as far as both are told: one that wasn't played to its end has none."""
        return None not in (self.scenario, other.scenario) and self.scenario != other.scenario

    def differs(self, other: "_Result") -> bool:
        """Whether verdict or sort do, as far as both are told."""
        sorts = all(failure.sort for result in (self, other) for failure in result.failures)
        return self.what != other.what if sorts else self.word != other.word


class VerifyDocument(_Lenient):
    """What is read of a document."""

    ringhil: _Text
    results: list[_Result]
    hashes: dict[str, _Text] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "VerifyDocument":
        """Raises VerifyError."""
        return read(path, cls, _MOST, VerifyError)

    @property
    def played_by(self) -> dict[str, str]:
        """Version and hashes."""
        return {"ringhil": self.ringhil, **self.hashes}


@dataclass(frozen=True)
class VerdictChange:
    """A variant that is in both: verdict and sort, before and now; `edited`: the scenario is another one."""

    id: str
    old: str
    new: str
    edited: bool


@dataclass(frozen=True)
class VerifyComparison:
    """In the order of the new document. `changed`: version, RTL, firmware: what it was, and is now."""

    both: int
    worse: tuple[VerdictChange, ...]  # passed before, or was known, and doesn't now
    better: tuple[VerdictChange, ...]
    other: tuple[VerdictChange, ...]  # failed before and now, in another way
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    new_failures: tuple[str, ...]  # of those that are new
    changed: Mapping[str, tuple[str | None, str | None]]

    @property
    def worsened(self) -> bool:
        """Whether something fails that did not."""
        return bool(self.worse or self.new_failures)

    def to_json(self) -> dict[str, Any]:
        """The document of `verify compare --json`."""
        found = {name: [asdict(each) for each in getattr(self, name)] for name in ("worse", "better", "other")}
        names = {name: list(getattr(self, name)) for name in ("only_old", "only_new", "new_failures")}
        changed = {name: {"old": old, "new": new} for name, (old, new) in self.changed.items()}
        return {"both": self.both, **found, **names, "changed": changed}


def compared(old: VerifyDocument, new: VerifyDocument) -> VerifyComparison:
    """By the ids of variants."""
    before, after = ({each.id: each for each in document.results} for document in (old, new))
    changes = [
        VerdictChange(id_, before[id_].what, now.what, before[id_].edited(now))
        for id_, now in after.items()
        if id_ in before and before[id_].differs(now)
    ]
    bad = {id_: not _fine(each) for id_, each in after.items()}
    was_bad = {id_: not _fine(each) for id_, each in before.items()}
    return VerifyComparison(
        both=len(before.keys() & after.keys()),
        worse=tuple(c for c in changes if bad[c.id] and not was_bad[c.id]),
        better=tuple(c for c in changes if was_bad[c.id] and not bad[c.id]),
        other=tuple(c for c in changes if was_bad[c.id] == bad[c.id]),
        only_old=tuple(id_ for id_ in before if id_ not in after),
        only_new=tuple(id_ for id_ in after if id_ not in before),
        new_failures=tuple(id_ for id_ in after if id_ not in before and bad[id_]),
        changed=dict(_changed(old.played_by, new.played_by)),
    )


def _fine(result: _Result) -> bool:
    return result.verdict == VerdictWord.PASS or bool(result.known)


def _changed(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield name, (old.get(name), new.get(name))
