"""Where a card is tried: raw bytes on an open port, and a client above the same port.

What has to come is waited for; that nothing comes is known by a fence: a `time` request is sent behind it, and as
requests are answered in their order, whatever comes, but a census, has come before the answer to that one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from ringhil.emulator.documents import one_line
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.serial.checks.tap import Heard, Tap, all_shown, shown
from ringhil.emulator.serial.client import TIMEOUT, TRIES, CardClient, CardError, Info, RefusedError
from ringhil.emulator.serial.words import RingCensus
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Damaged, wrap
from ringhil.protocol.line.management import MAJOR, MINOR, Capability, Injection, LineFault, Refusal
from ringhil.protocol.registers import ADDRESS
from ringhil.protocol.wire import MemberState, Role

REGISTER = ADDRESS["compute_setup"]  # of GPU 0: where any register will do
PAUSE = 0.005  # seconds: some cycles of any ring, and a pause on any line
PAUSES = tuple(PAUSE * 2**n for n in range(10))  # until time has passed
_SOME = 16  # GPUs, where each takes long
_AT_ONCE = 8  # requests in a burst
_COUNTING = 10  # times as long as for another answer, in all of a client's tries
_BITS = 10  # of a byte on a line
_MOST_BEFORE = 1 << 19  # bytes of events that may stand before an answer
_FIRST, _FENCES = 0x1000, 0x8000  # ids: those below are a client's
_IDS = 0x6000


class BrokenPromise(RinghilError):
    """What was sent, what was promised, and what came, in one line."""


class NotJudged(RinghilError):
    """Why a rule can't be judged here."""


class SilentCard(CardError):
    """Nothing comes any more, whatever is asked; one line says since when."""


class CheckedClient(Protocol):
    """What the rules ask of a client; see CardClient."""

    info: Info

    def now(self) -> int: ...
    def read(self, gpu: int, register: str | int) -> int: ...
    def write(self, gpu: int, register: str | int, value: int) -> object: ...
    def census(self, *, timeout: float = ...) -> RingCensus: ...
    def last_census(self) -> RingCensus: ...
    def fault(self, fault: LineFault, gpu: int) -> object: ...
    def clear(self, fault: LineFault, gpu: int) -> object: ...
    def subscribe(self, events: int) -> None: ...
    def line(self) -> m.LineReply: ...
    def events(self, seconds: float) -> Iterator[m.Message]: ...


NewClient = Callable[[Any, float], CheckedClient]
M = TypeVar("M", bound=m.Message)


def python_client(line: Any, timeout: float) -> CheckedClient:
    """The one of this package."""
    return CardClient(line, timeout=timeout)


class LineBench:
    """The card at the other end of `line`, an open port of pyserial's. `timeout`: seconds for an answer, `counting`:
    for that to a census; both beside what the bytes themselves take on the line, at `baud` (None: no time). Says
    hello. Raises CardError. `faults`: the card may be harmed, faults are injected."""

    def __init__(
        self,
        line: Any,
        *,
        timeout: float = TIMEOUT,
        baud: int | None = None,
        faults: bool = False,
        client: NewClient = python_client,
    ) -> None:
        self.tap, self.timeout, self.faults = Tap(line), timeout, faults
        self.counting = _COUNTING * timeout
        self._byte = _BITS / baud if baud else 0.0  # seconds
        self._new_client = client
        self._client: CheckedClient | None = None
        self._id, self._fence = _FIRST, _FENCES
        self.info = self.client.info

    # ------------------------------------------------------------------------------------------------ both ways

    def begin(self) -> None:
        """A rule begins: what an earlier one has left on the line is forgotten on both sides."""
        self._client = None
        self.tap.say(b"\0")
        self.exchange(wrap(encode(self.hello())))

    def alive(self) -> bool:
        """Whether anything comes: the card is asked for the time, as often as a client asks."""
        for _ in range(TRIES):
            self.tap.forget()
            self.tap.say(b"\0" + wrap(encode(m.TimeRequest(self.next_id()))))
            if self.until(lambda _: True, self.timeout):
                return True
        return False

    @property
    def client(self) -> CheckedClient:
        """A client that has said hello, for this rule."""
        if self._client is None:
            self._client = self._new_client(self.tap, self.timeout)
        return self._client

    def need(self, capability: str) -> None:
        """Raises NotJudged when the card can't."""
        if not self.able(capability):
            raise NotJudged(f"the card lacks the capability {capability}")

    def none_left_out(self, heard: "list[Heard]") -> None:
        """Raises NotJudged when there was more to be told than the line carries: then no event has to come."""
        for each in heard:
            if isinstance(each, m.MissedEvent):
                raise NotJudged(f"the line is too slow: {each.events} events were left out")

    def able(self, capability: str) -> bool:
        """The card says that it can; of faults, which a real card may refuse all the same, it doesn't refuse the end of
        one that isn't set with `cannot`."""
        if capability not in self.info.capabilities or capability != Capability.FAULTS.word:
            return capability in self.info.capabilities
        ending = m.InjectRequest(self.next_id(), Injection.CLEAR.code, LineFault.SLOW.code, self.info.gpus - 1, 0)
        found = self.ask(ending)
        return not isinstance(found, m.RefusedReply) or found.why != Refusal.CANNOT.code

    @property
    def speaks_ours(self) -> bool:
        """The card is of this version; a later one may know more."""
        return self.info.version == f"{MAJOR}.{MINOR}"

    def some_gpus(self) -> list[int]:
        """Of the card, both ends and those between them; of a large one a few."""
        last = self.info.gpus - 1
        return sorted({last * n // (_SOME - 1) for n in range(_SOME)})

    @contextmanager
    def refused(self, *reasons: Refusal) -> Iterator[None]:
        """What is in it has to be refused, for one of these reasons."""
        allowed = " or ".join(reasons)
        try:
            yield
        except RefusedError as error:
            if error.why not in reasons:
                raise self.broken(f"refused with {allowed}", str(error)) from None
        else:
            raise self.broken(f"refused with {allowed}")

    @contextmanager
    def possible(self, *others: Refusal) -> Iterator[None]:
        """What is in it may be refused by a card that can't, or can't just now; or for one of those reasons."""
        try:
            yield
        except RefusedError as error:
            if error.why not in (Refusal.CANNOT, Refusal.NO_ENTRY_GPU, Refusal.NOT_COUNTED, Refusal.BUSY, *others):
                raise self.broken("the reply of its type", str(error)) from None
            raise NotJudged(str(error)) from None

    def broken(self, promised: str, came: str | None = None, *, sent: str | None = None) -> BrokenPromise:
        """To be raised. Without `sent` and `came`: the last message to the card but fences, and what came behind it."""
        if sent is None:
            ours = [each for each in self.tap.sent if isinstance(each, Damaged) or each.id <= _FENCES]
            sent = shown(ours[-1]) if ours else "nothing"
        return BrokenPromise(
            f"sent {sent}; promised: {promised}; came: {all_shown(self.tap.came) if came is None else came}"
        )

    def idle(self, seconds: float) -> None:
        """Read nothing for so long. A line with a time of its own says by `idle` how that passes, or it stands."""
        if self.tap.idle is not None:
            self.tap.idle(seconds)
        elif self.tap.monotonic is time.monotonic:
            time.sleep(seconds)
        else:
            raise NotJudged("time stands while nothing is read")

    def pass_time(self) -> None:
        """Wait until the card's time is a later one: few requests, as a card keeps the answers to so many. Raises
        NotJudged when it stands."""
        began = self.fence().now
        for pause in PAUSES:
            self.tap.hear(pause)
            if self.fence().now > began:
                return
        raise NotJudged(f"the card's time stands at {began}")

    def ask_others(self, number: int) -> None:
        """So many other requests, and their answers."""
        while number:
            some = min(number, _AT_ONCE)
            self.exchange(*(wrap(encode(m.TimeRequest(self.next_id()))) for _ in range(some - 1)))  # and its fence
            number -= some

    def fence(self) -> m.TimeReply:
        """The time, when all that was asked before is answered."""
        self.exchange()
        return next(each for each in self.tap.came if isinstance(each, m.TimeReply) and each.id == self._fence)

    # ------------------------------------------------------------------------------------------------ raw bytes

    def next_id(self) -> int:
        """An id that no client and no fence has."""
        self._id = _FIRST + (self._id + 1 - _FIRST) % _IDS
        return self._id

    def hello(self, *, major: int = MAJOR, minor: int = MINOR, name: bytes = b"ringhil check") -> m.HelloRequest:
        """A request."""
        return m.HelloRequest(self.next_id(), major, minor, name)

    def exchange(self, *pieces: bytes, pause: float = 0.0) -> list[Heard]:
        """Send these, one after the other, and a fence: what came before the answer to that."""
        self.tap.forget()
        for piece in pieces:
            self.tap.say(piece)
            if pause:
                self.tap.hear(pause)
        number = self._say_fence()
        if not self.until_answered(number, self.timeout):
            raise self.broken("an answer to the time request that followed it")
        ended = next(i for i, each in enumerate(self.tap.came) if not isinstance(each, Damaged) and each.id == number)
        if not isinstance(self.tap.came[ended], m.TimeReply):
            raise self.broken("time_reply", shown(self.tap.came[ended]), sent=f"time(id={number})")
        return self.tap.came[:ended]

    def _say_fence(self) -> int:
        """Its id."""
        self._fence = _FENCES + 1 + (self._fence - _FENCES) % _IDS
        self.tap.say(wrap(encode(m.TimeRequest(self._fence))))
        return self._fence

    def until(self, found: Callable[[Heard], bool], seconds: float) -> bool:
        """Hear until such a one has come since `forget`; False: it didn't in that time, and in that which the bytes
        took, those that were said since `forget` and those that have come."""
        seen, began, heard = 0, self.tap.monotonic(), self.tap.bytes_came
        while True:
            new = self.tap.came[seen:]
            if any(map(found, new)):
                return True
            seen += len(new)
            bytes_ = self.tap.said + min(self.tap.bytes_came - heard, _MOST_BEFORE)
            left = began + seconds + self._byte * bytes_ - self.tap.monotonic()
            if left <= 0:
                return False
            self.tap.hear(left)

    def until_answered(self, number: int, seconds: float) -> bool:
        """Hear until the answer under this id has come since `forget`."""
        return self.until(lambda heard: not isinstance(heard, Damaged) and heard.id == number, seconds)

    def until_counted(self, number: int) -> bool:
        """The same of a census. A card that goes silent meanwhile is not waited for: it is asked for the time."""
        end = self.tap.monotonic() + self.counting
        while not self.until_answered(number, self.timeout):
            if self.tap.monotonic() >= end:
                return False
            if not self.until_answered(self._say_fence(), self.timeout):
                raise self.broken("an answer to a time request, while it counts")
        return True

    def ask(self, request: m.Message) -> m.Message:
        """The one answer to a request. Events that come meanwhile are left out."""
        return self.answer(wrap(encode(request)), request.id)

    def answer(self, data: bytes, number: int) -> m.Message:
        """The one answer, under this id, to what these bytes ask."""
        heard = [each for each in self.exchange(data) if isinstance(each, Damaged) or each.id]
        if len(heard) != 1 or isinstance(heard[0], Damaged) or heard[0].id != number:
            raise self.broken(f"one answer, under id {number}", all_shown(heard))
        return heard[0]

    def expect(self, request: m.Message, kind: type[M]) -> M:
        """The answer, which has to be of this kind. Raises NotJudged when the card says that it can't."""
        found = self.ask(request)
        if isinstance(found, m.RefusedReply) and found.why == Refusal.CANNOT.code and kind is not m.RefusedReply:
            raise NotJudged(f"the card refuses: {one_line(found.text.decode(errors='replace'))} (cannot)")
        if not isinstance(found, kind):
            raise self.broken("the reply of its type", shown(found), sent=shown(request))
        return found

    def timed(self, request: m.Message) -> m.Message:
        """The answer to a request, which has to be done between one before and one behind it, if it says when."""
        began = self.fence().now
        found = self.ask(request)
        ended = self.fence().now
        now = getattr(found, "now", None)
        if now is not None and not began <= now <= ended:
            raise self.broken(f"a cycle of {began} .. {ended}", shown(found), sent=shown(request))
        return found

    def expect_refusal(self, data: bytes, number: int, *reasons: Refusal, sent: str | None = None) -> m.RefusedReply:
        """The refusal of what these bytes ask, for one of these reasons."""
        found = self.answer(data, number)
        if not isinstance(found, m.RefusedReply) or found.why not in {reason.code for reason in reasons}:
            raise self.broken(f"refused with {' or '.join(reasons)}", shown(found), sent=sent)
        return found


_TTL = 255


def harmless(destination: int, token: int) -> bytes:
    """To that GPU: a keepalive of an epoch that is over, for an election that it takes no part in; `token`: 32 bits by
    which it is known again."""
    return codec.encode(
        Keepalive(
            card=0,
            flags=0,
            ttl=_TTL,
            destination=destination,
            epoch=0,
            sequence=token,
            my_discriminator=0,
            your_discriminator=0,
            role=Role.BOUNDARY.code,
            priority=0,
            multiplier=1,
            state=MemberState.FOLLOWER.code,
            interval=1,
            members=0,
            echo=0,
            holder=0,
        )
    )
