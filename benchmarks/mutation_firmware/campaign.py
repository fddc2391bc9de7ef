"""Shows every mutant to the unit tests, to `verify` and to `explore`, each in a process of its own.

All that doesn't depend on firmware or CPU is loaded once: Python's packages, the engine, the scenarios. A process is
forked from there, the mistake is planted in it, and only then it loads the rest.
"""

import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import construct  # noqa: F401  loaded once, for all that follow
import fastcrc  # noqa: F401
import numpy  # noqa: F401
from benchmarks.mutation_firmware import units
from benchmarks.mutation_firmware.found import Fate, Found
from benchmarks.mutation_firmware.loading import check, plant
from benchmarks.mutation_firmware.mutant import ROOT, Mutant

from ringhil.emulator.campaign.pool import LocalPool, Lost
from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.forks import ForkedError, forked
from ringhil.emulator.scenario import Scenario, load, load_variants

FINDERS = ("units", "verify", "explore")
SHIPPED = ("tests/scenarios", "examples")
# One of 2,080 variants, one whose data is a folder of ours, one of 1,024 GPUs: smaller ones of their kind are played.
LEFT_OUT = (
    "examples/sweeps/one-or-two-of-64.yaml",
    "examples/real-files.yaml",
    "tests/scenarios/dead/ring-of-1024.yaml",
)
# A third of the time that all take.
LONG = (
    "examples/chain-of-four.yaml",
    "examples/cut-off-and-back.yaml",
    "examples/ring-of-64.yaml",
    "examples/two-cards-faults.yaml",
)
# In which roles move more than once, so that most of the elections' code has its effect.
ALSO = (
    "tests/scenarios/boundary_link_cut/role-across-from-the-entry-gpu.yaml",
    "tests/scenarios/boundary_link_cut/role-on-the-entry-gpu.yaml",
    "tests/scenarios/dead/back-and-needed.yaml",
)
EXPLORED = Path(__file__).with_name("server.yaml")
PART, DEEP_PART = 64, 8  # every so many-th case is played
_MEMORY = 8 << 30  # bytes of address space: a mistake may fill lists for ever
_ENDLESS = (signal.Signals.SIGXCPU.name, MemoryError.__name__)  # how what has no end is ended
_LIMIT = 3600.0  # seconds


@dataclass(frozen=True)
class Plays:
    """What `verify` and `explore` play. `part`: of the cases of the explored server, every so many-th; `patience`:
    seconds of processor time for a scenario or a test, most take less than a tenth."""

    library: Library
    scenarios: Mapping[str, Scenario]
    explored: Scenario
    part: int
    patience: int = 30
    deep: bool = False


def _of_servers() -> list[Path]:
    """The shipped files that are no clusters. Asked in a process of its own: it loads what is to be planted."""
    from ringhil.emulator.campaign.verify.discover import is_cluster

    found = sorted(path for folder in SHIPPED for path in (ROOT / folder).rglob("*.yaml"))
    return [path for path in found if not is_cluster(path)]


def plays(*, deep: bool) -> Plays:
    """Of the shipped scenarios the first variant of the first file of each folder and of some more, the examples that
    are over soon, and a few of the cases; `deep`: first and last variant of every file, and more of the cases."""
    scenarios: dict[str, Scenario] = {}
    first: dict[Path, Path] = {}
    for file in forked(_of_servers, _LIMIT):
        name = str(file.relative_to(ROOT))
        one = first.setdefault(file.parent, file) == file or name in ALSO or name.startswith("examples/")
        if name in LEFT_OUT or (not deep and (not one or name in LONG)):
            continue
        variants = load_variants(file)
        for number in sorted({0, len(variants) - 1}) if deep else [0]:
            variant = variants[number]
            scenarios[f"{name}[{variant.text}]" if variant.text else name] = variant.scenario
    return Plays(cells_library(), scenarios, load(EXPLORED), DEEP_PART if deep else PART, deep=deep)


@dataclass
class Campaign:
    """`texts`: of the sources. `before`: by finder, hashes of what is played without a mistake; see `prepare`."""

    texts: dict[str, str]
    plays: Plays
    before: dict[str, dict[str, str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # without a mistake, by finder
    kills: Counter[str] = field(default_factory=Counter)  # by name of a variant

    def prepare(self) -> str:
        """Play all without a mistake; why something isn't as it should be, or ""."""
        self.before = {name: {} for name in FINDERS}
        for name in ("verify", "explore"):
            used = _used()
            found = self._run(name, None)
            self.seconds[name] = _used() - used
            if found.finder or found.hung:
                return f"{name}: without a mistake {found.finder} fails: {found.why}"
            self.before[name] = found.hashes
        return ""

    def fate(self, mutant: Mutant, earlier: Fate | None = None) -> Fate:
        """What the finders find. One that has found it `earlier` isn't asked again."""
        found = {}
        for name in FINDERS:
            before = None if earlier is None else earlier.found[name]
            if before is not None and before.finder:
                found[name] = before
            else:
                found[name] = self._run(name, mutant)
                found[name].differs |= before is not None and before.differs
        self.learn(found)
        return Fate(mutant, found, self.plays.deep)

    def learn(self, found: Mapping[str, Found]) -> None:
        """Variants that find most are played first."""
        self.kills.update([found["verify"].finder] if found["verify"].finder else [])

    def _run(self, name: str, mutant: Mutant | None) -> Found:
        act = {"units": self._units, "verify": self._verify, "explore": self._explore}[name]

        def planted() -> Found:
            _quiet()
            plant(mutant, self.texts)
            found = act(mutant)
            if mutant is not None:
                check(mutant)
                found.hashes = {}
            return found

        try:
            return forked(planted, _LIMIT)
        except ForkedError as error:
            if error.hung or any(sign in str(error) for sign in _ENDLESS):
                return Found(hung=True)
            if not str(error).startswith("the process that played it"):
                raise RuntimeError(f"{name}: {error}") from None  # ours: a mistake ends in what its finder says
            return Found(name, str(error), differs=True)

    def _units(self, mutant: Mutant | None) -> Found:
        assert mutant is not None
        return units.run(units.unit_tests(mutant.file, deep=self.plays.deep), self.plays.patience)

    def _verify(self, mutant: Mutant | None) -> Found:
        from benchmarks.mutation_firmware import playing

        scenarios = self.plays.scenarios
        order = sorted(scenarios, key=lambda name: -self.kills[name])
        played = [(name, scenarios[name]) for name in order]
        return playing.verify(played, self.plays.library, self.plays.patience, self.before["verify"])

    def _explore(self, mutant: Mutant | None) -> Found:
        from benchmarks.mutation_firmware import playing

        return playing.explore(
            self.plays.explored, self.plays.library, self.plays.part, self.plays.patience, self.before["explore"]
        )


def run(
    campaign: Campaign, mutants: Sequence[Mutant], jobs: int, earlier: Callable[[Mutant], Fate | None]
) -> Iterator[tuple[Fate, float]]:
    """Fates as they come, each with the processor time that it took. Raises RuntimeError when one has none."""

    def work(mutant: Mutant) -> tuple[Fate, float]:
        used = _used()
        fate = campaign.fate(mutant, earlier(mutant))
        return fate, _used() - used

    waiting = iter(mutants)
    with LocalPool[Mutant, tuple[Fate, float]](work, jobs) as pool:
        while True:
            while pool.room > 0 and (mutant := next(waiting, None)) is not None:
                pool.give([mutant])
            if not pool.busy:
                return
            for heard in pool.hear():
                if isinstance(heard, Lost):
                    raise RuntimeError(f"{heard.task.key}: {heard.why}")
                yield heard.answer


def _used() -> float:
    """Processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _quiet() -> None:
    """Nobody reads what a mutant prints."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
