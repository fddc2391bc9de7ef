"""What kind of breach it is: the same mistake, seen at another time or in another frame, gives the same symptom."""

import re
from dataclasses import dataclass

from ringhil.emulator.testbench.monitor import Breach

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
    """By the words of the message: only its first clause counts, since others follow from what is played."""
    place = _PLACE.match(breach.what)
    rest = breach.what[place.end() :] if place else breach.what
    rest = _ASIDE.sub("", rest.split(";")[0])
    kind = _KIND.search(rest) or _KIND.search(breach.what)
    return Symptom(breach.rule, place[1] if place else "", kind[1] if kind else "", _NUMBER.sub("#", rest))
