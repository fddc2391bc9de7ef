"""Which of several GPUs gets a loan (V2): those that can do the work are given, one of them is chosen.

| choice | takes |
|---|---|
| `LeastUsedChoice` | the one that has computed least for guests so far |
| `RoundRobinChoice` | the one whose turn was longest ago |
| `LearnedChoice` | the one that a trained model expects to take least, of energy or of time |

A model is coefficients, as JSON, in the database of the usage that it was trained on. What is read from there is
checked like anything that comes from outside: it is numbers, and none of it is ever run.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, Protocol

from pydantic import Field, ValidationError

from ringhil.emulator.documents import Document, explained, one_line
from ringhil.emulator.errors import RinghilError

MOST_KINDS = 64
MOST_GPUS = 1024
MOST_BYTES = 8 << 20  # of a model
CHOICES = ("least-used", "round-robin")
LEARNED_CHOICE = "learned"
NOT_FOR = (
    "kinds of work and GPUs that its history doesn't have: there least-used chooses",
    "saying what a loan will use, or what it costs: it only tells which GPU takes less than another",
    "sizes beyond those of its history: they are taken for the largest or smallest one there",
    "GPUs that have changed since: train again after new hardware, drivers or power limits",
    "who may have a GPU, and how fast: it knows nothing of guests, capability or waiting",
)


class ModelError(RinghilError, ValueError):
    """A stored model that is none: one line."""


class Goal(StrEnum):
    """What is to be little."""

    ENERGY = "energy"
    TIME = "time"


class GpuChoice(Protocol):
    """How one of several is chosen."""

    def choose(self, kind: str, size: float, gpus: Sequence[str], used: Mapping[str, float]) -> str:
        """One of `gpus`, at least one, each of which can do the work. `used`: by GPU, how long it has computed for
        guests so far, in any unit."""
        ...


class LeastUsedChoice:
    """Of those that have been used equally, the first one."""

    def choose(self, kind: str, size: float, gpus: Sequence[str], used: Mapping[str, float]) -> str:
        """See GpuChoice."""
        return min(gpus, key=lambda gpu: used.get(gpu, 0.0))


class RoundRobinChoice:
    """Of those that have not had a turn yet, the first one."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}
        self._turn = 0

    def choose(self, kind: str, size: float, gpus: Sequence[str], used: Mapping[str, float]) -> str:
        """See GpuChoice."""
        self._turn += 1
        chosen = min(gpus, key=lambda gpu: self._turns.get(gpu, 0))
        self._turns[chosen] = self._turn
        return chosen


def choice_of(name: str) -> GpuChoice:
    """One of CHOICES."""
    return RoundRobinChoice() if name == "round-robin" else LeastUsedChoice()


Name = Annotated[str, Field(max_length=64)]
Coefficient = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class KindModel(Document):
    """Of a kind of work: the logarithm of what a GPU takes is a + b·x + c·x², x = (log(1 + size) - centre) / spread,
    for sizes from `least` to `most`. `gpus`: a, b, c of each."""

    centre: Coefficient
    spread: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]
    least: Share
    most: Share
    gpus: Annotated[dict[Name, tuple[Coefficient, Coefficient, Coefficient]], Field(max_length=MOST_GPUS)]


class JudgedChoice(Document):
    """How well loans that nobody had learned from would have been chosen for. `accuracy`: share of those that would
    have got the best GPU; `regret`: what would have been taken beyond that of the best one, 1.0: as much again."""

    accuracy: Share
    regret: Share


class LoanModel(Document):
    """What was learned. `trained`, `judged`: loans; `quality`: of the model, and of what it was held against."""

    model: Literal["ringhil-loans"]
    version: Literal[1]
    goal: Literal["energy", "time"]
    trained: Count
    judged: Count
    quality: Annotated[dict[Name, JudgedChoice], Field(max_length=8)]
    kinds: Annotated[dict[Name, KindModel], Field(max_length=MOST_KINDS)]

    @classmethod
    def parse(cls, text: str) -> "LoanModel":
        """Raises ModelError."""
        if len(text) > MOST_BYTES:
            raise ModelError(f"model: {len(text):,} characters; allowed are {MOST_BYTES:,}")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ModelError(one_line(f"model: {explained(error)}")) from None

    def expected(self, kind: str, size: float, gpu: str) -> float | None:
        """The logarithm of what that GPU takes; None: its history doesn't say."""
        of = self.kinds.get(kind)
        if of is None or gpu not in of.gpus:
            return None
        a, b, c = of.gpus[gpu]
        x = (math.log1p(max(0.0, min(max(size, of.least), of.most))) - of.centre) / of.spread
        return a + (b + c * x) * x


class LearnedChoice:
    """By a model; `otherwise` chooses when its history doesn't know the kind of work or one of the GPUs."""

    def __init__(self, model: LoanModel, otherwise: GpuChoice | None = None) -> None:
        self.model, self._otherwise = model, otherwise or LeastUsedChoice()

    def choose(self, kind: str, size: float, gpus: Sequence[str], used: Mapping[str, float]) -> str:
        """See GpuChoice."""
        found = [(self.model.expected(kind, size, gpu), gpu) for gpu in gpus]
        known = [(expected, gpu) for expected, gpu in found if expected is not None]
        if len(known) < len(gpus):
            return self._otherwise.choose(kind, size, gpus, used)
        return min(known, key=lambda each: each[0])[1]
