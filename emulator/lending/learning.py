"""Learns from past loans which GPU takes least for which work, and finds out how well (V2).

The first half of the history is learned from. The second half is kept back: for each loan in it, what every GPU that
could have been given would have taken is told from the loans of that half alone (those of the same kind on that GPU
that are nearest in size), and the choices of the model and of the baselines are held against that.

For each kind of work, ridge regression of the logarithm of what a loan took on the logarithm of its size, for all GPUs
together and for each by itself; how strongly GPUs are drawn to what they have in common is found by leaving loans out
one by one. Nothing is random: the same history makes the same model.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.lending.choice import (
    CHOICES,
    LEARNED_CHOICE,
    MOST_GPUS,
    MOST_KINDS,
    Goal,
    GpuChoice,
    JudgedChoice,
    KindModel,
    LearnedChoice,
    LoanModel,
    ModelError,
    choice_of,
)
from ringhil.emulator.lending.database import LendingDatabase
from ringhil.emulator.lending.usage import MODELS, LoanUsage, loans_used

# isort: split
from sqlalchemy import select

FEWEST, FEWEST_JUDGED = 40, 10  # loans
MOST_LOANS = 20_000  # the newest ones
LEARNED, LENT = "model", "as lent"
_FEWEST_OF_KIND = 6  # that are learned from
_NEAREST = 5
_SHARED = 3.0  # how much freer what GPUs have in common is than what one has by itself
_STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
_DIGITS = 9


class LearningError(RinghilError, ValueError):
    """Nothing can be learned from that history, or scikit-learn is missing."""


@dataclass(frozen=True)
class _Past:
    """A loan that is over. `took`: of what is to be little; `busy`: for least-used."""

    kind: str
    size: float
    gpu: str
    among: tuple[str, ...]
    took: float
    busy: float


@dataclass(frozen=True)
class Trained:
    """`seconds`: of this machine; `better`: the model has no more regret than each of the baselines."""

    model: LoanModel
    seconds: float

    @property
    def better(self) -> bool:
        """It may be kept."""
        mine = self.model.quality[LEARNED].regret
        return all(mine <= self.model.quality[name].regret for name in CHOICES)


def train(database: LendingDatabase, goal: Goal, clock: Callable[[], float] = time.perf_counter) -> Trained:
    """Learns from the loans there. Raises LearningError, LendingDatabaseError."""
    past = [each for loan in loans_used(database, MOST_LOANS) if (each := _past(loan, goal)) is not None]
    if len(past) < FEWEST:
        what = "energy" if goal is Goal.ENERGY else "busy time"
        raise LearningError(
            f"{database.name}: found {len(past)} loans that are over and whose {what} was measured; "
            f"needed are {FEWEST} to learn from them"
        )
    known, kept = past[: len(past) // 2], past[len(past) // 2 :]
    ridge = _ridge()
    began = clock()
    kinds = _learned(known, ridge)
    seconds = clock() - began
    if not kinds:
        raise LearningError(
            f"{database.name}: found no kind of work with {_FEWEST_OF_KIND} loans on 2 GPUs or more; needed is one"
        )
    untested = LoanModel(
        model="ringhil-loans", version=1, goal=goal.value, trained=len(known), judged=0, quality={}, kinds=kinds
    )
    judge = _Judge(known, kept)
    if judge.judged < FEWEST_JUDGED:
        raise LearningError(
            f"{database.name}: found {judge.judged} loans in the second half that another GPU could have had, too, of "
            f"which such loans tell what they take; needed are {FEWEST_JUDGED}"
        )
    quality = {LEARNED: judge.of(LearnedChoice(untested)), **{name: judge.of(choice_of(name)) for name in CHOICES}}
    quality[LENT] = judge.of(_AsLent(kept))
    return Trained(untested.model_copy(update={"judged": judge.judged, "quality": quality}), seconds)


def keep_model(database: LendingDatabase, model: LoanModel) -> None:
    """In the place of the one that was there. Raises LendingDatabaseError."""
    with database.begin() as connection:
        connection.execute(MODELS.delete())
        connection.execute(MODELS.insert().values(number=1, document=model.model_dump_json()))


def kept_choice(database: LendingDatabase, name: str) -> GpuChoice:
    """One of CHOICES, or by the model that is kept. Raises ModelError, LendingDatabaseError."""
    if name != LEARNED_CHOICE:
        return choice_of(name)
    model = kept_model(database)
    if model is None:
        raise ModelError(f"{database.name}: found no model; ringhil lend train makes one")
    return LearnedChoice(model)


def kept_model(database: LendingDatabase) -> LoanModel | None:
    """None: there is none. Raises ModelError, LendingDatabaseError."""
    with database.read() as connection:
        text = connection.scalar(select(MODELS.c.document))
    return None if text is None else LoanModel.parse(str(text))


def _past(loan: LoanUsage, goal: Goal) -> _Past | None:
    took = loan.energy if goal is Goal.ENERGY else loan.busy
    if loan.ended is None or not took or took < 0 or not math.isfinite(loan.size):
        return None
    return _Past(loan.kind, max(0.0, loan.size), loan.gpu, loan.among, float(took), float(loan.busy or 0))


# ------------------------------------------------------------------------------------------------------------- learning


def _ridge() -> Any:
    """Of scikit-learn: it takes a second to load. Raises LearningError."""
    try:
        from sklearn.linear_model import RidgeCV
    except ImportError:
        raise LearningError(
            "the package scikit-learn is missing; install it with: pip install 'ringhil[learning]'"
        ) from None
    return RidgeCV


def _learned(known: Sequence[_Past], ridge: Any) -> dict[str, KindModel]:
    counts = Counter(each.kind for each in known)
    found: dict[str, KindModel] = {}
    for kind, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        loans = [each for each in known if each.kind == kind]
        gpus = sorted({each.gpu for each in loans})
        if count < _FEWEST_OF_KIND or not 2 <= len(gpus) <= MOST_GPUS or len(found) == MOST_KINDS:
            continue
        sizes = np.array([each.size for each in loans])
        logs = np.log1p(sizes)
        centre, spread = round(float(logs.mean()), _DIGITS), round(float(logs.std()), _DIGITS) or 1.0
        powers = ((logs - centre) / spread)[:, None] ** np.arange(3)
        own = np.zeros((len(loans), len(gpus), 3))
        own[np.arange(len(loans)), [gpus.index(each.gpu) for each in loans]] = powers
        shared = _SHARED * powers[:, 1:]
        took = np.log([each.took for each in loans])
        fitted = ridge(alphas=_STRENGTHS).fit(np.hstack([own.reshape(len(loans), -1), shared]), took)
        each_own = fitted.coef_[: 3 * len(gpus)].reshape(-1, 3)
        common = np.array([fitted.intercept_, *(_SHARED * fitted.coef_[3 * len(gpus) :])])
        coefficients = np.round(each_own + common, _DIGITS)
        found[kind] = KindModel(
            centre=centre,
            spread=spread,
            least=float(sizes.min()),
            most=float(sizes.max()),
            gpus={gpu: (float(a), float(b), float(c)) for gpu, (a, b, c) in zip(gpus, coefficients, strict=True)},
        )
    return dict(sorted(found.items()))


# -------------------------------------------------------------------------------------------------------------- judging


class _AsLent:
    """What was chosen in truth."""

    def __init__(self, kept: Sequence[_Past]) -> None:
        self._next = iter(kept)

    def choose(self, kind: str, size: float, gpus: Sequence[str], used: object) -> str:
        return next(self._next).gpu


class _Judge:
    """Holds choices against what each GPU would have taken, as the loans that were kept back say. `judged`: loans of
    which they say enough."""

    def __init__(self, known: Sequence[_Past], kept: Sequence[_Past]) -> None:
        self._used = dict[str, float]()
        for each in known:
            self._used[each.gpu] = self._used.get(each.gpu, 0.0) + each.busy
        self._kept, self._took = kept, _would_have_taken(kept)
        self.judged = sum(len(took) > 1 for took in self._took)

    def of(self, choice: GpuChoice) -> JudgedChoice:
        """Of all loans one after the other, as if it had chosen for each."""
        used, right, regret = dict(self._used), 0, 0.0
        for loan, took in zip(self._kept, self._took, strict=True):
            gpus = [gpu for gpu in loan.among if gpu in took] if len(took) > 1 else [*loan.among]
            chosen = choice.choose(loan.kind, loan.size, gpus or [loan.gpu], used)
            used[chosen] = used.get(chosen, 0.0) + loan.busy
            if len(took) > 1:
                best = min(took.values())
                right += took[chosen] == best
                regret += float(np.exp(took[chosen] - best)) - 1.0
        return JudgedChoice(accuracy=round(right / self.judged, 6), regret=round(regret / self.judged, 6))


def _would_have_taken(kept: Sequence[_Past]) -> list[dict[str, float]]:
    """Of each loan, by GPU: the logarithm of what it would have taken there; GPUs are left out of which nobody knows.
    Its own GPU is told from others' loans, too: what it took itself is no better known than that."""
    places: dict[tuple[str, str], list[int]] = {}
    for place, each in enumerate(kept):
        places.setdefault((each.kind, each.gpu), []).append(place)
    by = {of: np.array(there) for of, there in places.items()}
    logs = np.log1p([each.size for each in kept])
    took = np.log([each.took for each in kept])
    found = []
    for place, loan in enumerate(kept):
        of: dict[str, float] = {}
        for gpu in dict.fromkeys(loan.among):
            there = by.get((loan.kind, gpu), np.array([], int))
            there = there[there != place]
            if len(there):
                near = np.argsort(np.abs(logs[there] - logs[place]), kind="stable")[:_NEAREST]
                of[gpu] = float(took[there[near]].mean())
        found.append(of if loan.gpu in of else {})
    return found
