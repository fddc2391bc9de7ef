"""Verdicts for people: each word has one colour, on terminals and in pages alike. The word is always there as well, so
that nothing is told by colour alone; `NO_COLOR` takes the colours away.

| tone | terminal | page (base.css) |
|---|---|---|
| good | green | `--good` |
| bad | bold red | `--bad` |
| warn | yellow | `--warn` |
| muted | dim | `--muted` |
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Literal

from rich.markup import escape

Tone = Literal["good", "bad", "warn", "muted"]
Verdict = Literal["pass", "fail", "not judged"]

_STYLES: dict[Tone, str] = {"good": "green", "bad": "bold red", "warn": "yellow", "muted": "dim"}
WORDS: dict[Tone, tuple[str, ...]] = {
    "good": ("pass", "ok", "kept", "proved", "holds"),
    "bad": ("fail", "failed", "broken", "error", "hung", "no", "missing"),
    "warn": ("not judged", "incomplete", "not claimed", "slow"),
    "muted": ("not checked",),
}
_TONES = {word: tone for tone, words in WORDS.items() for word in words}


class RuleState(StrEnum):
    """What becomes of a rule, or of a promise."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"

    @property
    def mark(self) -> str:
        """Before a line about it."""
        return {RuleState.KEPT: ok(True), RuleState.BROKEN: ok(False), RuleState.NOT_JUDGED: ok(None)}[self]


def verdict_of(states: Collection[RuleState]) -> Verdict:
    """On all rules."""
    return "fail" if RuleState.BROKEN in states else "pass" if RuleState.KEPT in states else "not judged"


def tone(word: str) -> Tone:
    """Of a verdict. Raises KeyError for a word that is none."""
    return _TONES[word]


def marked(word: str, text: str | None = None) -> str:
    """The word, or the text in its place, in its colour: rich's markup."""
    return f"[{_STYLES[tone(word)]}]{escape(word if text is None else text)}[/]"


def ok(found: bool | None) -> str:
    """Four letters before a line: it is so, it isn't, nobody can tell."""
    return marked("not judged", "-   ") if found is None else marked("ok", "ok  ") if found else marked("fail", "FAIL")
