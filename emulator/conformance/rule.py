"""One rule of the contract: what is played to a node, and what is wrong with what it did."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Stimulus

Judge = Callable[[Stimulus, Observed], list[Breach]]


Compare = Callable[[Observed, Observed], list[Breach]]


@dataclass(frozen=True)
class RuleCase:
    """One stimulus of a rule with its judge. A judge may be given any part of the stimulus's actions (that is how a
    failing one is made small), so it must follow from what is in it.

    `lacking`: the part of a node, `contexts` or `meter`, without which the case says nothing of it.

    With `compare` the stimulus is played again, passing over the cycles in which the node says that nothing happens,
    and both runs are compared.
    """

    name: str
    stimulus: Stimulus
    judge: Judge
    compare: Compare | None = None
    lacking: str = ""


@dataclass(frozen=True)
class Rule:
    """`name` is group.short; `demands` is the sentence of the contract; `cases` makes the stimuli from a seeded
    source of chance, `effort` scales how many; the heaviest, by `weight`, are played first."""

    name: str
    demands: str
    requirement: str
    cases: Callable[[random.Random, int], Iterable[RuleCase]]
    weight: int = 0


_RULES: dict[str, Rule] = {}


def rule(
    name: str, demands: str, requirement: str = "", weight: int = 0
) -> Callable[[Callable[[random.Random, int], Iterable[RuleCase]]], Rule]:
    """Registers the decorated generator of cases as a rule."""

    def register(cases: Callable[[random.Random, int], Iterable[RuleCase]]) -> Rule:
        assert name not in _RULES, name
        _RULES[name] = Rule(name, demands, requirement, cases, weight)
        return _RULES[name]

    return register


def all_rules() -> dict[str, Rule]:
    """Every rule by name, in the order in which they are checked."""
    from ringhil.emulator.conformance import rules

    rules.load()
    return dict(_RULES)


def cases_of(rule: Rule, seed: int, effort: int) -> Iterator[RuleCase]:
    """The rule's cases for this seed; those of one rule don't depend on which others are checked.

    The first one begins at time 0, the others anywhere, often shortly before a carry into many bits of time.
    """
    for index, case in enumerate(rule.cases(random.Random(f"{seed}/{rule.name}"), effort)):
        rng = random.Random(f"{seed}/{rule.name}/{index}")
        yield case if index == 0 else replace(case, stimulus=replace(case.stimulus, start=_start(rng)))


def _start(rng: random.Random) -> int:
    """A time to begin at: a multiple of 256 cycles below 2**62; seldom a small one, mostly with any bits from some bit
    on, and that bit about to change."""
    if rng.random() < 0.15:
        return rng.getrandbits(rng.choice([4, 8, 16])) << 8
    bit = rng.choice([16, 20, 24, 28, 32, 40, 48, 56, 62])
    above = rng.getrandbits(max(61 - bit, 0)) << bit + 1
    return above + (1 << bit) - 256 * rng.choice([1, 2, 4, 8])
