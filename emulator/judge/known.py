"""Failures that are known: a list in a file, each with a reason and a last day.

    known:
      - scenario: scenarios/dead.yaml[gpu=a.3,at=3000]
        reason: the wrap is told too late, is being mended
        until: 2026-12-31
      - sort: "work_once: N of N work units were not done [lasts]"
        reason: needs the new scheduler
        until: 2026-11-30

| key | is |
|---|---|
| `scenario` | a file or a variant's id, or a pattern of them (`*`, `?`); any folders may stand before it |
| `sort` | a sort as reports name it, or a pattern; with `scenario`: of this one |
| `reason`, `until` | why, and the last day on which it is known; both are needed |

What day it is, is given. No model knows of this.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, shown, unknown
from ringhil.emulator.scenario.yaml.events import read_text
from ringhil.emulator.scenario.yaml.marks import Source
from ringhil.emulator.scenario.yaml.parse import parse

WAS_KNOWN = "it was known, and that is over"
_KEYS = ("scenario", "sort", "reason", "until")
_LONGEST = 2000  # characters of a text
_MOST = 10_000  # entries
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # of a month, at most


@dataclass(frozen=True)
class KnownFailure:
    """An entry of the list. `scenario` or `sort`: None, any."""

    place: str  # file and line
    scenario: str | None
    sort: str | None
    reason: str
    until: str  # a day: those sort as texts

    def names(self, id_: str, file: str) -> bool:
        """Whether it is about this variant: by its id, or that of its file."""
        return self.scenario is None or any(_ends(self.scenario, text) for text in (id_, file))

    def explains(self, sort: str) -> bool:
        """Whether it is about this sort."""
        return self.sort is None or _glob(self.sort).fullmatch(sort) is not None

    def __str__(self) -> str:
        return f"{self.reason} (until {self.until}, {self.place})"


@dataclass(frozen=True)
class KnownFailures:
    """A list, on a day: `current` are known, `expired` are not any more."""

    current: tuple[KnownFailure, ...] = ()
    expired: tuple[KnownFailure, ...] = ()

    @classmethod
    def load(cls, path: Path, today: str) -> Self:
        """Raises ScenarioError."""
        source = parse(read_text(path), str(path))
        entries = _entries(source, path)
        return cls(
            tuple(entry for entry in entries if today <= entry.until),
            tuple(entry for entry in entries if today > entry.until),
        )

    def why(self, id_: str, file: str, sorts: Sequence[str]) -> KnownFailure | None:
        """The entry by which all that it has failed at is known; None: something isn't."""
        mine = [entry for entry in self.current if entry.names(id_, file)]
        found = [next((entry for entry in mine if entry.explains(sort)), None) for sort in sorts]
        return found[0] if found and None not in found else None

    def over(self, id_: str, file: str, sorts: Sequence[str]) -> KnownFailure | None:
        """An entry that would have said so until its last day."""
        mine = [entry for entry in self.expired if entry.names(id_, file)]
        return next((entry for entry in mine if any(map(entry.explains, sorts))), None)

    def of(self, id_: str, file: str) -> KnownFailure | None:
        """The entry by which this variant has to fail."""
        named = (entry for entry in self.current if entry.scenario is not None)
        return next((entry for entry in named if entry.names(id_, file)), None)

    def unseen(self, sorts: Iterable[str]) -> list[KnownFailure]:
        """Entries about any scenario of whose sort nothing has failed; `sorts`: all that did."""
        seen = set(sorts)
        return [e for e in self.current if e.scenario is None and not any(map(e.explains, seen))]

    def idle(self, played: Iterable[tuple[str, str]]) -> list[KnownFailure]:
        """Entries about scenarios of which none was played; `played`: ids and files."""
        all_ = list(played)
        named = (entry for entry in self.current if entry.scenario is not None)
        return [entry for entry in named if not any(entry.names(*each) for each in all_)]


def day(text: str) -> str:
    """`2026-12-31`, if there is such a day. Raises ValueError."""
    found = _DAY.fullmatch(text)
    if found is None:
        raise ValueError(f"found {shown(text)}; allowed is a day such as 2026-12-31")
    year, month, number = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year and 1 <= month <= len(_DAYS) and 1 <= number <= _DAYS[month - 1] - (month == 2 and not leap)):
        raise ValueError(f"found {shown(text)}; there is no such day")
    return text


def _entries(source: Source, path: Path) -> list[KnownFailure]:
    data = source.data
    if not isinstance(data, dict) or "known" not in data:
        raise ScenarioError(str(path), 1, 1, "found no key 'known'; needed is a list of known failures below it")
    for key in data:
        if key != "known":
            raise source.error((str(key),), unknown("key", str(key), ("known",)), key=True)
    listed = data["known"]
    if not isinstance(listed, list) or len(listed) > _MOST:
        raise source.error(("known",), f"found {shown(listed)}; allowed is a list of at most {_MOST:,} entries")
    return [_entry(source, number, each, path) for number, each in enumerate(listed)]


def _entry(source: Source, number: int, entry: object, path: Path) -> KnownFailure:
    loc = ("known", number)
    if not isinstance(entry, dict):
        raise source.error(loc, f"found {shown(entry)}; allowed is a mapping with {listing(_KEYS)}")
    for key in entry:
        if key not in _KEYS:
            raise source.error((*loc, str(key)), unknown("key", str(key), _KEYS), key=True)
    texts: dict[str, str] = {}
    for key, value in entry.items():
        if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
            raise source.error((*loc, key), f"found {shown(value)}; allowed is a text of 1 to {_LONGEST:,} characters")
        texts[key] = value
    if "scenario" not in texts and "sort" not in texts:
        raise source.error(loc, "it says neither which scenario nor which sort; needed is one of them, or both")
    for key in ("reason", "until"):
        if key not in texts:
            raise source.error(loc, f"key '{key}' is missing; needed is why it is known, and until which day")
    try:
        until = day(texts["until"])
    except ValueError as error:
        raise source.error((*loc, "until"), str(error)) from None
    place = f"{path.as_posix()}:{source.mark(loc).line}"
    return KnownFailure(place, texts.get("scenario"), texts.get("sort"), " ".join(texts["reason"].split()), until)


def _ends(pattern: str, text: str) -> bool:
    """Whether it fits, whatever folders stand before it."""
    wanted = re.sub(r"^(\./)+", "", pattern)
    return _glob(wanted).fullmatch(text) is not None or _glob(f"*/{wanted}").fullmatch(text) is not None


def _glob(pattern: str) -> re.Pattern[str]:
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(c, re.escape(c)) for c in pattern), re.DOTALL)
