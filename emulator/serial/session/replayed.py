"""A recorded session that answers as the card did, to a program that does what was recorded.

Messages are compared whole, in whatever pieces they were written and with whatever zero bytes between them. Other
bytes, such as a person's typing, are compared one by one. Time is the recorded one: it goes on when the program waits,
and when it sends what was sent later. Nothing of what came after a message was sent is there before the program has
sent it.
"""

from collections import deque
from dataclasses import dataclass

from ringhil.emulator.documents import shown
from ringhil.emulator.serial.session.format import Session, SessionError, in_words, message_in
from ringhil.protocol.line.framing import DELIMITER, LONGEST, Damaged, Unwrapper

_LATE = {"line": 1e-6, "system": 0.005}  # seconds by which a read may end after its timeout
_LONGEST = 2 * LONGEST  # bytes of what is no message
_FOREVER = "the program waits for ever"

_Place = tuple[int, int]  # messages that have been sent, bytes of the next one


@dataclass
class _Part:
    """Holds what stood between two zero bytes. `ended` says that the second one came."""

    data: bytearray
    ended: bool = False


class RecordedCard:
    """Answers as the card did. `now` is in seconds since the port was opened, as recorded."""

    def __init__(self, session: Session) -> None:
        self.now = 0.0
        self._late = _LATE[session.clock]
        self._parts = list[_Part]()
        self._sent = deque[tuple[_Place, float]]()  # up to where it was sent, and when
        self._came = deque[tuple[_Place, float, bytes]]()  # after what it came, and when
        place = (0, 0)
        for burst in session.bursts:
            if burst.sent:
                place = self._taken_down(burst.data)
                self._sent.append((place, burst.at))
            else:
                self._came.append((place, burst.at, burst.data))
        self._done = 0
        self._begun = bytearray()
        self._there = bytearray()
        self._failed: SessionError | None = None

    @property
    def waiting(self) -> int:
        """Returns how many bytes are there now."""
        self._arrive()
        return len(self._there)

    def take(self, most: int) -> bytes:
        """Removes and returns up to `most` bytes of what is there."""
        self._arrive()
        data = bytes(self._there[:most])
        del self._there[:most]
        return data

    def wait(self, seconds: float | None) -> bool:
        """Let time pass until something comes, for `seconds` at most; whether something came. Raises SessionError for
        what would never end, and for what can't be answered."""
        self._check_begun()
        coming = self._came and self._came[0][0] <= self._place
        if coming and (seconds is None or self._came[0][1] <= self.now + seconds + self._late):
            self.now = max(self.now, self._came[0][1])
            return True
        if seconds is None:
            raise SessionError(f"{self._message()}: {_FOREVER}, {self._recorded()}")
        self.now += seconds
        return False

    def write(self, data: bytes) -> None:
        """Takes what the program sends. Raises SessionError when it is not what was recorded."""
        if self._failed:
            raise self._failed
        *ended, begun = data.split(DELIMITER)
        for part in ended:
            self._more(part)
            if self._begun:
                self._end()
        self._more(begun)
        while self._sent and self._sent[0][0] <= self._place:
            self.now = max(self.now, self._sent.popleft()[1])

    # ----------------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> _Place:
        return self._done, len(self._begun)

    def _taken_down(self, data: bytes) -> _Place:
        """Notes the parts that were sent, and returns the place behind them."""
        *ended, begun = data.split(DELIMITER)
        for piece in ended:
            self._lay_down(piece)
            if self._parts:
                self._parts[-1].ended = True
        self._lay_down(begun)
        if self._parts and not self._parts[-1].ended:
            return len(self._parts) - 1, len(self._parts[-1].data)
        return len(self._parts), 0

    def _lay_down(self, piece: bytes) -> None:
        if piece and (not self._parts or self._parts[-1].ended):
            self._parts.append(_Part(bytearray()))
        if piece:
            self._parts[-1].data += piece

    def _arrive(self) -> None:
        while self._came and self._came[0][0] <= self._place and self._came[0][1] <= self.now:
            self._there += self._came.popleft()[2]

    def _more(self, piece: bytes) -> None:
        self._begun += piece
        if self._begun and (self._by_bytes() or len(self._begun) > _LONGEST):
            self._check_begun()

    def _by_bytes(self) -> bool:
        return self._done < len(self._parts) and message_in(_found(self._parts[self._done].data)) is None

    def _check_begun(self) -> None:
        """Checks that the recorded message begins with what the program has begun to send."""
        if self._failed:
            raise self._failed
        if self._begun:
            recorded = self._parts[self._done].data if self._done < len(self._parts) else b""
            if not recorded.startswith(self._begun):
                self._otherwise()

    def _end(self) -> None:
        if self._done >= len(self._parts) or self._parts[self._done].data != self._begun:
            self._otherwise()
        self._done += 1
        self._begun.clear()

    def _otherwise(self) -> None:
        said = f"{self._message()}: the program sends {self._in_words(self._begun)}, {self._recorded()}"
        self._failed = SessionError(said)
        raise self._failed

    def _message(self) -> str:
        if not self._by_bytes():
            return f"message {self._done + 1}"
        recorded = self._parts[self._done].data
        same = next((at for at, byte in enumerate(self._begun) if recorded[at : at + 1] != bytes([byte])), None)
        return f"message {self._done + 1}, byte {(len(self._begun) if same is None else same) + 1}"

    def _recorded(self) -> str:
        if self._done >= len(self._parts):
            return f"the recording ends after {self._done}"
        part = self._parts[self._done]
        words = self._in_words(part.data)
        if words == self._in_words(self._begun):  # they are long
            return "recorded is another one that begins so"
        return f"recorded is {words}" if part.ended else f"recorded is {words}, and nothing after it"

    def _in_words(self, data: bytearray) -> str:
        found = _found(data)
        typed = self._by_bytes() and message_in(found) is None
        return shown(bytes(data)) if typed else in_words(found)


def _found(data: bytes | bytearray) -> bytes | Damaged:
    """Returns the message between two zero bytes, or what is damaged in it."""
    (found,) = Unwrapper().feed(DELIMITER + data + DELIMITER) or [b""]
    return found
