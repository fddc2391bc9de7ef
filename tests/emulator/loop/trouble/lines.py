"""Lines in trouble, in this process and in a time of their own: the far end answers at once, and what is the matter
decides what arrives of it, and when. Bytes stay in their order, as on any line."""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ringhil.protocol.line.framing import Unwrapper, wrap


class Kind(StrEnum):
    """What may be the matter with a line, or with who is at its end."""

    LOST = "lost"  # the first tries of a request come to nothing
    LATE = "late"  # answers take long: others to the same request have been asked for meanwhile
    TWICE = "twice"
    NOISE = "noise"  # between messages
    DAMAGED = "damaged"  # the first tries, on their way there or back
    ANOTHER = "another"  # the first tries are answered as if something else had been asked
    PULLED = "pulled"
    SILENT = "silent"
    BABBLING = "babbling"  # nothing but noise
    ASTRAY = "astray"  # nothing but answers to something else
    WRONG = "wrong"  # messages that are none of those that may answer
    RESET = "reset"  # it has been without power


HARMLESS = (Kind.LOST, Kind.LATE, Kind.TWICE, Kind.NOISE, Kind.DAMAGED, Kind.ANOTHER)
LOSING = tuple(kind for kind in Kind if kind not in HARMLESS)


@dataclass(frozen=True)
class Trouble:
    """`first`: the request with which it begins, from 0; `requests`: for so many. `tries`: of each that it spoils;
    `heard`: the far end hears them. `delay`: of an answer, in patiences."""

    kind: Kind
    first: int
    requests: int
    tries: int
    heard: bool
    delay: float

    def strikes(self, request: int) -> bool:
        return self.first <= request and (self.kind in LOSING or request < self.first + self.requests)


class FarEnd(Protocol):
    """Who is at the other end: bytes in, bytes out."""

    def feed(self, data: bytes) -> bytes: ...
    def reset(self) -> None: ...


class Words(Protocol):
    """What messages of a line look like: an answer to something else, and one that can't be right."""

    def another(self, answer: bytes, dice: random.Random) -> bytes: ...
    def wrong(self, answer: bytes, dice: random.Random) -> bytes: ...


class PulledOut(Exception):
    """Nobody is there any more."""


class TroubledLine:
    """`patience`: seconds after which a request is asked again. `asked`: each request, once."""

    def __init__(
        self, far: FarEnd, words: Words, troubles: Sequence[Trouble], dice: random.Random, patience: float
    ) -> None:
        self._far, self._words, self._troubles, self._dice, self._patience = far, words, troubles, dice, patience
        self._requests, self._coming = Unwrapper(), deque[tuple[float, bytes]]()
        self._tries, self._endless = 0, False
        self.asked = list[bytes]()
        self.time = 0.0

    def say(self, data: bytes) -> None:
        """Raises PulledOut."""
        for message in self._requests.feed(data):
            assert isinstance(message, bytes)
            if not self.asked or message != self.asked[-1]:
                self.asked.append(message)
                self._tries = 0
            self._tries += 1
            for delay, arrives in self._answered(wrap(message)):
                last = self._coming[-1][0] if self._coming else 0.0
                self._coming.append((max(last, self.time + delay * self._patience), arrives))

    def hear(self, patience: float) -> bytes:
        """What arrives first, within so many seconds of the line's time."""
        if self._endless and not self._coming:
            self._coming.append((self.time + 0.3 * self._patience, self._noise()))
        if not self._coming or self._coming[0][0] > self.time + patience:
            self.time += patience
            return b""
        self.time = max(self.time, self._coming[0][0])
        heard = b""
        while self._coming and self._coming[0][0] <= self.time:
            heard += self._coming.popleft()[1]
        return heard

    @property
    def due(self) -> float | None:
        """When the next bytes arrive."""
        return self._coming[0][0] if self._coming else None

    def _answered(self, request: bytes) -> Iterator[tuple[float, bytes]]:
        number, far = len(self.asked) - 1, self._far
        trouble = next((each for each in self._troubles if each.strikes(number)), None)
        if trouble is None:
            yield 0, far.feed(request)
            return
        spoilt = self._tries <= trouble.tries
        match trouble.kind:
            case Kind.PULLED:
                raise PulledOut
            case Kind.SILENT | Kind.BABBLING | Kind.LOST if trouble.kind in LOSING or spoilt:
                if trouble.heard:
                    far.feed(request)
                if trouble.kind is Kind.BABBLING:
                    self._endless = trouble.heard
                    yield 0, self._noise()
            case Kind.LATE:
                yield trouble.delay, far.feed(request)
            case Kind.TWICE:
                yield 0, far.feed(request + request) if trouble.heard else 2 * far.feed(request)
            case Kind.NOISE:
                yield 0, self._noise() + far.feed(self._noise() * trouble.heard + request) + self._noise()
            case Kind.DAMAGED if spoilt:
                yield 0, self._spoilt(far.feed(request)) if trouble.heard else far.feed(self._spoilt(request))
            case Kind.ANOTHER | Kind.ASTRAY if trouble.kind in LOSING or spoilt:
                yield 0, self._changed(self._words.another, far.feed(request))
            case Kind.WRONG:
                yield 0, self._changed(self._words.wrong, far.feed(request))
            case Kind.RESET:
                if number == trouble.first and self._tries == 1:
                    far.reset()
                yield 0, far.feed(request)
            case _:
                yield 0, far.feed(request)

    def _noise(self) -> bytes:
        """It may have zeros in it, which end messages, and none at its end."""
        return bytes(
            self._dice.choice((0, 1, 3, 0xC0, self._dice.randrange(256))) for _ in range(self._dice.randrange(40))
        )

    def _spoilt(self, data: bytes) -> bytes:
        """A bit is wrong, or a byte is lost, or the end."""
        at = self._dice.randrange(1, len(data) - 1)
        changed = data[:at] + bytes([data[at] ^ 1 << self._dice.randrange(8)]) + data[at + 1 :]
        return self._dice.choice((changed, data[:at] + data[at + 1 :], data[:at]))

    def _changed(self, change: Callable[[bytes, random.Random], bytes], data: bytes) -> bytes:
        return b"".join(
            wrap(change(message, self._dice)) for message in Unwrapper().feed(data) if isinstance(message, bytes)
        )
