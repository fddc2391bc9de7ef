"""Which variants are played: `--select` and `--shard`.

A pattern chooses a variant when it occurs in the variant's id (`dir/dead.yaml[gpu=a.3,at=2000]`) or in its scenario's
name; or when, with `*` for any text and `?` for one character, it fits one of them as a whole.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ringhil.emulator.campaign.verify.verdict import Verdict, identity


@dataclass(frozen=True)
class Selection:
    """Variants that match any of `patterns`; all without patterns. `shard` (from 1) of `shards` runs."""

    patterns: tuple[str, ...] = ()
    shard: int = 1
    shards: int = 1

    @cached_property
    def _globs(self) -> list[re.Pattern[str]]:
        return [_glob(pattern) for pattern in self.patterns]

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.patterns and self.shards == 1

    def mine(self, file_number: int, variant_number: int) -> bool:
        """Whether this shard plays it: the same on every machine that is given the same files."""
        return (file_number + variant_number) % self.shards == self.shard - 1

    def fits(self, file: Path, variant: str, name: str) -> bool:
        """Whether a pattern chooses it."""
        texts = (identity(file, variant), name)
        found = any(pattern in text for pattern in self.patterns for text in texts)
        return found or not self.patterns or any(glob.fullmatch(text) for glob in self._globs for text in texts)

    def unmatched(self, played: Iterable[Verdict]) -> tuple[str, ...]:
        """The patterns that fit nothing of what was played; of a shard it can't be told."""
        if self.shards > 1:
            return ()
        verdicts = list(played)
        one_by_one = ((pattern, Selection((pattern,))) for pattern in self.patterns)
        return tuple(p for p, one in one_by_one if not any(one.fits(v.file, v.variant, v.name) for v in verdicts))


def _glob(pattern: str) -> re.Pattern[str]:
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(c, re.escape(c)) for c in pattern), re.DOTALL)


def nothing(selection: Selection) -> str:
    """What to say when nothing was chosen."""
    words = [f"--select {pattern}" for pattern in selection.patterns]
    words += [f"--shard {selection.shard}/{selection.shards}"] if selection.shards > 1 else []
    return f"{' '.join(words)}: nothing is chosen by that; --list without it prints the names of all variants"
