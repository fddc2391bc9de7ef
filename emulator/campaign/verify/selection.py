"""Which variants are played: `--select` and `--shard`.

A pattern chooses a variant when it occurs in the variant's id (`dir/dead.yaml[gpu=a.3,at=2000]`) or in its scenario's
name; or when, with `*` for any text and `?` for one character, it fits one of them as a whole. What follows "not "
leaves variants out in the same way.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ringhil.emulator.campaign.verify.verdict import Verdict, identity

_NOT = "not "


class _Pattern:
    """A part of a name; with `*` and `?` a whole one."""

    def __init__(self, text: str) -> None:
        words = {"*": ".*", "?": "."}
        self.text = text
        self._glob = re.compile("".join(words.get(c, re.escape(c)) for c in text), re.DOTALL)

    def fits(self, names: tuple[str, str]) -> bool:
        """Whether one of the names does."""
        return any(self.text in name or self._glob.fullmatch(name) for name in names)


@dataclass(frozen=True)
class Selection:
    """Variants that match any of `patterns`, and none of those that begin with "not "; all without patterns. `shard`
    (from 1) of `shards` runs. `only`: these ids; None: any."""

    patterns: tuple[str, ...] = ()
    shard: int = 1
    shards: int = 1
    only: frozenset[str] | None = None

    @cached_property
    def _wanted(self) -> list[_Pattern]:
        return [_Pattern(pattern) for pattern in self.patterns if not pattern.startswith(_NOT)]

    @cached_property
    def _left_out(self) -> list[_Pattern]:
        return [_Pattern(pattern.removeprefix(_NOT)) for pattern in self.patterns if pattern.startswith(_NOT)]

    @property
    def by_name(self) -> bool:
        """Whether it depends on names what is played."""
        return bool(self.patterns) or self.only is not None

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.by_name and self.shards == 1

    def mine(self, file_number: int, variant_number: int) -> bool:
        """Whether this shard plays it: the same on every machine that is given the same files."""
        return (file_number + variant_number) % self.shards == self.shard - 1

    def fits(self, file: Path, variant: str, name: str) -> bool:
        """Whether a pattern chooses it."""
        texts = (identity(file, variant), name)
        if self.only is not None and texts[0] not in self.only:
            return False
        chosen = not self._wanted or any(pattern.fits(texts) for pattern in self._wanted)
        return chosen and not self.leaves_out(texts)

    def leaves_out(self, texts: tuple[str, str]) -> bool:
        """Whether a pattern does, by id and name; of a file that can't be read the id is its path."""
        return any(pattern.fits(texts) for pattern in self._left_out)

    def unmatched(self, played: Iterable[Verdict]) -> tuple[str, ...]:
        """The patterns that fit nothing of what was played; of a shard it can't be told."""
        if self.shards > 1:
            return ()
        texts = [(verdict.id, verdict.name) for verdict in played]
        return tuple(each.text for each in self._wanted if not any(map(each.fits, texts)))

    def useless(self, names: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """The patterns that leave nothing out of variants with these ids and names."""
        left = list(self._left_out)
        for texts in names if left else ():
            left = [each for each in left if not each.fits(texts)]
            if not left:
                break
        return tuple(_NOT + each.text for each in left)


def nothing(selection: Selection) -> str:
    """What to say when nothing was chosen."""
    words = [] if selection.only is None else ["--last-failed"]
    words += [f"--select {shlex.quote(pattern)}" for pattern in selection.patterns]
    words += [f"--shard {selection.shard}/{selection.shards}"] if selection.shards > 1 else []
    return f"{' '.join(words)}: nothing is chosen by that; --list without it prints the names of all variants"
