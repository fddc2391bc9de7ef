"""Broken rules by what is likely behind them.

One mistake breaks many rules. Rules that are broken at the same kind of output (a ring port, the mailbox, a register)
for the same kind of frame belong together; where the message names no kind of frame, those with the same words. In a
group the rule comes first whose counterexample is the simplest: fewest actions, then fewest cycles, and where these are
about as many the earliest in the order of the rules, which go from the simplest on. Groups are in the order of their
first rules, by the same measure; what lint says, and a simulation that ended, come before all others. Where several
rules break in one case, they belong to what breaks first in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Stimulus

_PLACE = re.compile(r"^(p1|p2|host|boundary|mailbox \d|register \w+|status bit \w+)(?:: | )")
_NUMBER = re.compile(r"\b(?:0x[0-9A-Fa-f]+|\d[\d,]*)\b")
_ASIDE = re.compile(r" \([^()]*\)")
_KIND = re.compile(r"\b(statistics|keepalive|election|work|result|acknowledgement|report|control|data)\b")


@dataclass(frozen=True, slots=True)
class Symptom:
    """`place`: the output that is wrong ("" if the message names none); `kind`: of frame ("" likewise); `nature`: what
    is wrong with it, without numbers and without what stands in parentheses."""

    rule: str
    place: str
    kind: str
    nature: str


def symptom(breach: Breach) -> Symptom:
    """What kind of breach it is: the same mistake, seen at another time or in another frame, gives the same symptom.

    By the words of the message: only its first clause counts, since others follow from what is played."""
    place = _PLACE.match(breach.what)
    rest = breach.what[place.end() :] if place else breach.what
    rest = _ASIDE.sub("", rest.split(";")[0])
    kind = _KIND.search(rest) or _KIND.search(breach.what)
    return Symptom(breach.rule, place[1] if place else "", kind[1] if kind else "", _NUMBER.sub("#", rest))


_ABOUT = 16  # cycles
_PORTS = {"p1": "ring port", "p2": "ring port", "host": "host port", "boundary": "boundary port"}


@dataclass(frozen=True)
class Cause:
    """`where` it shows, `what` it is there, in the words of the first rule's breach; `rules`: the most telling one
    first."""

    where: str
    what: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A broken rule: its breach, the smallest stimulus for it (None: there is none to simulate to its end), and the
    breach that was `first` in its case (None: its own)."""

    breach: Breach
    stimulus: Stimulus | None
    first: Breach | None = None


def causes(broken: Sequence[Broken]) -> list[Cause]:
    """Groups of the broken rules, given in the order of the rules with the smallest stimulus of each, and the breach
    that came first in its case; every rule is in one group, those without a stimulus each in its own."""
    ranked = sorted(range(len(broken)), key=lambda i: (*_size(broken[i].stimulus), i))
    groups: dict[tuple[str, str], list[int]] = {}
    for place in ranked:
        one = broken[place]
        key = _key(symptom(one.first or one.breach)) if one.stimulus is not None else ("", one.breach.rule)
        groups.setdefault(key, []).append(place)
    return [
        Cause(where or "the node", broken[places[0]].breach.what, tuple(broken[p].breach.rule for p in places))
        for (where, _), places in groups.items()
    ]


def _size(stimulus: Stimulus | None) -> tuple[int, int]:
    return (len(stimulus.actions), stimulus.cycles // _ABOUT) if stimulus is not None else (-1, 0)


def _key(found: Symptom) -> tuple[str, str]:
    where = _PORTS.get(found.place, found.place.split(" ")[0] if found.place.startswith("mailbox") else found.place)
    return where, found.kind or found.nature
