"""What one finder has come to with one mutant."""

import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from benchmarks.mutation_firmware.mutant import Mutant


@dataclass
class Found:
    """`finder`: what has found it (a test, a variant, a case), and `why`; empty: it was not found. `played`: how many
    there were up to there. `differs`: one of them came out otherwise than without the mistake. `hung`: it came to no
    end, so no exit code says that anything is wrong."""

    finder: str = ""
    why: str = ""
    played: int = 0
    differs: bool = False
    hung: bool = False
    hashes: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, hash_: str, before: Mapping[str, str]) -> None:
        """One has been played."""
        self.played += 1
        self.hashes[name] = hash_
        self.differs |= bool(before) and before.get(name) != hash_

    def by(self, name: str, why: str) -> Self:
        """It has been found."""
        self.finder, self.why = name, why[:300]
        return self

    def to_json(self) -> dict[str, Any]:
        """Without the hashes."""
        return {
            "by": self.finder,
            "why": self.why,
            "played": self.played,
            "differs": self.differs,
            "hung": self.hung,
        }


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: by the names of the finders, `units`, `verify`, `explore`."""

    mutant: Mutant
    found: Mapping[str, Found]
    deep: bool = False  # all that there is was played, where less has not found it

    @property
    def visible(self) -> bool:
        """Some recording or result differs, or a play came to no end."""
        plays = [self.found[name] for name in ("verify", "explore")]
        return any(one.differs or one.hung or one.finder for one in plays)

    @property
    def judged(self) -> bool:
        """`verify` or `explore` has found it."""
        return any(self.found[name].finder for name in ("verify", "explore"))

    @property
    def killed(self) -> bool:
        """Something has found it, or comes to no end, which whoever waits for it sees."""
        return any(one.finder or one.hung for one in self.found.values())


def allow(seconds: int) -> None:
    """This process may use so much more processor time; then SIGXCPU ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
