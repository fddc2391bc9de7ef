"""The guardian's periods: a mute that begins late in one, and lengths that are written while one runs, muted or not."""

import random
from collections.abc import Iterable
from functools import partial

from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import straps
from ringhil.emulator.conformance.rules.mailbox import guard_settings, guardian, message
from ringhil.emulator.testbench.stimulus import Action, Peek, Poke, Post, Stimulus

NAME = "mailbox.period"
_SHORT, _LONG = (130, 160), (330, 380)  # cycles
_APART = 20  # cycles for which a frame is offered and has left
_SURE = 26  # cycles behind the end of a mute after which it must show


class _Firmware:
    """Sends by turns to all four ports."""

    def __init__(self, rng: random.Random, place: dict[str, int], actions: list[Action]) -> None:
        self._rng, self._place, self.actions, self.sent = rng, place, actions, 0

    def send(self, at: int, frames: int) -> int:
        """The cycle by which the last of them has been offered."""
        for i in range(frames):
            self.actions.append(Post(at + _APART * i, self.sent % 4, message(self._rng, self._place)))
            self.sent += 1
        return at + _APART * frames

    def look(self, *ends: int) -> None:
        """Read the status before and behind each cycle in which a mute may end."""
        for end in ends:
            self.actions += [Peek(end - _SURE, "status"), Peek(end + _SURE, "status")]

    def length(self, at: int, cycles: int) -> None:
        """Write the period."""
        self.actions.append(Poke(at, "allowance_period", cycles))


def _muted(rng: random.Random, first: int, second: int, third: int, how: str) -> Stimulus:
    """A GPU that is muted late in a period of the length `first`; when the others are written depends on `how`."""
    place, allowance = straps(rng), 3
    firmware = _Firmware(rng, place, guard_settings(allowance, first))
    at = firmware.send(30, allowance - 1)
    if how == "before the mute":
        firmware.length(at, second)
    mute = 30 + first - rng.randrange(35, 50)
    firmware.send(mute - _APART, 2)
    match how:
        case "muted":
            firmware.length(mute + 20, second)
        case "muted, twice":
            firmware.length(mute + 20, second)
            firmware.length(mute + 30, third)
        case "muted, in its second period":
            firmware.send(mute + 8, allowance + 2)
            firmware.length(mute + first + 40, second)
            firmware.send(mute + first + 50, allowance + 1)
        case _:
            pass
    if how == "muted, twice":
        # Too much in the first period of the mute: the second one begins after the writes.
        firmware.send(mute + 36, allowance + 2)
    over = {
        "late": (first,),
        "before the mute": (first, second),
        "muted": (first, second),
        "muted, twice": (first, first + second, first + third),
        "muted, in its second period": (2 * first, first + second, 2 * first + second),
    }[how]
    firmware.look(*(mute + cycles for cycles in over))
    last = mute + 2 * max(first, second, third) + first
    # When it is heard again, as much as it may, and later a frame too many.
    last = firmware.send(last + 60, allowance)
    firmware.send(last, 1)
    firmware.look(last + third, last + second)
    return Stimulus.of(firmware.actions, tail=60, **place)


def _heard(rng: random.Random, first: int, second: int, third: int) -> Stimulus:
    """A GPU that keeps to its allowance, all of it early in a period, while the length of that is written; the next one
    is that long. A frame more in it mutes, or begins another."""
    place, allowance = straps(rng), 3
    firmware = _Firmware(rng, place, guard_settings(allowance, first))
    at, before = 30, first
    for length in (second, third):
        ends = at + max(before, length) + 60
        firmware.send(at, allowance)
        firmware.length(at + _APART * allowance + 10, length)
        begin = ends + 40
        firmware.send(begin, allowance)
        at, before = begin + length + 30, length
    firmware.send(at, allowance)
    mute = firmware.send(at + 2 * _APART, 2) - _APART
    firmware.look(mute + third, mute + second)
    return Stimulus.of(firmware.actions, tail=max(first, second, third) + 300, **place)


def _lowered(rng: random.Random, period: int) -> Stimulus:
    """A GPU whose allowance is written below what it has used already."""
    place = straps(rng)
    firmware = _Firmware(rng, place, guard_settings(6, 3 * period))
    at = firmware.send(30, 4)
    firmware.actions.append(Poke(at + 10, "allowance", rng.randrange(1, 4)))
    at = firmware.send(at + 20, 2)
    firmware.look(at + 3 * period - _APART)
    return Stimulus.of(firmware.actions, tail=200, **place)


@rule(
    NAME,
    "a mute lasts for a period from the frame that muted; each period that begins after a write is as long as written",
    "R6",
)
def period(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(guardian, NAME)
    for index in range(effort):
        for grows in (True, False):
            here, there = (_SHORT, _LONG) if grows else (_LONG, _SHORT)
            first, second, third = rng.randrange(*here), rng.randrange(*there), rng.randrange(*here)
            for how in ("late", "before the mute", "muted", "muted, twice", "muted, in its second period"):
                name = f"{how}, {'longer' if grows else 'shorter'} {index}"
                yield RuleCase(name, _muted(rng, first, second, third, how), judge)
            name = f"heard, {'longer' if grows else 'shorter'} {index}"
            yield RuleCase(name, _heard(rng, first, second, third), judge)
        yield RuleCase(f"allowance {index}", _lowered(rng, rng.randrange(*_SHORT)), judge)
